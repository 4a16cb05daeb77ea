// SPDX-License-Identifier: MIT
// What a mended lab 02 must show: all gradients are averaged, reductions begin while the backward pass goes on, and what
// is exposed of them is near to what lab.md derives: the last reduction, or what the backward pass can not hide.
// before: No reduction begins before the backward pass is over

#include "cmd/course/check.h"

#include <math.h>

#include "labs/02-no-overlap/shape.h"

static const char differ[] =
    "Ranks have trained different models. Are only biases different? Then average them, too: they lie behind the weights. "
    "Is all of a layer? Wait for its reduction before the update.";
static const char not_all[] = "You do not average all gradients. A layer has weights and biases.";
static const char too_many[] = "You send gradients more often than once: one average per layer and step is enough.";
static const char too_late[] =
    "No reduction begins before the backward pass is over, so there is nothing left to hide it. Start each layer's "
    "reduction in `ready`.";
static const char all_late[] =
    "You start all reductions together, but after the backward pass. A non-blocking call alone hides nothing: something must "
    "be computed meanwhile. Start each layer's reduction in `ready`.";
static const char waits[] =
    "You wait for each reduction where you start it, so the backward pass stands still meanwhile. Start it in `ready`, and "
    "wait after the backward pass.";
static const char exposed_advice[] =
    "Part of your reductions runs beside the backward pass, but less than could. Start each one as soon as its layer's "
    "gradients are there, and wait for all of them at the end.";

static int last(const struct check_run *run, const char *span)
{
    return check_spans(run, 0, span) - 1;
}

// Per step a ring sends 2 (P - 1) / P of all gradients.
static void require_all_gradients(struct check *c, const struct check_run *run)
{
    const double P = check_ranks(run), all = LAYERS * (WIDTH + 1.0) * WIDTH * sizeof(float);
    const double expected = 2 * (P - 1) / P * all;
    for (int rank = 0; rank < check_ranks(run); rank++) {
        const double sent = (double)check_span(run, rank, "training step", last(run, "training step")).bytes_sent;
        check_require(c, sent > 0.999 * expected, not_all, "rank %d, bytes sent per step: got %.0f, expected %.0f",
                      rank, sent, expected);
        check_require(c, sent < 1.1 * expected, too_many, "rank %d, bytes sent per step: got %.0f, expected %.0f", rank,
                      sent, expected);
    }
}

// What can not be hidden, as lab.md derives it from M (all reductions) and B (the backward pass): the last reduction, or
// if the network is the slower one, all that does not fit into the time from the first gradient on.
static double least_exposed(double reductions, double backward)
{
    return fmax(reductions / LAYERS, reductions - backward * (2 * LAYERS - 2) / (2 * LAYERS - 1));
}

// A quarter of what overlap can win may be missing: reductions per parameter pass, for example.
static void require_overlap(struct check *c, const struct check_run *run)
{
    const struct clab_counts backward = check_most(run, "backward", last(run, "backward"));
    const double all = check_most(run, "reductions alone", 0).seconds,
                 got = check_exposed(run, "training step", last(run, "training step"));
    const double least = least_exposed(all, backward.computed);
    const bool starts = check_span(run, 0, "training step", last(run, "training step")).collectives_queued > 0;
    check_require(c, check_collectives(&backward) > 0, starts ? all_late : too_late,
                  "rank 0, reductions that begin during the backward pass: got 0, expected %d", LAYERS);
    check_require(c, got < 0.95 * all, waits,
                  "exposed communication per step: got %.3g ms, all of it; expected about %.3g ms", 1e3 * got,
                  1e3 * least);
    check_require(c, got < least + 0.25 * (all - least), exposed_advice,
                  "exposed communication per step: got %.3g ms, expected about %.3g ms", 1e3 * got, 1e3 * least);
}

// After three steps, to the rounding of sums in another order.
static void require_loss(struct check *c, const struct check_run *run, double expected)
{
    const double loss = check_reported(run, "loss");
    check_require(c, fabs(loss - expected) < 1e-4 * expected, differ, "loss after 3 steps: got %.6g, expected %.6g",
                  loss, expected);
}

static void hold(struct check *c, const char *net, int ranks, const char *microseconds, double loss)
{
    const struct check_run *run = check_run(c, "sim", net, ranks, microseconds);
    if (!check_has(c, run, "training step", 5) || !check_has(c, run, "backward", 5))
        return;
    require_all_gradients(c, run);
    require_loss(c, run, loss);
    require_overlap(c, run);
}

static void check(struct check *c)
{
    check_advise(c, CHECK_WRONG, differ);
    if (check_case(c, "2 ranks on 1gbe, the network is the slower one: it works during the backward pass"))
        hold(c, "1gbe", 2, "50000", 0.696464);
    if (check_case(c, "2 ranks, shared memory: all ranks learn the same"))
        require_loss(c, check_run(c, "shm", NULL, 2, "1"), 0.696464);
    if (check_case(c, "3 ranks on 10gbe: only the last reduction is exposed"))
        hold(c, "10gbe", 3, "50000", 0.716868);
    if (check_case(c, "4 ranks on dgx-h100: only the last reduction is exposed"))
        hold(c, "dgx-h100", 4, "2000", 0.749708);
}

const struct lab_check LAB_CHECK = {.check = check};
