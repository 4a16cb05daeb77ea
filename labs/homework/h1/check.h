// SPDX-License-Identifier: MIT
// Whether the data of homework h1 are complete and do not contradict themselves. No time is judged by its value.
#pragma once

#include "labs/homework/h1/rows.h"

// What every matrix has: 2, 4 and 6 ranks; 8 B, 1, 10, 100 and 1000 MB. Of one backend; more rows may be there.
enum { H1_RANKS = 3, H1_SIZES = 5, H1_CELLS = H1_RANKS * H1_SIZES };
extern const int h1_ranks[H1_RANKS];
extern const size_t h1_sizes[H1_SIZES];

// The backend that has most of these cells; "": there is no row.
const char *h1_main_backend(const struct h1_data *data);
// How many of its cells are measured, failed or skipped with a reason. Those that were skipped because time was short do not
// count. why: the first cell that is missing, and the remedy.
int h1_count_cells(const struct h1_data *data, const char *backend, char why[H1_WHY]);

// Whether a measured row agrees with its samples and with itself; if not, `why` names line and numbers.
bool h1_row_agrees(const struct h1_row *row, char why[H1_WHY]);

// Whether a measured row is its own: real times, and not those of an earlier row. If not, `why` names both.
bool h1_row_is_own(const struct h1_data *data, const struct h1_row *row, char why[H1_WHY]);

// Something to think about, which costs nothing: a time that is hard to believe. False: nothing.
bool h1_row_is_odd(const struct h1_data *data, const struct h1_row *row, char why[H1_WHY]);
