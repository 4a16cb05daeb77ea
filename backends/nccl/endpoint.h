// SPDX-License-Identifier: MIT
// Shared by the files of the nccl backend.
//
// - nccl.c       the backend's table: attach, detach, waiting.
// - choice.c     which GPU is this rank's.   numa.c   the cores that are near it.
// - group.c      communicators: how they are made, in how many lanes, and how they end (teardown.c).
// - calls.c      calls of NCCL, and the threads that make those which may wait.   watchdog.c   ends the others in time.
// - messages.c   the transfers of a schedule's stages, by NCCL.
// - host_messages.c   all other messages, staged through the host's memory.
// - graphs.c     natives that are recorded, and launched together.
// - natives.c    NCCL's collectives.   types.c   our types and operations in NCCL's terms.
// - memory.c     the GPU's memory, and its registration with NCCL.
// - times.c      how long operations take by the GPU's clock.
// - ranges.c     what is under way, for NVIDIA's profilers.
// - profile.c    what NCCL did, by our profiler for it.
// - library.c    the loaded versions of CUDA and NCCL.
// - errors.c     errors of CUDA and NCCL as ours.
// - device.h     the GPU's kernels.
//
// Why ranks do not deadlock: an NCCL communicator runs operations in the order in which each rank calls them. Two ranks
// that call two operations in different orders wait for each other for ever. So
// - the transfers of a stage are one group, whose parts proceed together, and the next stage of a lane follows the end
//   of the one before: as deadlock-free as the schedule, which is proved with a rendezvous for each message;
// - each lane has a communicator and a stream of its own, since nothing orders the stages of different lanes;
// - the program's sends and receives come in any order, and so do those of the monitored barrier: they go through the
//   host's memory. Each costs two copies over PCIe, and arrives whatever the other ranks call.
// A stage begins after all kernels that the device was given before, and so does a native, whether they use the results
// or not. So a schedule's later stages also wait for kernels of a backward pass that were launched meanwhile. A native
// is launched as a whole, and runs beside those kernels. So the gain of overlap with a schedule over this backend is a
// lower bound.
// Communicators block: NCCL's calls return when their work is in the stream. What may wait for peers that wait for this
// rank goes to a thread of ours (calls.c): to begin, split and end a communicator, and the first use of a peer, at which
// NCCL connects. Communicators that do not block would have NCCL start a thread for each group (group.cc).
// Algorithms connect when a communicator begins (NCCL_RUNTIME_CONNECT=0, unless the user has set it); peers of messages
// at their first use all the same. Where the user has set it, or registers memory, natives may wait, too, and each goes
// to a thread.
// Nothing here waits for the GPU but attach, open, detach, and a failed communicator's end, which have deadlines. To
// free memory would make CUDA wait: that is put off while anything is under way.
//
// A process has one GPU, and one attachment.
#pragma once

#include <cuda_runtime_api.h>
#include <nccl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "core/base/variables.h"
#include "core/transport/backend.h"

struct batch;         // of messages.c
struct host_message;  // of host_messages.c
struct nccl_entry;    // of memory.c
struct nccl_graph;    // of graphs.c
struct nccl_abortion; // of teardown.c
struct nccl_endpoint;

enum { NCCL_ABORT_TAKES = 5 }; // s at most

// How memory is registered with NCCL: ncclCommRegister, or ncclCommWindowRegister as symmetric windows.
enum nccl_registration { NCCL_UNREGISTERED, NCCL_LOCAL, NCCL_WINDOWS };

// The caller's thread is in a call of NCCL's (watchdog.c). All but `thread` and `timeout` under the mutex.
struct nccl_watchdog {
    pthread_t thread;
    double timeout; // s that a call may last
    pthread_mutex_t mutex;
    pthread_cond_t wake;
    bool ends;
    struct nccl_endpoint *inside; // that it is called for; NULL: it is not
    double since;                 // s of clab_now
};

struct nccl_domain {
    struct clab_domain base;
    struct clab_bootstrap *boot;
    int device;                          // CUDA's number
    bool is_shared;                      // ranks of this host have GPUs in common
    enum nccl_registration registration; // of natives' memory, at all ranks of the job alike (memory.c)
    bool connects_late;                  // at the first use of an algorithm, as the user has asked for
    struct nccl_watchdog watchdog;
    const struct clab_backend *host; // moves what does not go by NCCL
    struct clab_domain *host_domain;
    int lane_blocks;                 // of threads, that a lane beside the first may take of the GPU
    int under_way;                   // that NCCL has been given, and is not known to be done
    bool is_stuck;                   // the GPU does not come to an end: nothing of it is freed, which would wait
    struct nccl_endpoint *teardowns; // closed endpoints whose communicators have not ended yet
    struct nccl_region *regions;     // memory of alloc, and that has been pinned
    struct nccl_deferred *deferred;  // memory to be freed later
};

