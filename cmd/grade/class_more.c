// SPDX-License-Identifier: MIT
// What a teacher does beside grading (class.h): ask each student two questions, and compare their files.

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/grade/class.h"
#include "cmd/grade/inside.h"
#include "cmd/grade/seed.h"
#include "cmd/kit/kit.h"
#include "core/base/files/csv.h"
#include "core/base/err.h"
#include "core/base/files/output.h"
#include "core/base/files/table.h"

// ---- questions ---------------------------------------------------------------------------------------------------

static const struct clab_column columns[] = {CLAB_COLUMN(TEXT, "student"), CLAB_COLUMN(TEXT, "question"),
                                             CLAB_COLUMN(TEXT, "answer")};
enum { COLUMNS = sizeof columns / sizeof *columns };

static int add_questions(const struct class_student *s, struct clab_table *table)
{
    for (int i = 0; i < HOMEWORK_QUESTIONS; i++) {
        const struct clab_cell cells[COLUMNS] = {clab_cell_text(s->id), clab_cell_text(s->questions[i].question),
                                                 clab_cell_text(s->questions[i].answer)};
        CLAB_TRY(clab_table_add_row(table, cells));
    }
    return CLAB_OK;
}

// What a run before has written down: some homeworks compute long for a question. False: there is nothing.
static bool read_questions(const char *path, struct class_student *s)
{
    struct clab_csv csv;
    if (access(path, R_OK) != 0 || clab_csv_load(path, &csv))
        return false;
    const bool is_whole = csv.nrows == HOMEWORK_QUESTIONS;
    for (int i = 0; is_whole && i < csv.nrows; i++) {
        snprintf(s->questions[i].question, HOMEWORK_QUESTION, "%s", clab_csv_cell(&csv, i, "question"));
        snprintf(s->questions[i].answer, HOMEWORK_QUESTION, "%s", clab_csv_cell(&csv, i, "answer"));
    }
    clab_csv_free(&csv);
    return is_whole;
}

static int write_table(const char *path, int (*fill)(const void *from, struct clab_table *table), const void *from)
{
    struct clab_manifest manifest = {0};
    struct clab_table table;
    clab_table_init(&table, columns, COLUMNS);
    int err = fill(from, &table);
    if (!err)
        err = clab_table_write_csv(&table, &manifest, path);
    clab_table_free(&table);
    return err;
}

static int fill_one(const void *from, struct clab_table *table)
{
    return add_questions(from, table);
}

static int fill_all(const void *from, struct clab_table *table)
{
    const struct class *class = from;
    for (int i = 0; i < class->nstudents; i++)
        if (class->students[i].has_questions)
            CLAB_TRY(add_questions(&class->students[i], table));
    return CLAB_OK;
}

int class_ask(const struct class *class, const char *path, struct class_student *s)
{
    if (!class->homework->ask)
        return CLAB_OK;
    if (!read_questions(path, s)) {
        CLAB_TRY(class->homework->ask(s->id, s->questions));
        CLAB_TRY(write_table(path, fill_one, s));
    }
    s->has_questions = true;
    return CLAB_OK;
}

int class_questions(const struct class *class, const char *path)
{
    return write_table(path, fill_all, class);
}

// ---- JPlag -------------------------------------------------------------------------------------------------------

enum { MOST = 1 << 20 };

// What was handed in of a homework that wants a whole folder: whether people wrote this file.
static bool is_written(const char *name)
{
    const char *end = strrchr(name, '.');
    return name[0] != '.' && end && strcmp(name, "student.txt") &&
           (!strcmp(end, ".md") || !strcmp(end, ".c") || !strcmp(end, ".h") || !strcmp(end, ".txt"));
}

// A plain file, into the folder `to`. One that can not be read is left out: JPlag has nothing to compare there.
static int copy_file(const char *from, const char *to, const char *name)
{
    struct grading *g = calloc(1, sizeof *g);
    struct clab_output output;
    char path[PATH_MAX + NAME_MAX + 2];
    const char *why, *end = strrchr(name, '.');
    size_t bytes = 0;
    int err = g ? CLAB_OK : CLAB_ENOMEM;
    const char *text = g ? grading_slurp(g, from, MOST, &bytes, &why) : NULL;
    // JPlag's language "text" wants files with this ending.
    snprintf(path, sizeof path, "%s/%s%s", to, name, end && (!strcmp(end, ".c") || !strcmp(end, ".txt")) ? "" : ".txt");
    if (text)
        err = kit_make_folder(to);
    if (text && !err)
        err = clab_output_open(path, &output);
    if (text && !err) {
        fwrite(text, 1, bytes, output.file);
        err = clab_output_close(&output);
    }
    for (int i = 0; g && i < g->nkept; i++)
        free(g->kept[i]);
    free(g);
    return err;
}

// What a student, or the starter, has of the homework's file; of a folder, what people wrote in it.
static int copy_written(const struct class *class, const char *from, const char *to)
{
    const char *file = class->homework->file;
    const bool is_folder = file[strlen(file) - 1] == '/';
    char path[PATH_MAX + NAME_MAX + 2];
    int err = CLAB_OK;
    DIR *folder = opendir(from);
    for (struct dirent *entry; folder && !err && (entry = readdir(folder));)
        if (is_folder ? is_written(entry->d_name) : !strcmp(entry->d_name, file)) {
            snprintf(path, sizeof path, "%s/%s", from, entry->d_name);
            err = copy_file(path, to, entry->d_name);
        }
    if (folder)
        closedir(folder);
    return err;
}

int class_jplag(const struct class *class, const char *root)
{
    char from[PATH_MAX], to[PATH_MAX];
    if (snprintf(from, sizeof from, "%s/labs/homework/%s/starter", root, class->id) >= PATH_MAX ||
        snprintf(to, sizeof to, "%s/%s.jplag/base", class->folder, class->id) >= PATH_MAX)
        return CLAB_EINVAL;
    CLAB_TRY(copy_written(class, from, to));
    for (int i = 0; i < class->nstudents; i++) {
        const char *id = class->students[i].id;
        if (!homework_is_student(id) || snprintf(from, sizeof from, "%s/%s", class->folder, id) >= PATH_MAX ||
            snprintf(to, sizeof to, "%s/%s.jplag/submissions/%s", class->folder, class->id, id) >= PATH_MAX)
            continue;
        CLAB_TRY(copy_written(class, from, to));
    }
    return CLAB_OK;
}
