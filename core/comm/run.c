// SPDX-License-Identifier: MIT
// The executor: replays a program over a backend. Each lane has its own program counter; a lane's stage is local
// copies, then transfers together, then local unpacking.
// - It never waits: what can not proceed is left, and taken up again by the next call.
// - Programs are compiled at their first use. The communicator keeps them in a direct-mapped cache of
//   CLAB_PROGRAM_CACHE, keyed by (algorithm, problem, in place or not); two with the same slot replace each other.

#include <stdlib.h>
#include <string.h>

#include "core/base/numbers/copy.h"
#include "core/comm/comm.h"

// ---- the programs of a communicator --------------------------------------------------------------------------

static bool is_same(const struct clab_program *program, const struct clab_work *work)
{
    const struct clab_problem *a = &program->problem, *b = &work->problem;
    return program->algorithm == work->algorithm && program->in_place == work->in_place && a->count == b->count &&
           a->root == b->root && a->lanes == b->lanes && a->group == b->group;
}

static size_t slot_of(const struct clab_work *work)
{
    size_t key = work->problem.count * 2 + work->in_place;
    key = key * 31 + (size_t)work->problem.root;
    key = key * 31 + (size_t)work->problem.lanes;
    key = key * 31 + (size_t)(uintptr_t)work->algorithm / sizeof *work->algorithm;
    return (key ^ key >> 17) % CLAB_PROGRAM_CACHE;
}

static int find_program(struct clab_comm *comm, const struct clab_work *work, const struct clab_program **program_p)
{
    struct clab_program **slot = &comm->programs[slot_of(work)];
    if (!*slot || !is_same(*slot, work)) {
        struct clab_program *program;
        CLAB_TRY(clab_program_compile(&work->problem, work->algorithm, comm->rank, work->in_place, &program));
        clab_program_count_across(program, comm->hosts);
        clab_program_free(*slot);
        *slot = program;
    }
    *program_p = *slot;
    return CLAB_OK;
}

// ---- memory --------------------------------------------------------------------------------------------------

static void free_scratch(struct clab_comm *comm)
{
    if (comm->scratch)
        comm->backend->free(comm->job->domain, comm->scratch);
    comm->scratch = NULL;
    comm->scratch_bytes = 0;
}

static int reserve_scratch(struct clab_comm *comm, size_t bytes)
{
    if (bytes <= comm->scratch_bytes)
        return CLAB_OK;
    free_scratch(comm);
    void *memory;
    CLAB_TRY(comm->backend->alloc(comm->job->domain, bytes, &memory));
    comm->scratch = memory;
    comm->scratch_bytes = bytes;
    return CLAB_OK;
}

// Regions lie one behind the other in the scratch memory, each at its own cache line.
static int place_regions(struct clab_comm *comm, const struct clab_work *work)
{
    static char nowhere; // what empty moves point at
    struct clab_run *run = &comm->run;
    size_t starts[CLAB_REGION_COUNT], bytes = 0;
    for (int r = CLAB_TEMP; r < CLAB_REGION_COUNT; r++) {
        starts[r] = bytes;
        bytes += (run->program->region_elements[r] * run->element_bytes + 63) / 64 * 64;
    }
    CLAB_TRY(reserve_scratch(comm, bytes));
    for (int r = CLAB_TEMP; r < CLAB_REGION_COUNT; r++)
        run->bases[r] = bytes ? comm->scratch + starts[r] : &nowhere;
    run->bases[CLAB_IN] = work->in ? (char *)(uintptr_t)work->in : &nowhere; // only read: program.h
    run->bases[CLAB_OUT] = work->out ? work->out : &nowhere;
    return CLAB_OK;
}

// Whether each stage has transfers of its own, which are kept for the next time: in a short program.
static bool keeps_all(const struct clab_program *program)
{
    enum { SHORT = 128 };
    return program->nmoves <= SHORT;
}

static int reserve_transfers(struct clab_run *run)
{
    const struct clab_program *program = run->program;
    const int room = keeps_all(program) ? program->nmoves : program->problem.lanes * program->width;
    if (room > run->transfer_room) {
        free(run->transfers);
        run->transfer_room = room;
        if (!(run->transfers = calloc((size_t)run->transfer_room, sizeof *run->transfers))) {
            run->transfer_room = 0;
            return CLAB_ENOMEM;
        }
    }
    return CLAB_OK;
}

void clab_run_free(struct clab_comm *comm)
{
    for (int i = 0; i < CLAB_PROGRAM_CACHE; i++)
        clab_program_free(comm->programs[i]);
    free(comm->run.transfers);
    free_scratch(comm);
}

// ---- stages --------------------------------------------------------------------------------------------------