// A call of NCCL on a lane's communicator (calls.c).
enum nccl_call_state { NCCL_CALL_NONE, NCCL_CALL_WAITS, NCCL_CALL_OVER }; // WAITS: a worker is in it
struct nccl_call {
    ncclResult_t (*make)(struct nccl_endpoint *endpoint, int lane, void *of);
    void *of;
    const char *what; // it does, for a message
    // of the worker's:
    struct nccl_endpoint *endpoint;
    int lane;
    ncclResult_t result;
    _Atomic enum nccl_call_state state;
};

// A communicator of NCCL's, and the stream that it works in.
struct nccl_lane {
    ncclComm_t comm;
    cudaStream_t stream;
    struct nccl_call call; // the last; the lane can be called again when it does not wait
    unsigned char *met;    // (nranks) NCCL_SENT_TO and NCCL_RECEIVED_FROM: peers that NCCL has connected to
    unsigned long given;   // to the device, when the stream was last made to wait for it
};
enum { NCCL_SENT_TO = 1, NCCL_RECEIVED_FROM = 2 };

// What an operation takes by the GPU's clock (times.c).
enum nccl_span_state { NCCL_SPAN_NONE, NCCL_SPAN_BEGUN, NCCL_SPAN_ENDED };
struct nccl_span {
    cudaEvent_t begin, end; // or NULL
    enum nccl_span_state state;
};

// One of NCCL's collectives under way.
struct nccl_native {
    struct nccl_native *next; // of the endpoint, in the order of their calls; or spare
    struct clab_call call;
    struct nccl_entry *windows[2]; // to be registered before; or NULL
    bool is_called, is_given;      // NCCL has been called; the work is in the stream, and `done` behind it
    cudaEvent_t done;
    struct nccl_span span;
    uint64_t range; // of ranges.c
};

struct nccl_endpoint {
    struct clab_endpoint base;
    struct nccl_domain *domain;
    struct nccl_endpoint *next; // of the domain's teardowns
    int rank, nranks;
    int *job_ranks;                         // (nranks)
    struct nccl_lane lanes[CLAB_MAX_LANES]; // the first is also the natives'
    int nlanes, wanted;                     // lanes that there are, and that a schedule needs
    ncclUniqueId id;                        // by which the first communicator is made
    unsigned char *met;                     // (CLAB_MAX_LANES, nranks)
    bool is_finalized, has_failed;          // when it is closed: its communicators, when asked to end
    struct nccl_abortion *abortion;         // under way, or over; NULL: none. Under the watchdog's mutex
    struct batch *batches[CLAB_MAX_LANES];  // by lane: under way, in order
    struct batch *spare_batches;
    char *nothing;                               // (2) on the GPU: what empty messages send, and receive
    cudaStream_t stream;                         // the caller's, in which natives run; NULL: the first lane's
    unsigned long stream_given;                  // to the device, when it was last made to wait for it
    struct nccl_native *natives, *last_native;   // under way, in order
    struct nccl_native *ungiven, *spare_natives; // the first of them that is not in the stream; the unused
    struct nccl_graph *graphs;                   // all
    bool is_recording;                           // one: natives are captured
    unsigned looks;                              // in vain
    struct clab_endpoint *host;                  // of the domain's host backend
    struct host_message *host_messages, *spare_host_messages; // all; the unused
    struct host_message *sends;                               // that are still copied to the host, in order
    int nhost_messages;                                       // under way
    cudaStream_t copies;                                      // to and from the host
    unsigned long copies_given; // to the device, when `copies` was last made to wait for it
};

// ---- choice.c and numa.c -------------------------------------------------------------------------------------

// Make a GPU this process's, by its rank on this host.
//   errors: CLAB_EUNSUPPORTED (no driver, no device, or too few of them; logged with the remedy), CLAB_ESYS
//   *shared_p: ranks have GPUs in common, as CLAB_NCCL_SHARE=1 allows: for results that must be right, never for times
int nccl_choose_device(const struct clab_bootstrap *boot, int *device_p, bool *shared_p);
// Let this process run on the cores of the GPU's part of the machine only, unless it has been given fewer.
void nccl_move_near(int device);

// ---- group.c: slots of the table -----------------------------------------------------------------------------

int nccl_open(struct clab_domain *domain, struct clab_group *group, struct clab_endpoint **endpoint_p);
void nccl_close(struct clab_endpoint *endpoint, bool failed);
int nccl_lanes(struct clab_endpoint *endpoint, int lanes);
int nccl_follow(struct clab_endpoint *endpoint, void *stream);

