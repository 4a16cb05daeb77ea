// SPDX-License-Identifier: MIT
// Settings in sections, `name = value`, `;` or `#` before a comment: read by the inih library.
// - conf.c is the only file that knows inih. Built without it, reading answers CLAB_EUNSUPPORTED with one line that
//   names the package.
// - The reader hands over one setting at a time with its line number, so that whoever refuses a value can name the
//   line.
// - A key is given once in a section.
// - The file comes from input.h, which bounds it.
// - A line has at most 198 characters, the name of a section 49; longer ones are refused, never cut. Blanks before and
//   behind a line mean nothing.
#pragma once

#include <stdio.h>

struct clab_setting {
    const char *path;
    int line;
    const char *section, *name, *value; // section "" before the first [section]
};

// Called for each setting. Not CLAB_OK: it has logged the line that says why, and reading ends.
typedef int clab_setting_fn(void *context, const struct clab_setting *setting);

// Whether settings can be read at all: asked before `what` ("networks") takes time to measure.
//   errors: CLAB_EUNSUPPORTED (no inih; logged)
int clab_conf_check(const char *what);

// Hand the settings of `file` to `use`. The lines that refuse them call it `path`.
//   errors: CLAB_EPARSE (malformed, or given twice), CLAB_EIO, CLAB_EUNSUPPORTED (no inih), CLAB_ENOMEM, and what `use`
//           answers
int clab_conf_read(FILE *file, const char *path, clab_setting_fn *use, void *context);