static char *address(const struct clab_run *run, struct clab_place place)
{
    return run->bases[place.region] + place.start * run->element_bytes;
}

static void move_locally(const struct clab_comm *comm, const struct clab_move *moves, int n)
{
    const struct clab_run *run = &comm->run;
    const struct clab_device *device = comm->backend->device;
    for (const struct clab_move *m = moves; m < moves + n; m++)
        if (m->combines)
            device->reduce(run->type, run->op, address(run, m->src), address(run, m->other), address(run, m->dst),
                           m->count);
        else
            (run->non_temporal ? device->copy_nontemporal : device->copy)(address(run, m->dst), address(run, m->src),
                                                                          m->count * run->element_bytes);
}

static inline void do_local(const struct clab_comm *comm, const struct clab_move *moves, int n)
{
    if (n) // most stages have none
        move_locally(comm, moves, n);
}

static void fill_transfers(const struct clab_run *run, struct clab_run_lane *lane, const struct clab_move *moves)
{
    for (int i = 0; i < lane->ntransfers; i++) {
        struct clab_transfer *t = &lane->transfers[i];
        t->op = moves[i].op;
        t->peer = moves[i].peer;
        t->lane = (int)(lane - run->lanes);
        t->src = address(run, moves[i].src);
        t->dst = address(run, moves[i].dst);
        t->count = moves[i].count;
        t->bytes = moves[i].count * run->element_bytes;
        t->type = run->type;
        t->redop = run->op;
        t->non_temporal = run->non_temporal;
    }
}

static int begin_stage(struct clab_comm *comm, struct clab_run_lane *lane, const struct clab_stage *stage)
{
    const struct clab_run *run = &comm->run;
    const struct clab_move *moves = run->program->moves + stage->first;
    do_local(comm, moves, stage->before);
    lane->ntransfers = stage->transfers;
    lane->under_way = stage->transfers > 0;
    if (!lane->under_way)
        return CLAB_OK;
    if (keeps_all(run->program))
        lane->transfers = run->transfers + (stage->first + stage->before);
    if (!lane->is_filled)
        fill_transfers(run, lane, moves + stage->before);
    for (int i = 0; i < lane->ntransfers; i++) {
        lane->transfers[i].call = run->call;
        lane->transfers[i].failed = false;
    }
    return comm->backend->start(comm->endpoint, lane->transfers, lane->ntransfers);
}

static void end_stage(const struct clab_comm *comm, struct clab_run_lane *lane, const struct clab_stage *stage)
{
    do_local(comm, comm->run.program->moves + stage->first + stage->before + stage->transfers, stage->after);
    if (comm->trace)
        clab_trace_stage(comm->trace, comm->collectives->traced.serial, (int)(lane - comm->run.lanes), lane->stage,
                         lane->begun);
    lane->under_way = false;
    lane->stage++;
}

// The stages from here up to the first that has messages; those without are over at once.
static int begin_stages(struct clab_comm *comm, int index)
{
    const struct clab_program *program = comm->run.program;
    struct clab_run_lane *lane = &comm->run.lanes[index];
    const struct clab_lane *plan = &program->lanes[index];
    while (lane->stage < plan->nstages && !lane->under_way) {
        const struct clab_stage *stage = &program->stages[plan->first_stage + lane->stage];
        if (comm->trace)
            lane->begun = clab_trace_now(comm->trace);
        CLAB_TRY(begin_stage(comm, lane, stage));
        if (lane->stage == 0)
            do_local(comm, program->moves + plan->aside, plan->naside);
        if (!lane->under_way)
            end_stage(comm, lane, stage);
    }
    return CLAB_OK;
}

// All lanes begin before any goes on. So on a shared wire, no lane's request to receive queues behind another lane's
// data.
static int begin_lanes(struct clab_comm *comm)
{
    const struct clab_program *program = comm->run.program;
    for (int i = 0; i < program->problem.lanes; i++) {
        const struct clab_lane *plan = &program->lanes[i];
        CLAB_TRY(begin_stages(comm, i));
        if (plan->nstages == 0) // else beside the first stage
            do_local(comm, program->moves + plan->aside, plan->naside);
    }
    return CLAB_OK;
}

// What is the same each time that the same is asked: the program, and where its data lies.
static int prepare(struct clab_comm *comm, struct clab_work *work)
{
    struct clab_run *run = &comm->run;
    const int here = comm->job->bootstrap->local_ranks;
    run->work = NULL;
    CLAB_TRY(find_program(comm, work, &run->program));
    run->type = work->type;
    run->op = work->op;
    run->element_bytes = clab_type_bytes(work->type);
    run->non_temporal = clab_are_nontemporal(run->program->elements_touched * run->element_bytes,
                                             comm->nranks < here ? comm->nranks : here);
    const unsigned kind = (run->program->fingerprint * 31 + (unsigned)work->type) * 31 + (unsigned)work->op;
    run->kind = kind ^ kind >> 16;
    CLAB_TRY(reserve_transfers(run));
    CLAB_TRY(place_regions(comm, work));
    CLAB_TRY(comm->backend->lanes(comm->endpoint, run->program->problem.lanes));
    run->work = work;
    work->is_prepared = true;
    return CLAB_OK;
}

