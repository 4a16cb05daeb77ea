// SPDX-License-Identifier: MIT
// What replay.c and its messages (replay_why.c) share.
#pragma once

#include "labs/homework/h3/replay.h"
#include "labs/homework/h3/thin.h"

// Of a rank's gradient in a step.
enum state { ABSENT, LOCAL, TRAVELS, SUMMED, UPDATED };

struct held {
    enum state state;
    double factor; // that it was multiplied by
    int handle;    // of its collective
};

struct replayed_rank {
    const struct h3_rank *did;
    int at, begun;  // the next action; the first one of this step
    int step;       // of this rank; -1 before the first
    int started;    // collectives, in this step
    int in_use;     // the layer whose weights the pass needs to go on; -1: none
    int last_ready; // the parameter that ready was called with last; -1: begin runs; n: finish
    int hung;       // the handle that it waits for; -1: none
    bool is_done;   // with this step
    struct held held[H3_PARAMETERS];
    struct thin_parameter coming[2]; // gradients of the layer at hand: weights, biases
    struct thin thin;
};

struct collective {
    int first, count, by; // by: the rank that started it first
    int started;          // ranks
};

struct replay {
    const struct h3_case *c;
    struct replayed_rank *rank; // (ranks)
    struct collective all[H3_ACTIONS];
    int nall;
    struct thin_parameter sums[H3_PARAMETERS]; // of collectives of this step
    double factors[H3_PARAMETERS];             // that all ranks' gradients had been multiplied by; NAN: they differ
    struct h3_verdict *verdict;
};

// Say what is wrong, at the action that rank is at. What has been said first stays. Returns false.
bool why_not(struct replay *r, int rank, const char *format, ...) __attribute__((format(printf, 3, 4)));

// Each returns false.
bool why_range(struct replay *r, int rank, const char *call, int first, int count);
bool why_reduced(struct replay *r, int rank, int parameter, int first, int count); // it can not be reduced now
bool why_handle(struct replay *r, int rank, int handle);                           // it can not be waited for
bool why_scaled(struct replay *r, int rank, int parameter);                        // it can not be scaled now
bool why_updated(struct replay *r, int rank, int parameter);                       // it can not be updated now
bool why_in_use(struct replay *r, int rank, int parameter);
bool why_factor(struct replay *r, int rank, int parameter, double factor);
bool why_other(struct replay *r, int rank, int handle, int first, int count); // than the rank that started it first
bool why_hung(struct replay *r);                                              // nobody can go on
bool why_left(struct replay *r, int rank, int parameter);                     // the step is over, and it is not updated
bool why_unwaited(struct replay *r, int rank, int parameter);
bool why_numbers(struct replay *r, int rank, int parameter, double got, double expected);
bool why_ended(struct replay *r, int rank);
