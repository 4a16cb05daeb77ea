// SPDX-License-Identifier: MIT
// Several runs of one setting (findings.h): a second file of the same command, or two rows of one file.
//
// - Neither the faster run nor the later one is the truth. What disturbs a run lasts for all of its calls, so that the
//   interval of one run does not show it. The median of the runs counts, and its interval reaches over all of theirs:
//   if runs differ, the interval is wide, and a comparison says no more than all of them do.
// - The mean of the middle two is the median of an even number.
// - A copy of a row, in a file that was copied or in two files that were put together, is no second run.

#include <math.h>

#include "cmd/report/findings/findings.h"
#include "core/base/stats.h"

static bool has_interval(const struct report_row *row)
{
    return isfinite(row->low) && isfinite(row->high);
}

struct report_row report_runs_merge(const struct report_row *const *runs, int n)
{
    const struct report_row *middle = runs[(n - 1) / 2];
    struct report_row row = *middle;
    row.usec = (middle->usec + runs[n / 2]->usec) / 2;
    row.algbw *= middle->usec / row.usec;
    row.busbw *= middle->usec / row.usec;
    row.low = INFINITY;
    row.high = -INFINITY;
    bool is_known = true;
    for (int i = 0; i < n; i++) {
        is_known &= has_interval(runs[i]);
        row.low = fmin(row.low, fmin(runs[i]->usec, runs[i]->low));
        row.high = fmax(row.high, fmax(runs[i]->usec, runs[i]->high));
        row.status = runs[i]->status > row.status ? runs[i]->status : row.status;
        row.is_crowded |= runs[i]->is_crowded;
    }
    if (!is_known && n < CLAB_INTERVAL_SAMPLES)
        row.low = row.high = NAN;
    row.runs = runs;
    row.nruns = n;
    return row;
}

int report_runs_drop_copies(const struct report_row **runs, int n)
{
    int kept = 1;
    for (int i = 1; i < n; i++) {
        const struct report_row *last = runs[kept - 1];
        const bool is_copy = has_interval(last) && last->usec == runs[i]->usec && last->low == runs[i]->low &&
                             last->high == runs[i]->high;
        if (!is_copy)
            runs[kept++] = runs[i];
    }
    return kept;
}

const struct report_row *report_runs_fastest(const struct report_row *row)
{
    return row->nruns ? row->runs[0] : row;
}

const struct report_row *report_runs_slowest(const struct report_row *row)
{
    return row->nruns ? row->runs[row->nruns - 1] : row;
}

bool report_runs_differ(const struct report_row *row)
{
    const struct report_row *fast = report_runs_fastest(row), *slow = report_runs_slowest(row);
    return has_interval(fast) && has_interval(slow) && slow->low > fast->high;
}
