// SPDX-License-Identifier: MIT
// Settings in sections, `name = value`, with `;` or `#` before a comment, read with the inih library.
// - Only conf.c knows inih. In a build without it, reading answers CLAB_EUNSUPPORTED with one line that names the
//   package.
// - The reader hands over one setting at a time with its line number, so that whoever refuses a value can name the
//   line.
// - A key appears once per section.
// - A line has at most 198 characters, a section's name at most 49. Longer ones are refused, never cut. Blanks at both
//   ends of a line are ignored.
#pragma once

#include <stdio.h>

struct clab_setting {
    const char *path;
    int line;
    const char *section, *name, *value; // section "" before the first [section]
};

// Called for each setting. To refuse one, it logs a line and returns an error, which ends reading.
typedef int clab_setting_fn(void *context, const struct clab_setting *setting);

// Whether this build can read settings. Ask before `what` ("networks") takes time to measure.
//   errors: CLAB_EUNSUPPORTED (no inih; logged)
int clab_conf_check(const char *what);

// Hand the settings of `file` to `use`. Messages call the file `path`.
//   errors: CLAB_EPARSE (malformed, or a key twice), CLAB_EIO, CLAB_EUNSUPPORTED (no inih), CLAB_ENOMEM, and those of
//           `use`
int clab_conf_read(FILE *file, const char *path, clab_setting_fn *use, void *context);
