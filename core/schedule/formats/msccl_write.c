// SPDX-License-Identifier: MIT
// Writing MSCCL's XML, GPU by GPU: its steps are put into thread blocks, told what they wait for, and numbered.

#include "core/schedule/formats/msccl_inside.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/vector.h"

enum { NONE = -1, PEERS_A_CHANNEL = 32, MOST_BYTES = 128 << 20 }; // MOST_BYTES: what MSCCL takes if a file says none
enum { AZURE_STEPS = 64 };                                        // its Makefile's MSCCL_MAX_NUM_STEPS

// A step of the GPU at hand. What it waits for is needs[first ... first + nneeds).
struct move {
    const char *type;
    struct clab_span src, dst;
    int block, number; // of its thread block; its number there, behind the nops before it
    int first, nneeds; // moves
    int lane, stage, at;
    int next; // of its block, or NONE
    bool is_needed;
};

struct block {
    int send, recv, channel, first, last; // moves
    int length;                           // steps, with nops
};

struct writer {
    const struct clab_problem *problem;
    const struct clab_algorithm *algorithm;
    enum clab_msccl_reader reader;
    FILE *out;
    int chunks, distances;        // distances: channels a lane needs for all peers
    int parallel;                 // most messages of a stage between two ranks
    int nchannels;
    struct clab_step *steps; // (the algorithm's width)
    int *sent, *received;    // (P) messages of the lane at hand, by peer
    int *block_of;           // (lanes, P, parallel) blocks; distance 0: copies
    struct move *moves;
    struct block *blocks;
    int *needs;
    int nmoves, move_room, nblocks, block_room, nneeds, need_room;
    int rank;
    int most_steps; // of a thread block
};

static int refuse(const struct writer *w, const char *what, int found, int most)
{
    clab_error("%s %s with %d ranks and %d lanes has %d %s; MSCCL takes %d: take fewer ranks or lanes",
               clab_collective_name(w->problem->collective), w->algorithm->name, w->problem->nranks, w->problem->lanes,
               found, what, most);
    return CLAB_EUNSUPPORTED;
}

// ---- blocks and what steps wait for --------------------------------------------------------------------------

static bool overlap(struct clab_span a, struct clab_span b)
{
    return a.buffer == b.buffer && a.first < b.first + b.count && b.first < a.first + a.count;
}

// It reads its source before anything of the stage is written: s, cpy, re.
static bool reads(const struct move *move)
{
    return *move->type == 's' || *move->type == 'c' || !strcmp(move->type, "re");
}

// The block of what goes `distance` ranks on, as the `number`th message of its pair; *block_p.
static int find_block(struct writer *w, int lane, int distance, int number, int *block_p)
{
    int part = number % w->parallel;
    int *block = &w->block_of[(lane * w->problem->nranks + distance) * w->parallel + part];
    if (*block == NONE) {
        int channel = (lane * w->distances + (distance ? distance - 1 : 0) / PEERS_A_CHANNEL) * w->parallel + part;
        CLAB_TRY(CLAB_PUSH(w->blocks, w->nblocks, w->block_room, (struct block){NONE, NONE, channel, NONE, NONE, 0}));
        *block = w->nblocks - 1;
        w->nchannels = channel + 1 > w->nchannels ? channel + 1 : w->nchannels;
    }
    *block_p = *block;
    return CLAB_OK;
}

static int need(struct writer *w, struct move *move, int other)
{
    CLAB_TRY(CLAB_PUSH(w->needs, w->nneeds, w->need_room, other));
    move->nneeds++;
    w->moves[other].is_needed = true;
    return CLAB_OK;
}

// The first of a block's moves in a stage waits for the stage before, moves[before ... begin): for the last of each
// other block. A receive waits for who reads its place in this stage.
static int find_needs(struct writer *w, int index, int before, int begin)
{
    struct move *move = &w->moves[index];
    bool is_first = true;
    move->first = w->nneeds;
    for (int i = begin; i < index; i++) {
        const struct move *other = &w->moves[i];
        is_first &= other->block != move->block;
        if (other->block != move->block && !reads(move) && reads(other) && overlap(other->src, move->dst))
            CLAB_TRY(need(w, move, i));
    }
    for (int i = before; i < begin && is_first; i++) {
        const struct move *other = &w->moves[i];
        bool is_last = other->next == NONE || other->next >= begin;
        // A receive goes along with a send just before it, unless it says that it waits for it.
        bool splits = other->block == move->block && !reads(move) && reads(other);
        if (is_last && (other->block != move->block || splits))
            CLAB_TRY(need(w, move, i));
    }
    return CLAB_OK;
}

