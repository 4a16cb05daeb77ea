// SPDX-License-Identifier: MIT
// Reading txt2bin's files from their begin to their end.

#include "core/schedule/formats/goal_binary.h"

#include <stdlib.h>

#include "core/base/log.h"
#include "core/base/vector.h"

enum { MARK_BYTES = 8, NODE_BYTES = 39, MOST_RANKS = 1 << 24 };
static const unsigned char mark[MARK_BYTES] = {4223 & 255, 4223 >> 8};

// Followers of an operation: of its end, and of its begin.
struct counts {
    uint32_t ended, begun;
};

struct binary {
    struct goal_words *words;
    struct goal_builder *builder;
    struct counts *counts; // (ncounts) of the rank at hand
    size_t ncounts, count_room;
    uint32_t nranks;
    uint32_t operations; // so far, of all ranks
};

bool goal_binary_is(struct goal_words *w)
{
    return goal_words_begin_with(w, mark, sizeof mark);
}

static uint64_t number_at(const unsigned char *at, int bytes)
{
    uint64_t number = 0;
    for (int i = bytes - 1; i >= 0; i--)
        number = number << 8 | at[i];
    return number;
}

static int take_number(struct binary *f, uint32_t *number_p)
{
    unsigned char bytes[4];
    CLAB_TRY(goal_words_bytes(f->words, bytes, sizeof bytes));
    *number_p = (uint32_t)number_at(bytes, sizeof bytes);
    return CLAB_OK;
}

static int refuse(const struct binary *f, int rank, const char *why)
{
    clab_error("%s:%u: rank %d: %s", f->words->path, f->operations, rank, why);
    return CLAB_EPARSE;
}

static int check_operation(const struct binary *f, int rank, const struct clab_goal_op *op, unsigned type,
                           uint64_t size)
{
    const bool is_any = op->peer == CLAB_GOAL_ANY_PEER, is_message = op->type != CLAB_GOAL_CALC;
    if (type < 1 || type > 3)
        return refuse(f, rank, "an operation that is no send, receive or calculation");
    if (size > CLAB_GOAL_SIZE_MAX)
        return refuse(f, rank, "a size or time of more than 2^56 - 1");
    if (is_message && (is_any ? op->type == CLAB_GOAL_SEND : (uint32_t)op->peer >= f->nranks))
        return refuse(f, rank, "a message to or from a rank that there is not");
    if (op->type == CLAB_GOAL_SEND && op->tag == CLAB_GOAL_ANY_TAG)
        return refuse(f, rank, "a send with any tag");
    return CLAB_OK;
}

static int take_operation(struct binary *f, int rank)
{
    unsigned char node[NODE_BYTES];
    CLAB_TRY(goal_words_bytes(f->words, node, sizeof node));
    const unsigned type = node[4];
    const uint64_t size = number_at(node + 9, 8);
    const struct clab_goal_op op = {.type = (uint64_t)(type - 1) & 3, // their numbers are ours, from 1 on
                                    .size = size & CLAB_GOAL_SIZE_MAX,
                                    .peer = (int32_t)number_at(node + 5, 4),
                                    .tag = (uint32_t)number_at(node + 17, 4),
                                    .line = ++f->operations,
                                    .cpu = node[21],
                                    .nic = node[22]};
    const struct counts counts = {(uint32_t)number_at(node + 23, 4), (uint32_t)number_at(node + 31, 4)};
    CLAB_TRY(check_operation(f, rank, &op, type, size));
    CLAB_TRY(goal_build_add(f->builder, &op));
    return CLAB_PUSH(f->counts, f->ncounts, f->count_room, counts);
}

static int take_followers(struct binary *f, int rank, uint32_t on, uint32_t count, bool begun)
{
    uint32_t op;
    for (uint32_t i = 0; i < count; i++) {
        CLAB_TRY(take_number(f, &op));
        if (op >= f->ncounts)
            return refuse(f, rank, "an operation waits for another that there is not");
        CLAB_TRY(goal_build_need(f->builder, op, on, begun));
    }
    return CLAB_OK;
}

static int take_rank(struct binary *f, int rank)
{
    uint32_t nops, nroots, root;
    CLAB_TRY(goal_build_rank(f->builder, rank, f->operations));
    CLAB_TRY(take_number(f, &nops));
    CLAB_TRY(take_number(f, &nroots));
    for (uint32_t i = 0; i < nroots; i++)
        CLAB_TRY(take_number(f, &root));
    f->ncounts = 0;
    for (uint32_t i = 0; i < nops; i++)
        CLAB_TRY(take_operation(f, rank));
    for (uint32_t i = 0; i < nops; i++) {
        CLAB_TRY(take_followers(f, rank, i, f->counts[i].ended, false));
        CLAB_TRY(take_followers(f, rank, i, f->counts[i].begun, true));
    }
    return goal_build_end_rank(f->builder);
}

static int take_ranks(struct binary *f)
{
    unsigned char skipped[2 * 8];
    CLAB_TRY(goal_words_bytes(f->words, skipped, sizeof mark));
    CLAB_TRY(take_number(f, &f->nranks));
    if (f->nranks == 0 || f->nranks > MOST_RANKS) {
        clab_error("%s: %u ranks where there should be 1 to %d", f->words->path, f->nranks, MOST_RANKS);
        return CLAB_EPARSE;
    }
    CLAB_TRY(goal_words_bytes(f->words, skipped, 2)); // the highest cpu and nic
    for (uint32_t i = 0; i < f->nranks; i++)          // where each rank is
        CLAB_TRY(goal_words_bytes(f->words, skipped, sizeof skipped));
    for (uint32_t rank = 0; rank < f->nranks; rank++)
        CLAB_TRY(take_rank(f, (int)rank));
    return goal_build_end(f->builder, (int)f->nranks, f->operations);
}

int goal_binary_read(struct goal_words *w, struct goal_builder *b)
{
    struct binary f = {.words = w, .builder = b};
    const int err = take_ranks(&f);
    free(f.counts);
    return err;
}
