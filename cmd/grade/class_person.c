// SPDX-License-Identifier: MIT
// What a person gives, beside the machine (class.h): a form to fill in, and the sums for a gradebook.
//
// - DIR/HW.person.csv has a row per student: points by the rubric, points taken off, a comment. The first run writes it
//   with empty cells; later runs read it, and never change a row. Students who came later get a row at its end.
// - DIR/HW.grades.csv has what a learning platform imports: a student's ID, and one number. It is empty where a part is
//   missing, so that an import gives nobody half a grade.

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/grade/class.h"
#include "cmd/grade/seed.h"
#include "core/base/files/csv.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/files/table.h"

// ---- the form ----------------------------------------------------------------------------------------------------

enum { FORM_COLUMNS = 4 };
static const struct clab_column form_columns[FORM_COLUMNS] = {CLAB_COLUMN(TEXT, "student"),
                                                              CLAB_COLUMN(REAL, "points"), CLAB_COLUMN(REAL, "off"),
                                                              CLAB_COLUMN(TEXT, "comment")};

static int write_form(const struct class *class, const char *path)
{
    struct clab_manifest manifest = {0};
    struct clab_table table;
    int err = CLAB_OK;
    clab_table_init(&table, form_columns, FORM_COLUMNS);
    for (int i = 0; i < class->nstudents && !err; i++) {
        const struct clab_cell cells[FORM_COLUMNS] = {clab_cell_text(class->students[i].id), clab_cell_real(NAN),
                                                      clab_cell_real(NAN), clab_cell_text("")};
        err = homework_is_student(class->students[i].id) ? clab_table_add_row(&table, cells) : CLAB_OK;
    }
    if (!err)
        err = clab_table_write_csv(&table, &manifest, path);
    clab_table_free(&table);
    return err;
}

static struct class_student *find_student(struct class *class, const char *id)
{
    for (int i = 0; i < class->nstudents; i++)
        if (!strcmp(class->students[i].id, id))
            return &class->students[i];
    return NULL;
}

// A number of the form, or `empty`.
static int read_number(const struct clab_csv *csv, int row, const char *column, double empty, double most,
                       double *value_p)
{
    const char *cell = clab_csv_cell(csv, row, column);
    *value_p = *cell ? clab_csv_real(csv, row, column) : empty;
    if (!*cell || (*value_p >= 0 && *value_p <= most))
        return CLAB_OK;
    return clab_csv_refuse(csv, row, column,
                           "'%s' is no number from 0 to %.4g: write the points with a point, as in 12.5", cell, most);
}

static bool is_filled(const struct clab_csv *csv, int row)
{
    return *clab_csv_cell(csv, row, "points") || *clab_csv_cell(csv, row, "off") || *clab_csv_cell(csv, row, "comment");
}

static int read_row(struct class *class, const struct clab_csv *csv, int row)
{
    const char *id = clab_csv_cell(csv, row, "student");
    struct class_student *s = find_student(class, id);
    if (!s && !is_filled(csv, row)) // written for somebody who has left the class
        return CLAB_OK;
    if (!s)
        return clab_csv_refuse(csv, row, "student",
                               "'%s' is no student of this class: mend the ID, or take out the row", id);
    if (s->is_read)
        return clab_csv_refuse(csv, row, "student", "'%s' has a row already: take out one of them", id);
    s->is_read = true;
    CLAB_TRY(read_number(csv, row, "points", NAN, 100 - class->most, &s->person));
    CLAB_TRY(read_number(csv, row, "off", 0, 100, &s->off));
    s->comment = strdup(clab_csv_cell(csv, row, "comment"));
    return s->comment ? CLAB_OK : CLAB_ENOMEM;
}

// How a line of the file ends: editors and spreadsheets differ. is_open: whether the last line has no end
static const char *line_end(const char *path, bool *is_open_p)
{
    FILE *file = fopen(path, "re");
    int c, last = '\n', before = 0;
    while (file && (c = getc(file)) != EOF) {
        before = c == '\n' ? last : before;
        last = c;
    }
    if (file)
        fclose(file);
    *is_open_p = last != '\n';
    return before == '\r' ? "\r\n" : "\n";
}

