// SPDX-License-Identifier: MIT
// Building a program of GOAL, and checking that no operation waits for itself.

#include "core/schedule/formats/goal_build.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/order.h"
#include "core/base/vector.h"

static const uint32_t most_operations = UINT32_MAX >> 1; // of a rank

static const char *file_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

int goal_build_begin(struct goal_builder *b, const char *path)
{
    *b = (struct goal_builder){.path = path, .goal = calloc(1, sizeof *b->goal)};
    if (!b->goal || !(b->goal->path = strdup(path)))
        return CLAB_ENOMEM;
    snprintf(b->goal->name, sizeof b->goal->name, "%s", file_name(path));
    return CLAB_OK;
}

int goal_build_rank(struct goal_builder *b, int rank, uint32_t line)
{
    struct goal_block block = {.rank = rank, .line = line, .operations.first = b->goal->nops};
    b->nneeds = 0;
    return CLAB_PUSH(b->blocks, b->nblocks, b->block_room, block);
}

int goal_build_add(struct goal_builder *b, const struct clab_goal_op *op)
{
    struct goal_block *block = &b->blocks[b->nblocks - 1];
    if (block->operations.nops == most_operations) {
        clab_error("%s:%u: rank %d has too many operations", b->path, op->line, block->rank);
        return CLAB_EPARSE;
    }
    block->operations.nops++;
    if (op->type == CLAB_GOAL_RECV && (op->peer == CLAB_GOAL_ANY_PEER || op->tag == CLAB_GOAL_ANY_TAG))
        b->goal->has_any = true;
    return CLAB_PUSH(b->goal->ops, b->goal->nops, b->op_room, *op);
}

int goal_build_need(struct goal_builder *b, uint32_t op, uint32_t on, bool begun)
{
    struct goal_need need = {op, 2 * on + begun};
    return CLAB_PUSH(b->needs, b->nneeds, b->need_room, need);
}

// ---- circles -------------------------------------------------------------------------------------------------

// Operations are taken away that wait for nothing that is left. waits: (nops) how many each waits for; order: (nops)
// room. Returns how many are taken.
static uint32_t take_away(const struct clab_goal *goal, const struct clab_goal_rank *rank, uint32_t *waits,
                          uint32_t *order)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < rank->nops; i++)
        if (waits[i] == 0)
            order[n++] = i;
    for (uint32_t taken = 0; taken < n; taken++) {
        const size_t i = rank->first + order[taken];
        for (uint32_t f = goal->after[i]; f < goal->after[i + 1]; f++)
            if (--waits[goal->followers[f] / 2] == 0)
                order[n++] = goal->followers[f] / 2;
    }
    return n;
}

// Back from one that is left, each time to one for which it waits, the way ends in the circle. before: (nops) room.
static uint32_t find_in_circle(const struct goal_builder *b, const uint32_t *waits, uint32_t *before, uint32_t nops)
{
    uint32_t at = 0;
    for (size_t i = 0; i < b->nneeds; i++)
        if (waits[b->needs[i].op] && waits[b->needs[i].on / 2])
            before[b->needs[i].op] = b->needs[i].on / 2;
    while (waits[at] == 0)
        at++;
    for (uint32_t step = 0; step < nops; step++)
        at = before[at];
    return at;
}

static int check_circles(const struct goal_builder *b, const struct goal_block *block)
{
    const uint32_t nops = block->operations.nops;
    uint32_t *waits = calloc((size_t)nops + 1, sizeof *waits), *room = malloc(((size_t)nops + 1) * sizeof *room);
    int err = waits && room ? CLAB_OK : CLAB_ENOMEM;
    for (size_t i = 0; !err && i < b->nneeds; i++)
        waits[b->needs[i].op]++;
    if (!err && take_away(b->goal, &block->operations, waits, room) < nops) {
        const uint32_t at = find_in_circle(b, waits, room, nops);
        clab_error("%s:%u: rank %d: this operation waits for itself, by way of what it requires", b->path,
                   b->goal->ops[block->operations.first + at].line, block->rank);
        err = CLAB_EPARSE;
    }
    free(waits);
    free(room);
    return err;
}

// ---- ranks ---------------------------------------------------------------------------------------------------

