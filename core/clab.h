// SPDX-License-Identifier: MIT
// clab.h: all that a lab includes.
//
// Life of a program: clab_job_open, clab_comm_create, collectives, clab_comm_destroy, clab_job_close.
// - Started by hand with `-n 4`, clab_job_open launches four copies of the calling process and returns once in each;
//   under `commlab run`, mpirun, srun or torchrun it joins the job that is there. Other words stay in argv.
// - Every call returns CLAB_OK or a clab_err. Who first found the error has logged a line with rank, peer and remedy.
//   The library never exits, and never hangs: a wait in which nothing moves for CLAB_TIMEOUT (30s unless told) ends,
//   and so does one for a rank that has died or left.
// - An error in a collective, a send or a receive is that of all members of the communicator: who waits on it answers
//   with the same error within a second, unless all that its work needs has arrived; who does not wait, in a later
//   call. From then on it answers CLAB_EPOISONED, all buffers are the caller's again, and it can only be shrunk and
//   destroyed. Other communicators go on, and new ones can be made. Lines name ranks of the job.
// - Ranks that call different collectives, or the same with another count, type, operation, root or algorithm, answer
//   CLAB_EMISMATCH: found by messages that do not match, and by ranks of a host that wait for each other. The libraries
//   of gloo and mpi compare nothing: there all ranks compare what they call before each of the library's collectives
//   ("native"), and none begins it unless they agree. Each rank waits for all, which costs about as much as one more
//   small collective. CLAB_CHECK=0 turns that off. CLAB_CHECK=1 finds a difference before each collective, on any
//   backend and any hosts, also where messages would let some ranks go on: each rank sends its next one 24 bytes that
//   say what it calls. Natives of nccl are compared with CLAB_CHECK=1 only.
// - After a failure, one rank of each host reports who is missing where, from what all have recorded (CLAB_FLIGHT=0:
//   none; CLAB_FLIGHT=FILE: the last 64 operations of each rank are appended to FILE as well).
// - Collectives on a communicator are called in the same order by all its ranks. `count` is in elements of `type`;
//   sizes in bytes say so. in == out is in place (for allgather and gather: in is block `rank` of out; for scatter and
//   reduce-scatter: out is block `rank` of in). `in` is never written otherwise.
// - One thread of the program calls. Buffers may be any memory; those of clab_alloc move fastest. A GPU reaches no
//   other: what lies elsewhere is copied there and back by each call, which suits a few numbers on the stack.
// - Memory of clab_alloc may be a GPU's, which the program's own instructions can not touch: it is written and read by
//   clab_copy, or filled by collectives, never by *p. Then the same program runs on any backend.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/type.h"
#include "schedule/schedule.h"

struct clab_job;          // this process's membership of a job
struct clab_comm;         // a communicator: an ordered group of ranks
struct clab_work;         // a collective under way
struct clab_device;       // a CPU, or a GPU
struct clab_registration; // memory that the backend has been told of

// ---- job -----------------------------------------------------------------------------------------------------

// Join the job, launching it first when started by hand. Takes -n N (ranks, 2 unless told), --backend B, --provider P
// and --interface I (of ofi), --net NAME and --straggle RANK=FACTOR (of sim), --emulate NET and --trace FILE (of what
// all ranks did when) out of argv. It refuses any other word with two dashes, but for words behind "--", which belong
// to the program.
//   out:    *job_p, on success only. The launching parent never returns: it waits for its ranks and exits with their
//   status. --help lists these flags and ends the program; clab_help lists the program's arguments, too.
//   errors: CLAB_EINVAL (bad flag, -n or backend), CLAB_EPARSE (the environment), CLAB_EUNSUPPORTED, CLAB_ENOMEM,
//   CLAB_ESYS, CLAB_EPEER, CLAB_ETIMEOUT
int clab_job_open(int *argc, char **argv, struct clab_job **job_p);

// The same in two calls, for a program that chooses options itself: take the flags out of argv, where there are some,
// over what `options` says, and open the job. Texts are kept, not copied.
struct clab_job_options {
    int nranks; // 0: those of the job that is there, or 2
    // NULL: as CLAB_BACKEND, CLAB_NET, CLAB_STRAGGLE, CLAB_EMULATE, CLAB_PROVIDER, CLAB_INTERFACE, CLAB_TRACE say
    const char *backend, *net, *straggle, *emulate, *provider, *interface, *trace;
    const char *usual_backend; // if neither `backend` nor CLAB_BACKEND says one; NULL: shm, among several hosts ofi
};
int clab_job_options_take(int *argc, char **argv, struct clab_job_options *options);
int clab_job_open_with(const struct clab_job_options *options, struct clab_job **job_p);

