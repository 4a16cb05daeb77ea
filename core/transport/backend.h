// SPDX-License-Identifier: MIT
// A backend moves bytes between the ranks of a group.
//
// - transfer.h   one message.   device.h   the memory that it lies in, and what computes on it.
// - bootstrap.h  what the job gives to a backend.
//
// - A backend knows no communicator. The executor (core/comm) hands it transfers, stage by stage, with real addresses;
//   or it takes whole collectives (struct clab_collectives).
// - A *domain* is a process's attachment to a job (mapped segment, opened fabric); an *endpoint* is a communicator's.
//   A backend's own begin with the structs below.
// - Every slot is filled: a stub answers CLAB_EUNSUPPORTED, so no caller tests for NULL.
// - No call blocks except attach, open and the waits inside `exchange`, and those have a deadline.
// - Backends whose libraries a machine may lack are plugins (plugin.h).
// - Life: attach, then any number of (open ... close) and (alloc ... free), then detach.
// - Calls to a domain, its endpoints and its memory come one at a time: from one thread, and, where there is a way to
//   nap, from the progress thread in turn with it (core/comm/progress.h). Only struct clab_nap's sleep is called beside
//   others.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/base/protocols.h"
#include "core/base/type.h"
#include "core/schedule/schedule.h"
#include "core/transport/bootstrap.h"
#include "core/transport/device.h"
#include "core/transport/transfer.h"

struct clab_backend;

// The first member of every backend's own. clab_attach and clab_endpoint_open fill them in.
struct clab_domain {
    const struct clab_backend *backend;
    bool may_hold; // what has been started may wait for what follows it, since a thread will flush it
    bool holds;    // something waits so; read beside calls, by clab_domain_holds
};
static inline bool clab_domain_holds(const struct clab_domain *domain)
{
    return __atomic_load_n(&domain->holds, __ATOMIC_RELAXED);
}
static inline void clab_domain_set_holds(struct clab_domain *domain, bool holds)
{
    __atomic_store_n(&domain->holds, holds, __ATOMIC_RELAXED);
}
struct clab_endpoint {
    struct clab_domain *domain;
};
struct clab_registration {
    void *memory;
    size_t bytes;
};

enum { CLAB_CACHE_LINE = 64, CLAB_HUGE_PAGE = 2 << 20 }; // B: what memory of alloc begins at, by its size

// ---- whole collectives -------------------------------------------------------------------------------------------

struct clab_call {
    struct clab_problem problem;            // counts in elements, as in clab.h
    const struct clab_algorithm *algorithm; // the schedule to run; NULL: the library's own way
    enum clab_type type;
    enum clab_op op; // never CLAB_AVG: the communicator divides the sum
    bool in_place;
    const void *in;
    void *out;
    void *graph;     // of `recorded`: what is called instead of all above; NULL: none
    uint64_t agreed; // a number for the call that all members must have in common; 0: it is not compared
    double when;     // s of the backend's time: when this rank made the call
};

struct clab_answer {
    bool done;
    int differs;       // CLAB_EMISMATCH: a member that calls something else; -1: not known
    double begun, due; // s of the backend's time: when the call began and ends for this rank; 0 by the wall clock
    size_t messages, bytes_sent, bytes_received; // by this rank; 0 where the library does not say
    size_t bytes_across;                         // of bytes_sent: to other hosts
};

// What the library ran, as it names it; "" where it has no name.
struct clab_ran {
    char algorithm[16], protocol[16];
    int channels;
};

// Collectives that a backend runs by itself: a library's own, or the schedules that the communicator has chosen.
// All members start those of an endpoint in the same order.
struct clab_collectives {
    // All calls come here, also those with an algorithm. The members' calls are then compared, at no cost.
    bool runs_schedules;
    // How many calls may be started behind one that is not done yet. They are done in that order, and `test` is of the
    // first of them. 0: start is not called before the last call is done.
    int queues;
    // Whether the library has its own way. The answer is the same on all ranks, and known before any is started.
    bool (*has)(enum clab_collective collective, enum clab_type type, enum clab_op op);
    // As clab_backend.reaches, for the buffers of a call of runs_schedules.
    bool (*reaches)(struct clab_domain *domain, const void *memory);
    // Begin a call: one that `has` promised, or one with an algorithm. The call is copied; buffers are the backend's
    // until it is done. `close` frees what is under way.
    // - A library that takes what it is told would answer wrongly, or crash, where members call different things. So
    //   members first compare `agreed`, and none begins the library's call until it knows that all have the same
    //   number. nccl does not: GPUs would wait for the host.
    //   errors: CLAB_EPEER, CLAB_ETIMEOUT, CLAB_ENOMEM, CLAB_ESYS, CLAB_EMISMATCH (a member has another number)
    int (*start)(struct clab_endpoint *endpoint, const struct clab_call *call);
    // Go on with it. Never waits.  answer_p: `differs` is -1 and the rest zero before.  errors: as start
    int (*test)(struct clab_endpoint *endpoint, struct clab_answer *answer_p);
    // Record calls: from now on none is under way, start only notes a call, and test says that it is done, until
    // `recorded`, which gives what was noted, as a graph; a call with that runs all of it. `forget` frees it, also after
    // the endpoint's end, and after `recorded` has failed there is none. Without graphs: clab_no_recording, and so on.
    //   errors: CLAB_EUNSUPPORTED, CLAB_ENOMEM, CLAB_ESYS (logged)
    int (*record)(struct clab_endpoint *endpoint);
    int (*recorded)(struct clab_endpoint *endpoint, void **graph_p);
    void (*forget)(void *graph);
    // What the library did in the last call; false: it is not known.
    bool (*ran)(const struct clab_endpoint *endpoint, struct clab_ran *ran_p);
    // *peer_p: the member that it waits for; -1: not known. *moved_p: grows while something happens.
    void (*look)(const struct clab_endpoint *endpoint, int *peer_p, size_t *moved_p);
};

