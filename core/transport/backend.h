// SPDX-License-Identifier: MIT
// What a backend is: something that moves bytes between the ranks of a group.
//
// - A backend knows no algorithm: the executor (core/comm) hands it transfers, stage by stage, with real addresses.
// - A *domain* is a process's attachment to a job (mapped segment, opened fabric); an *endpoint* is a communicator's.
// - Every slot is filled: a stub answers CLAB_EUNSUPPORTED, so nobody tests for NULL.
// - No call blocks except attach, open and the waits inside `exchange`, and those have a deadline.
// - Those of libraries that not every machine has are plugins.
// - Life: attach, then any number of (open ... close) and (alloc ... free), then detach.
// - Calls to a domain, its endpoints and its memory come one at a time: from one thread, and, where there is a way to
//   nap, from the progress thread in turn with it (core/comm/progress.h). Only struct clab_nap's sleep is called beside
//   others.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/base/numbers/expect.h"
#include "core/base/protocols.h"
#include "core/base/type.h"
#include "core/schedule/schedule.h"

// ---- what the job gives to backends ----------------------------------------------------------------------------

enum { CLAB_MAX_RANKS = 1024 };       // of a job
enum { CLAB_FLIGHT_BYTES = 8 << 10 }; // of a rank's flight recorder

// Who meets for an exchange.
struct clab_fence {
    const int *ranks; // (n) of the job, the same list at each of them; NULL: all ranks
    int n;
    uint64_t key; // the same at each of them, and of no other fence of the job (clab_mix)
    bool quiet;   // who fails is the caller's to say: nothing is logged
};

// What a rank has heard of another. All from CLAB_LEAVING on will take part in no fence, and send nothing new.
enum clab_presence {
    CLAB_EXPECTED, // has not come yet
    CLAB_PRESENT,
    CLAB_LEAVING, // is closing its job: it starts nothing any more, but sees to what is under way
    CLAB_LEFT,    // has closed it
    CLAB_LOST,    // its process has ended without that, or has failed; or its host is gone
};

enum clab_notice_kind {
    CLAB_NOTICE_LEFT,
    CLAB_NOTICE_LOST,
    CLAB_NOTICE_REVOKED,
    CLAB_NOTICE_EXPELLED, // `culprit` did not answer, and is left out of what comes after `comm` (clab_comm_shrink)
};

// What has gone wrong, told to all ranks of the job.
struct clab_notice {
    enum clab_notice_kind kind;
    int reporter;    // the rank that has failed, or has found it
    int culprit;   // the rank that it waited for, or -1
    int err;       // enum clab_err
    uint64_t comm; // REVOKED: the communicator on which `reporter` has failed; EXPELLED
};

// How processes find each other, and hear of each other, beside any backend. Provided by the job (core/job).
struct clab_bootstrap {
    int rank, nranks;
    double timeout;              // seconds any wait may last
    int node, nnodes;            // hosts
    int local_rank, local_ranks; // among the ranks of this host
    const int *locals;           // (local_ranks) job ranks of this host, ascending
    int cores;                   // that the ranks of this host share
    int job_cores;               // that all ranks share, on all machines together
    bool by_hand;                // each rank was started by itself, and has its own user, or terminal
    bool crowded; // more ranks than cores, here or in all containers of this machine together: who waits gives way

    int segment_fd;                       // a sparse memory file that all ranks of this host have open, or -1
    size_t segment_bytes, segment_offset; // the part of it that is the backend's
    char *flights; // (local_ranks, CLAB_FLIGHT_BYTES), zeroed at first, shared by the ranks of this host

    // While a rank waits in `exchange`, this is called again and again. *busy_p: something is under way, so that the
    // next call should come within 1 ms. Its error ends the exchange, here and at all who wait for this rank there.
    int (*meanwhile)(void *, bool *busy_p);
    void *meanwhile_of;

