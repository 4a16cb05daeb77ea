// SPDX-License-Identifier: MIT
// What store.c and admission.c share: the store from within, its members and its connections.
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
    int member;            // -1: a stranger
    bool over, is_greeted; // it has been sent the challenge
    struct store_contact contact;
    unsigned char *in, first[STORE_FIXED_BYTES]; // what it has begun to say; a member has room for more
    size_t in_bytes;

    unsigned char out[STORE_BATCH_BYTES]; // what is being sent to it, and behind that
    struct store_block *block;            // this
    size_t out_bytes, sent;
    struct store_answer answer; // what is next
    uint64_t next_notice;       // the number of the next to send
    bool is_welcome;            // it has been told that it has joined: what else there is comes after that
    bool has_sent_end;
    bool needs_heartbeat; // it is to be sent STORE_HEARTBEAT
};

struct store_member {
    struct store_connection *connection; // NULL: not connected
    enum clab_presence presence;
    bool done; // a node's ranks have ended
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
    double patient_until; // node 0 is told then who has not joined
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

// Answer a connection: a later answer takes the place of one that nobody waits for any more.
void store_answer(struct store_connection *connection, const struct store_message *message, struct store_block *block);

// What a stranger says.  errors: CLAB_EPARSE (none of our members would), CLAB_ENOMEM
int store_admission_receive(struct store_connection *connection, const struct store_message *message);
// It is of another version.
int store_refuse_version(struct store_connection *connection);
