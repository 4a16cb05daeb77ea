// SPDX-License-Identifier: MIT
// The model of lab 07: an allreduce of each size, by each algorithm and by hand.
//
// - time/ALGORITHM/BYTES is the simulator's. Messages and bytes_sent are counted on the schedule.
// - By hand, each rank gets every other rank's buffer, as in an alltoall, and adds them up.
// - By hand in virtual time: each rank waits first for its right neighbour, which serves it last. Then it takes in the
//   other buffers one after another. With n messages on the busier of its two ports, of m seconds each, that is
//   (2 n - 1) m, and the last addition.

#include "cmd/lab/lab.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "sim/net/net.h"

static double by_hand_in_virtual_time(const struct clab_net *net, int ranks, size_t bytes)
{
    double *done = malloc((size_t)ranks * sizeof *done), sum;
    if (!done || clab_net_compute(net, CLAB_FP32, 0, 3 * (double)bytes, &sum) != CLAB_OK) {
        free(done);
        return NAN;
    }
    const double all = lab_predict_fan(net, ranks, bytes, done);
    int last = ranks - 1;
    while (last > 0 && done[last] < all)
        last--;
    free(done);
    return last ? 2 * all - lab_predict_message(net, 0, last, bytes) + sum : 0;
}

// Everyone's buffer to everyone, then P - 1 additions out of one's own memory.
static double by_hand(const struct lab_context *context, int ranks, size_t bytes)
{
    const struct clab_algorithm *algorithm = clab_algorithm_find(CLAB_ALLTOALL, "pairwise");
    if (!algorithm || !context->net)
        return NAN;
    if (context->is_exact)
        return by_hand_in_virtual_time(context->net, ranks, bytes);
    if (lab_oversubscribed(context, ranks))
        return lab_oversubscribed_by_hand(context, ranks, bytes);
    const struct clab_problem problem = lab_problem(algorithm, ranks, bytes);
    struct clab_sim_options how = lab_calls(context);
    const struct clab_net *core = context->is_delayed ? context->machine : context->net; // whose memory is added
    const double without = context->machine ? lab_simulate(context->machine, &problem, algorithm, how) : 0;
    how.probed.line = lab_latency(context->probe, LAB_BEFORE, ranks);
    const double wire = lab_simulate(context->net, &problem, algorithm, how);
    if (!core)
        return wire;
    const struct clab_level level = clab_net_level(clab_net_placed(core, how.probed), (size_t)(ranks + 2) * bytes);
    return fmax(wire, without) + (ranks - 1.0) * (double)bytes * level.reduce[CLAB_KEPT][CLAB_BOTH];
}

static double predict(const struct lab_context *context, enum lab_program program, int ranks, const char *quantity)
{
    char name[64], word[64];
    size_t bytes;
    if (sscanf(quantity, "%63[^/]/%63[^/]/%zu", name, word, &bytes) != 3)
        return NAN;
    const struct clab_algorithm *algorithm =
        clab_algorithm_find(CLAB_ALLREDUCE, program == LAB_BEFORE ? "naive" : word);
    if (!algorithm)
        return NAN;
    const struct clab_problem problem = lab_problem(algorithm, ranks, bytes);
    if (!strcmp(name, "time"))
        return program == LAB_BEFORE ? by_hand(context, ranks, bytes)
                                     : lab_predict_allreduce(context, ranks, word, bytes);
    if (!strcmp(name, "messages"))
        return lab_count(&problem, algorithm).messages;
    return !strcmp(name, "bytes_sent") ? lab_count(&problem, algorithm).bytes_sent : NAN;
}

const struct lab_model LAB_MODEL = {.predict = predict, .has_buffer_per_peer = true};
