// SPDX-License-Identifier: MIT
// The cost of a schedule where more ranks than cores share one machine's memory. The
// simulator gives each rank a core of its own.
//
// - Work: all ranks' copies and additions go through the cores that there are. So the sum over the ranks counts, not
//   the busiest rank: W / cores.
// - Turns: in each stage a rank waits for another, which may have to be scheduled first. That takes one turn of each of
//   the P / cores ranks on a core: (stages + 2) P / cores turns in all. Two of them are the call's own, to enter and to
//   leave it.
// - The length of a turn does not follow from the network: a short run of the exchange by hand at the smallest size
//   measures it.
//
// It predicts too much where a rank finds several messages in one turn, as in a ring.

#include "cmd/lab/lab.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "sim/net/net.h"

// ---- counting ------------------------------------------------------------------------------------------------

// Add what a step sends, receives and adds up, in elements.
static void count_step(const struct clab_problem *problem, int chunks, int lane, const struct clab_step *step,
                       bool first, struct lab_counts *counts)
{
    const struct clab_span span = step->op == CLAB_SEND ? step->src : step->dst;
    double elements = 0;
    size_t start;
    for (int c = span.first; c < span.first + span.count; c++)
        elements += (double)clab_problem_elements(problem, chunks, lane, c, &start);
    if (step->op == CLAB_SEND) {
        counts->messages++;
        counts->bytes_sent += elements;
    } else if (step->op == CLAB_RECV_REDUCE || step->op == CLAB_COMBINE) {
        counts->reduced[first ? CLAB_KEPT : CLAB_FRESH] += elements;
    } else if (step->op == CLAB_RECV) {
        counts->copied += elements;
    }
}

// What `rank` does in one call: the sum over its stages.
static struct lab_counts count_rank(const struct clab_problem *problem, const struct clab_algorithm *algorithm,
                                    int rank, struct clab_step *steps)
{
    const int chunks = algorithm->chunks(problem);
    struct lab_counts counts = {0};
    for (int lane = 0; lane < problem->lanes; lane++)
        for (int stage = 0, n; (n = algorithm->stage(problem, rank, lane, stage, steps)) != CLAB_DONE; stage++) {
            for (int i = 0; i < n; i++)
                count_step(problem, chunks, lane, &steps[i], stage == 0, &counts);
            counts.stages = fmax(counts.stages, stage + 1);
        }
    const double bytes = (double)clab_type_bytes(CLAB_F32);
    counts.bytes_sent *= bytes;
    counts.copied *= bytes;
    counts.reduced[CLAB_KEPT] *= bytes;
    counts.reduced[CLAB_FRESH] *= bytes;
    return counts;
}

struct lab_counts lab_count(const struct clab_problem *problem, const struct clab_algorithm *algorithm)
{
    struct clab_step *steps = malloc((size_t)algorithm->width(problem) * sizeof *steps);
    struct lab_counts all = {.messages = steps ? 0 : NAN, .bytes_sent = steps ? 0 : NAN};
    for (int rank = 0; steps && rank < problem->nranks; rank++) {
        const struct lab_counts mine = count_rank(problem, algorithm, rank, steps);
        all.messages = fmax(all.messages, mine.messages);
        all.bytes_sent = fmax(all.bytes_sent, mine.bytes_sent);
        all.stages = fmax(all.stages, mine.stages);
        all.copied += mine.copied;
        for (int touch = 0; touch < CLAB_TOUCHES; touch++)
            all.reduced[touch] += mine.reduced[touch];
    }
    free(steps);
    return all;
}

// ---- time ----------------------------------------------------------------------------------------------------

bool lab_oversubscribed(const struct lab_context *context, int ranks)
{
    return context->net && context->net->nlevels && !context->is_delayed && ranks > context->cores;
}

// Seconds of one rank's turn on a core, by the short run: three turns, one of its stage and two of its call. Its work
// does not count at that size.
static double probed_turn(const struct lab_context *context)
{
    const struct lab_conf *conf = context->conf;
    char quantity[64];
    if (!conf->probe_ranks.count)
        return 0;
    const int ranks = atoi(conf->probe_ranks.words[0]);
    snprintf(quantity, sizeof quantity, "time/by_hand/%s", conf->sizes.words[0]);
    const struct lab_series *probe = lab_results_find(context->probe, LAB_BEFORE, ranks, quantity);
    return probe && ranks > context->cores ? lab_series_median(probe) / (3.0 * ranks / context->cores) : 0;
}

static double time_of(const struct lab_context *context, int ranks, double work, double stages)
{
    return work / context->cores + (stages + 2) * ranks / context->cores * probed_turn(context);
}

// What a byte costs where the ranks of a core touch `buffers` buffers each.
static struct clab_level level_of(const struct lab_context *context, enum lab_program program, int ranks, int buffers,
                                  size_t bytes)
{
    return clab_net_level(
        clab_net_placed(context->net,
                        (struct clab_placement_sample){.line = lab_latency(context->probe, program, ranks)}),
        (size_t)buffers * bytes * (size_t)ranks / (size_t)context->cores);
}

double lab_oversubscribed_predict(const struct lab_context *context, const struct clab_problem *problem,
                                  const struct clab_algorithm *algorithm)
{
    const struct lab_counts c = lab_count(problem, algorithm);
    const struct clab_level level =
        level_of(context, LAB_AFTER, problem->nranks, 2, problem->count * clab_type_bytes(CLAB_F32));
    const double work = c.copied * level.pull[CLAB_FRESH][CLAB_BOTH] +
                        c.reduced[CLAB_KEPT] * level.reduce[CLAB_KEPT][CLAB_BOTH] +
                        c.reduced[CLAB_FRESH] * level.reduce[CLAB_FRESH][CLAB_BOTH];
    return time_of(context, problem->nranks, work, c.stages);
}

double lab_oversubscribed_by_hand(const struct lab_context *context, int ranks, size_t bytes)
{
    const struct clab_level level = level_of(context, LAB_BEFORE, ranks, ranks + 2, bytes);
    const double moved = (double)ranks * (ranks - 1) * (double)bytes;
    return time_of(context, ranks, moved * (level.pull[CLAB_KEPT][CLAB_BOTH] + level.reduce[CLAB_KEPT][CLAB_BOTH]), 1);
}
