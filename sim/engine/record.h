// SPDX-License-Identifier: MIT
// A record of a simulated collective, item by item. clab_sim_run fills it if clab_sim_options.record asks for it.
//
// - An *item* is an interval in which a core, a port or a wire was busy. Its *cause* is the item for which it had to
//   wait, which ended when it began. The causes from the last end back are the critical path (why.h).
// - If a port sends bytes ahead of their turn (net.h, burst), its items are on the port's own clock. An item
//   CLAB_DID_BURST, which ends before it begins, leads back to the common clock.
// - Items of no length are left out; the next item then has their cause.
// - Recording does not change the engine's answer by a bit. A record has a limit: clab_sim_run refuses a larger one.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The kinds of items, their texts, and the part of the time to which each kind counts.
#define CLAB_DIDS(X)                                         \
    X(CLAB_DID_DELAY, "begins late", WAIT)                   \
    X(CLAB_DID_COMPUTE, "computes before the call", WAIT)    \
    X(CLAB_DID_OVERHEAD, "core's overhead", LATENCY)         \
    X(CLAB_DID_COPY, "copies", BANDWIDTH)                    \
    X(CLAB_DID_POST, "sender's overhead", LATENCY)           \
    X(CLAB_DID_PUT, "bytes leave", BANDWIDTH)                \
    X(CLAB_DID_TRAVEL, "message on its way", LATENCY)        \
    X(CLAB_DID_HEAD, "first bytes leave", BANDWIDTH)         \
    X(CLAB_DID_ACCEPT, "receiver's overhead", LATENCY)       \
    X(CLAB_DID_TAKE, "bytes come in", BANDWIDTH)             \
    X(CLAB_DID_TAIL, "until the last byte", BANDWIDTH)       \
    X(CLAB_DID_REDUCE, "reduces", REDUCE)                    \
    X(CLAB_DID_ANSWER, "tells the sender", LATENCY)          \
    X(CLAB_DID_SHARE, "others share the link", WAIT)         \
    X(CLAB_DID_BURST, "let go ahead of its turn", BANDWIDTH) \
    X(CLAB_DID_USED, "port in use by others", WAIT)

#define X(name, text, part) name,
enum clab_did { CLAB_DIDS(X) CLAB_DID_COUNT };
#undef X

enum clab_record_part { CLAB_PART_LATENCY, CLAB_PART_BANDWIDTH, CLAB_PART_REDUCE, CLAB_PART_WAIT, CLAB_PART_COUNT };

const char *clab_did_text(enum clab_did did);
enum clab_record_part clab_did_part(enum clab_did did);
const char *clab_record_part_name(enum clab_record_part part);

// Whose time it is.
enum clab_record_unit { CLAB_UNIT_CORE, CLAB_UNIT_OUT, CLAB_UNIT_IN, CLAB_UNIT_WIRE };

enum { CLAB_RECORD_NONE = -1 };

struct clab_record_item {
    double begin, end;         // s
    size_t bytes;              // of the message, or that are copied or reduced
    int32_t cause;             // an item; CLAB_RECORD_NONE: it began at 0, or when a port was free that others had used
    int32_t rank, peer, stage; // peer: CLAB_RECORD_NONE where there is none
    uint16_t call;
    uint8_t lane, did, unit; // enum clab_did, enum clab_record_unit
    int8_t link;             // clab_net_link_index; CLAB_RECORD_NONE: within the rank
};

struct clab_record_message {
    double posted, head, taken; // s: its sender had given it to the port; its first bytes were there; it had landed
    size_t bytes;
    int32_t src, dst, sent, received; // ranks, and their stages
    uint16_t call;                    // of the sender
    uint8_t lane;
    int8_t link;
};

struct clab_record_stage {
    double begin, end; // s
    int32_t rank, stage;
    uint16_t call;
    uint8_t lane;
};

struct clab_record {
    struct clab_record_item *items;       // (nitems), each after its cause
    struct clab_record_message *messages; // (nmessages), as they were posted
    struct clab_record_stage *stages;     // (nstages), as they ended
    int32_t *ends;                        // (calls) the item that ended each, of the slowest rank
    double *finish;                       // (calls) s
    int nitems, nmessages, nstages, calls;
    int items_room, messages_room, stages_room;
    int nranks, lanes; // that were simulated
    bool folded;       // they stand for others
};

enum { CLAB_RECORD_MESSAGES = 1 << 20 }; // at most, of about 400 B each

void clab_record_free(struct clab_record *record); // all that it holds; an empty one is fine