// Sorts needs by what they are on, each behind those that came before it.
static void file_needs(struct goal_builder *b, const struct clab_goal_rank *rank)
{
    struct clab_goal *goal = b->goal;
    uint32_t *after = goal->after + rank->first, sum = (uint32_t)goal->nfollowers;
    memset(after + 1, 0, (size_t)rank->nops * sizeof *after);
    for (size_t i = 0; i < b->nneeds; i++)
        after[b->needs[i].on / 2 + 1]++;
    for (uint32_t i = 0; i < rank->nops; i++) { // each begins where the one before it ends
        const uint32_t count = after[i + 1];
        after[i + 1] = sum;
        sum += count;
    }
    for (size_t i = 0; i < b->nneeds; i++) // and moves up to where it ends
        goal->followers[after[b->needs[i].on / 2 + 1]++] = 2 * b->needs[i].op + b->needs[i].on % 2;
    goal->nfollowers += b->nneeds;
}

int goal_build_end_rank(struct goal_builder *b)
{
    struct clab_goal *goal = b->goal;
    const struct goal_block *block = &b->blocks[b->nblocks - 1];
    bool forwards = false;
    if (b->nneeds > UINT32_MAX - goal->nfollowers) {
        clab_error("%s:%u: rank %d: too many requirements", b->path, block->line, block->rank);
        return CLAB_EPARSE;
    }
    CLAB_TRY(CLAB_RESERVE(goal->after, b->after_room, goal->nops + 1));
    CLAB_TRY(CLAB_RESERVE(goal->followers, b->follower_room, goal->nfollowers + b->nneeds));
    if (block->operations.first == 0)
        goal->after[0] = 0;
    file_needs(b, &block->operations);
    for (size_t i = 0; i < b->nneeds && !forwards; i++)
        forwards = b->needs[i].op <= b->needs[i].on / 2;
    return forwards ? check_circles(b, block) : CLAB_OK;
}

static int by_rank(const void *a, const void *b)
{
    const struct goal_block *x = a, *y = b;
    return CLAB_ORDER(x->rank, y->rank) ?: CLAB_ORDER(x->line, y->line);
}

// Blocks are sorted.
static int check_ranks(const struct goal_builder *b, int nranks, uint32_t line)
{
    for (size_t i = 1; i < b->nblocks; i++)
        if (b->blocks[i].rank == b->blocks[i - 1].rank) {
            clab_error("%s:%u: rank %d is in line %u already: give each rank once", b->path, b->blocks[i].line,
                       b->blocks[i].rank, b->blocks[i - 1].line);
            return CLAB_EPARSE;
        }
    if (b->nblocks == (size_t)nranks)
        return CLAB_OK;
    int missing = 0;
    while ((size_t)missing < b->nblocks && b->blocks[missing].rank == missing)
        missing++;
    clab_error("%s:%u: the file ends without rank %d of %d; ranks without operations are 'rank R { }', too", b->path,
               line, missing, nranks);
    return CLAB_EPARSE;
}

int goal_build_end(struct goal_builder *b, int nranks, uint32_t line)
{
    struct clab_goal *goal = b->goal;
    if (b->nblocks)
        qsort(b->blocks, b->nblocks, sizeof *b->blocks, by_rank);
    CLAB_TRY(check_ranks(b, nranks, line));
    CLAB_TRY(CLAB_RESERVE(goal->ops, b->op_room, goal->nops + 1)); // none is NULL, where there are none
    CLAB_TRY(CLAB_RESERVE(goal->followers, b->follower_room, goal->nfollowers + 1));
    goal->nranks = nranks;
    if (!(goal->ranks = calloc((size_t)nranks, sizeof *goal->ranks)))
        return CLAB_ENOMEM;
    for (int rank = 0; rank < nranks; rank++)
        goal->ranks[rank] = b->blocks[rank].operations;
    return CLAB_OK;
}

void goal_build_free(struct goal_builder *b)
{
    free(b->blocks);
    free(b->needs);
    clab_goal_free(b->goal);
}

void clab_goal_free(struct clab_goal *goal)
{
    if (!goal)
        return;
    free(goal->path);
    free(goal->ranks);
    free(goal->ops);
    free(goal->after);
    free(goal->followers);
    free(goal->head);
    free(goal);
}