// Leave, whatever it returns. Communicators are destroyed and memory freed before. NULL is fine.
//   errors: CLAB_EIO, CLAB_ENOMEM, CLAB_EUNSUPPORTED (at rank 0 only: CLAB_TRACE's file was not written)
int clab_job_close(struct clab_job *job);

int clab_job_rank(const struct clab_job *job);
int clab_job_ranks(const struct clab_job *job);
const char *clab_job_backend(const struct clab_job *job);
// What computes where memory of clab_alloc lies (transport/device.h).
const struct clab_device *clab_job_device(const struct clab_job *job);

// Who moves what has been started, while this rank computes: "thread", a thread of the library; "manual", nobody but
// calls; "virtual", the described network. CLAB_PROGRESS (auto, thread or manual) decides: auto is a thread where
// each rank has a second core, or an emulated wire leaves the cores free. *why_p (or NULL): in words.
const char *clab_job_progress(const struct clab_job *job, const char **why_p);

// Memory that peers reach fastest (shared, registered, device), 64-byte aligned, uninitialised. bytes >= 0. It is
// written and read by clab_copy.
//   errors: CLAB_ENOMEM
int clab_alloc(struct clab_job *job, size_t bytes, void **memory_p);
void clab_free(struct clab_job *job, void *memory); // NULL is fine

// Copy `bytes` from `in` to `out`, each memory of clab_alloc or any other: from a host array into memory of clab_alloc
// after the one has been filled, and back to look at it. Done when it returns. On the backend sim it takes no time.
//   in, out: do not overlap; NULL is fine for 0 bytes
//   errors: CLAB_EINVAL (NULL); CLAB_ENOMEM, CLAB_ESYS (the device has failed, in this or before)
int clab_copy(struct clab_job *job, void *out, const void *in, size_t bytes);

// What memset and a loop of additions are to other memory, where memory of clab_alloc lies. Done when they return.
// Each byte becomes `byte`: 0 for zeros, 0xff for NaN.
//   errors: CLAB_EINVAL (no memory of clab_alloc); those of clab_copy
int clab_set(struct clab_job *job, void *memory, int byte, size_t bytes);
// out[i] = out[i] (op) in[i].  in, out: (count); in virtual time the program says what that took (clab_compute)
//   errors: CLAB_EINVAL (type; op, which is not CLAB_AVG; no memory of clab_alloc); those of clab_copy
//   source: MPI_Reduce_local
int clab_reduce_local(struct clab_job *job, const void *in, void *out, size_t count, enum clab_type type,
                      enum clab_op op);

// Register memory that will be communicated from and to, as a network card demands: by libfabric's fi_mr_reg where the
// provider registers; else its pages are locked in RAM (mlock), within what this process may lock (ulimit -l). On the
// backend sim it is nothing, and takes no time.
// - Collectives take any memory, registered or not: this is for programs that keep registrations, or time them. Each
//   call registers anew, also what clab_alloc has registered.
// - Registrations do not overlap: locked pages are not counted, so the first to be let go would free them of all.
//   memory: the start of a page, bytes > 0; registered up to the end of the last page
//   errors: CLAB_EINVAL, CLAB_EUNSUPPORTED (the system allows no more; one line says how much it does), CLAB_ENOMEM,
//           CLAB_ESYS
int clab_register(struct clab_job *job, void *memory, size_t bytes, struct clab_registration **registration_p);
void clab_unregister(struct clab_job *job, struct clab_registration *registration); // NULL is fine

// ---- communicator --------------------------------------------------------------------------------------------

// A communicator of all ranks; collective over the job.
//   errors: CLAB_ENOMEM, CLAB_EPEER, CLAB_ETIMEOUT
int clab_comm_create(struct clab_job *job, struct clab_comm **comm_p);

// One communicator per color, ranks ordered by key, then by old rank; collective over comm. color < 0: no member,
// *comm_p = NULL.
//   errors: CLAB_ENOMEM, CLAB_EPEER, CLAB_ETIMEOUT, CLAB_EPOISONED
int clab_comm_split(struct clab_comm *comm, int color, int key, struct clab_comm **comm_p);

