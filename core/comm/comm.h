// SPDX-License-Identifier: MIT
// What stands behind clab.h's communicator.
//
// - core/program/program.c compiles a schedule into moves between places in memory; layout.c knows the places.
// - graph.h     collectives that are recorded, and started together.
// - run.c       runs a program: the executor.   engine.c   calls that the backend runs by itself, instead.
// - bounce.h    copies of buffers that the backend does not reach.
// - work.c      queues works, drives them, waits with a deadline.   revoke.c   how a failure becomes that of all.
// - progress.h  what goes on while the program computes: a thread, or nothing.
// - select.c    which algorithm, if the user names none.   table.h   the table that the user has measured.
// - core/flight/flight.h   what ranks did last, for others to read.   record.c   what works write there.
// - core/trace/buffer.h all that this rank does, for a trace viewer, if asked.
// - comm.c      create, split, destroy.   open.c   how members exchange data.   shrink.c   what is left after a
//   failure.
// - collectives.c   the calls of clab.h.   report.c   what labs print.
#pragma once

#include "core/transport/backend.h"
#include "core/clab.h"
#include "core/comm/bounce.h"
#include "core/flight/flight.h"
#include "core/program/program.h"
#include "core/trace/buffer.h"
#include "core/comm/job.h"
#include "core/comm/table.h"

// The collective that is being run: a program, its memory, and where each lane stands.
struct clab_run_lane {
    int stage;      // of the lane
    bool under_way; // its transfers have been started
    bool over;      // its last stage has ended, and `out` is complete
    bool is_filled; // the transfers of its stages are kept from the same call before
    double begun;   // s of clab_seconds: this stage, where there is a trace
    int ntransfers;
    struct clab_transfer *transfers; // of this stage: its own, of a short program, or room for the widest stage
};

struct clab_run {
    const struct clab_work *work; // whose program and places these are, if it is_prepared; NULL: of none
    const struct clab_program *program;
    char *bases[CLAB_REGION_COUNT]; // never NULL
    enum clab_type type;
    enum clab_op op;
    size_t element_bytes;
    unsigned kind;     // a number for (collective, algorithm, type, op, root)
    uint16_t call;     // a number for (collective, algorithm, type, op, root, sequence): all ranks must have the same
    bool non_temporal; // the call writes more than the caches hold: store around them
    struct clab_run_lane lanes[CLAB_MAX_LANES];
    int lanes_left;
    struct clab_transfer *transfers; // (moves) of a short program, else (lanes, width)
    int transfer_room;
};

struct clab_work {
    // what is asked; it holds when the same is asked again
    struct clab_comm *comm;
    struct clab_problem problem;            // of a collective
    const struct clab_algorithm *algorithm; // NULL: send or receive
    const struct clab_engine *engine;       // of a collective
    bool in_place;
    bool is_own; // the library's, and not the program's: clab_work_counts
    const void *in;
    void *out;
    enum clab_type type;
    enum clab_op op;
    struct clab_transfer transfer; // send or receive
    void *graph;                   // the backend's, which is run instead (graph.h); NULL: none
    bool is_prepared;              // the executor has placed its data, and no other work's since (struct clab_run)

    // how far it is
    bool done;
    unsigned long sequence; // of the communicator's collectives
    struct clab_work *next;
    struct clab_bounced bounced; // bounce buffers that replace the caller's, from beginning to end
    bool is_begun;               // by the engine
    double started, due;         // s of an exact time: when this rank began it, and when it is over for it

    struct clab_flight_op *flight; // where it is recorded, as flight_serial; NULL: not yet
    uint64_t flight_serial;
    struct clab_traced traced; // where there is a trace
};

// Since when nothing has moved on a communicator that is waited for.
struct clab_wait_state {
    unsigned fruitless; // tests since something moved
    double since;       // when the clock was first read after that, s; 0: not yet
    size_t moved;       // bytes under way then
    double look;        // s of waiting after which the others' calls are looked at (check.c); 0: not yet
    double left;        // when the awaited peer was first seen to have left; 0: it has not
    unsigned late;      // the test after which the wait may be given up; 0: there is time
};

// A call, as one rank sends it to another for comparison (check.c).
struct clab_called {
    uint64_t count;
    uint32_t sequence;
    int16_t root;
    uint8_t what, type, op, lanes, algorithm, zeros[5];
};
_Static_assert(sizeof(struct clab_called) == 24, "it is compared as a whole");

struct clab_check {
    bool is_on;   // before each collective, by messages
    bool natives; // by the backend, before its natives
    bool is_under_way;
    struct clab_called mine, theirs;
    struct clab_transfer transfers[2];
    struct clab_bounced bounced[2];
};

