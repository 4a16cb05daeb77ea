// SPDX-License-Identifier: MIT
// What store.c and admission.c share: the store's state, its members and its connections.
#pragma once

#include "core/job/store/store.h"
#include "core/job/store/fence.h"
#include "core/job/store/proof.h"
#include "core/job/store/refusals.h"
#include "core/job/store/job_status.h"

enum { STORE_BATCH_BYTES = 1024 }; // of notices that are sent together

struct store_answer {
    unsigned char head[STORE_FIXED_BYTES];
    size_t bytes; // 0: there is none
    struct store_block *block;
};

struct store_connection {
    struct store *store;
    char address[STORE_ADDRESS_BYTES];
    int member;            // -1: not authenticated
    bool over, is_greeted; // it has been sent the challenge
    struct store_contact contact;
    unsigned char *in, first[STORE_FIXED_BYTES]; // of an incomplete message; a member has a larger buffer
    size_t in_bytes;

    unsigned char out[STORE_BATCH_BYTES]; // being sent: these bytes
    struct store_block *block;            // then these
    size_t out_bytes, sent;
    struct store_answer answer; // to send next
    uint64_t next_notice;       // the number of the next to send
    bool is_welcome;            // STORE_WELCOME was sent: everything else comes after it
    bool has_sent_end;
    bool needs_heartbeat; // STORE_HEARTBEAT is to be sent
};

struct store_member {
    struct store_connection *connection; // NULL: not connected
    enum clab_presence presence;
    bool done; // all ranks of this node have ended
};

struct store_notice {
    bool gone; // found by the store itself
    struct clab_notice notice;
};

struct store {
    struct store_job job;
    unsigned char id[STORE_NONCE_BYTES]; // of this job, and no other
    struct store_fences *fences;
    struct store_notice notices[STORE_NOTICES];
    uint64_t nnotices; // ever
    struct store_job_status job_status;
    struct store_refusals refusals;
    double patient_until; // clab_now() when node 0 is sent the nodes that have not joined
    bool has_reported_missing;
    struct store_member members[]; // (nranks + nnodes)
};

static inline int store_members(const struct store *store)
{
    return store->job.nranks + store->job.nnodes;
}

static inline bool store_is_rank(const struct store *store, int member)
{
    return member < store->job.nranks;
}

// Answer a connection. A later answer replaces one that is not sent yet: nobody waits for that any more.
void store_answer(struct store_connection *connection, const struct store_message *message, struct store_block *block);

// Handle a message of an unauthenticated peer.  errors: CLAB_EPARSE (no member sends that), CLAB_ENOMEM
int store_admission_receive(struct store_connection *connection, const struct store_message *message);
// Refuse a peer of another version.
int store_refuse_version(struct store_connection *connection);
