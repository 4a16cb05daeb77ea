// SPDX-License-Identifier: MIT
// A network: what a message costs between two ranks, and what a core costs. All fields are visible: students inspect
// them.
//
// - A *link* joins two ranks of a node (intra) or of different nodes (inter). It has Hockney's alpha and beta, and
//   segments by message size: a piecewise LogGP. Without segments it has one that is Hockney's model.
// - A *segment* is a protocol: what the sender's side, the wire and the receiver's side take for a message.
// - A *level* is what a byte costs when a rank touches that much memory: caches make copies and reductions cheaper.
// - Files: sim/nets/NAME.net (net.c reads them; sim/nets/README.md describes the format), or what `commlab fit` wrote.
//
// - A *topology* says which links are shared by more than their two ends (topology.h), and how far nodes are apart.
// Source: Hockney 1994; Alexandrov et al. 1995 (LogGP); Ino et al. 2001 and Hoefler et al. 2010 for segments.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "core/base/type.h"

enum { CLAB_NET_SEGMENTS = 8, CLAB_NET_LEVELS = 24, CLAB_NET_TIERS = 4, CLAB_NET_NAME = 32, CLAB_NET_TITLE = 128 };

// What happens to a message of at most `up_to` bytes, in this order:
// the sender's port is busy for o_send + bytes * gap_send; the bytes need `latency` to the other side;
// the receiver's port is busy for o_recv + bytes * gap_recv. The receiver may begin after the first `fragment` bytes:
// 0 is a wire that streams, SIZE_MAX a message that is stored before it is forwarded.
struct clab_segment {
    char name[CLAB_NET_NAME];
    size_t up_to;                // bytes; SIZE_MAX: all that are larger
    double o_send, o_recv;       // s a message
    double o_both;               // s more for the receiver, in a stage that sends, too
    double o_reduce;             // s more for the receiver of a message that is reduced
    double latency;              // s
    double gap_send, gap_recv;   // s/B
    double gap_both;             // s/B more for the receiver, in a stage that sends, too
    double gap;                  // s a message, where it buffers: of either port, for headers and the like. LogGP's g:
                                 // from the begin of a message of one byte until the port is free for the next
    double gap_joined;           // s less of either port for a message that leaves in one packet with one before it
    double o_joined;             // s less of o_recv for a message that was there when the core fetched one before it; of
                                 // `memory`: that had come before the core looked
    double gap_acks;             // s/B of the receiver's port to the sender, where it buffers: acknowledgements
    double o_after;              // s more of the sender's core, where it buffers, when the message is on its way
    double gap_out;              // s of the sender's port behind a message, where it buffers
    double core_send, core_recv; // s/B of the cores, where it buffers; beside the wire, as long as it is busy
    double core_wait;            // s/B more of the sender's for what waits for the wire
    size_t fragment;             // bytes
    bool waits;                  // the sender's stage lasts until the receiver has it (rendezvous, pull)
    bool buffers;                // sockets hold it: the sender's stage lasts for o_send only, and it comes in unasked
    bool memory;                 // the receiver reads the sender's memory: gap_recv is the levels', not this one's
};

enum clab_port {
    CLAB_PORT_DUPLEX, // an adapter that sends and receives at once, beside the core
    CLAB_PORT_CORE,   // the rank's one core does it all
    // LogGP's: the core is busy for o at each end, an adapter that sends and receives at once spaces messages by gap
    CLAB_PORT_LOGGP,
    CLAB_PORT_LOGGP_CORE, // the same, but the receiver's core is busy while the bytes come, too (LogGOPSim)
};

struct clab_link {
    char name[CLAB_NET_NAME];
    bool present;
    double alpha, beta; // s a message, s/B one way: what the closed form uses
    enum clab_port port;
    double
        burst; // s that a port lets bytes go ahead of their turn after a pause (a token bucket); 0: it keeps to the gap
    struct clab_segment segments[CLAB_NET_SEGMENTS]; // by rising up_to
    int nsegments;
    int nodes; // of a tier: it joins nodes of different groups of so many
};

