// SPDX-License-Identifier: MIT
// What a person gives, beside the machine (class.h): a form to fill in, and the sums for a gradebook.
//
// - DIR/HW.person.csv has a row per student: points by the rubric, points taken off, a comment. The first run writes it
//   with empty cells; later runs read it, and never change it.
// - DIR/HW.grades.csv has what a learning platform imports: a student's ID, and one number. It is empty where a part is
//   missing, so that an import gives nobody half a grade.

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cmd/grade/class.h"
#include "cmd/grade/seed.h"
#include "core/base/csv.h"
#include "core/base/err.h"
#include "core/base/table.h"

// ---- the form ----------------------------------------------------------------------------------------------------

enum { FORM_COLUMNS = 4 };
static const struct clab_column form_columns[FORM_COLUMNS] = {{.name = "student", .kind = CLAB_KIND_TEXT},
                                                              {.name = "points", .kind = CLAB_KIND_REAL},
                                                              {.name = "off", .kind = CLAB_KIND_REAL},
                                                              {.name = "comment", .kind = CLAB_KIND_TEXT}};

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

static int read_row(struct class *class, const struct clab_csv *csv, int row)
{
    const char *id = clab_csv_cell(csv, row, "student");
    struct class_student *s = find_student(class, id);
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

static int read_form(struct class *class, const char *path)
{
    struct clab_csv csv;
    CLAB_TRY(clab_csv_load(path, &csv));
    int err = CLAB_OK;
    for (int row = 0; row < csv.nrows && !err; row++)
        err = read_row(class, &csv, row);
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
static const struct clab_column grade_columns[GRADE_COLUMNS] = {{.name = "student", .kind = CLAB_KIND_TEXT},
                                                                {.name = "points", .kind = CLAB_KIND_REAL},
                                                                {.name = "out_of", .kind = CLAB_KIND_REAL},
                                                                {.name = "feedback", .kind = CLAB_KIND_TEXT}};

// "57.28 of 80 by the machine, 13 of 20 by a person, 5 taken off: a day late".
static void say_feedback(const struct class *class, const struct class_student *s, char *text_p, size_t room)
{
    char off[40] = "";
    if (s->off > 0)
        snprintf(off, sizeof off, ", %.4g taken off", s->off);
    snprintf(text_p, room, "%.4g of %.4g by the machine, %.4g of %.4g by a person%s%s%s", s->sum, class->most,
             s->person, 100 - class->most, off, s->comment && *s->comment ? ": " : "", s->comment ? s->comment : "");
}

static int add_grade(const struct class *class, const struct class_student *s, struct clab_table *table)
{
    char feedback[1024] = "";
    const double total = class_total(s);
    if (!isnan(total))
        say_feedback(class, s, feedback, sizeof feedback);
    const struct clab_cell cells[GRADE_COLUMNS] = {clab_cell_text(s->id), clab_cell_real(total), clab_cell_real(100),
                                                   clab_cell_text(feedback)};
    return clab_table_add_row(table, cells);
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