enum {
    CLAB_PROGRAM_CACHE = 128,
    CLAB_MESSAGE_WORK = CLAB_COLLECTIVE_COUNT, // the kind of a work: its collective, or this
    CLAB_WORK_KINDS,
};

struct clab_comm {
    struct clab_job *job;
    const struct clab_backend *backend;
    struct clab_endpoint *endpoint;
    int rank, nranks;
    int *job_ranks;         // (nranks)
    int *hosts;             // (nranks) of the members
    int per_host;           // members on each host, if hosts hold members that follow each other, as many each; else 0
    uint64_t id;            // the same at all members, and of no other communicator
    unsigned children;      // communicators that have been made from it
    unsigned shrinks;       // how often it has been asked what is left of it
    int *expelled_by;       // (nranks) the rank of the job that reported that this member does not answer; -1: none
    unsigned nexpelled;     // members
    struct clab_comm *next; // of the job
    struct clab_comm_setup setup;
    bool is_revoked;        // it is to fail: the next that would wait, or call, does so
    struct clab_notice why; // of is_revoked
    int err;                // once set, the communicator has failed, and is poisoned; endpoint is NULL then

    struct {
        const struct clab_algorithm *algorithm; // NULL: automatic
        const struct clab_listing *listing;     // whose algorithm it is; NULL: none
        int lanes;                              // 0: the algorithm's own
    } choice[CLAB_COLLECTIVE_COUNT];
    struct clab_comm_traffic traffic;
    struct clab_counts own; // of the library's own works

    struct clab_program *programs[CLAB_PROGRAM_CACHE];
    char *scratch; // of clab_alloc
    size_t scratch_bytes;
    bool bounces;                              // the backend does not reach all memory
    struct clab_bounce_buffer *bounce_buffers; // all there are

    struct clab_run run;                              // of the first collective
    struct clab_work *collectives, **collectives_end; // in the order they were started
    struct clab_work *last_begun;              // of them; only natives of a backend that queues are begun together
    int begun;                                 // of them
    bool is_recording;                         // graph.h
    bool has_stream;                           // the caller's, which orders its work
    struct clab_work *messages, **messages_end; // sends and receives under way, in order
    struct clab_work *spares[CLAB_WORK_KINDS]; // works that are over, by kind: the last comes first
    int unwaited;                              // collectives that were started and not yet waited for
    unsigned long sequence;                    // of the next collective
    unsigned long kept_from;                   // works before this one are not kept: their algorithm was chosen before
    unsigned starts;                           // works, ever
    struct clab_wait_state wait_state;
    double looked_around;       // clab_now()
    struct clab_check check;    // before the first collective begins
    struct clab_flight *flight; // the job's
    struct clab_trace *trace;   // the job's, or NULL
    struct {
        const struct clab_algorithm *algorithm;
        uint8_t number;
    } recorded; // the algorithm of the last recorded collective; never NULL
    struct {
        bool is_known;
        int rank; // of the job, that calls something else: `op`
        struct clab_flight_op op;
    } other;
};

// Where the job counts a work. The library's own are not the program's, and nobody reads what they count.
static inline struct clab_counts *clab_work_counts(const struct clab_work *work)
{
    return work->is_own ? &work->comm->own : &work->comm->job->counts;
}

// Messages that this rank has been told to send and to receive, for the communicator and for the job, in `counts`.
//   across: bytes of `sent` to other hosts
static inline void clab_comm_count(struct clab_comm *comm, struct clab_counts *counts, size_t messages, size_t sent,
                                   size_t received, size_t across)
{
    comm->traffic.bytes_across += across;
    comm->traffic.messages += messages;
    comm->traffic.bytes_sent += sent;
    comm->traffic.bytes_received += received;
    counts->bytes_across += across;
    counts->messages += messages;
    counts->bytes_sent += sent;
    counts->bytes_received += received;
}

static inline void clab_comm_count_message(struct clab_comm *comm, enum clab_step_op op, int peer, size_t bytes)
{
    const bool sends = op == CLAB_SEND;
    clab_comm_count(comm, &comm->job->counts, sends, sends ? bytes : 0, sends ? 0 : bytes,
                    sends && comm->hosts[peer] != comm->hosts[comm->rank] ? bytes : 0);
}

// ---- run.c, engine.c -----------------------------------------------------------------------------------------

