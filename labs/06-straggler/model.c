// SPDX-License-Identifier: MIT
// The model of lab 06: steps in which the last of P ranks does E percent of its work w once more.
//
// - It comes x = w E / 100 after the others, who wait for it: T = w + x + b, with what is left of a barrier when the
//   last has come. The others wait x + b each, the straggler b: it waits least. What is lost is (P - 1) x.
// - In a monitored barrier b depends on x: until the straggler comes, rank 0 hears the others one after another, and
//   what is heard by then is out of the way. And ranks leave it one after another. So the ranks' clocks are walked
//   through two steps, message by message; the first one is the programs' warm-up. Without a network only x and what
//   follows is known.
// - The monitored barrier names rank P - 1, and says x. Whom the time in a plain barrier blames is not foreseen: one of
//   the others.
// - In virtual time w is the network's (its peaks, a roofline). Here a short probe of the before program has measured
//   w, while all work, and x of one E, while only the straggler does: another x is in proportion to that.

#include "cmd/lab/lab.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "sim/net/net.h"

// What the probe found; NAN: nothing.
static double probed(const struct lab_context *context, const char *name)
{
    const struct lab_conf *conf = context->conf;
    char quantity[64];
    snprintf(quantity, sizeof quantity, "%s/%s", name, conf->probe_iterations.words[0]);
    return lab_series_median(lab_results_find(context->probe, LAB_BEFORE, atoi(conf->probe_ranks.words[0]), quantity));
}

// Seconds of a step's work: each float is read, gets 2 flop, and is written.
static double work(const struct lab_context *context)
{
    const double bytes = atof(context->conf->sizes.words[0]);
    double seconds = NAN;
    if (!context->is_virtual)
        return probed(context, "work");
    return clab_net_compute(context->net, CLAB_FP32, bytes / 2, 2 * bytes, &seconds) == CLAB_OK ? seconds : NAN;
}

// And of `percent` of it, of the straggler alone.
static double extra(const struct lab_context *context, double percent)
{
    if (context->is_virtual)
        return work(context) * percent / 100;
    return probed(context, "injected") * percent / atof(context->conf->probe_iterations.words[0]);
}

// ---- a step --------------------------------------------------------------------------------------------------

// What a step comes to, in s, as the programs' judge has it.
struct outcome {
    double step, wait_straggler, wait_others, lateness, lost;
};

// When each rank began a timed step, came to its barrier, and left that: (nranks) s each.
struct times {
    double *starts, *came, *left;
};

static int walk_step(struct lab_walk *walk, enum lab_program program, double w, double x, struct times times)
{
    const int P = walk->nranks;
    for (int r = 0; r < P; r++)
        lab_walk_work(walk, r, w);
    CLAB_TRY(lab_walk_barrier(walk));
    lab_walk_note(walk, times.starts);
    for (int r = 0; r < P; r++)
        lab_walk_work(walk, r, w);
    lab_walk_work(walk, P - 1, x);
    lab_walk_note(walk, times.came);
    CLAB_TRY(program == LAB_AFTER ? lab_walk_monitored_barrier(walk) : lab_walk_barrier(walk));
    lab_walk_note(walk, times.left);
    return lab_walk_call(walk, CLAB_ALLGATHER, NULL, 4, CLAB_F64); // of what each has measured
}

static struct outcome judge(enum lab_program program, int P, struct times times)
{
    double first = INFINITY, last = 0, least = INFINITY, came = 0, waits = 0;
    struct outcome out = {.wait_straggler = times.left[P - 1] - times.came[P - 1]};
    for (int r = 0; r < P; r++) {
        const double wait = times.left[r] - times.came[r];
        first = fmin(first, times.came[r]);
        last = fmax(last, times.came[r]);
        least = fmin(least, wait);
        came += times.came[r];
        waits += wait;
        out.step = fmax(out.step, times.left[r] - times.starts[r]);
    }
    out.wait_others = (waits - out.wait_straggler) / (P - 1);
    out.lateness = last - first;
    out.lost = program == LAB_AFTER ? P * last - came : waits - P * least;
    return out;
}

static int walk_steps(const struct clab_net *net, enum lab_program program, int ranks, double w, double x,
                      double *memory, struct outcome *outcome_p)
{
    const struct times times = {memory, memory + ranks, memory + 2 * ranks};
    struct lab_walk walk;
    CLAB_TRY(lab_walk_begin(net, ranks, &walk));
    int err = walk_step(&walk, program, w, x, times);
    if (!err)
        err = walk_step(&walk, program, w, x, times);
    if (!err)
        *outcome_p = judge(program, ranks, times);
    lab_walk_free(&walk);
    return err;
}

// One rank waits for nobody; of more, without a network or where it can not be walked, nothing is known of a barrier.
static struct outcome foresee(const struct lab_context *context, enum lab_program program, int ranks, double w,
                              double x)
{
    const double b = ranks == 1 ? 0 : NAN;
    struct outcome out = {w + x + b, b, b, x, (ranks - 1) * x};
    if (!context->net || ranks == 1 || isnan(w) || isnan(x))
        return out;
    double *memory = malloc(3 * (size_t)ranks * sizeof *memory);
    if (memory)
        (void)walk_steps(context->net, program, ranks, w, x, memory, &out);
    free(memory);
    return out;
}

static double predict(const struct lab_context *context, enum lab_program program, int ranks, const char *quantity)
{
    const char *slash = strchr(quantity, '/');
    if (!slash)
        return NAN;
    const size_t length = (size_t)(slash - quantity);
    const double w = work(context), x = extra(context, atof(slash + 1));
    const struct outcome out = foresee(context, program, ranks, w, x);
    const struct {
        const char *name;
        double value;
    } foreseen[] = {{"step", out.step},
                    {"injected", x},
                    {"lateness", out.lateness},
                    {"wait_others", out.wait_others},
                    {"wait_straggler", out.wait_straggler},
                    {"lost", out.lost},
                    {"named", program == LAB_AFTER ? ranks - 1 : NAN}};
    for (size_t i = 0; i < sizeof foreseen / sizeof *foreseen; i++)
        if (strlen(foreseen[i].name) == length && !strncmp(foreseen[i].name, quantity, length))
            return foreseen[i].value;
    return NAN;
}

const struct lab_model lab_model_straggler = {"straggler", predict};
