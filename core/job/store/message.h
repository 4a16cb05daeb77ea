// SPDX-License-Identifier: MIT
// The messages of a connection to the store (store.h): a header of 8 bytes, fixed fields, and for two kinds a tail.
//
//   header   u16 magic, u8 version, u8 kind, u32 bytes behind the header; all numbers are little-endian
//
// - Reading and writing are pure functions over one list of fields per kind, so they can not disagree.
// - Reading checks kinds, lengths, codes, and that a tail is as long as its numbers say. The store checks what the
//   numbers mean, such as which members there are.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "core/transport/backend.h"
#include "core/job/launchers/launcher.h"

enum store_kind {
    STORE_HELLO = 1,   // member to store, the first: nonce
    STORE_CHALLENGE,   // store to member: nonce, job
    STORE_JOIN,        // member: proof, member, nranks, nnodes
    STORE_WELCOME,     // store to member: joined; proof
    STORE_REFUSED,     // store to member, the last: refusal, number; proof, unless token or version differ
    STORE_POST,        // member: key, whole, bytes, n; tail: (n) members as u32, then the bytes. n = 0: all ranks
    STORE_WITHDRAW,    // member: key, err. It has waited too long, or `meanwhile` has failed
    STORE_GATHERED,    // store: key, err, says, culprit, whole, n, bytes; tail: (n, bytes); after an error, (n) flags
                       // before them: which have come; with n = 0 none
    STORE_NOTICE,      // both ways: notice
    STORE_GONE,        // store: notice, of LEFT and LOST, that the store itself has found
    STORE_LEAVE,       // member, the last: leaves
    STORE_ENDED,       // node to store: the process of rank `member` has ended with `status`
    STORE_DONE,        // node: all its ranks have ended
    STORE_END,         // store to nodes: the job is over with `status`, since `member` of node `node` has failed
    STORE_TURNED_AWAY, // store to the first node, or rank 0: who was refused; refusal, number, address
    STORE_AWAITED,     // store to the first node: who has not joined; number, member, key (store.c)
    STORE_HEARTBEAT,   // both ways: nothing, but that the other host's kernel answers (keepalive.h)
    STORE_KINDS,
};

enum store_refusal {
    STORE_WRONG_TOKEN,
    STORE_OTHER_VERSION, // number: the store's
    STORE_OTHER_RANKS,   // number: the store's
    STORE_OTHER_NODES,   // number: the store's
    STORE_NO_SUCH_MEMBER,
    STORE_TAKEN, // who has joined joins again
    STORE_REFUSALS
};

enum {
    STORE_VERSION = 3,
    STORE_HEADER_BYTES = 8,
    STORE_FIXED_BYTES = 64,   // of header and fields, at most
    STORE_ADDRESS_BYTES = 46, // INET6_ADDRSTRLEN
    STORE_NONCE_BYTES = 16,
    STORE_PROOF_BYTES = 32,             // proof.h
    STORE_BLOB_BYTES = 4096,            // of a member in one post
    STORE_MEMBERS = 2 * CLAB_MAX_RANKS, // ranks and nodes, at most
    // What a member says, and what the store says, at most.
    STORE_POST_BYTES = STORE_FIXED_BYTES + 4 * STORE_MEMBERS + STORE_BLOB_BYTES,
    STORE_GATHERED_BYTES = STORE_FIXED_BYTES + STORE_MEMBERS * (1 + STORE_BLOB_BYTES),
};

struct store_message {
    enum store_kind kind;
    unsigned char nonce[STORE_NONCE_BYTES], job[STORE_NONCE_BYTES], proof[STORE_PROOF_BYTES];
    uint32_t nranks, nnodes;
    int32_t member, node; // -1: none
    int32_t status;
    uint32_t refusal, number;
    char address[STORE_ADDRESS_BYTES];
    uint64_t key, whole; // whole: bytes that each gives in all, of which this is a part
    uint32_t n, bytes;
    int32_t err, culprit;
    uint32_t says; // of those who fail together, one says so: this one
    struct clab_notice notice;
    const unsigned char *tail;
    size_t tail_bytes;
};

// Read the message at `bytes`, of which (n) are there. *bytes_p: its size, as far as it is known; it has been read,
// and *message_p is set, if that is at most n. Its tail points into `bytes`.
//   errors: CLAB_EPARSE (not of this protocol), CLAB_EUNSUPPORTED (of another version)
int store_message_read(const unsigned char *bytes, size_t n, struct store_message *message_p, size_t *bytes_p);

// Header and fields of `message`, behind which its tail belongs.  out: (STORE_FIXED_BYTES); their bytes
size_t store_message_write(const struct store_message *message, unsigned char *out);

// u32 in a tail.
uint32_t store_u32_read(const unsigned char *bytes);
void store_u32_write(uint32_t value, unsigned char *out);
