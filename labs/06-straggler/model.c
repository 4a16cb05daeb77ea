// SPDX-License-Identifier: MIT
// The model of lab 06: steps in which the last of P ranks does E percent of its work w once more.
//
// - It comes x = w E / 100 after the others, who wait for it. A step takes T = w + x + b, where b is what a barrier
//   takes after its last rank has come. The others wait x + b each, the straggler b: it waits least. They lose (P - 1)
//   x.
// - In a monitored barrier b depends on x: until the straggler comes, rank 0 receives the others' messages one after
//   another, and they cost nothing later. lab.md derives the formulas; alpha is that of each rank's link to rank 0.
// - The monitored barrier names rank P - 1, and says x. With a plain barrier all steps take equally long, whoever was
//   late: whose is the longest is chance, and by what it is longer, too.
// - In virtual time the network says w (its peaks, a roofline). On a real machine a short run of before has measured w
//   while all ranks work, and x of one E while only the straggler works. Another x is in proportion to that.

#include "cmd/lab/lab.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "core/comm/comm.h"
#include "sim/net/net.h"

// The median of the short run; NAN: there was none.
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
    if (!context->is_exact)
        return probed(context, "work");
    return clab_net_compute(context->net, CLAB_FP32, bytes / 2, 2 * bytes, &seconds) == CLAB_OK ? seconds : NAN;
}

// And of `percent` of it, of the straggler alone.
static double extra(const struct lab_context *context, double percent)
{
    if (context->is_exact)
        return work(context) * percent / 100;
    return probed(context, "injected") * percent / atof(context->conf->probe_iterations.words[0]);
}

// ---- a step --------------------------------------------------------------------------------------------------

// In s, as the programs' judge counts them.
struct outcome {
    double step, wait_straggler, wait_others;
};

static double plain_barrier(const struct clab_net *net, int ranks)
{
    struct clab_problem problem = {.collective = CLAB_BARRIER, .nranks = ranks, .lanes = 1};
    const struct clab_algorithm *algorithm = clab_select(&problem, 1, (struct clab_placement){0});
    return algorithm ? lab_simulate(net, &problem, algorithm, (struct clab_sim_options){0}) : NAN;
}

static struct outcome of_plain_barrier(const struct clab_net *net, int P, double w, double x)
{
    const double b = plain_barrier(net, P);
    return (struct outcome){w + x + b, b, x + b};
}

// The messages of the others come in while rank 0 waits for the straggler. Then comes the straggler's, and three rounds
// of a message for each rank. A rank leaves when the last round reaches it, rank 0 when it has sent all of it.
static struct outcome of_monitored_barrier(const struct clab_net *net, int P, double w, double x, double done[])
{
    const double round = lab_predict_fan(net, P, 0, done);
    double others = 0, left = round;
    for (int r = 1; r < P - 1; r++) {
        others = fmax(others, done[r]);
        left += done[r];
    }
    const double step = w + fmax(x, others) + lab_predict_message(net, P - 1, 0, 0) + 3 * round;
    return (struct outcome){step, step - w - x, step - w - (round - left / (P - 1))};
}

// A rank alone waits for nobody. Without a network, nothing is known of a barrier of several ranks.
static struct outcome foresee(const struct lab_context *context, enum lab_program program, int ranks, double w,
                              double x)
{
    const double b = ranks == 1 ? 0 : NAN;
    struct outcome out = {w + x + b, b, b};
    if (!context->net || ranks == 1)
        return out;
    if (program == LAB_BEFORE)
        return of_plain_barrier(context->net, ranks, w, x);
    double *done = malloc((size_t)ranks * sizeof *done);
    if (done)
        out = of_monitored_barrier(context->net, ranks, w, x, done);
    free(done);
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
                    {"lateness", program == LAB_AFTER ? x : NAN},
                    {"wait_others", out.wait_others},
                    {"wait_straggler", out.wait_straggler},
                    {"lost", program == LAB_AFTER ? (ranks - 1) * x : NAN},
                    {"named", program == LAB_AFTER ? ranks - 1 : NAN}};
    for (size_t i = 0; i < sizeof foreseen / sizeof *foreseen; i++)
        if (strlen(foreseen[i].name) == length && !strncmp(foreseen[i].name, quantity, length))
            return foreseen[i].value;
    return NAN;
}

const struct lab_model LAB_MODEL = {.predict = predict};
