// SPDX-License-Identifier: MIT
// What the files of the fake libnccl share.
//
// - A communicator's ranks share a segment, a file in memory that rank 0 makes and hands to the others over a socket
//   at their bootstrap, with the files of their device memory: whoever needs data reads it where it lies (`pull`).
//   Nothing of it has a name, so nothing is left when processes are killed.
// - Who waits sleeps on a word of the segment (futex); it looks ten times a second whether it is to abort, and whether
//   the processes that it waits for still are.
// - Operations of a group on one communicator are a plan, which is one callback in a stream. A communicator's plans run
//   one after another, in the order of their launches, in whatever streams they are.
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cuda_runtime_api.h>
#include <nccl.h>

#include "tests/fakes/faults.h"

enum { MAX_RANKS = 64 };

enum kind {
    SEND,
    RECV,
    BROADCAST,
    REDUCE,
    ALL_REDUCE,
    REDUCE_SCATTER,
    ALL_GATHER,
    ALL_TO_ALL,
    GATHER,
    SCATTER,
};

// ---- shared by the ranks of a communicator -------------------------------------------------------------------

// Arrivals since ever; all are there when they are a multiple of the ranks. `round` counts these times, and is slept
// on.
struct gate {
    atomic_uint arrivals, round;
};

// What a rank brings to a collective: all must agree on the first part.
struct offer {
    struct terms {
        uint32_t kind, type, op, root;
        uint64_t count;
    } terms;
    bool is_registered; // all memory that it gives and gets
    uint64_t in, out;   // offsets in its memory's file
};

// The next message from one rank to another.
struct mailbox {
    atomic_bool sends, receives; // the first call of each has come: who calls first waits for the other
    atomic_uint posted, taken;   // since ever: one is under way when they differ
    uint64_t offset, bytes;      // in the sender's memory
};

struct segment {
    struct gate collective, talk;   // of operations; of split, which comes beside them
    struct gate connection;         // of the first collective, where that connects
    struct gate windows;            // of the ranks that register one together
    atomic_uint futexes[MAX_RANKS]; // signalled for the rank when a message is posted or taken
    atomic_bool left[MAX_RANKS];    // has finalized, or aborted
    atomic_uint departures;         // signalled at each of these
    struct offer offers[MAX_RANKS];
    char words[MAX_RANKS][32];  // what each says in a talk
    struct mailbox mailboxes[]; // (nranks from, nranks to)
};

// ---- a rank's own --------------------------------------------------------------------------------------------

// Another process's device memory, mapped; several communicators share one.
struct memory;
struct memory *memory_open(int file); // takes the file; NULL: no room
const char *memory_bytes(const struct memory *memory);
void memory_close(struct memory *memory);
struct registration;
bool memory_is_registered(ncclComm_t comm, const void *memory, size_t bytes);
void memory_forget_all(ncclComm_t comm);

struct member {
    int pid, alive;                    // a pidfd, or -1
    bool is_sent_to, is_received_from; // by a message: they are connected
    int device, bus;
    uint64_t host;
    struct memory *memory;
};

struct ncclComm {
    int rank, nranks, device;
    bool blocking;
    char id[32]; // of the bootstrap; those of its children derive from it
    unsigned children;
    ncclComm_t parent; // while it is being born
    struct member members[MAX_RANKS];
    struct segment *segment;
    size_t segment_bytes;

    atomic_int state;             // ncclResult_t: ncclInProgress, ncclSuccess, or what has failed first
    atomic_bool aborting;         // whatever waits gives up
    atomic_int holders;           // its handle, its plans, its threads: freed with the last
    bool finalized, is_connected; // for collectives

    pthread_mutex_t lock;
    pthread_cond_t turned;
    unsigned launched, turn; // plans since ever, and the one whose turn it is
    bool running;            // that plan, now
    int doing;               // works of comm_do
    int graphs;              // plans that graphs of CUDA hold: until they are gone, it is not freed
    struct registration *registrations;
    void *profile; // the profiler's; 0: there is none
    int profiled;  // kinds of events
};

// One operation.
struct task {
    enum kind kind;
    const void *in;
    void *out;
    size_t count; // elements
    ncclDataType_t type;
    ncclRedOp_t op;
    int root; // or the peer
    enum fake_fault fault;
    bool done, posted; // of sends and receives
    unsigned number;   // of a message that is posted
    size_t in_at;      // offset of `in` in the memory's file
    size_t out_at;
    char *from, *to; // the same bytes where the host can touch them
};

// ---- nccl_info.c ---------------------------------------------------------------------------------------------