// How ranks are joined in a node, and nodes with each other: which links are shared, and how far it is.
enum clab_inside {
    CLAB_INSIDE_SWITCH, // each rank has its own way to a switch that does not block
    CLAB_INSIDE_MESH,   // a link of its own for every pair, in use at the same time
    CLAB_INSIDE_PAIRS,  // ranks 0 and 1, 2 and 3 ... are bridged by [link pair]
    CLAB_INSIDE_PCIE    // `below` ranks below a switch; switches meet above, over one way each
};
enum clab_between {
    CLAB_BETWEEN_SWITCH,   // a network that does not block
    CLAB_BETWEEN_FAT_TREE, // `leaf` nodes at a leaf switch, whose ways up are `oversubscription` times too few
    CLAB_BETWEEN_TORUS,    // a node has a link to each neighbour; messages go along one dimension after the other
    CLAB_BETWEEN_DRAGONFLY // `leaf` nodes at a router, `routers` a group, a link between two routers, and two groups
};

enum { CLAB_NET_DIMENSIONS = 4 };

struct clab_topology {
    enum clab_inside inside;
    enum clab_between between;
    int adapters;                  // of a node to others, which its ranks share; 0: one a rank
    int below;                     // PCIe: ranks a switch
    int leaf;                      // nodes a leaf switch, or a router
    int routers;                   // of a dragonfly's group
    double oversubscription;       // fat tree: what the nodes of a leaf can send by what it can pass up; 0 is 1
    int size[CLAB_NET_DIMENSIONS]; // torus: nodes along each dimension; 0: there is none
    double hop;                    // s for each switch, or node of a torus, that is passed beyond the first
};

// What the switches of a network can do for a collective: NVLS, SHARP. Absent: radix 0.
struct clab_reducer {
    int radix;   // ranks, or switches, below a switch
    double hop;  // s through a switch
    double beta; // s/B that a rank's data are combined at
};

// What a rank computes at most: its processor's peaks, for products of dense matrices.
struct clab_compute {
    bool present;
    double flops[CLAB_PRECISIONS]; // flop/s; 0: it has no units for this one, and computes in the one before
    double memory;                 // s/B read or written in its own memory
};

// How a core's work on memory is priced.
enum clab_touch { CLAB_KEPT, CLAB_FRESH, CLAB_TOUCHES }; // the data read was there before, or has just been written
enum clab_load { CLAB_ALONE, CLAB_BOTH, CLAB_LOADS };    // one core is at it, or its peer is as well

struct clab_level {
    size_t bytes;                            // that two ranks touch together, over and over
    double copy[CLAB_LOADS];                 // s/B: memory to memory, one rank's own
    double copy_shared[CLAB_LOADS];          // s/B: the same to what both ranks have read; 0: as fresh data
    double pull[CLAB_TOUCHES][CLAB_LOADS];   // s/B: a peer's memory to one's own
    double pull_summed[CLAB_LOADS];          // s/B: older profiles have it, and nothing uses it
    double reduce[CLAB_TOUCHES][CLAB_LOADS]; // s/B: out = in + a peer's memory, float sum
    double add[CLAB_LOADS];                  // s/B: out = out + a peer's memory, kept
    double add_fresh[CLAB_LOADS];            // s/B: the same to what a peer has read; 0: as much more as reduce's
};

// A sample of where two cores are placed at some moment, and of how busy they are. Zeros: no sample was taken.
struct clab_placement_sample {
    double line;  // s: half a round trip of 8 bytes
    double fresh; // s/B: half a round trip of 16 KiB that the other has just written, by pulls
    double call;  // s: an empty call of the slower core; 0: not seen
};

