// SPDX-License-Identifier: MIT
// commlab hint NN: reveals one hint more of a unit each time, below those that it has revealed already.

#include <stdio.h>
#include <string.h>

#include "core/base/machine/called.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/units.h"
#include "cmd/command.h"
#include "cmd/course/page.h"
#include "cmd/kit/journal.h"
#include "cmd/kit/kit.h"

// The highest number of a hint that was revealed; 0: none.
static int revealed(const struct journal *journal, const char *unit)
{
    int most = 0;
    for (int i = 0; i < journal->count; i++) {
        const struct journal_line *line = &journal->lines[i];
        int number = 0;
        if (line->event == JOURNAL_HINTED && !strcmp(line->unit, unit))
            clab_parse_int(line->detail, 1, 99, &number);
        most = number > most ? number : most;
    }
    return most;
}

static int print_hints(const struct course *course, const struct course_unit *unit, int count)
{
    for (int i = 1; i <= count; i++) {
        char file[32];
        snprintf(file, sizeof file, "hints/%d.md", i);
        if (i > 1)
            printf("\n");
        CLAB_TRY(page_print(course, unit, file, stdout));
    }
    return CLAB_OK;
}

static int print_end(const struct course *course, const struct course_unit *unit)
{
    char path[PATH_MAX], heading[96];
    CLAB_TRY(course_unit_path(course, unit, "lab.md", path));
    CLAB_TRY(page_find_section(course, unit, PAGE_TASK, heading, sizeof heading));
    printf("\nThat was the last of %d hints. Read %s%s%s%s once more, then ask your teacher.\n", unit->nhints,
           kit_relative(path), *heading ? ", section \"" : "", heading, *heading ? "\"," : "");
    return CLAB_OK;
}

// A hint that is new is noted once it has been printed.
static int reveal(const struct course *course, const struct course_unit *unit, int known)
{
    char number[16];
    const bool is_last = known >= unit->nhints;
    CLAB_TRY(print_hints(course, unit, is_last ? unit->nhints : known + 1));
    if (is_last)
        return print_end(course, unit);
    if (known + 1 < unit->nhints)
        clab_say("\nThat was hint %d of %d. The next one: ./commlab hint %s\n", known + 1, unit->nhints, unit->id);
    else
        CLAB_TRY(print_end(course, unit));
    snprintf(number, sizeof number, "%d", known + 1);
    return journal_add(course->root, unit->id, JOURNAL_HINTED, number);
}

static int hint(const struct course *course, const struct course_unit *unit)
{
    struct journal journal;
    if (!unit->nhints) {
        clab_error("hint: unit %s has no hints; read %s/lab.md", unit->id, unit->folder);
        return CLAB_ENOENT;
    }
    int err = journal_read(course->root, &journal);
    if (!err)
        err = reveal(course, unit, revealed(&journal, unit->id));
    journal_free(&journal);
    return err;
}

static int run(int argc, char **argv)
{
    return course_run(argc, argv,
                      "Print the hints of a unit: each time one more, with those before it above. The first hint "
                      "is the idea, the second what stays true, the third how to write it.",
                      false, hint);
}

const struct clab_command cmd_hint = {"hint", "a hint for a unit: each time one more", run};
