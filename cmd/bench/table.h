// SPDX-License-Identifier: MIT
// The bench's table on the screen, printed by rank 0, and a line that shows what is under way.
#pragma once

#include "core/base/files/manifest.h"

struct bench;

void bench_table_print_header(const struct bench *bench, const struct clab_manifest *manifest);
int bench_table_print_row(const struct bench *bench, int index);
// Show on a terminal what is being measured (kit/progress.h).
void bench_progress_show(const struct bench *bench, int index, const char *what);
