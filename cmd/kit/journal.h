// SPDX-License-Identifier: MIT
// What the student has done so far: work/progress.txt, one line per event, oldest first.
//
//     # when                unit event      detail
//     2026-11-23T16:44:09Z  07   failed     case 3
//
// - `predict` adds PREDICTED, `lab` RAN, `start` STARTED, `check` FAILED or PASSED, each after it has succeeded:
//       journal_add(course.root, unit->id, JOURNAL_FAILED, "case 3");
// - A line is appended by one write(2). So two commands at the same time lose nothing, and no line is ever rewritten.
// - `next`, `status` and `hint` read the file. A damaged line gets one warning that names it; all others count.
#pragma once

#include <stdio.h>

enum journal_event {
    JOURNAL_STARTED,
    JOURNAL_PREDICTED,
    JOURNAL_RAN,    // `lab NN` has measured with the locked prediction
    JOURNAL_FAILED, // `check`; detail: the first case that failed
    JOURNAL_PASSED, // `check`
    JOURNAL_HINTED, // detail: the hint's number
    JOURNAL_RESET,
    JOURNAL_EVENTS
};

struct journal_line {
    long long seconds; // since 1970, UTC
    char unit[8];
    enum journal_event event;
    char detail[80];
};

struct journal {
    struct journal_line *lines;
    int count, room;
};

// Add a line for an event of now. work/ is made where it is missing.
//   root:   the kit's folder
//   unit:   its id: "p1", "07"
//   detail: a few words, cut at 79 bytes; NULL or "": none
//   errors: CLAB_EIO (logged; the file is as it was, or ends in a part of the line), CLAB_EINVAL, CLAB_ENOMEM
int journal_add(const char *root, const char *unit, enum journal_event event, const char *detail);

// All sound lines. No file: none. Freed by journal_free, also after an error.
//   errors: CLAB_EIO, CLAB_EPARSE (larger than 64 MiB), CLAB_ENOMEM
int journal_read(const char *root, struct journal *journal_p);
// The same of an open file, which warnings call `path`: its lines are added.  errors: CLAB_ENOMEM
int journal_parse(FILE *file, const char *path, struct journal *journal);
void journal_free(struct journal *journal);

// How often the event is in the list for this unit.
int journal_count(const struct journal *journal, const char *unit, enum journal_event event);
