// SPDX-License-Identifier: MIT
// Samples of where the cores of ranks 0 and 1 are placed at present.
//
// - A hypervisor moves a virtual machine's CPUs, for seconds at a time. They may lie near each other. They may lie so
//   far apart that a cache line takes three times as long between them, and so does all that the other has just
//   written. Or they are the two threads of one core, and share its caches and its time.
// - While a neighbour uses the other thread of a core, all that the core does takes up to 1.7 times as long.
// - So a measurement takes samples beside it, and a prediction is for the placement that they show
//   (clab_sim_options.probed).
#pragma once

enum { PROBE_WIRE_TURNS = 4 }; // round trips of probe_wire

#include "core/clab.h"
#include "sim/net/net.h"

// The factor beyond which two latencies are not of the same placement.
#define PROBE_FACTOR 1.5

enum { PROBE_ROOM = 16 << 10 };

// A communicator of this rank alone, whose broadcasts are a sample's empty calls. Collective over `comm`.
//   errors: clab_comm_split's
int probe_alone(struct clab_comm *comm, struct clab_comm **alone_p);
// An empty call, as fit's probes time them.
int probe_call(struct clab_comm *alone);

// One sample: messages between ranks 0 and 1 by clab_send and clab_recv, and empty calls of all. It takes some 40 us,
// more where the cores are far apart. Collective; *probed_p holds at rank 0. Of one rank alone it has no latency.
//   room:   PROBE_ROOM bytes of clab_alloc, which it overwrites
//   errors: the communicators'
int probe_placement(struct clab_comm *comm, struct clab_comm *alone, void *room,
                    struct clab_placement_sample *probed_p);

// How often the kernel has given this process's core to another so far.
double probe_interruptions(void);

// What this process has had of its core so far.
struct probe_turns {
    double now, had; // s: of the clock, and with a core
    double sleeps;   // how often it gave its core up until something woke it
};
struct probe_turns probe_turns(void);
// Whether other processes had any of `cores` meanwhile. A rank that shares its core polls until its turn ends, so that
// all ranks together have all cores; where one sleeps, nothing is known.  sums: since then, over the ranks
bool probe_are_taken(struct probe_turns sums, int ranks, int cores);

// The same between hosts, where only `line` is to be seen: of ranks 0 and 1, by a few round trips; collective.
//   errors: the communicator's
int probe_wire(struct clab_comm *comm, struct clab_placement_sample *probed_p);

// Move to the front of `values` those whose samples show the usual placement and one pace, and return how many.
//   all_probed: (n) a sample beside each value; zeros: the value was interrupted. Such values are kept only if fewer than
//            a quarter were not interrupted. The fastest pace counts if a quarter of the samples have it, else the
//            usual.
//   *probed_p: the medians of the samples that were kept, n >= 1
int probe_keep_same(double values[], const struct clab_placement_sample all_probed[], int n,
                    struct clab_placement_sample *probed_p);

// The latency: half a round trip of 8 bytes in seconds, the median of a few. Collective: all ranks get rank 0's value;
// 0 of one rank alone.
//   errors: the communicator's
int probe_latency(struct clab_comm *comm, double *seconds_p);

// Whether a core with such an empty call was as fast as the fastest one, whose calls took `least`.
bool probe_is_calm(double call, double least);

// Whether two latencies are of the same placement. Both > 0, or both 0
bool probe_is_same(double a, double b);
