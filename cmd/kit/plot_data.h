// SPDX-License-Identifier: MIT
// A results file as figures get it: a copy that holds numbers, names and sentences, and nothing that any program on the
// way to a picture could take for a command, a quote or markup.
//
// - Cells that are finite numbers stay; others are names: letters, digits and _ + - . / : = * stay, a space is _, and
//   the rest is ?. A name is cut after 80 bytes.
// - Values of the manifest are sentences: spaces and ( ) [ ] , ; @ % # ! ~ stay, too. One is cut after 300 bytes.
// - Signs beyond ASCII stay where they are sound UTF-8 and no control characters.
#pragma once

#include <stdio.h>

#include "core/base/files/csv.h"

void plot_data_write(FILE *out, const struct clab_csv *data);

// The student's predictions of a lab (program,quantity,ranks,unit,low,high) in the columns of a lab's results: a value in
// the middle of low and high, cleaned likewise. So a script finds both by the same functions.
void plot_yours_write(FILE *out, const struct clab_csv *yours);