// What is kept for ncclGetLastError, and printed if NCCL_DEBUG is WARN or more. Answers `result`.
ncclResult_t warn(ncclResult_t result, const char *format, ...) __attribute__((format(printf, 2, 3)));
// Printed if NCCL_DEBUG is INFO or more.
void inform(const char *format, ...) __attribute__((format(printf, 1, 2)));
size_t type_bytes(ncclDataType_t type); // 0: none that the fake knows

// ---- nccl_wait.c ---------------------------------------------------------------------------------------------

// Sleep while *word is `value`, for a tenth of a second at most. False: it still is, and it is time to look around.
bool futex_wait(atomic_uint *word, unsigned value);
void futex_wake(atomic_uint *word);   // who sleeps on it checks again
void futex_signal(atomic_uint *word); // another value, and wake who sleeps on it
// False: the communicator aborts, or the process of a member has ended, which then is its state (`peer` -1: any).
bool comm_lives(ncclComm_t comm, int peer);
bool member_has_ended(ncclComm_t comm, int peer); // its process
// Wait for all ranks. False: comm_lives is.
bool gate_pass(ncclComm_t comm, struct gate *gate);
void comm_fail(ncclComm_t comm, ncclResult_t result); // the first stays
// Sleep until the communicator aborts: what the real one's kernels do when they can never end.
void comm_hang(ncclComm_t comm);

// ---- nccl_bootstrap.c ----------------------------------------------------------------------------------------

// All ranks with this id find each other: members and segment.
ncclResult_t comm_bootstrap(ncclComm_t comm);

// ---- nccl_comm.c ---------------------------------------------------------------------------------------------

// A new one that has met nobody; 0: no room. It is held once, by its handle.
ncclComm_t comm_new(const char *id, int nranks, int rank, const ncclConfig_t *config);
void comm_hold(ncclComm_t comm);
void comm_release(ncclComm_t comm);
// Whether the communicator may be called now.
ncclResult_t comm_ready(ncclComm_t comm);
// Do `work`, which is the communicator's state meanwhile: at once if it is blocking, inside a group when that ends;
// else in a thread of its own, and the answer is ncclInProgress.
typedef ncclResult_t comm_work(ncclComm_t comm, void *data);
ncclResult_t comm_do(ncclComm_t comm, comm_work *work, void *data);
// All that is under way gives up; when this returns, nothing of the communicator touches memory any more.
void comm_stop(ncclComm_t comm);

// ---- nccl_group.c --------------------------------------------------------------------------------------------

// What comm_do has put off. comm_finish takes it.
struct doing {
    ncclComm_t comm;
    comm_work *work;
    void *data;
    struct doing *next;
    pthread_t thread;
};
ncclResult_t comm_finish(struct doing *doing);
// False: this thread has no group open.
bool group_takes(struct doing *doing);
ncclResult_t group_add(ncclComm_t comm, const struct task *task, cudaStream_t stream);
ncclResult_t group_error(ncclResult_t result); // of a call inside one: keeps and answers it

// ---- nccl_plan.c ---------------------------------------------------------------------------------------------

struct plan;
struct plan *plan_new(ncclComm_t comm); // 0: no room
ncclComm_t plan_comm(const struct plan *plan);
bool plan_add(struct plan *plan, const struct task *task, cudaStream_t stream);
// Never returns, nor does the exit of the process.
_Noreturn void get_stuck(void);
// Into its streams; takes it.
ncclResult_t plan_launch(struct plan *plan);
void plan_free(struct plan *plan);

// ---- nccl_profile.c ------------------------------------------------------------------------------------------

// Tell the profiler, if there is one: the communicator has met all ranks; tasks are launched; it goes.
void profile_begin(ncclComm_t comm);
void profile_tasks(ncclComm_t comm, const struct task *tasks, int n);
void profile_end(ncclComm_t comm);

// ---- nccl_connect.c ------------------------------------------------------------------------------------------

// What the real one connects for at first use, in the call: for each message, its sender and receiver wait for each
// other; and with NCCL_RUNTIME_CONNECT=1, all ranks in the first collective.
//   False: the communicator aborts, or a peer has ended.
bool connect_for(ncclComm_t comm, const struct task *tasks, int n);

// ---- nccl_move.c, nccl_collective.c, nccl_reduce.c -----------------------------------------------------------

// All sends and receives of the tasks, together. Returns when they are done, or the communicator is not.
bool move(ncclComm_t comm, struct task *tasks, int n);
bool collective(ncclComm_t comm, struct task *task);
// out = in[0] op in[1] ..., of `count` elements; `out` may be one of them.
void reduce(void *out, const void *const in[], int n, size_t count, ncclDataType_t type, ncclRedOp_t op);
