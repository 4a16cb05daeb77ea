// SPDX-License-Identifier: MIT
// What a mended lab 08 must show: a bucket is sent when it holds the cap, the last one at the end; buckets start while the
// backward pass goes on; and what is exposed is near to what lab.md derives, on both sides of the best cap.
// before: One collective per parameter, whatever the cap

#include "cmd/course/check.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cmd/lab/step.h"
#include "core/base/err.h"
#include "core/train/ddp.h"
#include "sim/net/net.h"

static const char differ[] =
    "Ranks have trained different models: some gradients were never averaged. Is the last bucket sent, although it is not "
    "full?";
static const char each[] =
    "One collective per parameter, whatever the cap. Collect gradients until they have `cap` bytes, and average them in one "
    "collective.";
static const char whole[] = "One collective for all, whatever the cap. Send a bucket as soon as it holds `cap` bytes.";
static const char layers[] =
    "One bucket per layer, whatever the cap. A bucket may hold several layers, or less than one.";
static const char elements[] =
    "The cap is a number of bytes; you compare it with a number of elements of 4 bytes each.";
static const char too_few[] = "Your buckets hold more than the cap. Send a bucket as soon as it holds `cap` bytes.";
static const char too_many[] =
    "Your buckets hold less than the cap. Send a bucket when it holds `cap` bytes, not before.";
static const char sent_twice[] =
    "You send gradients more than once per step. Is `waiting` 0 again when a bucket has been sent?";
static const char too_late[] =
    "No bucket starts before the backward pass is over, so nothing hides it. Fill buckets in `ready`.";
static const char waits[] =
    "You wait for each bucket where you start it, so the backward pass stands still meanwhile. Wait for all of them after the "
    "backward pass.";
static const char exposed_advice[] =
    "Buckets run beside the backward pass, but less than could. Start each one as soon as its last gradient is there.";
static const char other_loss[] =
    "The ranks learn something else. Average each gradient once, over all ranks (CLAB_AVG).";

// What is run: LAYERS of WIDTH, ROWS samples, each REPEAT times, and the caps.
enum { LAYERS = 16, WIDTH = 32, ROWS = 4, CAPS = 5 };
static const size_t caps[CAPS] = {1, 4096, 10000, 16384, 1 << 20};

struct setting {
    const char *net;
    int ranks, repeat;
    double loss; // of the fourth step
};

// ---- how many buckets ----------------------------------------------------------------------------------------

static void count_elements(size_t counts[2 * LAYERS])
{
    for (int p = 0; p < 2 * LAYERS; p++)
        counts[p] = p % 2 ? WIDTH : WIDTH * WIDTH;
}

// Buckets that are sent when they hold the cap or more.
static size_t fewest(size_t cap)
{
    size_t counts[2 * LAYERS];
    int first[2 * LAYERS];
    count_elements(counts);
    return (size_t)clab_buckets_plan(counts, 2 * LAYERS, cap, cap, first);
}

// Buckets that are sent before they would hold more than the cap, as many people read the word. This passes, too.
static size_t most(size_t cap)
{
    size_t counts[2 * LAYERS], buckets = 1, bytes = 0;
    count_elements(counts);
    for (int p = 2 * LAYERS - 1; p >= 0; p--) {
        const size_t more = counts[p] * sizeof(float);
        buckets += bytes && bytes + more > cap;
        bytes = bytes && bytes + more > cap ? more : bytes + more;
    }
    return buckets;
}

static struct clab_counts step_of(const struct check_run *run, size_t cap)
{
    char span[32];
    snprintf(span, sizeof span, "bucket/%zu", cap);
    return check_most(run, span, 0);
}

static struct clab_counts backward_of(const struct check_run *run, size_t cap)
{
    char span[32];
    snprintf(span, sizeof span, "backward/%zu", cap);
    return check_most(run, span, check_spans(run, 0, span) - 1);
}

static const char *why(size_t got, size_t cap)
{
    return got == 2 * LAYERS        ? each
           : got == LAYERS          ? layers
           : got == fewest(4 * cap) ? elements
           : got == 1               ? whole
           : got < fewest(cap)      ? too_few
                                    : too_many;
}

static void require_buckets(struct check *c, const struct check_run *run)
{
    const double P = check_ranks(run), all = 2 * (P - 1) / P * LAYERS * (WIDTH + 1.0) * WIDTH * sizeof(float);
    for (int i = 0; i < CAPS; i++) {
        const struct clab_counts step = step_of(run, caps[i]);
        const size_t got = check_collectives(&step), least = fewest(caps[i]);
        check_require(c, (double)step.bytes_sent < 1.1 * all, sent_twice,
                      "rank 0, bytes sent per step with a cap of %zu B: got %zu, expected %.0f", caps[i],
                      step.bytes_sent, all);
        check_require(c, got >= least && got <= most(caps[i]), why(got, caps[i]),
                      "rank 0, collectives per step with a cap of %zu B: got %zu, expected %zu", caps[i], got, least);
    }
}