// Make the lanes that are wanted, as far as that goes without waiting; *ready_p: NCCL can be called for lane `index`.
//   errors: of nccl_error
int nccl_lane_ready(struct nccl_endpoint *endpoint, int index, bool *ready_p);
// Let `stream` wait for what the device has been given up to now.
int nccl_follow_device(cudaStream_t stream, unsigned long *given);
// Now and then, while nothing moves: what has gone wrong beside our calls.  errors: of nccl_error
int nccl_look_for_errors(struct nccl_endpoint *endpoint);

// ---- calls.c and watchdog.c ----------------------------------------------------------------------------------

// Make a call on the lane, which can be called: in this thread, or, if it may wait for peers, in one of its own; then
// nccl_call_settle says when it is over.  call: make, of and what
//   errors: CLAB_ESYS (no thread), CLAB_ETIMEOUT (it had to be aborted), those of nccl_error
int nccl_call(struct nccl_endpoint *endpoint, int lane, struct nccl_call call, bool may_wait);
// Whether a worker is in a call on it.
bool nccl_call_waits(const struct nccl_lane *lane);
//   errors: the call's, once
int nccl_call_settle(const struct nccl_endpoint *endpoint, struct nccl_lane *lane, bool *settled_p);
// A thread that takes no signals.  errors: CLAB_ESYS, logged
int nccl_thread(void *(*run)(void *), void *of, pthread_t *thread_p);

// The caller's thread goes into a call, and has come back. True: it was aborted.
void nccl_watch_enter(struct nccl_endpoint *endpoint);
bool nccl_watch_leave(struct nccl_endpoint *endpoint);
bool nccl_watch_is_inside(struct nccl_endpoint *endpoint);
int nccl_watchdog_start(struct nccl_watchdog *w, double timeout);
void nccl_watchdog_stop(struct nccl_watchdog *w);

// ---- teardown.c ----------------------------------------------------------------------------------------------

// Take over an endpoint that has only its communicators left, and destroy these later: peers may still be in the last
// call, or have yet to make the lanes that a schedule needs.
void nccl_end_later(struct nccl_endpoint *endpoint);
// Begin to abort all communicators, in a thread. With the watchdog's mutex; once.
void nccl_abort_begin(struct nccl_endpoint *endpoint);
// Abort all communicators at once. Nothing of them runs when this returns, unless that takes seconds: then the domain
// is stuck, which is logged.
void nccl_end_now(struct nccl_endpoint *endpoint);
// Free what is left of an endpoint, unless the domain is stuck: NCCL may still write to it.
void nccl_endpoint_free(struct nccl_endpoint *endpoint);
// Wait until the stream is idle, a few seconds at most: then the domain is stuck.
void nccl_drain(struct nccl_domain *domain, cudaStream_t stream);
// Go on with the teardowns, as far as that needs no wait for what is under way; with a deadline (s of clab_now), until
// they are done.
void nccl_end_rest(struct nccl_domain *domain, double deadline);

// ---- messages.c and host_messages.c ---------------------------------------------------------------------------------

int nccl_start(struct clab_endpoint *endpoint, struct clab_transfer transfers[], int n);
int nccl_test(struct clab_endpoint *endpoint, struct clab_transfer transfers[], int n, bool *done_p);
void nccl_batches_free(struct nccl_endpoint *endpoint);

bool nccl_goes_by_host(const struct clab_transfer *transfer);
int nccl_host_message_start(struct nccl_endpoint *endpoint, struct clab_transfer *transfer);
int nccl_host_message_test(struct nccl_endpoint *endpoint, struct clab_transfer *transfer);
// First end the copies; then close the host's endpoint, which may write and read the memory until then; then free it.
void nccl_host_messages_stop(struct nccl_endpoint *endpoint);
void nccl_host_messages_free(struct nccl_endpoint *endpoint);

// ---- natives.c and types.c -----------------------------------------------------------------------------------

bool nccl_has_native(enum clab_collective collective, enum clab_type type, enum clab_op op);
int nccl_native_start(struct clab_endpoint *endpoint, const struct clab_call *call);
int nccl_native_test(struct clab_endpoint *endpoint, struct clab_answer *answer_p);
void nccl_natives_free(struct nccl_endpoint *endpoint);
// A message to or from `peer` comes on the lane; whether it is the first of its kind, at which NCCL connects.
bool nccl_meet(struct nccl_endpoint *endpoint, int lane, int peer, unsigned char how);

// ---- graphs.c: slots of the table, and more ------------------------------------------------------------------

