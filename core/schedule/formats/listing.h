// SPDX-License-Identifier: MIT
// A listing: a schedule that was read from a file and is stored step by step, not computed.
//
// - Its `algorithm` is one like any other: stage() looks the steps up in problem->listing. The same code prices,
//   proves, draws and exports it. It is for its own problem only: same ranks, root and lanes.
// - MSCCL names the chunks of each message, so a listing from MSCCL is a complete schedule. GOAL gives bytes only: such
//   a listing is *loose*. Its problem is a barrier whose messages carry bytes. Proved and drawn (count 0), it shows
//   from which ranks a signal has reached each rank; none is required to. Priced (count > 0), a chunk is the greatest
//   common divisor of all messages.
#pragma once

#include <stdint.h>

#include "core/schedule/schedule.h"

enum { CLAB_LISTING_NAME = 64 };

// What a chunk of a result holds: a chunk of the inputs (-1: nothing), of one rank, of all (CLAB_EVERYONE), or the sum of
// `n` of them (CLAB_SOME).
enum { CLAB_SOME = -2 };

struct clab_end {
    int chunk, origin, n;
};

struct clab_listing {
    struct clab_problem problem; // what it is for; its `listing` is this one
    struct clab_algorithm algorithm;
    char name[CLAB_LISTING_NAME]; // the algorithm's
    char *head;                   // lines above a GOAL file's first rank, comments; NULL: none
    bool loose;
    bool is_closed;
    // A collective of the file's own: an allreduce in shape, whose result is what the schedule makes. It has as many
    // chunks of each rank's input and result as these say; (P) each, NULL: it is none.
    int *inputs, *outputs;
    struct clab_end *ends; // (P, chunks) found when it is closed
    uint64_t *end_sets;    // (P, chunks, words of a bit for each rank) who contributed
    int most;              // most contributors of a chunk
    bool has_input;             // the input is CLAB_INPUT: its calls are not in place (clab_problem_has_input)
    bool combines;              // there are COMBINE steps
    bool even;                  // chunks are of one size: the count must be a multiple of them all
    size_t unit;                // of a loose one: bytes of a chunk
    int chunks, scratch, width; // as in struct clab_algorithm
    double calc;                // s of calculations that follow each other
    struct clab_cost cost;      // counted, not stated
    struct clab_cost signals;   // the same of a loose one whose messages are signals
    size_t *programs;           // (P * lanes + 1) the first stage of each rank's lane
    size_t *stages;             // (programs[P * lanes] + 1) the first step of each stage
    struct clab_step *steps;    // (stages[...])
    int *lines;                 // (stages[...]) where each step is in the file
    int line;                   // where the steps are that are added next; 0: not known
    size_t nprograms, nstages, nsteps, stage_room, step_room, line_room;
};

static inline bool clab_listing_is_loose(const struct clab_listing *listing)
{
    return listing && listing->loose;
}

static inline bool clab_listing_is_custom(const struct clab_listing *listing)
{
    return listing && listing->outputs;
}

// Make it a collective of its own: 0 chunks of each, to be filled in.  errors: CLAB_ENOMEM
int clab_listing_make_custom(struct clab_listing *listing);

static inline bool clab_listing_is_even(const struct clab_listing *listing)
{
    return listing && listing->even;
}

// Write a listing: for each rank, each lane, its stages, each with its steps; then close it.
//   errors: CLAB_ENOMEM; close, logged behind `path`: CLAB_EWRONG (flawed, ranks wait for each other ...),
//           CLAB_EUNSUPPORTED (too large to be proved)
int clab_listing_create(const struct clab_problem *problem, const char *name, struct clab_listing **listing_p);
void clab_listing_free(struct clab_listing *listing); // NULL is fine
int clab_listing_begin_stage(struct clab_listing *listing);
int clab_listing_add(struct clab_listing *listing, const struct clab_step *step);
void clab_listing_end_program(struct clab_listing *listing);
int clab_listing_close(struct clab_listing *listing, const char *path);

// A number for all that it does: two files with the same number are the same schedule.
uint64_t clab_listing_hash(const struct clab_listing *listing);

// The problem of pricing it: of `bytes` in all, as elements of `element_bytes`; a loose one has its own bytes.
//   errors: CLAB_EINVAL (logged: less than an element for each chunk)
int clab_listing_problem(const struct clab_listing *listing, size_t bytes, size_t element_bytes,
                         struct clab_problem *problem_p);