// ---- what is exposed -----------------------------------------------------------------------------------------

// s: what nothing hides with buckets as they are meant, and what all of them take.
static int price(const struct setting *s, size_t cap, double *exposed_p, double *all_p)
{
    const struct lab_results none = {0};
    struct lab_context context = {.probe = &none, .ranks = s->ranks, .cores = 1, .is_exact = true};
    struct lab_step step = {.context = &context, .ranks = s->ranks, .algorithm = "halving_doubling"};
    struct clab_net *net;
    int widths[LAYERS + 1], buckets;
    CLAB_TRY(clab_net_load(s->net, &net));
    context.net = net;
    step.shape = clab_mlp_even(LAYERS, WIDTH, WIDTH, WIDTH, ROWS, widths);
    step.shape.repeat = s->repeat;
    const int err = lab_step_plan(&step, 0);
    if (!err) {
        lab_step_bucketed(&step, cap, cap, false, exposed_p, &buckets);
        const size_t bytes = clab_mlp_count(&step.shape) * sizeof(float) / (size_t)buckets;
        *all_p = buckets * lab_step_price(&step, CLAB_ALLREDUCE, step.algorithm, bytes);
    }
    clab_net_free(net);
    return err;
}

// Part of what overlap can win may be missing: where buckets are sent before they would hold more than the cap, there is one
// more of them.
static void require_overlap(struct check *c, const struct check_run *run, const struct setting *s, size_t cap)
{
    const struct clab_counts backward = backward_of(run, cap);
    char span[32];
    snprintf(span, sizeof span, "bucket/%zu", cap);
    const double got = check_exposed(run, span, 0);
    double least = 0, all = 0;
    if (!check_require(c, price(s, cap, &least, &all) == CLAB_OK, "Run ./commlab doctor.", "the network %s has no price",
                       s->net))
        return;
    check_require(c, check_collectives(&backward) > 0, too_late,
                  "rank 0, buckets that start during the backward pass with a cap of %zu B: got 0, expected %zu", cap,
                  fewest(cap));
    check_require(c, got < 0.95 * all, waits,
                  "exposed communication with a cap of %zu B: got %.4g us, all of it; expected about %.4g us", cap,
                  1e6 * got, 1e6 * least);
    check_require(c, got < least + 0.4 * (all - least), exposed_advice,
                  "exposed communication with a cap of %zu B: got %.4g us, expected about %.4g us", cap, 1e6 * got,
                  1e6 * least);
}

// ---- all of it -----------------------------------------------------------------------------------------------

static void require_loss(struct check *c, const struct check_run *run, size_t cap, double expected)
{
    char name[64];
    snprintf(name, sizeof name, "loss/bucket/%zu", cap);
    const double loss = check_reported(run, name);
    check_require(c, fabs(loss - expected) < 1e-4 * expected, other_loss, "%s: got %.6g, expected %.6g", name, loss,
                  expected);
}

static const struct check_run *start(struct check *c, const char *backend, const struct setting *s)
{
    char words[128];
    snprintf(words, sizeof words, "%d %d %d %d", LAYERS, WIDTH, ROWS, s->repeat);
    for (int i = 0; i < CAPS; i++)
        snprintf(words + strlen(words), sizeof words - strlen(words), " %zu", caps[i]);
    const struct check_run *run = check_run(c, backend, s->net, s->ranks, words);
    check_has(c, run, "bucket/4096", 1);
    return run;
}

static void hold(struct check *c, const struct setting *s)
{
    const struct check_run *run = start(c, "sim", s);
    for (int i = 0; i < CAPS; i++)
        require_loss(c, run, caps[i], s->loss);
    for (int i = 2; i < CAPS - 1; i++) // near the best cap
        require_overlap(c, run, s, caps[i]);
}

static void check(struct check *c)
{
    static const struct setting here = {NULL, 2, 1, 0.354904}, slow = {"1gbe", 2, 256, 0.354904},
                                fast = {"dgx-h100", 4, 16384, 0.372876};
    check_advise(c, CHECK_WRONG, differ);
    if (check_case(c, "2 ranks on 1gbe: the cap says how many buckets there are"))
        require_buckets(c, start(c, "sim", &slow));
    if (check_case(c, "2 ranks, shared memory: all ranks learn the same at each cap")) {
        const struct check_run *run = start(c, "shm", &here);
        for (int i = 0; i < CAPS; i++)
            require_loss(c, run, caps[i], here.loss);
    }
    if (check_case(c, "2 ranks on 1gbe: buckets start as soon as they are full"))
        hold(c, &slow);
    if (check_case(c, "4 ranks on dgx-h100: the same"))
        hold(c, &fast);
}

const struct lab_check LAB_CHECK = {.check = check};