static int add_move(struct writer *w, const struct clab_step *step, int lane, int stage, int at)
{
    static const char *const types[] = {[CLAB_SEND] = "s",
                                        [CLAB_RECV] = "r",
                                        [CLAB_RECV_REDUCE] = "rrc",
                                        [CLAB_COPY] = "cpy",
                                        [CLAB_COMBINE] = "re"};
    int P = w->problem->nranks, distance = 0, number = 0;
    bool sends = step->op == CLAB_SEND, receives = step->op == CLAB_RECV || step->op == CLAB_RECV_REDUCE;
    struct move move = {.type = types[step->op],
                        .src = receives && !clab_step_reads(step) ? step->dst : step->src,
                        .dst = sends ? step->src : step->dst,
                        .lane = lane,
                        .stage = stage,
                        .at = at,
                        .next = NONE};
    if (sends || receives) {
        distance = ((sends ? step->peer - w->rank : w->rank - step->peer) + P) % P;
        number = sends ? w->sent[step->peer]++ : w->received[step->peer]++;
    }
    CLAB_TRY(find_block(w, lane, distance, number, &move.block));
    CLAB_TRY(CLAB_RESERVE(w->moves, w->move_room, w->nmoves + 1));
    struct block *block = &w->blocks[move.block];
    if (sends)
        block->send = step->peer;
    if (receives)
        block->recv = step->peer;
    if (block->last == NONE)
        block->first = w->nmoves;
    else
        w->moves[block->last].next = w->nmoves;
    block->last = w->nmoves;
    w->moves[w->nmoves++] = move;
    return CLAB_OK;
}

// What reads comes before what writes.
static int add_stage(struct writer *w, int nsteps, int lane, int stage, int *before)
{
    int begin = w->nmoves;
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < nsteps; i++)
            if ((w->steps[i].op == CLAB_SEND || w->steps[i].op >= CLAB_COPY) == (pass == 0))
                CLAB_TRY(add_move(w, &w->steps[i], lane, stage, i));
    for (int i = begin; i < w->nmoves; i++)
        CLAB_TRY(find_needs(w, i, *before, begin));
    if (w->nmoves > begin)
        *before = begin;
    return CLAB_OK;
}

// A step waits for one other; for each more there is a nop before it.
static void number_moves(struct writer *w)
{
    for (int b = 0; b < w->nblocks; b++)
        for (int i = w->blocks[b].first; i != NONE; i = w->moves[i].next) {
            w->blocks[b].length += w->moves[i].nneeds > 1 ? w->moves[i].nneeds : 1;
            w->moves[i].number = w->blocks[b].length - 1;
        }
}

static int check_size(struct writer *w)
{
    int elements = 1 + w->problem->nranks + w->nblocks;
    for (int b = 0; b < w->nblocks; b++) {
        if (w->blocks[b].length > CLAB_MSCCL_STEPS)
            return refuse(w, "steps in a thread block", w->blocks[b].length, CLAB_MSCCL_STEPS);
        elements += w->blocks[b].length;
        if (w->blocks[b].length > w->most_steps)
            w->most_steps = w->blocks[b].length;
    }
    if (w->nchannels > CLAB_MSCCL_CHANNELS)
        return refuse(w, "channels", w->nchannels, CLAB_MSCCL_CHANNELS);
    if (w->nblocks > CLAB_MSCCL_BLOCKS)
        return refuse(w, "thread blocks on a GPU", w->nblocks, CLAB_MSCCL_BLOCKS);
    return elements > CLAB_MSCCL_ELEMENTS ? refuse(w, "elements of XML for a GPU", elements, CLAB_MSCCL_ELEMENTS)
                                          : CLAB_OK;
}

static int make_rank(struct writer *w)
{
    const struct clab_problem *p = w->problem;
    w->nmoves = w->nblocks = w->nneeds = 0;
    memset(w->block_of, 0xff, (size_t)p->lanes * (size_t)p->nranks * (size_t)w->parallel * sizeof *w->block_of);
    for (int lane = 0; lane < p->lanes; lane++) {
        int before = w->nmoves, n;
        memset(w->sent, 0, (size_t)p->nranks * sizeof *w->sent);
        memset(w->received, 0, (size_t)p->nranks * sizeof *w->received);
        for (int s = 0; (n = w->algorithm->stage(p, w->rank, lane, s, w->steps)) != CLAB_DONE; s++)
            CLAB_TRY(add_stage(w, n, lane, s, &before));
    }
    number_moves(w);
    return check_size(w);
}

// ---- text ----------------------------------------------------------------------------------------------------

// A collective of a file's own may have less input than result, or more.
static char letter_of(const struct writer *w, struct clab_span span)
{
    enum clab_collective c = w->problem->collective;
    const struct clab_listing *l = w->problem->listing;
    if (span.buffer == CLAB_SCRATCH)
        return 's';
    if (clab_listing_is_custom(l) && span.buffer == CLAB_DATA)
        return span.first + span.count <= l->outputs[w->rank] ? 'o' : 'i';
    return span.buffer == CLAB_DATA && (clab_problem_has_input(w->problem) || c == CLAB_ALLGATHER) ? 'o' : 'i';
}