// A communicator of those members of `comm` who are left, ordered by old rank; collective over them. comm may have
// failed, or not; it stays as it is, and is to be destroyed. Others may still be finding out that it has failed: they
// come when their call has said so.
// - Left out are those who have died or left the job, and those who have not come when the first who has waits for
//   CLAB_TIMEOUT. If such a one comes later (a stopped process that goes on), its own call answers CLAB_EPEER.
// - Who gets CLAB_OK is in one group with all others who do. A member that dies in the last moment may still be in it:
//   the first collective tells, and what is left of that can be asked again.
//   errors: CLAB_ENOMEM, CLAB_EPEER (this rank has been left out), CLAB_ETIMEOUT
//   source: MPIX_Comm_shrink, Bland et al. 2013
int clab_comm_shrink(struct clab_comm *comm, struct clab_comm **comm_p);

// Not collective; all its work is done. NULL is fine.
void clab_comm_destroy(struct clab_comm *comm);

struct clab_job *clab_comm_job(const struct clab_comm *comm);
int clab_comm_rank(const struct clab_comm *comm);
int clab_comm_ranks(const struct clab_comm *comm);

// The number of the host that member `rank` runs on: ranks of one host share its memory, and its adapters to others.
// Hosts of a job are numbered from 0. On the backend sim, and over an emulated wire, they are the described network's.
//   rank: 0 to clab_comm_ranks - 1
int clab_comm_host(const struct clab_comm *comm, int rank);

// What creating this communicator cost, in seconds of this rank.
struct clab_comm_setup {
    double rendezvous; // finding the others and agreeing
    double connect;    // channels, mappings, addresses
};
struct clab_comm_setup clab_comm_setup(const struct clab_comm *comm);

// Use `algorithm` ("ring", ...; "native": what the backend's library has of its own; "auto": that, or else by the
// measured table) with `lanes` (0: the algorithm's own, and with "native" and "auto") for `collective` from now on.
// All ranks must say the same (else their next call answers CLAB_EMISMATCH).
//   errors: CLAB_ENOENT (unknown; the line lists those there are), CLAB_EINVAL (lanes)
int clab_comm_set_algorithm(struct clab_comm *comm, enum clab_collective collective, const char *algorithm, int lanes);

// Let a stream of the program's on its GPU, a cudaStream_t, order the work of a communicator.
// - What is started begins after all that the stream has been given before.
// - The library's own collectives ("native") run in the stream itself: what it is given after their start follows them,
//   without a wait. An event behind each says when it is done, to clab_work_test and clab_work_wait, which each work
//   still needs.
// - Averages, schedules, sends, receives, and calls whose buffers the GPU does not reach, are done after the wait.
//   stream: NULL: of the library's again, as at first; it lives until then, or until the communicator is destroyed. The
//   default stream's handle is cudaStreamLegacy, not 0.
//   errors: CLAB_EUNSUPPORTED (the backend has no streams), CLAB_EINVAL (work is under way; both logged), CLAB_EPOISONED
int clab_comm_set_stream(struct clab_comm *comm, void *stream);

// What this rank has been told to send and to receive on a communicator since it was made, counted move by move. What a
// native moves is not known, and not counted.
struct clab_comm_traffic {
    const char *algorithm; // of the last collective
    size_t messages;       // sent
    size_t bytes_sent, bytes_received;
    size_t bytes_across;   // of bytes_sent: to ranks of other hosts
};
struct clab_comm_traffic clab_comm_traffic(const struct clab_comm *comm);

// ---- collectives ---------------------------------------------------------------------------------------------
// errors of all: CLAB_EINVAL (type, op, root, NULL), CLAB_ENOMEM, CLAB_EPEER, CLAB_ETIMEOUT, CLAB_EMISMATCH,
// CLAB_EPOISONED
//
// CLAB_AVG adds, and then divides the sum by the number of ranks, on all backends. So the sum must fit the type: F16
// holds at most 65504, and the average of 20000 on four ranks is infinite. (ncclAvg scales each float before it adds.)
// A sum of integers wraps around before it is divided.
//
// Floats are rounded after each addition, so another algorithm, or number of ranks, may give other last bits. The kit's
// own allreduces give all ranks the same bits, except "naive": there each rank adds in an order of its own. Replicas of
// a model that are trained by it drift apart.

// out[i] = sum (or op) over all ranks of in[i].  in, out: (count)
int clab_allreduce(struct clab_comm *comm, const void *in, void *out, size_t count, enum clab_type type,
                   enum clab_op op);

// out = root's in.  in: (count), read at the root only; out: (count)
int clab_broadcast(struct clab_comm *comm, const void *in, void *out, size_t count, enum clab_type type, int root);