struct clab_net {
    char name[CLAB_NET_NAME], title[CLAB_NET_TITLE];
    int nodes;                     // 0: as many as are wanted
    int ranks_per_node;            // at most
    int cores_per_node;            // 0: not said. More ranks than cores share them, which is not modelled yet
    int machine_cores;             // that all nodes share, as containers of one machine do: rank r has core r modulo
                                   // this; 0: each node has its own
    double switch_cost;            // s of such a core from one rank's work to another's: fruitless polls and the switch
    double arming;                 // the part of a timer's time that hosts which share its core take once for all
    size_t first_cache;            // bytes of a core's first cache; 0: not said
    size_t core_cache;             // bytes of a core's own cache, the largest; 0: not said
    size_t shared_cache;           // bytes of the cache that cores share; 0: not said
    double gamma;                  // s/B reduced, where there are no levels
    double call;                   // s of a core to begin and end a collective
    double wait;                   // s more of a call behind a message that the rank has waited for, and sent none beside
    double stage;                  // s of a core for a stage, beside its messages
    double lane;                   // s more of the receiving core for a message, where a rank's lanes take turns
    struct clab_link intra, inter; // present or not; inter is needed if there can be two nodes
    struct clab_link pair;         // between ranks that are bridged
    struct clab_link tiers[CLAB_NET_TIERS]; // between nodes that lie further apart, by rising `nodes`
    int ntiers;
    struct clab_topology topology;
    struct clab_reducer reducer;
    struct clab_compute compute;
    double loss, resend; // of clab_net_vary: the part of messages that are lost, and s until they are sent again
    struct clab_level levels[CLAB_NET_LEVELS]; // by rising bytes
    int nlevels;
    // Of a profile only.
    char machine[CLAB_NET_TITLE], date[CLAB_NET_NAME];
    double noise;                        // the spread of repeated probes, as a fraction; 0: not known
    struct clab_placement_sample probed; // while it was measured
    char other_name[CLAB_NET_NAME];      // the file, beside this one, of `other`; "": there is none
    struct clab_net *other;              // the same machine with its cores elsewhere
};

// A network without nodes or protocols: every pair of ranks `alpha` and `beta` apart.  alpha, beta, gamma >= 0
//   errors: CLAB_ENOMEM, CLAB_EINVAL (logged)
int clab_net_create_flat(double alpha, double beta, double gamma, struct clab_net **net_p);

// Hockney's model as a segment: both ports are busy for alpha + bytes * beta at the same time. (So the latency from the
// end of the sender's alpha to the beginning of the receiver's is -alpha.)
struct clab_segment clab_segment_hockney(double alpha, double beta);

// The link between two ranks, and what a message of `bytes` meets on it.
const struct clab_link *clab_net_link(const struct clab_net *net, int a, int b);
// A number of its own for each of a network's links: 0 intra, 1 inter, 2 pair, 3 ... tiers.
int clab_net_link_index(const struct clab_net *net, const struct clab_link *link);
enum { CLAB_NET_FIRST_TIER = 3 }; // its index: behind those of intra, inter and pair
const struct clab_segment *clab_link_segment(const struct clab_link *link, size_t bytes);
static inline bool clab_link_is_loggp(const struct clab_link *link)
{
    return link->port == CLAB_PORT_LOGGP || link->port == CLAB_PORT_LOGGP_CORE;
}
// Whether messages are LogGP's (sim/goal runs their operations one by one).
bool clab_net_is_loggp(const struct clab_net *net);

// The costs of a core where ranks touch `footprint` bytes together: between two levels, linear in the logarithm.
// Without levels: copies are free, pulls too, and a reduction costs gamma.
struct clab_level clab_net_level(const struct clab_net *net, size_t footprint);

// What a rank needs for `flop` operations of a precision and `bytes` of its memory, in seconds: the longer of the two,
// since both go on at the same time (Williams et al. 2009, the roofline). flop, bytes >= 0. Where the network does not
// say, bytes alone take what gamma is for a sum, which reads two and writes one for each that it counts.
//   errors: CLAB_ENOENT (the network does not say, logged), CLAB_EINVAL (below 0, logged)
int clab_net_compute(const struct clab_net *net, enum clab_precision precision, double flop, double bytes,
                     double *seconds_p);