// A chunk's number among those of all lanes. Of a buffer that is the rank's own block alone, in that block.
static int place_of(const struct writer *w, int lane, enum clab_buffer buffer, int chunk)
{
    const enum clab_collective c = w->problem->collective;
    const bool is_own = clab_problem_has_input(w->problem) && ((c == CLAB_ALLGATHER && buffer == CLAB_INPUT) ||
                                                              (c == CLAB_REDUCE_SCATTER && buffer == CLAB_DATA));
    int k = w->chunks;
    return (chunk / k - (is_own ? w->rank : 0)) * w->problem->lanes * k + lane * k + chunk % k;
}

static void write_step(const struct writer *w, const struct move *move, int number, const char *type, int other)
{
    bool is_nop = *type == 'n';
    fprintf(
        w->out,
        "      <step s=\"%d\" type=\"%s\" srcbuf=\"%c\" srcoff=\"%d\" dstbuf=\"%c\" dstoff=\"%d\" cnt=\"%d\" "
        "depid=\"%d\" deps=\"%d\" hasdep=\"%d\" stage=\"%d\" at=\"%d\"/>\n",
        number, type, is_nop ? 'i' : letter_of(w, move->src),
        is_nop ? -1 : place_of(w, move->lane, move->src.buffer, move->src.first),
        is_nop ? 'o' : letter_of(w, move->dst),
        is_nop ? -1 : place_of(w, move->lane, move->dst.buffer, move->dst.first), is_nop ? 0 : move->src.count,
        other == NONE ? NONE : w->moves[other].block, other == NONE ? NONE : w->moves[other].number,
        !is_nop && move->is_needed, move->stage, move->at);
}

static void write_move(const struct writer *w, const struct move *move)
{
    int last = move->nneeds - 1;
    for (int i = 0; i < last; i++)
        write_step(w, move, move->number - last + i, "nop", w->needs[move->first + i]);
    write_step(w, move, move->number, move->type, last < 0 ? NONE : w->needs[move->first + last]);
}

static void write_rank(const struct writer *w)
{
    const struct clab_problem *p = w->problem;
    int own = p->lanes * w->chunks, all = own * clab_problem_blocks(p);
    const struct clab_listing *custom = clab_listing_is_custom(p->listing) ? p->listing : NULL;
    fprintf(w->out, "  <gpu id=\"%d\" i_chunks=\"%d\" o_chunks=\"%d\" s_chunks=\"%d\">\n", w->rank,
            custom                            ? custom->inputs[w->rank]
            : p->collective == CLAB_ALLGATHER ? own
                                              : all,
            custom                                 ? custom->outputs[w->rank]
            : p->collective == CLAB_REDUCE_SCATTER ? own
                                                   : all,
            own * w->algorithm->scratch(p));
    for (int b = 0; b < w->nblocks; b++) {
        const struct block *block = &w->blocks[b];
        fprintf(w->out, "    <tb id=\"%d\" send=\"%d\" recv=\"%d\" chan=\"%d\">\n", b, block->send, block->recv,
                block->channel);
        for (int i = block->first; i != NONE; i = w->moves[i].next)
            write_move(w, &w->moves[i]);
        fprintf(w->out, "    </tb>\n");
    }
    fprintf(w->out, "  </gpu>\n");
}

// The two parsers want one collective by different names.
static const char *collective_name(const struct writer *w)
{
    const bool is_azure = w->reader == CLAB_MSCCL_AZURE && w->problem->collective == CLAB_REDUCE_SCATTER;
    return is_azure ? "reducescatter" : clab_problem_name(w->problem);
}

static void write_head(const struct writer *w)
{
    const struct clab_problem *p = w->problem;
    bool in_place = !clab_problem_has_input(p);
    fprintf(w->out,
            "<algo name=\"%s\" proto=\"Simple\" nchannels=\"%d\" nchunksperloop=\"%d\" ngpus=\"%d\" coll=\"%s\" "
            "inplace=\"%d\" outofplace=\"%d\" minBytes=\"0\" maxBytes=\"%d\" lanes=\"%d\" root=\"%d\"%s>\n",
            w->algorithm->name, w->nchannels, p->lanes * w->chunks * clab_problem_blocks(p), p->nranks,
            collective_name(w), in_place, !in_place, MOST_BYTES, p->lanes, p->root,
            clab_listing_is_even(p->listing) ? " even=\"1\"" : "");
}

// ---- the whole -----------------------------------------------------------------------------------------------