// root's out[i] = sum over all ranks of in[i].  in: (count); out: (count), written at the root only
int clab_reduce(struct clab_comm *comm, const void *in, void *out, size_t count, enum clab_type type, enum clab_op op,
                int root);

// out = all ranks' in, in rank order.  in: (count); out: (P, count)
int clab_allgather(struct clab_comm *comm, const void *in, void *out, size_t count, enum clab_type type);

// out = block `rank` of the sum of in.  in: (P, count); out: (count)
int clab_reduce_scatter(struct clab_comm *comm, const void *in, void *out, size_t count, enum clab_type type,
                        enum clab_op op);

// block i of out = block `rank` of rank i's in.  in, out: (P, count); in place is not supported (CLAB_EINVAL)
int clab_alltoall(struct clab_comm *comm, const void *in, void *out, size_t count, enum clab_type type);

// root's out = all ranks' in, in rank order.  in: (count); out: (P, count), at the root only
int clab_gather(struct clab_comm *comm, const void *in, void *out, size_t count, enum clab_type type, int root);

// out = block `rank` of root's in.  in: (P, count), at the root only; out: (count)
int clab_scatter(struct clab_comm *comm, const void *in, void *out, size_t count, enum clab_type type, int root);

// Returns once every rank has called it.
int clab_barrier(struct clab_comm *comm);

// A barrier that says who was late: late[r] is how many seconds rank r came after the first. Who has not come `timeout`
// seconds after rank 0 (or rank 0, after any other) is INFINITY; the call then answers CLAB_ETIMEOUT, one line names
// the late ranks, and the communicator is poisoned.  late: (P), the same at all ranks that came; of no use after other
// errors. It costs 4 small messages a rank, all of them rank 0's: for finding stragglers, not for each step.
//   errors: CLAB_EINVAL (timeout), CLAB_ETIMEOUT, and those of all
//   source: torch.distributed.monitored_barrier
int clab_monitored_barrier(struct clab_comm *comm, double timeout, double late[]);

// To and from `peer`, in order between a pair. Count and type at both ends are equal (CLAB_EMISMATCH). A send may
// wait for its receive: two ranks that send to each other use the _start calls.
int clab_send(struct clab_comm *comm, const void *in, size_t count, enum clab_type type, int peer);
int clab_recv(struct clab_comm *comm, void *out, size_t count, enum clab_type type, int peer);

// ---- the same, not waiting -----------------------------------------------------------------------------------
// Begin, and return; buffers are the library's until the work is done. Each *work_p ends in exactly one clab_work_wait.
// Collectives of a communicator proceed in the order they were started; progress is made in wait and test, and, where
// clab_job_progress says "thread", beside the program's own work.

int clab_allreduce_start(struct clab_comm *comm, const void *in, void *out, size_t count, enum clab_type type,
                         enum clab_op op, struct clab_work **work_p);
int clab_broadcast_start(struct clab_comm *comm, const void *in, void *out, size_t count, enum clab_type type, int root,
                         struct clab_work **work_p);
int clab_reduce_start(struct clab_comm *comm, const void *in, void *out, size_t count, enum clab_type type,
                      enum clab_op op, int root, struct clab_work **work_p);
int clab_allgather_start(struct clab_comm *comm, const void *in, void *out, size_t count, enum clab_type type,
                         struct clab_work **work_p);
int clab_reduce_scatter_start(struct clab_comm *comm, const void *in, void *out, size_t count, enum clab_type type,
                              enum clab_op op, struct clab_work **work_p);
int clab_alltoall_start(struct clab_comm *comm, const void *in, void *out, size_t count, enum clab_type type,
                        struct clab_work **work_p);
int clab_gather_start(struct clab_comm *comm, const void *in, void *out, size_t count, enum clab_type type, int root,
                      struct clab_work **work_p);
int clab_scatter_start(struct clab_comm *comm, const void *in, void *out, size_t count, enum clab_type type, int root,
                       struct clab_work **work_p);
int clab_barrier_start(struct clab_comm *comm, struct clab_work **work_p);
int clab_send_start(struct clab_comm *comm, const void *in, size_t count, enum clab_type type, int peer,
                    struct clab_work **work_p);
int clab_recv_start(struct clab_comm *comm, void *out, size_t count, enum clab_type type, int peer,
                    struct clab_work **work_p);

// Wait for `work`, and free it.  errors: the collective's
int clab_work_wait(struct clab_work *work);
// Make progress; *done_p says whether wait would return at once.  errors: the collective's
int clab_work_test(struct clab_work *work, bool *done_p);