    // Each member gives `bytes` and gets all members' in the order of the list. Collective over the members.
    //   mine: (bytes); all: (n, bytes)
    //   errors: CLAB_EPEER (a member has ended), CLAB_ETIMEOUT (then what has come is in `all`, and the rest of it as
    //   it was), CLAB_EMISMATCH (of bytes), those of meanwhile
    int (*exchange)(struct clab_bootstrap *, struct clab_fence, const void *mine, size_t bytes, void *all);
    // Tell all ranks, this one included. Never waits, but 1 s at most for a reporter that has been passed by thousands.
    void (*notify)(struct clab_bootstrap *, const struct clab_notice *);
    // The next notice that this rank has not heard, if there is one. Never waits; a look costs well under 1 us.
    bool (*next_notice)(struct clab_bootstrap *, struct clab_notice *notice_p);
    enum clab_presence (*presence)(struct clab_bootstrap *, int rank);
};

// The members of a communicator: member i of it is rank `ranks[i]` of the job. `exchange` is over the members.
struct clab_group {
    int rank, nranks;
    const int *ranks;
    uint64_t id; // of the communicator: the same at all members, and of no other communicator of the job
    int (*exchange)(struct clab_group *, const void *mine, size_t bytes, void *all);
    size_t board_bytes; // of memory that all members share beside their messages (shm/board.h); 0: none
};

// ---- what a backend gives ----------------------------------------------------------------------------------------

struct clab_domain;       // a backend's own
struct clab_endpoint;     // a backend's own
struct clab_registration; // a backend's own: memory that it has been told of

// Collectives use the first lanes; sends and receives have their own, and so has the monitored barrier.
enum { CLAB_MAX_LANES = 16, CLAB_P2P_LANE = CLAB_MAX_LANES, CLAB_MONITOR_LANE, CLAB_LANES };

// One message of a stage, with addresses. The first part is the caller's and stays as it is until done; the second is
// the backend's. Order between a pair within a lane is the order of start().
struct clab_transfer {
    enum clab_step_op op; // CLAB_SEND, CLAB_RECV or CLAB_RECV_REDUCE
    int peer, lane;       // a member of the group
    const void *src;      // SEND: what is sent. RECV_REDUCE: the local operand, dst = src (redop) received
    void *dst;            // RECV and RECV_REDUCE; may be src
    size_t count;         // elements of `type`; 0 is a message, too
    enum clab_type type;
    enum clab_op redop;
    uint16_t call;     // what is being called, as a number that both ends must agree on
    bool non_temporal; // what comes is too much for the caches: it may be stored around them

    bool done;     // set by start or test
    bool failed;   // the same, where one of several is the reason of their error; false at first
    size_t moved;  // bytes so far
    uint64_t turn; // its place in the order of its channel
    uint64_t mark; // when it is delivered, in the backend's own count
};

// A collective as a library that has its own takes it.
struct clab_call {
    enum clab_collective collective;
    int root;
    size_t count; // elements, as in clab.h
    enum clab_type type;
    enum clab_op op; // never CLAB_AVG: the library sums, and the communicator divides
    const void *in;
    void *out;
    uint64_t agreed; // a number for all of the call that members must have in common; 0: it is not compared
};
struct clab_native; // a backend's own: a collective under way

// A product of matrices of float32: c (m, n) = a (m, k) b (k, n), each row after row without gaps; added to c if `add`.
// A factor that is transposed lies in memory as (k, m), or (n, k). c overlaps neither.
struct clab_gemm {
    size_t m, n, k;
    const float *a, *b;
    float *c;
    bool transpose_a, transpose_b, add;
};