static int check_span(const struct writer *w, struct clab_span span)
{
    if (span.count > CLAB_MSCCL_COUNT)
        return refuse(w, "chunks in a message", span.count, CLAB_MSCCL_COUNT);
    if (w->problem->lanes > 1 && span.first % w->chunks + span.count > w->chunks)
        return refuse(w, "lanes between the blocks of a message", w->problem->lanes, 1);
    return CLAB_OK;
}

// Messages of a stage with the same peer, one way.
static int count_parallel(const struct writer *w, int nsteps, int i)
{
    int n = 0;
    for (int j = 0; j < nsteps; j++)
        n += w->steps[j].op < CLAB_COPY && w->steps[j].peer == w->steps[i].peer &&
             (w->steps[j].op == CLAB_SEND) == (w->steps[i].op == CLAB_SEND);
    return n;
}

// What there is of each, over all ranks.
static int survey(struct writer *w)
{
    const struct clab_problem *p = w->problem;
    int n;
    for (int rank = 0; rank < p->nranks; rank++)
        for (int lane = 0; lane < p->lanes; lane++)
            for (int s = 0; (n = w->algorithm->stage(p, rank, lane, s, w->steps)) != CLAB_DONE; s++)
                for (int i = 0; i < n; i++) {
                    const struct clab_step *step = &w->steps[i];
                    bool receives = step->op == CLAB_RECV || step->op == CLAB_RECV_REDUCE;
                    CLAB_TRY(check_span(w, receives ? step->dst : step->src));
                    int parallel = step->op < CLAB_COPY ? count_parallel(w, n, i) : 1;
                    w->parallel = parallel > w->parallel ? parallel : w->parallel;
                }
    return CLAB_OK;
}

// The channels are known when all is made, and come first.
static int write_all(struct writer *w)
{
    const struct clab_problem *p = w->problem;
    size_t keys = (size_t)p->lanes * (size_t)p->nranks;
    CLAB_TRY(survey(w));
    w->block_of = malloc(keys * (size_t)w->parallel * sizeof *w->block_of);
    w->sent = calloc((size_t)p->nranks, sizeof *w->sent);
    w->received = calloc((size_t)p->nranks, sizeof *w->received);
    if (!w->block_of || !w->sent || !w->received)
        return CLAB_ENOMEM;
    for (w->rank = 0; w->rank < p->nranks; w->rank++)
        CLAB_TRY(make_rank(w));
    write_head(w);
    for (w->rank = 0; w->rank < p->nranks; w->rank++) {
        CLAB_TRY(make_rank(w));
        write_rank(w);
    }
    fprintf(w->out, "</algo>\n");
    return CLAB_OK;
}

static bool has_collective(enum clab_collective c)
{
    return c == CLAB_ALLREDUCE || c == CLAB_REDUCE || c == CLAB_BROADCAST || c == CLAB_ALLGATHER ||
           c == CLAB_REDUCE_SCATTER || c == CLAB_ALLTOALL;
}

int clab_msccl_write(const struct clab_problem *problem, const struct clab_algorithm *algorithm,
                     enum clab_msccl_reader reader, FILE *out)
{
    struct writer w = {.problem = problem,
                       .algorithm = algorithm,
                       .reader = reader,
                       .out = out,
                       .chunks = algorithm->chunks(problem),
                       .parallel = 1,
                       .nchannels = 1};
    if (reader == CLAB_MSCCL_AZURE && clab_listing_is_custom(problem->listing)) {
        clab_error("Azure's executor has no custom collectives; use --format msccl");
        return CLAB_EUNSUPPORTED;
    }
    if (!has_collective(problem->collective) || clab_listing_is_loose(problem->listing)) {
        clab_error("MSCCL has no %s; use --format goal", clab_listing_is_loose(problem->listing)
                                                             ? "schedules of GOAL, which says nothing of chunks"
                                                             : clab_collective_name(problem->collective));
        return CLAB_EUNSUPPORTED;
    }
    w.distances = problem->nranks > 1 ? (problem->nranks - 2) / PEERS_A_CHANNEL + 1 : 1;
    w.steps = calloc((size_t)algorithm->width(problem) + 1, sizeof *w.steps);
    int err = w.steps ? write_all(&w) : CLAB_ENOMEM;
    if (!err && reader == CLAB_MSCCL_AZURE && w.most_steps > AZURE_STEPS)
        clab_warn(
            "Azure's executor takes %d steps in a thread block, and this has %d: build it by make MSCCL_MAX_NUM_STEPS=256",
            AZURE_STEPS, w.most_steps);
    free(w.steps);
    free(w.sent);
    free(w.received);
    free(w.block_of);
    free(w.moves);
    free(w.blocks);
    free(w.needs);
    return err;
}
