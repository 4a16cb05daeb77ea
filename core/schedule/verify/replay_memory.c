// SPDX-License-Identifier: MIT
// The memory of a replay, and the state in which a lane begins.

#include "core/schedule/verify/replay.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "core/schedule/formats/listing.h"

static void give(struct clab_replay *r, int rank, enum clab_buffer buffer, int chunk)
{
    size_t index = clab_replay_index(r, rank, buffer, chunk);
    r->identity[index] = chunk;
    r->set[index * (size_t)r->words + (size_t)rank / 64] = UINT64_C(1) << rank % 64;
}

// A collective of a file's own says how many chunks each rank's input has.
static bool is_declared(const struct clab_replay *r, int rank, int chunk)
{
    const struct clab_listing *listing = r->problem->listing;
    return !clab_listing_is_custom(listing) || chunk < listing->inputs[rank];
}

// The collective's entry state.
static void give_inputs(struct clab_replay *r)
{
    size_t n = (size_t)r->problem->nranks * (size_t)r->base[CLAB_BUFFER_COUNT];
    memset(r->identity, 0xff, n * sizeof *r->identity);
    memset(r->set, 0, n * (size_t)r->words * sizeof *r->set);
    memset(r->written, 0, n * sizeof *r->written);
    memset(r->used, 0, n * sizeof *r->used);
    for (int rank = 0; rank < r->problem->nranks; rank++) {
        for (int chunk = 0; chunk < r->base[CLAB_INPUT]; chunk++)
            if (clab_problem_holds(r->problem, rank, chunk / r->chunks) && is_declared(r, rank, chunk))
                give(r, rank, CLAB_DATA, chunk);
        for (int chunk = 0; chunk < r->base[CLAB_SCRATCH] - r->base[CLAB_INPUT]; chunk++)
            if (clab_problem_in_block(r->problem, rank, chunk / r->chunks) >= 0 && is_declared(r, rank, chunk))
                give(r, rank, CLAB_INPUT, chunk);
    }
}

void clab_replay_reset(struct clab_replay *r)
{
    r->nready = 0;
    for (int rank = 0; rank < r->problem->nranks; rank++) {
        struct clab_actor *actor = &r->actors[rank];
        *actor = (struct clab_actor){.messages = actor->messages, .sent = actor->sent, .reduced = actor->reduced};
    }
    if (r->channels_are_dirty) // a sound run leaves them empty
        memset(r->channels, 0xff, r->room.ranks * r->room.ranks * sizeof *r->channels);
    r->channels_are_dirty = false;
    give_inputs(r);
}

// `n` zeroed elements for an array; what it held is lost.
static void *renew(void *array, size_t n, size_t each)
{
    free(array);
    return calloc(n + 1, each);
}

static bool reserve_ranks(struct clab_replay *r, size_t n)
{
    if (n <= r->room.ranks)
        return true;
    r->room.ranks = n;
    r->actors = renew(r->actors, n, sizeof *r->actors);
    r->ready = renew(r->ready, n, sizeof *r->ready);
    r->channels = renew(r->channels, n * n, sizeof *r->channels);
    r->channels_are_dirty = true;
    return r->actors && r->ready && r->channels;
}

static bool reserve_posts(struct clab_replay *r, size_t n)
{
    if (n <= r->room.posts)
        return true;
    r->room.posts = n;
    r->posts = renew(r->posts, n, sizeof *r->posts);
    r->steps = renew(r->steps, n, sizeof *r->steps);
    return r->posts && r->steps;
}

// `n` words of sets, and as many of all that there is one of a chunk.
static bool reserve_chunks(struct clab_replay *r, size_t n)
{
    if (n <= r->room.chunks)
        return true;
    r->room.chunks = n;
    r->identity = renew(r->identity, n, sizeof *r->identity);
    r->set = renew(r->set, n, sizeof *r->set);
    r->waiting_identity = renew(r->waiting_identity, n, sizeof *r->waiting_identity);
    r->waiting_set = renew(r->waiting_set, n, sizeof *r->waiting_set);
    r->written = renew(r->written, n, sizeof *r->written);
    r->used = renew(r->used, n, sizeof *r->used);
    return r->identity && r->set && r->waiting_identity && r->waiting_set && r->written && r->used;
}

static int reserve(struct clab_replay *r)
{
    size_t ranks = (size_t)r->problem->nranks, chunks = ranks * (size_t)r->base[CLAB_BUFFER_COUNT];
    if (reserve_ranks(r, ranks) && reserve_posts(r, ranks * (size_t)r->width) &&
        reserve_chunks(r, chunks * (size_t)r->words))
        return CLAB_OK;
    memset(&r->room, 0, sizeof r->room);
    return CLAB_ENOMEM;
}

int clab_replay_begin(struct clab_replay *r, const struct clab_problem *problem, const struct clab_algorithm *algorithm,
                      const struct clab_observer *observer, struct clab_verify_result *result)
{
    int scratch = algorithm->scratch(problem), blocks = clab_problem_blocks(problem);
    *result = (struct clab_verify_result){.rank = -1, .lane = -1, .stage = -1, .chunk = -1};
    r->problem = problem;
    r->algorithm = algorithm;
    r->observer = observer;
    r->result = result;
    r->chunks = algorithm->chunks(problem);
    r->width = algorithm->width(problem);
    if (r->chunks < 1 || scratch < 0 || r->width < 1) {
        clab_replay_fail(r, CLAB_FLAW_SHAPE, -1, -1, -1, "chunks %d, scratch %d, width %d", r->chunks, scratch,
                         r->width);
        return CLAB_EWRONG;
    }
    r->words = (problem->nranks + 63) / 64;
    r->base[CLAB_INPUT] = blocks * r->chunks;
    r->base[CLAB_SCRATCH] = r->base[CLAB_INPUT] + (clab_problem_has_input(problem) ? blocks * r->chunks : 0);
    r->base[CLAB_BUFFER_COUNT] = r->base[CLAB_SCRATCH] + scratch * r->chunks;
    CLAB_TRY(reserve(r));
    memset(r->actors, 0, (size_t)problem->nranks * sizeof *r->actors);
    return CLAB_OK;
}

void clab_replay_free(struct clab_replay *r)
{
    free(r->actors);
    free(r->ready);
    free(r->channels);
    free(r->posts);
    free(r->steps);
    free(r->identity);
    free(r->waiting_identity);
    free(r->set);
    free(r->waiting_set);
    free(r->written);
    free(r->used);
}
