// SPDX-License-Identifier: MIT
// Where the time of a run goes, class by class, and what each fault that the kit knows would explain of it.
//
// - Each moment of each rank is of one class; the classes of a run are the means over its ranks, so they add up to its
//   time.
// - A rank that is in a collective and computes nothing waits, as long as not all of its peers have come, or one of them
//   still computes: for the root of a broadcast and in a barrier it is synchronisation, elsewhere imbalance. When no rank
//   computes any more, it communicates: the part that an empty message takes, too, is communication (the cost of calls), the
//   rest network (the cost of bytes).
// - Communication behind which the rank computes costs nothing.
// - In real time, other programs slow some ranks down, and some messages. So each step is judged by itself, and a fault is
//   named if the steps agree. What a rank computes counts without the time in which others had its core. Of the calls of
//   a kind, the fastest tenth says how fast the network is, and lost messages are counted by who sends them again.
// Sources: the rule of 30 %, its remedies and the classes are those that courses on distributed training teach.
#pragma once

#include <stdbool.h>

#include "cmd/bottleneck/run_trace.h"

struct clab_net;

enum bottleneck_class {
    BOTTLENECK_COMPUTE,
    BOTTLENECK_COMMUNICATION,
    BOTTLENECK_SYNCHRONISATION,
    BOTTLENECK_NETWORK,
    BOTTLENECK_MEMORY,
    BOTTLENECK_IMBALANCE,
    BOTTLENECK_CLASSES
};

enum bottleneck_fault {
    BOTTLENECK_INTERFACE,
    BOTTLENECK_STRAGGLER,
    BOTTLENECK_BUFFERS,
    BOTTLENECK_BINDING,
    BOTTLENECK_RETRANSMITS,
    BOTTLENECK_COPY,
    BOTTLENECK_FIRST_RANK,
    BOTTLENECK_BUCKETS,
    BOTTLENECK_FAULTS
};

struct bottleneck_account {
    double seconds;                              // of the run, mean over ranks
    double usual;                                // s of a run whose steps are all like the median one
    double quarter, three_quarters;              // likewise: half of the steps lie between
    double classes[BOTTLENECK_CLASSES];          // s, mean over ranks
    double gains[BOTTLENECK_FAULTS];             // s that its remedy would save, mean over ranks; 0: no sign of it
    double least[BOTTLENECK_FAULTS];             // of that, what is sure: the low end of the 95 % interval over steps
    bool is_disturbed;                           // others had the ranks' cores for more than 5 % of the time
    bool is_contradicted;                        // a second run names another fault, or none
    enum bottleneck_fault claimed, claimed_then; // then: what each of the two names
    int late, late_root; // ranks that are waited for the longest, in imbalance and synchronisation
    int slowest;         // of the two, the one that computes the longest
    double slowness;     // times as long as the network says all ranks need for a byte of memory
    double slower;       // times as long as the network says a byte needs in the largest call
    int calls;           // collectives of a rank
};

// What was seen of the processes while they ran; zeros: nothing.
struct bottleneck_seen {
    int sharing, cores; // ranks that may only use one and the same core; cores of the machine
    double limited;     // of the time with data to send, the part stopped by a socket buffer, of the worst connection
    double retransmits; // segments
};

// net: what the network should be; NULL: not known, and slow ones are not found.
//   errors: CLAB_ENOMEM
int bottleneck_account(const struct bottleneck_run *run, const struct clab_net *net, const struct bottleneck_seen *seen,
                       struct bottleneck_account *account_p);

// The fault whose remedy saves the most, if that is worth it, and sure: more than 5 % of the time. BOTTLENECK_FAULTS: none.
enum bottleneck_fault bottleneck_name(const struct bottleneck_account *account);
// Whether a fault is counted by who sees it, and not found by times: another run adds nothing.
bool bottleneck_is_seen(enum bottleneck_fault fault, const struct bottleneck_seen *seen);
// Leave named what a second run of the job names, too.
void bottleneck_agree(struct bottleneck_account *first, const struct bottleneck_account *second);
// No fault is named, but one may be there: the machine was too busy to tell.
bool bottleneck_is_unsure(const struct bottleneck_account *account);
