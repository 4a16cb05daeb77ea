// SPDX-License-Identifier: MIT
// commlab next: says the one thing to do now, as a command to type and one sentence why.

#include <stdio.h>

#include "core/base/machine/called.h"
#include "cmd/command.h"
#include "cmd/course/homework.h"
#include "cmd/course/step.h"

// The command stands alone in a line, so that it is found at once, by people and by scripts.
static void print(const struct course_step *step)
{
    const struct course_unit *unit = step->unit;
    if (*step->end)
        printf("%s\n\n", step->end);
    if (unit)
        printf("%s %s · %s\n", unit->is_primer ? "Primer" : "Lab", unit->id, unit->title);
    if (*step->before)
        printf("First %s. Then type\n", step->before);
    else
        printf("Type\n");
    clab_say("\n    %s\n\n%s\n", step->command, step->why);
}

static int next(const struct course *course, const struct course_unit *unit)
{
    struct journal journal;
    struct course_step step;
    const int err = journal_read(course->root, &journal);
    if (!err) {
        course_next(course, &journal, unit, &step);
        print(&step);
        if (!unit)
            course_say_homework(course);
    }
    journal_free(&journal);
    return err;
}

static int run(int argc, char **argv)
{
    return course_run(argc, argv,
                      "Say what to do now: one command, and why. The units are done in this order: the primer, "
                      "p1 to p5, then the labs by their numbers. With UNIT: what to do now in that unit.",
                      true, next);
}

const struct clab_command cmd_next = {"next", "what to do now: one command, and why", run};