extern const struct clab_collectives clab_no_collectives;
int clab_no_recording(struct clab_endpoint *endpoint);
int clab_nothing_recorded(struct clab_endpoint *endpoint, void **graph_p);
void clab_forget_nothing(void *graph);
bool clab_ran_unknown(const struct clab_endpoint *endpoint, struct clab_ran *ran_p);
void clab_look_nowhere(const struct clab_endpoint *endpoint, int *peer_p, size_t *moved_p); // nothing is known

// ---- time --------------------------------------------------------------------------------------------------------

struct clab_open_cost {
    double rendezvous, connect; // s: to find the others, and to connect with them
};

// A rank's clock: the wall's, or a described network's.
struct clab_time {
    // The clock moves only by reach and compute, by the same amount in each run. A call is over for a rank when the
    // rank has waited for it. If false, time passes by itself, and reach and compute do nothing.
    bool is_exact;
    double (*now)(const struct clab_domain *domain); // s
    void (*reach)(struct clab_domain *domain, double when);
    // This rank has computed so many operations of a precision, and read or written so many bytes.
    //   errors: CLAB_EINVAL, CLAB_ENOENT (the network does not say what its ranks compute; logged)
    int (*compute)(struct clab_domain *domain, enum clab_precision precision, double flop, double bytes);
    // The rank has waited for a transfer that is done.  Returns when that was over. Once a transfer.
    double (*settle)(struct clab_endpoint *endpoint, const struct clab_transfer *transfer);
    // A communicator has been made since `start`. *cost_p holds the wall clock's seconds, which an exact time replaces.
    // Collective over the group.  errors: those of the exchange, CLAB_ENOMEM
    int (*open)(struct clab_endpoint *endpoint, struct clab_group *group, double start, struct clab_open_cost *cost_p);
    // The name of the described network; NULL: time is the machine's own.  domain: NULL: of a job that begins now
    const char *(*net)(const struct clab_domain *domain);
    // The host of the described network that `rank` of the job is on; -1: of the machine's own, which the job knows.
    int (*host)(const struct clab_domain *domain, int rank);
    // Messages to this rank that a described network has lost so far, and sent again; 0 where it is the machine's own.
    size_t (*resent)(const struct clab_domain *domain);
};

extern const struct clab_time clab_wall_time;

// ---- progress ----------------------------------------------------------------------------------------------------

// What moves a message on while its rank computes.
enum clab_mover {
    CLAB_MOVED_BY_CORES,  // the ranks' cores: a progress thread takes them from the computation
    CLAB_MOVED_BY_CLOCK,  // mostly time that passes, while cores are free: a thread is worth it
    CLAB_MOVED_BY_ITSELF, // no call, and no thread
};

// How a thread that makes progress beside a rank's computation sleeps while nothing moves, without spinning: it takes
// the core from the computation. `arm` on each endpoint with something under way, one more look, `sleep` until the
// first.
struct clab_nap {
    // From now on an arriving message ends a sleep.  Returns until when this endpoint needs no call, s of clab_now
    double (*arm)(struct clab_endpoint *endpoint);
    // Sleep until then, or until a message arrives, at most CLAB_NAP. All calls but detach may run meanwhile.
    void (*sleep)(struct clab_domain *domain, double until);
};
#define CLAB_NAP  1e-3 // s
#define CLAB_HOLD 1e-4 // s: the longest that a message is held back