// What runs collectives: the first of the communicator, and what the backend queues behind it.
struct clab_engine {
    // errors: CLAB_ENOMEM, the backend's
    int (*begin)(struct clab_comm *comm, struct clab_work *work);
    // Go as far as possible; *progress_p is set when a stage ended, *done_p when the collective has.
    //   errors: the backend's
    int (*advance)(struct clab_comm *comm, struct clab_work *work, bool *progress_p, bool *done_p);
    // The member that is waited for, and in which stage; false: not known. Of several, one that has failed.
    bool (*waits_for)(const struct clab_comm *comm, int *peer_p, int *stage_p);
    // Changes while something happens: for telling slow from stuck.
    size_t (*moved)(const struct clab_comm *comm);
};
// It runs a schedule stage by stage.
extern const struct clab_engine clab_engine_executor;
const struct clab_engine *clab_engine_of(const struct clab_work *work);

void clab_run_free(struct clab_comm *comm);
// Make an average of the sum in `out`, if `work` is one and this rank has its result.
void clab_run_average(const struct clab_comm *comm, const struct clab_work *work);

// Stands for the library's own where an algorithm is named.
extern const struct clab_algorithm clab_native_algorithm;

bool clab_native_is(const struct clab_work *work);
// Whether `backend` has its own, averages included.
bool clab_native_has(const struct clab_backend *backend, enum clab_collective collective, enum clab_type type,
                     enum clab_op op);

// ---- graph.c -------------------------------------------------------------------------------------------------

// Whether `work` can be recorded.  errors: CLAB_EUNSUPPORTED, logged
int clab_graph_check(const struct clab_comm *comm, const struct clab_work *work);

// ---- work.c --------------------------------------------------------------------------------------------------

// A work to fill in: the last of its kind (a collective, or CLAB_MESSAGE_WORK) that is over, as it was, or one of
// zeros. Programs repeat their calls, so mostly nothing needs to be filled in again.
//   errors: CLAB_EPOISONED, CLAB_ENOMEM, which ends the communicator
int clab_work_take(struct clab_comm *comm, int kind, struct clab_work **work_p);
// Queue a work of clab_work_take, and make a first step.  errors: the backend's; `work` is freed then
int clab_work_start(struct clab_comm *comm, struct clab_work *work);
// Take no work of this collective as it was: another algorithm has been chosen.
void clab_work_forget(struct clab_comm *comm, enum clab_collective collective);
// Wait for `work`, but not beyond `deadline` (seconds of clab_now). *done_p: it is done, and freed.  errors: the work's
int clab_work_wait_until(struct clab_work *work, double deadline, bool *done_p);
// Whether there is something under way that may still move: here, and on any communicator.
bool clab_comm_is_busy(const struct clab_comm *comm);
bool clab_job_is_busy(const struct clab_job *job);
// Make progress on all communicators; whether there was any.
bool clab_job_advance(struct clab_job *job);
// Free all works, also those under way.
void clab_work_free_all(struct clab_comm *comm);

// As clab_allgather, but for the library itself.
int clab_own_allgather(struct clab_comm *comm, const void *in, void *out, size_t count, enum clab_type type);
// Start a send or receive on a lane of its own kind.  errors: as clab_send_start
int clab_message_start(struct clab_comm *comm, struct clab_transfer transfer, struct clab_work **work_p);

// ---- open.c --------------------------------------------------------------------------------------------------

// A communicator of (n) `ranks` of the job, in this order, who call this together.
struct clab_opening {
    struct clab_job *job;
    const int *ranks;
    int n;
    uint64_t id;
    double start;                    // clab_now() when the call of clab.h began
    const int *parties;              // clab_group.parties
    const struct clab_comm *from;    // if it fails, some members may never come; or NULL
    const struct clab_comm *rest_of; // the new one is what is left of it: ends when a member is expelled; or NULL
};
//   errors: CLAB_ENOMEM, CLAB_EPEER, CLAB_ETIMEOUT, those of `from`; not logged with rest_of
int clab_comm_open(const struct clab_opening *opening, struct clab_comm **comm_p);
void clab_comm_free(struct clab_comm *comm); // also of one whose opening has failed
// An exchange among those who will open it.  errors: of boot->exchange, and as clab_comm_open
int clab_comm_exchange(const struct clab_opening *opening, const void *mine, size_t bytes, void *all);

// ---- check.c -------------------------------------------------------------------------------------------------

// What CLAB_CHECK asks for: is_on and natives.
struct clab_check clab_check_wanted(void);
// Start native collectives without comparing calls, unless the user has set CLAB_CHECK. For programs that time calls,
// and whose ranks surely call the same. No work is under way, and all members call this.
void clab_comm_trust(struct clab_comm *comm);
// A number for what `work` is, which all members must have in common (clab_call.agreed); never 0.
uint64_t clab_check_number(const struct clab_work *work);
// Compare `work` with the calls of both neighbours, by messages; *passed_p: that is over, and the calls are the same.
//   errors: CLAB_EMISMATCH, with comm->other; the backend's
int clab_check_advance(struct clab_comm *comm, const struct clab_work *work, bool *passed_p);
bool clab_check_waits_for(const struct clab_comm *comm, int *peer_p);
// Having waited so many seconds: whether a rank of this host calls something else: comm->other.
bool clab_check_look(struct clab_comm *comm, double waited);
// `rank` of the job (-1: some rank) calls something else: find out what, for comm->other.
void clab_check_ask(struct clab_comm *comm, int rank);

