// SPDX-License-Identifier: MIT
// Complete, consistent, and nobody's copy (check.h).

#include "labs/homework/h1/check.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/base/stats.h"
#include "core/base/units.h"

enum { FEWEST_CALLS = 6 };           // a median of fewer has no interval, and a copy is no coincidence with as many
static const double close_to = 1e-6; // numbers of a file have 12 digits
static const double copied = 1e-4;   // a copy may have fewer

const int h1_ranks[H1_RANKS] = {2, 4, 6};
const size_t h1_sizes[H1_SIZES] = {8, 1000000, 10000000, 100000000, 1000000000};

static bool is_near_by(double a, double b, double part)
{
    return fabs(a - b) <= part * fmax(fabs(a), fabs(b));
}

static bool is_near(double a, double b)
{
    return is_near_by(a, b, close_to);
}

// ---- complete ------------------------------------------------------------------------------------------------------

// What the remedy for this cell is; NULL: it is there.
static const char *lack(const struct h1_row *row)
{
    if (!row)
        return "is missing: run work/h1/measure.sh again, it goes on where it was";
    if (h1_row_is_measured(row))
        return row->ntimes > 0 ? NULL : "has no samples in matrix_samples.csv: hand in both files of the same run";
    if (!*row->reason)
        return "was not measured, and its reason is empty: hand in the file as bench --matrix wrote it";
    return strstr(row->reason, "budget")
               ? "was skipped since the time was over: run work/h1/measure.sh again, it goes on"
               : NULL;
}

int h1_count_cells(const struct h1_data *data, const char *backend, char why[H1_WHY])
{
    int n = 0;
    char text[64];
    for (int i = H1_CELLS - 1; i >= 0; i--) {
        const int ranks = h1_ranks[i / H1_SIZES];
        const size_t bytes = h1_sizes[i % H1_SIZES];
        const char *said = lack(h1_data_find(data, backend, ranks, bytes));
        n += said == NULL;
        if (said)
            snprintf(why, H1_WHY, "%s %s", h1_row_text(backend, ranks, bytes, text), said);
    }
    return n;
}

const char *h1_main_backend(const struct h1_data *data)
{
    const char *best = "";
    int most = -1;
    char why[H1_WHY];
    for (int i = 0; i < data->nrows; i++) {
        const int n = h1_count_cells(data, data->rows[i].backend, why);
        if (n > most) {
            most = n;
            best = data->rows[i].backend;
        }
    }
    return best;
}

// ---- consistent ----------------------------------------------------------------------------------------------------

// The number of a column is what the samples or the other columns give.
static bool agrees(const struct h1_row *row, const char *column, double says, double gives, const char *of,
                   char why[H1_WHY])
{
    if (is_near(says, gives))
        return true;
    char text[64];
    snprintf(why, H1_WHY, "matrix.csv:%d (%s): %s is %.6g, but %s gives %.6g", row->line,
             h1_row_text(row->backend, row->ranks, row->bytes, text), column, says, of, gives);
    return false;
}

static bool has_all_samples(const struct h1_row *row, char why[H1_WHY])
{
    char text[64];
    h1_row_text(row->backend, row->ranks, row->bytes, text);
    for (int i = 0; i < row->nall * row->ranks; i++)
        if (!(row->all[i] > 0 && isfinite(row->all[i]))) {
            snprintf(why, H1_WHY, "matrix_samples.csv: %s: call %d of rank %d has no time", text, i / row->ranks,
                     i % row->ranks);
            return false;
        }
    if (row->ntimes > 0)
        return true;
    snprintf(why, H1_WHY, "matrix_samples.csv: %s has no samples: hand in both files of the same run", text);
    return false;
}

static bool has_right_summary(const struct h1_row *row, char why[H1_WHY])
{
    struct clab_summary s;
    static const char samples[] = "matrix_samples.csv";
    return clab_summarize(row->times, row->ntimes, &s) == 0 &&
           agrees(row, "num_iters", row->calls, row->nall, samples, why) &&
           agrees(row, "usec", row->usec, s.median, "the median of its samples", why) &&
           agrees(row, "usec_low", row->low, s.low, "the interval of its samples", why) &&
           agrees(row, "usec_high", row->high, s.high, "the interval of its samples", why);
}

static bool has_right_bandwidths(const struct h1_row *row, char why[H1_WHY])
{
    const double algbw = (double)row->bytes / row->usec / 1e3, factor = 2 * (row->ranks - 1.0) / row->ranks;
    return agrees(row, "algbw_GBps", row->algbw, algbw, "bytes / time", why) &&
           agrees(row, "busbw_GBps", row->busbw, algbw * factor, "algbw * 2 (P - 1) / P", why);
}

