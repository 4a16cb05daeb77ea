// SPDX-License-Identifier: MIT
// Whether a row's rates are those of its own time, size and ranks (rows.h). A cell that was changed by hand, columns that
// were swapped, or another meaning of "size" would go into figures and findings as a bandwidth that nobody has measured.
//
//   algbw = size / time        busbw = algbw * factor of the collective (cmd/bench/row.h)
//
// - nccl-tests prints two digits after the point, and spreadsheets round: so 2 % and 0.006 GB/s are no contradiction.
// - The first versions of nccl-tests printed an allgather's busbw as its algbw, too.

#include <math.h>
#include <string.h>

#include "cmd/bench/row.h"
#include "cmd/report/combine/rows.h"
#include "core/base/err.h"
#include "core/schedule/schedule.h"

static bool is_about(double stated, double computed)
{
    static const double part = 0.02, least = 0.006;
    return fabs(stated - computed) <= part * computed + least;
}

static double bus_factor(const struct report_row *row)
{
    for (int i = 0; i < CLAB_COLLECTIVE_COUNT; i++)
        if (!strcmp(row->collective, clab_collective_name((enum clab_collective)i)))
            return bench_bus_factor((enum clab_collective)i, row->ranks);
    return NAN;
}

bool report_row_contradicts(const struct report_rows *rows, const struct report_row *row,
                            struct report_contradiction *contradiction_p)
{
    const double algbw = (double)row->bytes / row->usec / 1e3, busbw = algbw * bus_factor(row);
    const bool is_text = rows->sources[row->source].is_text;
    if (!isfinite(row->usec) || row->bytes < 0)
        return false;
    if (isfinite(row->algbw) && !is_about(row->algbw, algbw) && !(is_text && is_about(row->algbw, busbw))) {
        *contradiction_p = (struct report_contradiction){"algbw", row->algbw, algbw};
        return true;
    }
    *contradiction_p = (struct report_contradiction){"busbw", row->busbw, busbw};
    return isfinite(row->busbw) && isfinite(busbw) && !is_about(row->busbw, busbw);
}

int report_rows_mark_contradictions(struct report_rows *rows, int first)
{
    struct report_contradiction contradiction;
    for (int i = first; i < rows->n; i++) {
        struct report_row *row = &rows->rows[i];
        if (row->status > REPORT_NOISY || !report_row_contradicts(rows, row, &contradiction))
            continue;
        row->status = REPORT_FAILED;
        row->reason = report_rows_text(rows, !strcmp(contradiction.name, "algbw")
                                                 ? "algbw contradicts time and size"
                                                 : "busbw contradicts time, size and ranks");
        if (!row->reason)
            return CLAB_ENOMEM;
    }
    return CLAB_OK;
}
