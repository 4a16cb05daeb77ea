// SPDX-License-Identifier: MIT
// From probes to a profile: which parameter of a network comes from which measurement. Pure functions, no ranks.
//
// - Probes are point-to-point messages, local copies and reductions; collectives are predicted by the result, never
//   fitted.
// - A round is all probes once. Every round gives a network of its own; a parameter is the median over rounds, and its
//   interval is that of the median.
// - A level's footprint is what both ranks touch together. Its probes' messages are a half, a third or a quarter of it,
//   by how many buffers of that size they touch. Fresh data is such that a peer has touched half of the level, on
//   average, since it read what is written anew; a sum touches only itself.
//
// Source: Culler et al. 1996 and Kielmann et al. 2000 for taking LogP's parameters apart with few probes.
#pragma once

#include "core/base/protocols.h"
#include "sim/net/net.h"

enum { CLAB_FIT_LANES = 8 }; // that messages of probes take turns on

// What is timed, in seconds a message or copy.
enum clab_probe {
    CLAB_PROBE_CALL,     // a collective on a communicator of one rank: begin and end, one stage that has nothing to do
    CLAB_PROBE_ANSWER,   // half a round trip, with a CALL before the answer
    CLAB_PROBE_STAGES,   // another call, of several such stages: a barrier by tree
    CLAB_PROBE_LANED,    // another one, of one such stage on each of CLAB_FIT_LANES lanes
    CLAB_PROBE_POST,     // the sender's time for a message that is buffered, while there is room
    CLAB_PROBE_STREAM,   // messages one way, many in a row; in shared memory with a CALL after each
    CLAB_PROBE_PINGPONG, // half a round trip, of data that is not written meanwhile
    CLAB_PROBE_EXCHANGE, // both ranks send, then receive: kept data; in shared memory with a CALL after each
    CLAB_PROBE_COPY,     // a rank's own memory to its own memory
    CLAB_PROBE_PULL,   // kept: messages one way, each timed until the sender learns that it was fetched. fresh: half a
                       // round trip of data that each rank has just received. Both: an exchange
    CLAB_PROBE_REDUCE, // as PULL of kept data, but received by out = in + message
    CLAB_PROBE_ADD,    // as PULL, but received by out = out + message. fresh: both have been written and read by the peer
    CLAB_PROBE_LANES,  // messages one way, each on the next lane; in shared memory all lanes at once, and then a CALL
    CLAB_PROBE_SUM,    // a rank's own memory: z = z + z, which has as many buffers as what is then sent
    CLAB_PROBE_REST,   // half a round trip of a message that finds the wire idle for a while
    CLAB_PROBE_FETCH,  // the receiver's time for a message that has come before
    CLAB_PROBE_FOUND,  // the same for one of many, when it has taken the first few of them
    CLAB_PROBE_CARRY,  // the sender's core for a message: until it is handed over, and what the kernel takes of it then
    CLAB_PROBE_HOME,   // an exchange; each reads again what it sent, and copies there what it received
    CLAB_PROBE_SUMMED, // SUM, then z as a message, until the sender learns that it was fetched; both: an exchange
    CLAB_PROBES
};
const char *clab_probe_name(enum clab_probe probe);

struct clab_sample {
    enum clab_probe probe;
    size_t bytes; // of the message or copy
    size_t level; // the footprint of the level that it is for; 0: none
    enum clab_touch touch;
    enum clab_load load;
    double seconds;
};

// What is known of a link before it is measured, or follows from all rounds together.
struct clab_fit_link {
    const struct clab_protocols *protocols;
    bool across;         // between nodes: the link `inter`, else `intra`
    enum clab_port port; // of a wire
};

// Whether a rank sends and receives at once, as a network adapter does, or one after the other, as a core does that
// copies all bytes itself: whichever predicts the measured exchanges of large messages better.
//   errors: CLAB_EINVAL (there are none), CLAB_ENOMEM
int clab_fit_port(const struct clab_sample *samples, int n, enum clab_port *port_p);

// The network that one round's samples describe: one link, and a level for every one that a COPY is for.
//   samples: in any order
//   errors:  CLAB_EINVAL (a probe is missing, or has no time; the line names it)
int clab_fit_round(const struct clab_sample *samples, int n, const struct clab_fit_link *link, struct clab_net *net_p);

// A parameter's median over rounds, and the interval of that median.
struct clab_fit {
    struct clab_net median, low, high; // all three have the first round's names, sizes and counts
};

//   errors: CLAB_EINVAL (nrounds < 1), CLAB_ENOMEM
int clab_fit_combine(const struct clab_net *rounds, int nrounds, struct clab_fit *fit_p);

// How much a probe varies from round to round: half its interquartile range divided by its median, and of that the
// median over all probes.
//   seconds: (nrounds, nprobes), > 0.  errors: CLAB_EINVAL (nrounds < 2, nprobes < 1), CLAB_ENOMEM
int clab_fit_noise(const double *seconds, int nrounds, int nprobes, double *noise_p);

// Where the cores were while samples were taken. The placement samples' `fresh` tells placements apart (net.h).
enum { CLAB_FIT_PLACEMENTS = 3 };
struct clab_placements {
    int n;
    double mark[CLAB_FIT_PLACEMENTS]; // the median of their samples; the commonest first
};

// Group the marks that were measured beside samples, all > 0, into placements. The largest group of marks within a
// factor of two is one placement; so is the largest of the rest, and so on, if it holds at least a tenth of all marks.
//   errors: CLAB_EINVAL (n < 1), CLAB_ENOMEM
int clab_fit_placements(const double *marks, int n, struct clab_placements *placements_p);

// Which placement `mark` belongs to; -1: to none, since something disturbed the sample.
int clab_fit_placement_of(const struct clab_placements *placements, double mark);

// Check that the reader of networks accepts the text that clab_fit_write would write to `path`.
//   errors: CLAB_EINVAL (logged, with the remedy), CLAB_ENOMEM
int clab_fit_check(const struct clab_fit *fit, const char *path);

// Write the fit as a network description (sim/nets/README.md has the format), each interval in a comment beside its
// value. `remarks` are lines for its head, without the comment sign; NULL ends them.
//   errors: CLAB_EINVAL (clab_fit_check), CLAB_EIO, CLAB_ENOMEM; `path` is then as it was
int clab_fit_write(const struct clab_fit *fit, const char *const *remarks, const char *path);
// The same, to an open file; the caller checks ferror.
void clab_fit_print(FILE *file, const struct clab_fit *fit, const char *const *remarks);
