// SPDX-License-Identifier: MIT
// commlab status: the student's path as a table, a line per unit, and what comes next.

#include <stdio.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/options.h"
#include "core/base/files/table.h"
#include "cmd/command.h"
#include "cmd/course/homework.h"
#include "cmd/course/step.h"

static const struct clab_column columns[] = {
    {"unit", NULL, NULL, CLAB_KIND_TEXT, -4, 0, NULL},      {"state", NULL, NULL, CLAB_KIND_TEXT, -27, 0, NULL},
    {"checks", NULL, NULL, CLAB_KIND_INTEGER, 6, 0, NULL},  {"hints", NULL, NULL, CLAB_KIND_TEXT, 6, 0, NULL},
    {"minutes", NULL, NULL, CLAB_KIND_INTEGER, 7, 0, NULL}, {"title", NULL, NULL, CLAB_KIND_TEXT, -1, 0, NULL},
};

enum { NCOLUMNS = sizeof columns / sizeof *columns };

// From the unit's first event to its pass, or else to its last event. A cell of nothing: it has not begun.
static struct clab_cell minutes_of(const struct journal *journal, const char *unit)
{
    const struct journal_line *first = NULL, *last = NULL;
    for (int i = 0; i < journal->count && !(last && last->event == JOURNAL_PASSED); i++) {
        const struct journal_line *line = &journal->lines[i];
        if (strcmp(line->unit, unit) != 0)
            continue;
        first = first ? first : line;
        last = line;
    }
    return first ? clab_cell_integer((last->seconds - first->seconds + 30) / 60) : clab_cell_none();
}

static int add_unit(struct clab_table *table, const struct journal *journal, const struct course_unit *unit)
{
    char state[120], hints[32];
    const int hinted = journal_count(journal, unit->id, JOURNAL_HINTED);
    const int checks =
        journal_count(journal, unit->id, JOURNAL_FAILED) + journal_count(journal, unit->id, JOURNAL_PASSED);
    course_state(journal, unit, state, sizeof state);
    snprintf(hints, sizeof hints, "%d of %d", hinted, unit->nhints);
    const struct clab_cell row[NCOLUMNS] = {clab_cell_text(unit->id),       clab_cell_text(state),
                                            clab_cell_integer(checks),      clab_cell_text(hints),
                                            minutes_of(journal, unit->id), clab_cell_text(unit->title)};
    return clab_table_add_row(table, row);
}

static int print_table(const struct course *course, const struct journal *journal)
{
    struct clab_table table;
    int err = CLAB_OK;
    clab_table_init(&table, columns, NCOLUMNS);
    for (int i = 0; i < course->nunits && !err; i++)
        err = add_unit(&table, journal, &course->units[i]);
    if (!err)
        clab_table_print(&table, stdout);
    clab_table_free(&table);
    return err;
}

static int print_status(const struct course *course)
{
    struct journal journal;
    struct course_step step;
    int err = journal_read(course->root, &journal);
    if (!err)
        err = print_table(course, &journal);
    if (!err) {
        course_next(course, &journal, NULL, &step);
        course_say_homework(course);
        course_print_step(&step);
    }
    journal_free(&journal);
    return err;
}

static int run(int argc, char **argv)
{
    static const struct clab_option none[] = {{0}};
    static const struct clab_command_line line = {
        .options = none,
        .about = "Show how far you are: a line per unit, with its state, how often you checked it, the hints that you "
                 "took, and the minutes from the first command of the unit to its pass, or to the last command. "
                 "work/progress.txt has each event. Homework that you have begun has a line of its own."};
    struct course course = {0};
    int err = clab_options_parse(&line, argc, argv, NULL);
    if (!err)
        err = course_open(&course);
    if (!err)
        err = print_status(&course);
    course_close(&course);
    return command_status(err);
}

const struct clab_command cmd_status = {"status", "how far you are in the course, and what comes next", run};
