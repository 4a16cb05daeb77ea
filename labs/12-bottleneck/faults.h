// SPDX-License-Identifier: MIT
// What is wrong with the job of lab 12: one of eight faults, or nothing. A seed chooses which, and how bad it is.
//
// - The programs, the model and the check share this. Who looks up a seed here learns its fault, and nothing else.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum fault {
    INTERFACE,   // messages go through a slow network interface
    STRAGGLER,   // one rank has more samples than the others
    BUFFERS,     // socket buffers hold only a few KiB
    BINDING,     // all ranks are bound to the wrong memory
    RETRANSMITS, // 3 to 5 % of collectives lose a message, which is sent again after 2 ms
    COPY,        // gradients are copied to another buffer and back, and the rank stands still meanwhile
    FIRST_RANK,  // rank 0 validates for all, and the others wait for it
    BUCKETS,     // one collective per parameter
    NO_FAULT,
    FAULTS // how many there are, with "nothing"
};

static const char *const fault_words[FAULTS] = {"interface", "straggler",  "buffers", "binding", "retransmits",
                                                "copy",      "first-rank", "buckets", "none"};

static const double resend = 2e-3; // s

// What a job is set to. A fault that is mended has the setting of a job without faults.
struct setting {
    enum fault fault;
    int rate;        // percent of the network's, that the interface has
    int slow_rank;   // the straggler
    double extra;    // times as many samples as it should have, less 1
    size_t window;   // bytes of the socket buffers; 0: enough
    double slowness; // times as long as all ranks need for their own work
    double loss;     // of messages
    int copies;      // how often gradients are copied out and back per step
    int first;       // how often rank 0 validates for all per step; 0: each rank validates its share
    size_t cap;      // bytes of a bucket
    double share;    // samples of the other ranks, of the usual number; a straggler's are divided when it is mended
};

// A number of a seed, 0 to below `below`; `which`: of several.
static inline unsigned fault_draw(uint64_t seed, unsigned which, unsigned below)
{
    uint64_t x = seed * UINT64_C(0x9e3779b97f4a7c15) + (which + 1) * UINT64_C(0xd1b54a32d192ed03);
    x = (x ^ x >> 31) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 29) * UINT64_C(0x94d049bb133111eb);
    return (unsigned)((x ^ x >> 32) % below);
}

// The part of a job's allreduces that lose a message.
static inline double lost_calls(uint64_t seed)
{
    return 0.03 + 0.01 * fault_draw(seed, 27, 3);
}

// The fault of a seed. Nine seeds in a row, from a multiple of nine on, have nine different ones.
static inline enum fault fault_of(uint64_t seed)
{
    enum fault order[FAULTS];
    for (unsigned i = 0; i < FAULTS; i++)
        order[i] = (enum fault)i;
    for (unsigned i = FAULTS - 1; i > 0; i--) { // Fisher and Yates' shuffle
        const unsigned j = fault_draw(seed / FAULTS, i, i + 1);
        const enum fault kept = order[i];
        order[i] = order[j], order[j] = kept;
    }
    return order[seed % FAULTS];
}

// The job of a seed with that many ranks, after `remedy` has been applied: the remedy of another fault changes nothing.
static inline struct setting setting_of(uint64_t seed, int ranks, enum fault remedy)
{
    struct setting s = {.fault = fault_of(seed), .rate = 100, .slow_rank = -1, .slowness = 1, .cap = 65536, .share = 1};
    int stages = 0;
    while (1 << stages < ranks)
        stages++;
    const double extra = 0.8 + 0.1 * fault_draw(seed, 20, 5);
    if (s.fault == STRAGGLER && remedy == STRAGGLER)
        s.share = 1 + extra / ranks; // the same samples in all
    if (s.fault == remedy)
        return s;
    switch (s.fault) {
    case INTERFACE: s.rate = 4 + 2 * (int)fault_draw(seed, 21, 4); break;
    case STRAGGLER:
        s.extra = extra;
        s.slow_rank = 1 + (int)fault_draw(seed, 22, ranks > 1 ? (unsigned)ranks - 1 : 1);
        break;
    case BUFFERS: s.window = fault_draw(seed, 23, 2) ? 8192 : 4096; break;
    case BINDING: s.slowness = 1.5 + 0.1 * fault_draw(seed, 24, 5); break;
    case RETRANSMITS: s.loss = lost_calls(seed) / (2.0 * ranks * (stages ? stages : 1)); break;
    case COPY: s.copies = 1 + (int)fault_draw(seed, 25, 2); break;
    case FIRST_RANK: s.first = 1 + (int)fault_draw(seed, 26, 2); break;
    case BUCKETS: s.cap = 1; break;
    default: break;
    }
    return s;
}

// What is wrong with the network, as a network's name has it: "+rate=10%"; "": nothing.
static inline void setting_wire(const struct setting *s, char text[64])
{
    *text = '\0';
    if (s->rate < 100)
        snprintf(text, 64, "+rate=%d%%", s->rate);
    if (s->window)
        snprintf(text, 64, "+window=%zu", s->window);
    if (s->loss > 0)
        snprintf(text, 64, "+loss=%.4f%%:%gms", 100 * s->loss, 1e3 * resend);
}

// Samples of a rank: `usual` of them, or more or less.
static inline int setting_samples(const struct setting *s, int rank, int usual)
{
    const double share = rank == s->slow_rank ? 1 + s->extra : s->share;
    return (int)(usual * share + 0.5);
}