// ---- reporting -----------------------------------------------------------------------------------------------

// Seconds, monotonic, the same clock on all ranks of a host. On the backend sim it is this rank's virtual time: it
// starts at 0, and moves by what is waited for and by what clab_compute is told.
double clab_seconds(void);
// Of these, the seconds so far in which this thread was ready to run, and others had its core: what a busy machine adds to
// its times. 0 in virtual time, and where the system does not say.
double clab_seconds_kept(void);

// Something that this rank does from begin to end, under a name of at most 31 characters: for the trace (--trace FILE, or
// CLAB_TRACE, writes what all ranks did when, for Perfetto: commlab trace), and for what is counted within it
// (CLAB_COUNTS=FILE, which `commlab check` reads). May be nested. Without both it is nothing.
void clab_span_begin(struct clab_job *job, const char *name);
void clab_span_end(struct clab_job *job);

// Say what this rank has just computed, itself: operations of a precision, and bytes of its memory read or written.
// On the backend sim its clock moves by the longer of the two, at the peaks of the network's [compute], which is a
// span of the trace; on others nothing happens, since the work itself took its time. flop, bytes >= 0
//   errors: CLAB_EINVAL, CLAB_ENOENT (the network does not say what its ranks compute, and flop > 0)
int clab_compute(struct clab_job *job, enum clab_precision precision, double flop, double bytes);

// What this rank has done since it joined the job, as the library has counted it. A check of a program reads these: what
// a program prints about itself, it does not.
struct clab_counts {
    double seconds;  // of clab_seconds
    double computed; // of these, what clab_compute was told; 0 unless time is exact. The rest is exposed communication
    size_t communicators;                       // that were made
    size_t collectives[CLAB_COLLECTIVE_COUNT];  // that were started, of each kind
    size_t monitored_barriers;
    size_t sends, receives;                     // calls of clab_send, clab_recv and their _start forms
    size_t messages;                            // sent, also within collectives; natives' are not known
    size_t bytes_sent, bytes_received;          // likewise
    size_t bytes_across;                        // of bytes_sent: to ranks of other hosts (clab_comm_host)
    size_t registrations, bytes_registered;     // by clab_register
    size_t failed_allocations;                  // of clab_alloc
    size_t communicators_destroyed;             // of those that were made
    size_t collectives_queued;                  // that were started while one before them had not been waited for
    size_t started, waited_for;                 // works of all kinds: equal once nothing is left to wait for
    size_t resent; // messages to this rank that a described network lost, and sent again; a collective's, in virtual time,
                   // are rank 0's
};
struct clab_counts clab_job_counts(const struct clab_job *job);

// Whether time moves only by what is waited for and by clab_compute, by the same amount in each run: on the backend
// sim.
bool clab_time_is_exact(void);
// How many calls a sample wants, of which one takes `once` seconds, so that it lasts for about `seconds`: at least 1.
// In virtual time, which is exact, always 1; likewise with CLAB_COUNTS, whose reader looks at no measured time.
int clab_repeats(double seconds, double once);
// How many samples of the same are worth while: `wanted`. In virtual time, where each is like the first, 1; likewise
// with CLAB_COUNTS.
int clab_samples(int wanted);

// Report `n` samples of `quantity` in `unit` ("s", "B", "1"): rank 0 prints median and interval, and appends a row to
// the results file when a lab run asked for one (CLAB_RESULTS). Other ranks' calls do nothing.
//   errors: CLAB_EINVAL (n < 1), CLAB_EIO
int clab_report(struct clab_comm *comm, const char *quantity, const char *unit, const double *samples, int n);

// First in a lab's main: with --help among the options, print the program's `arguments` ("[BYTES...]"), what it is
// `about` (lines), and the options of all labs, and exit.
void clab_help(int argc, char **argv, const char *arguments, const char *about);

// In a lab's main: print what failed and end this rank (the launcher then ends the job). What clab_job_open refuses
// it has said itself: wrong options end the program with status 2.
#define must(expr) clab_must((expr), #expr, __FILE__, __LINE__)
void clab_must(int err, const char *text, const char *file, int line);

// The size that an argument names ("8", "64K"): above 0, at most 1 GiB, a multiple of `unit`. If it does not, or there
// is none (NULL), one rank of each host prints `usage`, and every rank ends with status 2.
size_t clab_must_size(const struct clab_job *job, const char *text, size_t unit, const char *usage);
// The same of a number from 1 to `most`.
int clab_must_count(const struct clab_job *job, const char *text, int most, const char *usage);
