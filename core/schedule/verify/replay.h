// SPDX-License-Identifier: MIT
// Replays a lane of a schedule. Values are sets of contributing ranks, not numbers. verify.h and draw.h build on it.
//
// - Event driven: it visits a rank when a stage of that rank can begin or end, so its work grows with the steps.
// - Times are those of the machine that schedule.h defines for costs.
// - It finds every flaw but a wrong end state, which verify.c checks.
#pragma once

#include <stdint.h>

#include "core/schedule/schedule.h"

#define CLAB_FLAWS(X)                                                                 \
    X(CLAB_SOUND, "sound")                                                            \
    X(CLAB_FLAW_SHAPE, "chunks, scratch or width out of range")                       \
    X(CLAB_FLAW_WIDTH, "more steps in a stage than the width")                        \
    X(CLAB_FLAW_STEP, "not a step")                                                   \
    X(CLAB_FLAW_PEER, "peer out of range, or the rank itself")                        \
    X(CLAB_FLAW_SPAN, "span outside its buffer")                                      \
    X(CLAB_FLAW_OVERLAP, "chunk written twice in a stage, or copied to while in use") \
    X(CLAB_FLAW_UNDEFINED, "chunk used that the rank does not have")                  \
    X(CLAB_FLAW_LENGTH, "message longer or shorter than expected")                    \
    X(CLAB_FLAW_SIZE, "chunk moved to a place of another size")                       \
    X(CLAB_FLAW_MIXED, "different chunks reduced into one")                           \
    X(CLAB_FLAW_DOUBLE_COUNT, "contribution counted twice")                           \
    X(CLAB_FLAW_DEADLOCK, "ranks wait for each other")                                \
    X(CLAB_FLAW_UNMATCHED, "message that is never matched")                           \
    X(CLAB_FLAW_ENDLESS, "stages without end")                                        \
    X(CLAB_FLAW_MISSING_CHUNK, "chunk missing at the end")                            \
    X(CLAB_FLAW_WRONG_CHUNK, "another chunk at the end")                              \
    X(CLAB_FLAW_MISSING_CONTRIBUTOR, "contribution missing at the end")               \
    X(CLAB_FLAW_COST, "cost not exact")

#define X(name, text) name,
enum clab_flaw { CLAB_FLAWS(X) CLAB_FLAW_COUNT };
#undef X

const char *clab_flaw_text(enum clab_flaw flaw);

struct clab_verify_result {
    enum clab_flaw flaw;
    int rank, lane, stage, chunk; // where; -1: not one in particular
    char text[240];               // one sentence for people
    struct clab_cost found;       // counted; complete if the flaw is none or the cost
    int stages;                   // most stages of a rank in a lane, empty ones left out
};

// A message, observed when it is matched. Times are in messages (rounds): its begin of leaving and its landing.
struct clab_message {
    int lane, src, src_stage, dst, dst_stage;
    bool reduces;
    struct clab_span src_span, dst_span;
    long leaves, lands;
};

// A chunk that has got a new value at `time` (rounds); `set` has a bit a rank, `identity` is the chunk of the inputs.
struct clab_write {
    int lane, rank, stage;
    enum clab_buffer buffer;
    int chunk, identity;
    long time;
    const uint64_t *set;
};

// Each may be NULL. A message is observed when its receiver's stage ends.
struct clab_observer {
    void *context;
    void (*message)(void *context, const struct clab_message *message);
    void (*write)(void *context, const struct clab_write *write);
};

// ---- the replay itself ---------------------------------------------------------------------------------------

struct clab_clocks {
    long alpha, beta, gamma; // times when only messages, only chunks sent, only chunks reduced cost
};

// A step of the stage that a rank is in.
struct clab_post {
    struct clab_step step;
    int next; // behind it in its channel, or -1
    bool matched;
    int room;                  // where its values wait for the end of the stage
    int sender_stage;          // a receive's, once matched
    struct clab_span sent;     // the same
    struct clab_clocks leaves; // a send: when it has left; a receive: when the matching send has
    long landed;               // a receive, in rounds
};

struct clab_actor {
    int stage, busy_stages, nposts, pending;
    bool done;
    struct clab_clocks now;
    long messages, sent, reduced; // over all lanes
};

// Posted steps that wait for their counterpart, first to last: all sends, or all receives.
struct clab_channel {
    int first, last;
};

struct clab_replay {
    const struct clab_problem *problem;
    const struct clab_algorithm *algorithm;
    const struct clab_observer *observer;
    struct clab_verify_result *result;
    int lane;
    int chunks, width; // of the algorithm
    int words;         // of a set
    int base[CLAB_BUFFER_COUNT +
             1]; // where each buffer's chunks begin among a rank's; the last: how many chunks a rank has

    struct clab_actor *actors;        // (P)
    struct clab_channel *channels;    // (P, P): source, destination
    struct clab_post *posts;          // (P, width)
    struct clab_step *steps;          // (width)
    int *ready, nready;               // ranks whose stage can end
    int *identity, *waiting_identity; // (P, chunks): block * chunks + chunk of the value there; -1: none
    uint64_t *set, *waiting_set;      // (P, chunks, words): who contributed
    int *written, *used;              // (P, chunks): the stage, plus 1, that last did so
    bool channels_are_dirty;          // a flawed lane leaves posts in them
    struct {
        size_t ranks, posts, chunks;
    } room; // what there is memory for
};

// Allocate for a problem, and begin with it.  errors: CLAB_EWRONG (the result says how), CLAB_ENOMEM
int clab_replay_begin(struct clab_replay *replay, const struct clab_problem *problem,
                      const struct clab_algorithm *algorithm, const struct clab_observer *observer,
                      struct clab_verify_result *result);
void clab_replay_free(struct clab_replay *replay);

// Back to the collective's entry state, for the next lane.
void clab_replay_reset(struct clab_replay *replay);

// Run a lane to its end, from the collective's entry state. False: flawed, and the result says how.
bool clab_replay_lane(struct clab_replay *replay, int lane);

// The index of a rank's chunk in `identity`, and in `set` (which has `words` words of each).
static inline size_t clab_replay_index(const struct clab_replay *replay, int rank, enum clab_buffer buffer, int chunk)
{
    return (size_t)rank * (size_t)replay->base[CLAB_BUFFER_COUNT] + (size_t)(replay->base[buffer] + chunk);
}

// Put a flaw into the result, unless there is one; returns false. The sentence is preceded by rank, lane and stage.
bool clab_replay_fail(struct clab_replay *replay, enum clab_flaw flaw, int rank, int stage, int chunk,
                      const char *format, ...) __attribute__((format(printf, 6, 7)));
