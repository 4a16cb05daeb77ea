// SPDX-License-Identifier: MIT
// commlab start NN: gives the student the program of a unit to mend. commlab reset NN: gives it anew, and keeps theirs.

#include <stdio.h>

#include "core/base/machine/called.h"
#include "core/base/err.h"
#include "cmd/command.h"
#include "cmd/course/mine.h"
#include "cmd/course/page.h"
#include "cmd/course/start_homework.h"
#include "cmd/course/step.h"
#include "cmd/course/usual.h"
#include "cmd/kit/kit.h"

enum { TASK_LINES = 6 };

static int print_next(const struct course *course, const struct course_unit *unit)
{
    struct journal journal;
    struct course_step step;
    int err = journal_read(course->root, &journal);
    if (!err) {
        course_next(course, &journal, unit, &step);
        course_print_step(&step);
    }
    journal_free(&journal);
    return err;
}

// The exercise, the file to edit, and the next command.
static int print_start(const struct course *course, const struct course_unit *unit)
{
    char page[PATH_MAX], mine[PATH_MAX], flags[96];
    course_usual_flags(course, unit, flags, sizeof flags);
    CLAB_TRY(course_unit_path(course, unit, "lab.md", page));
    CLAB_TRY(course_mine_path(course, unit, "mine.c", mine));
    printf("%s %s · %s\n\n", unit->is_primer ? "Primer" : "Lab", unit->id, unit->title);
    CLAB_TRY(page_print_task(course, unit, TASK_LINES, stdout));
    printf("\nThe whole task: %s (it reads best in a browser, or in your editor's preview)\n", kit_relative(page));
    printf("Your file:      %s (a copy of %s/before.c)\n", kit_relative(mine), unit->folder);
    clab_say("Its check:      ./commlab check %s\n", unit->id);
    printf("To run it:      work/%s/mine %s (after a check, which builds it)\n", unit->id, flags);
    return print_next(course, unit);
}

static int start(const struct course *course, const struct course_unit *unit)
{
    CLAB_TRY(mine_start(course, unit));
    CLAB_TRY(journal_add(course->root, unit->id, JOURNAL_STARTED, NULL));
    return print_start(course, unit);
}

static int run_start(int argc, char **argv)
{
    if (start_is_homework(argc, argv))
        return start_homework(argc, argv);
    return course_run(argc, argv,
                      "Copy the program of a unit to work/UNIT/mine.c: it has a mistake, which you mend. A file "
                      "that is there already stays as it is. UNIT is p1 to p5 of the primer, or the number of a "
                      "lab. Of a homework: start h2 --student ID (start h2 --help).",
                      false, start);
}

static int reset(const struct course *course, const struct course_unit *unit)
{
    char kept[PATH_MAX], mine[PATH_MAX];
    CLAB_TRY(course_mine_path(course, unit, "mine.c", mine));
    CLAB_TRY(mine_reset(course, unit, kept));
    CLAB_TRY(journal_add(course->root, unit->id, JOURNAL_RESET, NULL));
    printf("Your program is kept in %s.\n", kit_relative(kept));
    printf("%s is a fresh copy of %s/before.c.\n", kit_relative(mine), unit->folder);
    return print_next(course, unit);
}

static int run_reset(int argc, char **argv)
{
    return course_run(argc, argv,
                      "Begin the program of a unit anew. Yours is kept as work/UNIT/mine.1.c (then mine.2.c, and "
                      "so on), and work/UNIT/mine.c is again a copy of the unit's before.c.",
                      false, reset);
}

const struct clab_command cmd_start = {"start", "get the program of a unit, to mend it", run_start};
const struct clab_command cmd_reset = {"reset", "begin a unit's program anew; yours is kept", run_reset};