// ---- the backend -------------------------------------------------------------------------------------------------

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
    // Whether transfers and the device can use `memory`, which may be any of this process, as it is: a GPU may
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
    // schedules. Never waits. 0 lanes: no schedule begins, but the device is to follow the caller's stream up to now.
    // One member may say that alone. Without anything to prepare: clab_any_lanes.  errors: as start
    int (*lanes)(struct clab_endpoint *endpoint, int lanes);
    // From now on work of this endpoint begins after what the caller's stream has been given before, and the library's
    // own collectives run in that stream. stream: of the device's library; NULL: none. Nothing is under way. Without
    // streams: clab_no_stream.  errors: CLAB_EUNSUPPORTED
    int (*follow)(struct clab_endpoint *endpoint, void *stream);
    // Begin `n` transfers together; never waits. The array stays in place until all are done. It may be started again
    // then, with nothing but `call` written anew.
    //   errors: CLAB_EPEER, CLAB_EMISMATCH (the ends differ in bytes or call): not logged, since the caller
    //   knows more; CLAB_ESYS: logged
    int (*start)(struct clab_endpoint *endpoint, struct clab_transfer transfers[], int n);
    // Move what can be moved now; *done_p says whether all `n` are done. Never waits.
    //   errors: as start
    int (*test)(struct clab_endpoint *endpoint, struct clab_transfer transfers[], int n, bool *done_p);
    // Nothing could be moved for the `fruitless`-th time in a row (0, 1, ...): spin, yield or sleep, as suits, and at
    // most CLAB_NAP. Whether the core was given away: then it is time to look at clocks and notices.
    bool (*idle)(struct clab_endpoint *endpoint, unsigned fruitless);

    const struct clab_collectives *collectives; // clab_no_collectives where it has none
    const struct clab_time *time;               // clab_wall_time

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
    // Send what is held back (struct clab_domain), as far as that is possible now. NULL: nothing ever is.
    void (*flush)(struct clab_domain *domain);

    // Whether a rank can keep processes outside the job from sending to it, tried on sockets of this process. NULL: no
    // process outside the job can connect to a rank, or the library sees to that.
    bool (*keeps_others_out)(void);

    enum clab_mover mover;
    bool bounces;      // `reaches`, or that of its collectives, may say no
    bool own_cores;    // each rank has a core, however many this machine has
    bool has_threads;  // of its own, which work for a rank: it is not pinned, since they would all share its core
    bool sockets;      // a message costs calls of the system, at both ends
    bool sees_to_done; // what is done here may need more calls before it is at its peer: `test` of nothing is one

    struct clab_protocols protocols; // zeros: a wire that has one way for all messages
};

bool clab_host_reaches(struct clab_domain *domain, const void *memory); // all of it
// `test` by a function that tests one transfer, which is not done.
int clab_test_each(struct clab_endpoint *endpoint, struct clab_transfer transfers[], int n,
                   int (*test_one)(struct clab_endpoint *, struct clab_transfer *), bool *done_p);

// By locking pages in RAM (pin.c).
int clab_host_pin(struct clab_domain *domain, void *memory, size_t bytes, struct clab_registration **registration_p);
void clab_host_unpin(struct clab_domain *domain, struct clab_registration *registration);

// Attach to `backend`, and open an endpoint: the slots, and what every domain and endpoint begins with.
int clab_attach(const struct clab_backend *backend, struct clab_bootstrap *boot, struct clab_domain **domain_p);
int clab_endpoint_open(struct clab_domain *domain, struct clab_group *group, struct clab_endpoint **endpoint_p);

int clab_any_lanes(struct clab_endpoint *endpoint, int lanes);
int clab_no_stream(struct clab_endpoint *endpoint, void *stream);
void clab_no_description(struct clab_domain *domain, char *text, size_t room, bool *is_fake_p);

// A sleep by the clock, where nothing can end it; at most CLAB_NAP.
void clab_nap_until(double until);
// `idle` of what can only be looked at again: `spins` looks at once, unless ranks are crowded, then some each time that
// the core is had again, then one look after each sleep of 0.1 ms. Where each rank has a core, sleeps begin when one is
// at most 1/200 of the wait so far: so they lengthen no wait by more than that.
bool clab_poll_idle(const struct clab_bootstrap *boot, unsigned spins, unsigned fruitless);

// ---- which there are ---------------------------------------------------------------------------------------------

// The backend called `name`: one that is built in, or a plugin (plugin.h), which is loaded now. NULL with one logged
// line: it lists the backends of this build, or what this one needs and how to get it.
const struct clab_backend *clab_backend_find(const char *name);
// The name of the backend of a job that names none: shared memory within a host, ofi among several.
const char *clab_backend_usual(int nnodes);
// Put the described network `name` (--emulate) between the ranks: messages of *domain_p are delivered when they would
// arrive on that network. On success *domain_p is a new domain, which owns the old one.
//   errors: CLAB_EINVAL (this backend can not, or the job has more ranks than the network), CLAB_EUNSUPPORTED (several
//   hosts), CLAB_ENOMEM, those of clab_net_load; all logged but CLAB_ENOMEM
int clab_backend_emulate(struct clab_bootstrap *boot, const char *name, struct clab_domain **domain_p);
// The names of all there are: those built in, then the plugins beside this program; NULL after the last. None is
// loaded. Good until the next call.
const char *clab_backend_name(int i);