// The least seconds per byte of a copy by one core alone; NAN: the network does not say.
double clab_net_fastest_copy(const struct clab_net *net);

// The placement of a profile, `net` or net->other, that is nearest to the sample.
const struct clab_net *clab_net_placed(const struct clab_net *net, struct clab_placement_sample probed);

// Whether two samples are of one placement.
bool clab_placement_is_same(struct clab_placement_sample a, struct clab_placement_sample b);

// By which factor work becomes slower when a core of the same placement has become `factor` times slower, since a
// neighbour uses its other hardware thread or its clock is reduced. Waiting for memory is slowed less.
//   footprint: bytes that are touched together; 0: a message's fixed costs
double clab_net_pace(double factor, size_t footprint, size_t core_cache);

// The network for a placement sample (zeros: as described): a copy of `net` or of net->other at the sample's pace, or
// scaled from it if neither is near (place.c). Frees nothing; placed_p->other still belongs to `net`.
void clab_net_place(const struct clab_net *net, struct clab_placement_sample probed, struct clab_net *placed_p);

// The description in a file that is open, and stays so. `path` is what lines that refuse call it; its last part gives
// the network its name. Its other placement is not read.
//   errors: CLAB_EPARSE, CLAB_EIO, CLAB_EUNSUPPORTED (base/files/conf.h), CLAB_ENOMEM
int clab_net_read(FILE *file, const char *path, struct clab_net **net_p);

// The ranks of a node, for algorithms of two levels among the first `nranks`; 0: they are on one node, or one on each.
int clab_net_group(const struct clab_net *net, int nranks);

// A byte on this link takes `factor` times as long, whatever goes the other way, and so do the headers of a socket's
// messages; what a message costs apart from that stays, and so does the time by which bytes go ahead of their turn.
void clab_link_scale(struct clab_link *link, double factor);

// Let something be wrong between the nodes of a network: words with + between them. clab_net_load reads them behind a
// network's name, as in "25gbe+rate=10%". What is computed, and links in nodes, stay; so does the name.
//   rate=10%:      bytes go at so much of the rate
//   window=8K:     socket buffers hold so much: of larger messages, each window waits for a round trip, 2 alpha
//   loss=0.1%:5ms: so many messages are lost, and sent again after that time (clab_net_stall)
//   errors: CLAB_EINVAL (logged)
int clab_net_vary(struct clab_net *net, const char *text);

// Seconds for which a call of `messages` waits for those that are lost: one after another, which few losses are. Drawn
// by `seed` alone, so every run is the same. Of collectives in virtual time, and of messages over an emulated wire;
// `commlab sim` does not price it.
double clab_net_stall(const struct clab_net *net, size_t messages, uint64_t seed);

// Whether `nranks` ranks fit.  errors: CLAB_EINVAL, with the line
int clab_net_check_ranks(const struct clab_net *net, int nranks);

// The file of network `name`, or of the machine's profile, or `name` itself if it is a path. Freed by the caller.
//   errors: CLAB_ENOENT (logged: where was looked, and the remedy), CLAB_ENOMEM
int clab_net_find(const char *name, char **path_p);

// Where `commlab fit` writes the machine's profile of a backend: of shm CLAB_PROFILE, or machine.net beside the
// program; of another beside it, as machine-NAME.net. Freed by the caller.
//   errors: CLAB_ENOMEM
int clab_net_profile_path(const char *backend, char **path_p);

// The folder of the shipped descriptions: CLAB_NETS, or sim/nets above the program. Freed by the caller.
//   errors: CLAB_ENOENT (logged), CLAB_ENOMEM
int clab_net_folder(char **path_p);