// ---- revoke.c ------------------------------------------------------------------------------------------------

// The member that `work` waits for, and its stage, or -1 for a send or receive; false if that is not known.
bool clab_work_waits_for(const struct clab_work *work, int *peer_p, int *stage_p);

// Read new notices of failures, and mark the communicators that must fail for them. Never waits.
void clab_job_listen(struct clab_job *job);
// The same for a communicator that is being made: earlier notices.
void clab_comm_catch_up(struct clab_comm *comm);
// The notice that revokes communicator `id`, which this rank has not made yet; NULL: none has come.
const struct clab_notice *clab_job_pending_revocation(const struct clab_job *job, uint64_t id);

// This rank can not even begin to make communicator `id`: log it, and notify the members, which may wait.  Returns err
int clab_job_refuse(struct clab_job *job, uint64_t id, int n, int err);
// It can not be made: notify the members, unless another rank has done so. `quiet`: log nothing.
void clab_comm_give_up(struct clab_comm *comm, int err, bool quiet);
// Notify all that `member` does not answer, and is excluded from communicators that are made from `comm`.
void clab_comm_expel(struct clab_comm *comm, int member);

// `work` has failed with `err`: notify all, and fail.  Returns the communicator's error: another rank's, if that was
// first.
int clab_comm_fail(struct clab_comm *comm, const struct clab_work *work, int err);
// The communicator is revoked, and `work` can not go on: fail.
int clab_comm_follow(struct clab_comm *comm, const struct clab_work *work);
// End it with `err`, caused by rank `culprit` of the job: log `line`, and notify all. line NULL: another member does
// that. A rank without memory for its part of a call does this before it begins that call.  Returns err
int clab_comm_end(struct clab_comm *comm, int err, int culprit, const char *line);

// ---- record.c ------------------------------------------------------------------------------------------------

// Fill in what `work` is: down to `algorithm`.
void clab_work_describe(const struct clab_work *work, struct clab_flight_op *op);
// It begins.
void clab_work_record(struct clab_work *work);
// Where it is recorded; NULL if it is not, or not any more.
static inline struct clab_flight_op *clab_work_recorded(const struct clab_work *work)
{
    struct clab_flight_op *op = work->flight;
    return op && atomic_load_explicit(&op->serial, memory_order_relaxed) == work->flight_serial ? op : NULL;
}
static inline void clab_work_record_end(const struct clab_work *work, enum clab_flight_state state)
{
    struct clab_flight_op *op = clab_work_recorded(work);
    if (op)
        clab_flight_end(op, state);
}
// It is over now: into the trace. Or it is settled: it began at work->started, and was over at work->due.
void clab_work_trace(const struct clab_work *work);
void clab_work_trace_settled(const struct clab_work *work);
// It, or the first collective that it is queued behind, waits since `since`.
void clab_work_record_wait(const struct clab_work *work, double since);

// ---- comm.c --------------------------------------------------------------------------------------------------

// Run the schedule `listing`, which outlives the communicator's calls, for its collective; clab_comm_set_algorithm ends
// that. All members call this with the same one. Calls then have its root, and counts that its chunks divide.
//   errors: CLAB_EINVAL (logged: it is for another number of ranks, or has too many lanes)
int clab_comm_set_listing(struct clab_comm *comm, const struct clab_listing *listing);

// ---- select.c ------------------------------------------------------------------------------------------------

// How the job's ranks lie on cores and hosts; all ranks have the same.
struct clab_placement {
    bool crowded;                          // the job has more ranks than cores
    int cores;                             // of the job
    bool sockets;                          // clab_backend.sockets
    int nodes;                             // hosts of the job; 0: not known
    const struct clab_choice_table *table; // the user's, which goes first; NULL: none
    int per_host;                          // clab_comm.per_host
};

// Whether `algorithm`, which the user has named, supports `problem`. Sets the problem's group from the placement. If
// its lanes are 0, sets them to the algorithm's default.
bool clab_placement_suits(struct clab_placement placement, const struct clab_algorithm *algorithm,
                          struct clab_problem *problem);

// The automatic choice of an algorithm for `problem`, with `element_bytes` per element. Sets the problem's lanes and
// group. NULL: there is no algorithm, and nothing is set.
const struct clab_algorithm *clab_select(struct clab_problem *problem, size_t element_bytes,
                                         struct clab_placement placement);
