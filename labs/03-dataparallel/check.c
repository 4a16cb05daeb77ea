// SPDX-License-Identifier: MIT
// What a mended lab 03 must show: every rank has the model, all learn what one rank with all samples would, and rank 0
// moves no more bytes than others: at most 4 (P - 1) / P of the parameters, whatever the number of ranks P.
// before: Rank 0 still hands out samples

#include "cmd/course/check.h"

#include <math.h>
#include <stdio.h>

static const char hands_out[] =
    "Rank 0 still hands out samples, or takes in outputs. Let `load` give each rank its own samples, and let each rank work "
    "out its own loss.";
static const char updates_alone[] =
    "Rank 0 alone updates, and sends the parameters to all others: it is as busy as before. Average the gradients at all "
    "ranks, and let each rank update its own parameters.";
static const char through_zero[] =
    "The gradients still go through rank 0: it takes them in (reduce), and sends their average to all others (broadcast). "
    "One allreduce does both, and no rank is special.";
static const char gathers_all[] =
    "Each rank takes in the gradients of all other ranks, so its bytes grow with their number. An allreduce adds them up on "
    "the way.";
static const char busiest[] = "Rank 0 is busier than the others. Which calls have rank 0 as their root?";
static const char grows[] =
    "A rank's bytes grow with the number of ranks. Only gradients need to travel, and each only once: by one allreduce.";
static const char other_loss[] =
    "The ranks learn something else than one rank with all samples. Each rank has its own samples (rank of ranks), "
    "gradients are averaged (CLAB_AVG), and training_loss is given one rank's outputs.";
static const char models[] =
    "Not all ranks have the model after a step. Each rank updates its own parameters, by the same averaged gradients.";

enum { LAST = 3 }; // the fourth step is the last that is counted

static double bytes_of(const struct check_run *run, int rank)
{
    const struct clab_counts step = check_span(run, rank, "training step", LAST);
    return (double)(step.bytes_sent + step.bytes_received);
}

static double busiest_other(const struct check_run *run)
{
    double most = 0;
    for (int rank = 1; rank < check_ranks(run); rank++)
        most = fmax(most, bytes_of(run, rank));
    return most;
}

// Which calls: each is a misconception of its own.
static void require_calls(struct check *c, const struct check_run *run)
{
    const struct clab_counts zero = check_span(run, 0, "training step", LAST);
    const struct clab_counts one = check_span(run, 1, "training step", LAST);
    const size_t *calls = zero.collectives;
    check_require(c, !calls[CLAB_SCATTER] && !calls[CLAB_GATHER], hands_out,
                  "rank 0, scatters and gathers per step: got %zu, expected 0",
                  calls[CLAB_SCATTER] + calls[CLAB_GATHER]);
    if (calls[CLAB_REDUCE] && one.computed < zero.computed)
        check_require(c, false, updates_alone, "rank 1, computed per step: got %.4g us, expected %.4g us, as rank 0",
                      1e6 * one.computed, 1e6 * zero.computed);
    const bool is_special = bytes_of(run, 0) > 1.02 * busiest_other(run); // reduces whose root rotates are as good
    check_require(c, !calls[CLAB_REDUCE] || !is_special, through_zero, "rank 0, reduces per step: got %zu, expected 0",
                  calls[CLAB_REDUCE]);
    check_require(c, !calls[CLAB_ALLGATHER] || calls[CLAB_REDUCE_SCATTER], gathers_all,
                  "rank 0, allgathers per step: got %zu, expected 0", calls[CLAB_ALLGATHER]);
}

// Of a width: four layers of width inputs and outputs, and as many biases.
static void require_bytes(struct check *c, const struct check_run *run, int width)
{
    const double P = check_ranks(run), parameters = 4 * (width + 1.0) * width * sizeof(float);
    const double zero = bytes_of(run, 0), other = busiest_other(run), most = 4 * (P - 1) / P * parameters;
    check_require(c, zero < 1.02 * other, busiest,
                  "rank 0, bytes in and out per step: got %.0f, expected %.0f, as others", zero, other);
    check_require(c, zero < 1.02 * most, grows, "rank 0, bytes in and out per step: got %.0f, expected %.0f", zero,
                  most);
}

// What the program has reported, whatever it calls its way to train; NAN: nothing.
static double reported(const struct check_run *run, const char *quantity, int width)
{
    static const char *const ways[] = {"through_zero", "replicas"};
    double value = NAN;
    for (int i = 0; i < 2; i++) {
        char name[64];
        snprintf(name, sizeof name, "%s/%s/%d", quantity, ways[i], width);
        value = isnan(value) ? check_reported(run, name) : value;
    }
    return value;
}

static void require_model(struct check *c, const struct check_run *run, int width, double expected)
{
    const double loss = reported(run, "loss", width), same = reported(run, "models", width);
    check_require(c, fabs(loss - expected) < 2e-4 * expected, other_loss,
                  "loss of step 4: got %.6g, expected %.6g (quantity loss/through_zero/%d or loss/replicas/%d)", loss,
                  expected, width, width);
    check_require(c, same == check_ranks(run), models, "ranks that have the model after a step: got %g, expected %d",
                  same, check_ranks(run));
}

static void hold(struct check *c, const struct check_run *run, int width, double loss)
{
    if (!check_has(c, run, "training step", LAST + 1))
        return;
    require_calls(c, run);
    require_bytes(c, run, width);
    require_model(c, run, width, loss);
}

static void check(struct check *c)
{
    if (check_case(c, "4 ranks on 1gbe: rank 0 is no busier than the others, and all have the model"))
        hold(c, check_run(c, "sim", "1gbe", 4, "64"), 64, 0.913220869);
    if (check_case(c, "3 ranks, shared memory: the same"))
        hold(c, check_run(c, "shm", NULL, 3, "20"), 20, 0.764089);
    if (check_case(c, "2 and 8 ranks on dgx-h100: bytes per rank hardly grow")) {
        hold(c, check_run(c, "sim", "dgx-h100", 2, "64"), 64, 0.859535957);
        hold(c, check_run(c, "sim", "dgx-h100", 8, "64"), 64, 0.920126457);
    }
}

const struct lab_check LAB_CHECK = {.check = check};