// What `status` and `wrong` say holds.
static bool has_right_status(const struct h1_row *row, char why[H1_WHY])
{
    char text[64];
    const double width = (row->high - row->low) / 2 / row->usec;
    const bool noisy = width > 0.05 || row->nall < FEWEST_CALLS;
    h1_row_text(row->backend, row->ranks, row->bytes, text);
    if (row->wrong != 0)
        snprintf(why, H1_WHY, "matrix.csv:%d (%s): %g elements of the sum are wrong, and the status is not 'failed'",
                 row->line, text, row->wrong);
    else if (noisy && row->status == H1_OK)
        snprintf(why, H1_WHY,
                 "matrix.csv:%d (%s): the status is 'ok', but the interval is +-%.3g %%, of %d calls: that is "
                 "'noisy'",
                 row->line, text, 100 * width, row->nall);
    else
        return true;
    return false;
}

bool h1_row_agrees(const struct h1_row *row, char why[H1_WHY])
{
    return has_all_samples(row, why) && has_right_summary(row, why) && has_right_bandwidths(row, why) &&
           has_right_status(row, why);
}

// ---- nobody's copy -------------------------------------------------------------------------------------------------

// Both rows have the same times, or one has the other's times a fixed factor, *factor_p, call by call.
static bool is_copy(const struct h1_row *a, const struct h1_row *b, double *factor_p)
{
    const int n = a->ntimes < b->ntimes ? a->ntimes : b->ntimes;
    *factor_p = n > 0 ? a->times[0] / b->times[0] : NAN;
    for (int i = 0; i < n; i++)
        if (!is_near_by(a->times[i], *factor_p * b->times[i], copied))
            return false;
    return n >= FEWEST_CALLS;
}

// All calls took the same, to the last digit; or all ranks did, in each call.
static const char *sameness(const struct h1_row *row)
{
    bool same_calls = true, same_ranks = row->ranks > 1;
    for (int i = 0; i < row->ntimes; i++)
        same_calls = same_calls && is_near(row->times[i], row->times[0]);
    for (int i = 0; i < row->nall * row->ranks; i++)
        same_ranks = same_ranks && is_near(row->all[i], row->all[i / row->ranks * row->ranks]);
    if (row->ntimes < FEWEST_CALLS)
        return NULL;
    return same_calls   ? "all calls took the same, to the last digit"
           : same_ranks ? "in each call, all ranks took the same, to the last digit"
                        : NULL;
}

bool h1_row_is_own(const struct h1_data *data, const struct h1_row *row, char why[H1_WHY])
{
    char text[64], other[64];
    double factor;
    h1_row_text(row->backend, row->ranks, row->bytes, text);
    if (!strcmp(row->backend, "sim")) {
        snprintf(why, H1_WHY, "matrix.csv:%d (%s): sim's times are virtual, and this homework measures", row->line,
                 text);
        return false;
    }
    const char *same = sameness(row);
    if (same) {
        snprintf(why, H1_WHY, "matrix.csv:%d (%s): %s. A clock does not do that", row->line, text, same);
        return false;
    }
    for (int i = 0; i < data->nrows && &data->rows[i] != row; i++) {
        const struct h1_row *earlier = &data->rows[i];
        if (!h1_row_is_measured(earlier) || !is_copy(row, earlier, &factor))
            continue;
        snprintf(why, H1_WHY, "matrix.csv:%d (%s): its samples are those of line %d (%s), times %.6g: a copy",
                 row->line, text, earlier->line, h1_row_text(earlier->backend, earlier->ranks, earlier->bytes, other),
                 factor);
        return false;
    }
    return true;
}

// ---- odd -----------------------------------------------------------------------------------------------------------

bool h1_row_is_odd(const struct h1_data *data, const struct h1_row *row, char why[H1_WHY])
{
    char text[64], other[64], here[CLAB_TEXT], there[CLAB_TEXT];
    h1_row_text(row->backend, row->ranks, row->bytes, text);
    if (row->oversubscribed && row->usec < 0.5 * row->sim) {
        snprintf(why, H1_WHY, "%s: %s, and the simulator says %s if each rank had a core: why is it faster here?", text,
                 clab_seconds_text(1e-6 * row->usec, here), clab_seconds_text(1e-6 * row->sim, there));
        return true;
    }
    for (int i = 0; i < data->nrows; i++) {
        const struct h1_row *less = &data->rows[i];
        if (!h1_row_is_measured(less) || strcmp(less->backend, row->backend) || less->ranks != row->ranks ||
            less->bytes * 10 > row->bytes || less->low <= row->high)
            continue;
        snprintf(why, H1_WHY, "%s takes less time than %s, beyond both intervals: what happened there?", text,
                 h1_row_text(less->backend, less->ranks, less->bytes, other));
        return true;
    }
    return false;
}