// One by one: a core that reads a part of what was stored at once may wait until it is in the cache.
static void rewind_lane(struct clab_run_lane *lane, struct clab_transfer *transfers, bool is_filled)
{
    lane->stage = 0;
    lane->ntransfers = 0;
    lane->under_way = false;
    lane->over = false;
    lane->is_filled = is_filled;
    lane->transfers = transfers;
}

static int begin(struct clab_comm *comm, struct clab_work *work)
{
    struct clab_run *run = &comm->run;
    const bool again = run->work == work && work->is_prepared;
    if (!again)
        CLAB_TRY(prepare(comm, work));
    else if (comm->has_stream) // it follows what the stream has been given since
        CLAB_TRY(comm->backend->lanes(comm->endpoint, run->program->problem.lanes));
    const struct clab_program *program = run->program;
    run->call = (uint16_t)(run->kind + (unsigned)work->sequence * 0x9E37); // odd: 65536 in sequence have different ones
    run->lanes_left = program->problem.lanes;
    for (int i = 0; i < program->problem.lanes; i++)
        rewind_lane(&run->lanes[i], run->transfers + i * program->width,
                    again && (keeps_all(program) || program->lanes[i].nstages == 1));
    comm->traffic.algorithm = work->algorithm->name;
    clab_comm_count(comm, clab_work_counts(work), program->messages, program->elements_sent * run->element_bytes,
                    program->elements_received * run->element_bytes, program->elements_across * run->element_bytes);
    return begin_lanes(comm);
}

static int advance_lane(struct clab_comm *comm, int index, bool *progress_p)
{
    struct clab_run *run = &comm->run;
    struct clab_run_lane *lane = &run->lanes[index];
    const struct clab_lane *plan = &run->program->lanes[index];
    while (lane->under_way) {
        bool done;
        CLAB_TRY(comm->backend->test(comm->endpoint, lane->transfers, lane->ntransfers, &done));
        if (!done)
            return CLAB_OK;
        end_stage(comm, lane, &run->program->stages[plan->first_stage + lane->stage]);
        *progress_p = true;
        CLAB_TRY(begin_stages(comm, index));
    }
    do_local(comm, run->program->moves + plan->finish, plan->nfinish);
    lane->over = true;
    run->lanes_left--;
    return CLAB_OK;
}

// A rank that wants a sum ends with one block of it in `out`, in all collectives that reduce.
void clab_run_average(const struct clab_comm *comm, const struct clab_work *work)
{
    const struct clab_problem *p = &work->problem;
    int block = p->collective == CLAB_REDUCE_SCATTER ? comm->rank : 0;
    if (work->op == CLAB_AVG && clab_collective_reduces(p->collective) && clab_problem_wants(p, comm->rank, block))
        comm->backend->device->scale(work->type, work->out, p->count, comm->nranks);
}

static int advance(struct clab_comm *comm, struct clab_work *work, bool *progress_p, bool *done_p)
{
    (void)work;
    struct clab_run *run = &comm->run;
    const struct clab_program *program = run->program;
    for (int i = 0; i < program->problem.lanes; i++)
        if (!run->lanes[i].over)
            CLAB_TRY(advance_lane(comm, i, progress_p));
    *done_p = run->lanes_left == 0;
    return CLAB_OK;
}

static size_t moved_bytes(const struct clab_comm *comm)
{
    size_t moved = 0;
    for (int i = 0; i < comm->run.program->problem.lanes; i++)
        for (int t = 0; t < comm->run.lanes[i].ntransfers; t++)
            moved += comm->run.lanes[i].transfers[t].moved;
    return moved;
}

static bool waits_for(const struct clab_comm *comm, int *peer_p, int *stage_p)
{
    bool found = false;
    for (int i = 0; i < comm->run.program->problem.lanes; i++) {
        const struct clab_run_lane *lane = &comm->run.lanes[i];
        for (int t = 0; lane->under_way && t < lane->ntransfers; t++) {
            if (lane->transfers[t].done || (found && !lane->transfers[t].failed))
                continue;
            *peer_p = lane->transfers[t].peer;
            *stage_p = lane->stage;
            found = true;
        }
    }
    return found;
}

const struct clab_engine clab_engine_executor = {
    .begin = begin, .advance = advance, .waits_for = waits_for, .moved = moved_bytes};