int nccl_record(struct clab_endpoint *endpoint);
int nccl_recorded(struct clab_endpoint *endpoint, void **graph_p);
void nccl_forget(void *graph);
ncclResult_t nccl_graph_launch(const struct nccl_graph *g, cudaStream_t stream);
// Destroy them all, before the communicators end.
void nccl_graphs_end(struct nccl_endpoint *endpoint);

// False: NCCL has no such type.
bool nccl_type(enum clab_type type, ncclDataType_t *type_p);
ncclRedOp_t nccl_op(enum clab_op op); // never of CLAB_AVG

// ---- memory.c: slots of the table, and more ------------------------------------------------------------------

int nccl_alloc(struct clab_domain *domain, size_t bytes, void **memory_p);
void nccl_free(struct clab_domain *domain, void *memory);
int nccl_pin(struct clab_domain *domain, void *memory, size_t bytes, struct clab_registration **registration_p);
void nccl_unpin(struct clab_domain *domain, struct clab_registration *registration);
bool nccl_reaches(struct clab_domain *domain, const void *memory);

// Register the memory that `buffer` lies in with `endpoint`'s first communicator, which can be called now; if this job
// registers, and where it is new. *window_p: a new window, for which all ranks wait for each other in
// nccl_window_register; else unchanged.
//   errors: CLAB_EINVAL (not memory of clab_alloc, logged), CLAB_ENOMEM, those of nccl_error
int nccl_register(struct nccl_endpoint *endpoint, const void *buffer, size_t bytes, struct nccl_entry **window_p);
ncclResult_t nccl_window_register(struct nccl_entry *window);
// Whether the loaded library has windows, and the build's header.
bool nccl_has_windows(void);
// The endpoint's communicators are about to end: deregister their memory. A communicator that has failed, or can not be
// called yet, is left out: NCCL deregisters its memory when it ends.
void nccl_deregister_all(struct nccl_endpoint *endpoint, bool failed);
// Memory for the endpoint's own use, to be freed by nccl_free_deferred.  errors: CLAB_ENOMEM, logged
int nccl_reserve(struct nccl_domain *domain, size_t bytes, void **memory_p);
// Free the deferred memory, if nothing is under way; `always`: in any case. If the domain is stuck, memory is leaked.
void nccl_free_deferred(struct nccl_domain *domain, bool always);
// Free `memory` once nothing is under way.
void nccl_defer_free(struct nccl_domain *domain, void *memory);
// The same for memory of the host's backend, which CUDA knows if it `is_registered`; no transfer uses it any more.
void nccl_defer_free_of_host(struct nccl_domain *domain, void *memory, bool is_registered);

// ---- times.c -------------------------------------------------------------------------------------------------

// Called before an operation is given to the stream, and when all of it is in the stream. Outside of nccl_time_calls
// they do nothing.  errors: of nccl_cuda_error
int nccl_span_begin(struct nccl_span *span, cudaStream_t stream);
int nccl_span_end(struct nccl_span *span, cudaStream_t stream);
// The operation is over: add its span up.
void nccl_span_add(struct nccl_span *span);
void nccl_span_free(struct nccl_span *span);
double nccl_time_calls(void (*work)(void *of), void *of); // a slot of the device

// ---- ranges.c ------------------------------------------------------------------------------------------------

// For profilers: it begins, and is over.
uint64_t nccl_range_of_collective(enum clab_collective collective);
uint64_t nccl_range_of_lane(int lane);
void nccl_range_end(uint64_t range);

// ---- profile.c: a slot of the table, and more ----------------------------------------------------------------

// Before NCCL begins: have the profiler keep what is asked for.
void nccl_profile_ask(void);
bool nccl_ran(const struct clab_endpoint *endpoint, struct clab_ran *ran_p);

// ---- library.c: a slot of the table --------------------------------------------------------------------------

void nccl_describe(struct clab_domain *domain, char *text, size_t room, bool *is_fake_p);

// ---- errors.c ------------------------------------------------------------------------------------------------

// CLAB_ENOMEM or CLAB_ESYS, logged with CUDA's words; `what` was being done.
int nccl_cuda_error(cudaError_t code, const char *what);
#define CUDA_TRY(call) CLAB_TRY(nccl_cuda_error((call), #call))
// Whether a member leaves the job, or has.
bool nccl_has_lost_a_peer(const struct nccl_endpoint *endpoint);
// CLAB_EPEER of a peer's end (only logged to be debugged: who waits for it says more), CLAB_ENOMEM, else CLAB_ESYS,
// logged with NCCL's words.
//   comm: or NULL
int nccl_error(const struct nccl_endpoint *endpoint, ncclComm_t comm, ncclResult_t code, const char *what);