// Compute where the data lives: the device's memory is what the backend's alloc gives.
// - What a training step needs (core/train) is of float32; matrices are (rows, columns), row after row without gaps.
// - Outputs are one of the inputs exactly where it is said, else apart from all of them; counts may be 0. Memory is
//   aligned to its elements; to 16 bytes it is faster.
// - Each call is done when it returns, or is followed in order by the device's other calls and the backend's transfers.
//   What fails meanwhile is logged once, and told by the next call that has an error to tell.
// - On one device, the same call with the same data gives the same bits; and on any, but for NaNs' payloads and where
//   it is said.
struct clab_device {
    const char *name;
    // Between memory of any kind that does not overlap: the device's, and the program's own, which no other call takes.
    // With the program's own at either end it is done when it returns.
    void (*copy)(void *out, const void *in, size_t bytes);
    // The same for a part of more than the caches hold: it may be stored around them.
    void (*copy_nontemporal)(void *out, const void *in, size_t bytes);
    // Each of the bytes becomes `byte`: 0 for zeros, 0xff for NaN and -1.
    void (*set)(void *data, int byte, size_t bytes);
    // Wait for all that was given to the device.  errors: CLAB_ENOMEM, CLAB_ESYS (logged): of any call since the last
    int (*finish)(void);
    // Seconds by the device's own clock, where it has one, from the begin to the end of what `work(of)` gives it.
    // NAN: it has failed
    double (*time)(void (*work)(void *of), void *of);

    // Seconds by the same clock that the kernels of communicators take while `work(of)` runs, which starts operations
    // and waits for them. Each operation counts from its first kernel in the first lane to its last one there. The host's
    // time before, between and after operations does not count. NAN: there is no such clock, nothing was started, or
    // the device has failed
    double (*time_calls)(void (*work)(void *of), void *of);

    // Elementwise, of all types, as core/base/numbers/reduce.h says.
    // out = a (op) b.  a, b, out: (count); out may be a or b
    void (*reduce)(enum clab_type type, enum clab_op op, const void *a, const void *b, void *out, size_t count);
    // data = data / divisor.  data: (count); 0 < divisor <= 2^24
    void (*scale)(enum clab_type type, void *data, size_t count, int divisor);

    // Random data by counter, and what must have come of it.
    // out = elements [first, first + count) that `rank` gives (core/base/numbers/random.h).  out: (count)
    void (*fill)(const struct clab_random *random, int rank, uint64_t first, size_t count, void *out);
    // How many elements of `got`, of those that are looked at, are not what is expected (core/base/numbers/expect.h); all of them if
    // the device fails.  got: (expected->count)
    size_t (*check)(const struct clab_expected *expected, const void *got);

    // Formats of numbers.
    // out = in, rounded to nearest even. One of the types is CLAB_F32, the other CLAB_F16 or CLAB_BF16.  in, out:
    // (count)
    void (*cast)(enum clab_type from, const void *in, enum clab_type to, void *out, size_t count);
    // Floats as int8 with a scale for each `block` of them, at most half a scale off (core/base/numbers/quantize.h); and back.
    //   float: (count); int8: (count); scales: (count / block, rounded up); block > 0
    void (*quantize)(size_t count, size_t block, const float *in, int8_t *out, float *scales);
    void (*dequantize)(size_t count, size_t block, const int8_t *in, const float *scales, float *out);

    // A training step.
    // c = a b. The order of its sums is the device's.
    void (*gemm)(const struct clab_gemm *gemm);
    // y += bias in each row.  y: (rows, columns); bias: (columns)
    void (*add_bias)(size_t rows, size_t columns, const float *bias, float *y);
    // sums = the sum of all rows of y; added to it if `add`.  sums: (columns)
    void (*sum_rows)(size_t rows, size_t columns, const float *y, bool add, float *sums);
    // y = max(y, 0); and what is left of its gradient dy, by the y that came of it.  y, dy: (count)
    void (*relu)(size_t count, float *y);
    void (*relu_gradient)(size_t count, const float *y, float *dy);
    // y += a x: a step of SGD, with the rate -a and the gradient x.  x, y: (count)
    void (*axpy)(size_t count, float a, const float *x, float *y);
    // gradient = 2 (y - target) / count.  The mean of (y - target)^2, summed in the device's order; NAN: it has failed
    double (*squares)(size_t count, const float *y, const float *target, float *gradient);
};
// The CPU's: products by OpenBLAS, on one thread, where the build has it.
extern const struct clab_device clab_device_cpu;
// Likewise, but by loops alone, which give the same bits on every machine.
extern const struct clab_device clab_device_plain;
// Whose products clab_device_cpu takes: "OpenBLAS 0.3.21" or "plain loops".
const char *clab_device_cpu_products(void);

