// SPDX-License-Identifier: MIT
// What can be said of a run by its counts alone (counted.h).

#include "cmd/bottleneck/counted.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/bottleneck/report.h"
#include "core/base/machine/called.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "core/clab/counts.h"

// Of all ranks; s and numbers are means over them, but for `most`.
struct sum {
    int ranks, steps;
    double seconds, computed, most, collectives, bytes;
};

static double count_collectives(const struct clab_counts *counts)
{
    double sum = 0;
    for (int kind = 0; kind < CLAB_COLLECTIVE_COUNT; kind++)
        sum += (double)counts->collectives[kind];
    return sum;
}

static void add_rank(const struct clab_count_row rows[], int n, int rank, const char *span, struct sum *sum)
{
    double computed = 0;
    int steps = 0;
    for (int i = 0; i < n; i++) {
        if (rows[i].rank != rank || strcmp(rows[i].span, span) != 0)
            continue;
        computed += rows[i].counts.computed;
        sum->seconds += rows[i].counts.seconds;
        sum->collectives += count_collectives(&rows[i].counts);
        sum->bytes += (double)rows[i].counts.bytes_sent;
        steps++;
    }
    sum->computed += computed;
    sum->most = fmax(sum->most, computed);
    sum->steps = steps > sum->steps ? steps : sum->steps;
}

static struct sum add_up(const struct clab_count_row rows[], int n, const char *span)
{
    struct sum sum = {0};
    for (int i = 0; i < n; i++)
        sum.ranks = rows[i].rank >= sum.ranks ? rows[i].rank + 1 : sum.ranks;
    for (int rank = 0; rank < sum.ranks; rank++)
        add_rank(rows, n, rank, span, &sum);
    sum.seconds /= sum.ranks, sum.computed /= sum.ranks, sum.collectives /= sum.ranks, sum.bytes /= sum.ranks;
    return sum;
}

static void print_class(const char *name, double seconds, const struct sum *sum, const char *meaning)
{
    printf("%-16s %12.3f %7.1f%%   %s\n", name, 1e3 * seconds / sum->steps, 100 * seconds / sum->seconds, meaning);
}

static void print(const struct sum *sum)
{
    const double rest = fmax(0, sum->seconds - sum->computed), uneven = fmin(rest, sum->most - sum->computed);
    printf("%d ranks, %d step%s of %.3f ms, virtual time; by counts alone\n\n%-16s %12s %8s\n", sum->ranks, sum->steps,
           sum->steps == 1 ? "" : "s", 1e3 * sum->seconds / sum->steps, "class", "ms per step", "percent");
    print_class("compute", sum->computed, sum, "ranks compute, copy or load");
    print_class("imbalance", uneven, sum, "ranks wait for the one that computes the longest");
    print_class("communication", rest - uneven, sum, "the rest: calls, bytes, and other waiting");
    printf("\nPer step and rank: %.1f collectives, %.3f MB sent.\n", sum->collectives / sum->steps,
           1e-6 * sum->bytes / sum->steps);
    bottleneck_report_targets((rest - uneven) / sum->seconds, sum->computed / sum->seconds, rest / sum->seconds);
    clab_say("\nNext: trace the run for the cause: CLAB_TRACE=run.json PROGRAM, then ./commlab bottleneck run.json\n");
}

int bottleneck_counted(const char *path, const char *span)
{
    struct clab_count_row *rows;
    int n;
    CLAB_TRY(clab_counts_read(path, &rows, &n));
    struct sum sum = n ? add_up(rows, n, span) : (struct sum){0};
    if (n && sum.steps == 0)
        sum = add_up(rows, n, "job");
    free(rows);
    if (sum.computed <= 0) {
        clab_error("%s: a run in real time, or an empty one: its counts do not say what was computed; trace it: "
                   "CLAB_TRACE=run.json PROGRAM",
                   path);
        return CLAB_EINVAL;
    }
    print(&sum);
    return CLAB_OK;
}
