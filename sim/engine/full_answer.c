// SPDX-License-Identifier: MIT
// The full engine's answer, once all ranks are done, or why they never will be.

#include "core/base/err.h"
#include "core/base/log.h"
#include "sim/engine/full.h"

// One call: when the slowest rank ends. Several: what one more adds, once they follow each other steadily.
static double seconds_of(const struct full *s)
{
    int first = s->calls / 2;
    if (s->calls == 1)
        return s->finish[0] - s->origin;
    return (s->finish[s->calls - 1] - s->finish[first - 1]) / (s->calls - first);
}

// Folded, a rank ends when its representative does.
static void fill_ends(const struct full *s)
{
    for (int rank = 0; rank < s->problem->nranks && s->ends; rank++)
        s->ends[rank] = full_call_end(s, full_representative(s, rank, rank)) - s->origin;
}

// The parts are the slowest rank's; of several calls, each has its share.
void full_fill(const struct full *s, struct clab_sim_result *result)
{
    const struct rank_state *slowest = full_rank(s, s->slowest, MODE_ANY);
    fill_ends(s);
    result->seconds = seconds_of(s);
    result->whole = s->finish[s->calls - 1] - s->origin;
    double share = s->end > 0 ? result->seconds / s->end : 0;
    result->latency = slowest->spent[PART_LATENCY] * share;
    result->bandwidth = slowest->spent[PART_BANDWIDTH] * share;
    result->reduce = slowest->spent[PART_REDUCE] * share;
    result->wait =
        later(0, result->seconds - result->latency - result->bandwidth - result->reduce); // not a rounding error
    result->messages = s->messages;
    result->ranks = s->nranks;
    result->peak_bytes = full_bytes(s);
}

int full_find_deadlock(const struct full *s)
{
    for (int rank = 0; rank < s->nranks; rank++)
        for (int lane = 0; lane < s->problem->lanes; lane++) {
            const struct lane_state *l = full_lane(s, rank, lane, MODE_ANY);
            if (l->phase == PHASE_COLLECTS)
                clab_error("%s: rank %d, lane %d, stage %d waits for a message of rank %d that is never sent",
                           s->algorithm->name, rank, lane, l->stage,
                           awaited_rank(*full_awaited(s, rank, lane, MODE_ANY)));
            else if (l->phase == PHASE_ACKS)
                clab_error("%s: rank %d, lane %d, stage %d sent a message that is never received", s->algorithm->name,
                           rank, lane, l->stage);
            else
                continue;
            return CLAB_EDEADLOCK;
        }
    return CLAB_OK;
}