// How a thread that makes progress beside a rank's computation sleeps while nothing moves, without spinning: it takes
// the core from the computation. `arm` on each endpoint with something under way, one more look, `sleep` until the
// first.
struct clab_nap {
    // What comes from now on ends a sleep; how long this endpoint can be left alone, s of clab_now.
    double (*arm)(struct clab_endpoint *endpoint);
    // Until then, or until something comes, at most CLAB_NAP. Any other call may come meanwhile, but detach.
    void (*sleep)(struct clab_domain *domain, double until);
};
#define CLAB_NAP 1e-3 // s

struct clab_backend {
    const char *name;
    const char *title; // one line for `commlab doctor` and --help

    // Attach this process to the job; collective over the job. *domain_p is set on success only.
    //   errors: CLAB_EUNSUPPORTED (this machine or build lacks it, logged with the remedy), CLAB_ESYS, CLAB_EPEER,
    //   CLAB_ETIMEOUT
    int (*attach)(struct clab_bootstrap *boot, struct clab_domain **domain_p);
    // Not collective. Endpoints are closed and allocations freed before.
    void (*detach)(struct clab_domain *domain);

    // Memory that peers reach fastest, 64-byte aligned, uninitialised.  errors: CLAB_ENOMEM (logged with what was left)
    int (*alloc)(struct clab_domain *domain, size_t bytes, void **memory_p);
    void (*free)(struct clab_domain *domain, void *memory);
    // Whether transfers, natives and the device can use `memory`, which may be any of this process, as it is: a GPU may
    // reach none but what alloc gives. For what they do not reach, the communicator puts memory of alloc in its place.
    // Where the processor moves the bytes: clab_host_reaches. Takes tens of ns at most.
    bool (*reaches)(struct clab_domain *domain, const void *memory);

    // Register memory that will be communicated from and to: fi_mr_reg, ncclCommRegister, or, where the processor moves
    // the bytes, clab_host_pin. Done anew by each call, also of memory that alloc has registered.
    //   memory: the start of a page; bytes > 0
    //   errors: CLAB_ENOMEM, CLAB_EUNSUPPORTED (the system allows no more, logged), CLAB_ESYS (logged)
    int (*pin)(struct clab_domain *domain, void *memory, size_t bytes, struct clab_registration **registration_p);
    void (*unpin)(struct clab_domain *domain, struct clab_registration *registration);

    // A communicator's connections; collective over the group, which lives for this call only.
    //   errors: CLAB_ENOMEM, CLAB_EPEER, CLAB_ETIMEOUT
    int (*open)(struct clab_domain *domain, struct clab_group *group, struct clab_endpoint **endpoint_p);
    // Not collective, never waits: what peers still read or expect stays valid until they close, too. `failed`: the
    // communicator has just failed; transfers may be under way, and a native collective, and buffers are the caller's
    // again on return: nothing writes them later, and a peer that still reads them answers with an error.
    void (*close)(struct clab_endpoint *endpoint, bool failed);

    // A schedule of so many lanes is about to begin: all members say so before its first start, in the same order of
    // schedules. Never waits. Without anything to prepare: clab_any_lanes.  errors: as start
    int (*lanes)(struct clab_endpoint *endpoint, int lanes);
    // Begin `n` transfers together; never waits. The array stays in place until all are done.
    //   errors: CLAB_EPEER, CLAB_EMISMATCH (the ends differ in bytes or call): not logged, since the caller knows more
    //   to say; CLAB_ESYS: logged
    int (*start)(struct clab_endpoint *endpoint, struct clab_transfer transfers[], int n);
    // Move what can be moved now; *done_p says whether all `n` are done. Never waits.
    //   errors: as start
    int (*test)(struct clab_endpoint *endpoint, struct clab_transfer transfers[], int n, bool *done_p);
    // Nothing could be moved for the `fruitless`-th time in a row (0, 1, ...): spin, yield or sleep, as suits, and at
    // most 1 ms. Whether the core was given away: then it is time to look at clocks and notices.
    bool (*idle)(struct clab_endpoint *endpoint, unsigned fruitless);

