// SPDX-License-Identifier: MIT
// The pages of a unit (lab.md, hints/1.md) on a terminal: as they are, without licence lines, tags, and the targets of
// links.
#pragma once

#include <stdio.h>

#include "cmd/course/unit.h"

// Words of the headings under which lab.md says what to mend, and what to explain.
#define PAGE_TASK    "Task|Mend"
#define PAGE_EXPLAIN "Explain|question"

// All lines of the unit's page `file`.
//   errors: CLAB_ENOENT, CLAB_EIO, CLAB_EPARSE (logged); CLAB_ENOMEM
int page_print(const struct course *course, const struct course_unit *unit, const char *file, FILE *out);

// What the exercise is: the begin of lab.md's section Task or Mend, or else of its goal. Whole paragraphs, lists and tables,
// until `most` lines or more are printed; a table counts as one line, and its columns are put below each other.
//   errors: as above
int page_print_task(const struct course *course, const struct course_unit *unit, int most, FILE *out);

// The first heading of lab.md that has one of `words` (separated by |), without its #: "3. Explain". "": there is none.
//   errors: as above
int page_find_section(const struct course *course, const struct course_unit *unit, const char *words, char *heading_p,
                      size_t room);