// A row with nothing but the ID, in the form's own columns.
static void put_row(FILE *out, const struct clab_csv *csv, const char *id, const char *end)
{
    for (int i = 0; i < csv->ncolumns; i++)
        fprintf(out, "%s%s", i ? "," : "", strcmp(csv->cells[i], "student") ? "" : id);
    fputs(end, out);
}

static int add_rows(struct class *class, const struct clab_csv *csv, const char *path)
{
    bool is_open;
    const char *end = line_end(path, &is_open);
    FILE *file = NULL;
    for (int i = 0; i < class->nstudents; i++) {
        struct class_student *s = &class->students[i];
        if (s->is_read || !homework_is_student(s->id))
            continue;
        if (!file && !(file = fopen(path, "ae"))) {
            clab_error("class: %s can not be written: %s has no row in it; make it writable, then again", path, s->id);
            return CLAB_EIO;
        }
        fputs(is_open ? end : "", file);
        is_open = false;
        put_row(file, csv, s->id, end);
        s->is_new = true;
    }
    return file && fclose(file) ? CLAB_EIO : CLAB_OK;
}

static int read_form(struct class *class, const char *path)
{
    struct clab_csv csv;
    CLAB_TRY(clab_csv_load(path, &csv));
    int err = CLAB_OK;
    for (int row = 0; row < csv.nrows && !err; row++)
        err = read_row(class, &csv, row);
    if (!err)
        err = add_rows(class, &csv, path);
    clab_csv_free(&csv);
    return err;
}

int class_person(struct class *class, const char *path)
{
    return access(path, F_OK) == 0 ? read_form(class, path) : write_form(class, path);
}

// ---- the gradebook -----------------------------------------------------------------------------------------------

double class_total(const struct class_student *s)
{
    const double total = s->sum + s->person - s->off;
    return total < 0 ? 0 : total; // NAN stays: a part is missing
}

enum { GRADE_COLUMNS = 4 };
static const struct clab_column grade_columns[GRADE_COLUMNS] = {CLAB_COLUMN(TEXT, "student"),
                                                                CLAB_COLUMN(REAL, "points"),
                                                                CLAB_COLUMN(REAL, "out_of"),
                                                                CLAB_COLUMN(TEXT, "feedback")};

// "57.28 of 80 by the machine, 13 of 20 by a person, 5 taken off: a day late".
// NULL: there is no memory for it.
static char *say_feedback(const struct class *class, const struct class_student *s)
{
    char off[40] = "", *text;
    if (s->off > 0)
        snprintf(off, sizeof off, ", %.4g taken off", s->off);
    const int length =
        asprintf(&text, "%.4g of %.4g by the machine, %.4g of %.4g by a person%s%s%s", s->sum, class->most, s->person,
                 100 - class->most, off, s->comment && *s->comment ? ": " : "", s->comment ? s->comment : "");
    return length < 0 ? NULL : text;
}

static int add_grade(const struct class *class, const struct class_student *s, struct clab_table *table)
{
    const double total = class_total(s);
    char *feedback = isnan(total) ? strdup("") : say_feedback(class, s);
    if (!feedback)
        return CLAB_ENOMEM;
    const struct clab_cell cells[GRADE_COLUMNS] = {clab_cell_text(s->id), clab_cell_real(total), clab_cell_real(100),
                                                   clab_cell_text(feedback)};
    const int err = clab_table_add_row(table, cells);
    free(feedback);
    return err;
}

int class_grades(const struct class *class, const char *path)
{
    struct clab_manifest manifest = {0};
    struct clab_table table;
    int err = CLAB_OK;
    clab_table_init(&table, grade_columns, GRADE_COLUMNS);
    for (int i = 0; i < class->nstudents && !err; i++)
        if (homework_is_student(class->students[i].id))
            err = add_grade(class, &class->students[i], &table);
    if (!err)
        err = clab_table_write_csv(&table, &manifest, path);
    clab_table_free(&table);
    return err;
}