    // Collectives by the library's own means, where it has any; those of an endpoint are started in the same order by
    // all members, one at a time. Without: clab_no_native, clab_no_native_start and clab_no_native_test.
    // Whether it has this one. The answer is the same on all ranks, and known before any is started.
    bool (*has_native)(enum clab_collective collective, enum clab_type type, enum clab_op op);
    // Begin one that has_native promised. The call is copied; buffers are the library's until it is done. What is under
    // way when its endpoint is closed is freed by close.
    // - A library that takes what it is told would answer wrongly, or crash, where members call different things: so
    //   they first compare `agreed`, and none begins the library's call until it knows that all have the same number.
    //   nccl does not: GPUs would wait for the host.
    //   errors: CLAB_EPEER, CLAB_ETIMEOUT, CLAB_ENOMEM, CLAB_ESYS, CLAB_EMISMATCH (a member has another number)
    int (*native_start)(struct clab_endpoint *endpoint, const struct clab_call *call, struct clab_native **native_p);
    // Frees `native` when it is done, or has failed. Never waits.  errors: as native_start
    int (*native_test)(struct clab_endpoint *endpoint, struct clab_native *native, bool *done_p);

    // What does the work, and on what, in a few words for the header of what is measured: "NCCL 2.28.9, CUDA 13.0,
    // NVIDIA H200"; "" where that is the machine and the kit. *is_fake_p: a double for tests, of which no result is to
    // be kept.
    //   domain: NULL before attach: then nothing is said of the hardware
    // Without anything to say: clab_no_description.
    void (*describe)(struct clab_domain *domain, char *text, size_t room, bool *is_fake_p);

    const struct clab_device *device;

    // How the library starts ranks, where they must be started by it: the program and its options, before `-n N
    // PROGRAM`, ended by NULL; the first is "" where it is not known. NULL: as we do.
    const char *const *launcher;

    const struct clab_nap *nap; // NULL: all calls must come from one thread

    bool has_threads;  // of its own, which work for a rank: it is not pinned, since they would all share its core
    bool sockets;      // a message costs calls of the system, at both ends
    bool sees_to_done; // what is done here may need more calls before it is at its peer: `test` of nothing is one
    bool is_virtual;   // its time is a described network's (backends/model/virtual.h), exact, and no machine's

    struct clab_protocols protocols; // zeros: a wire that has one way for all messages
};

bool clab_host_reaches(struct clab_domain *domain, const void *memory); // all of it

// By locking pages in RAM (pin.c).
int clab_host_pin(struct clab_domain *domain, void *memory, size_t bytes, struct clab_registration **registration_p);
void clab_host_unpin(struct clab_domain *domain, struct clab_registration *registration);

int clab_any_lanes(struct clab_endpoint *endpoint, int lanes);
void clab_no_description(struct clab_domain *domain, char *text, size_t room, bool *is_fake_p);
bool clab_no_native(enum clab_collective collective, enum clab_type type, enum clab_op op);
int clab_no_native_start(struct clab_endpoint *endpoint, const struct clab_call *call, struct clab_native **native_p);
int clab_no_native_test(struct clab_endpoint *endpoint, struct clab_native *native, bool *done_p);

// A sleep by the clock, where nothing can end it; at most CLAB_NAP.
void clab_nap_until(double until);
// `idle` of what can only be looked at again: `spins` looks at once, unless ranks are crowded, then some each time that
// the core is had again, then one look after each sleep of 0.1 ms. Where each rank has a core, sleeps begin when one is
// at most 1/200 of the wait so far: so they lengthen no wait by more than that.
bool clab_poll_idle(const struct clab_bootstrap *boot, unsigned spins, unsigned fruitless);

// ---- which there are ---------------------------------------------------------------------------------------------

// The backend called `name`: one that is built in, or a plugin (plugin.h), which is loaded now. NULL with one logged
// line, which lists those there are, or says what this one needs and how to get it.
const struct clab_backend *clab_backend_find(const char *name);
// The names of all there are: those built in, then the plugins beside this program; NULL after the last. None is
// loaded. Good until the next call.
const char *clab_backend_name(int i);
