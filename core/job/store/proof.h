// SPDX-License-Identifier: MIT
// How a member and the store prove to each other that they know the job's token, without sending it.
//
//   member  STORE_HELLO      a nonce                  store   STORE_CHALLENGE           a nonce, the job's id
//   member  STORE_JOIN       who it is, its proof     store   STORE_WELCOME or REFUSED  its decision, its proof
//
// - A proof is HMAC-SHA-512-256, with the token as its key, of a label for the direction, the job's id, both nonces,
//   the bytes of STORE_JOIN, and in the store's proof also the bytes of its answer. So version, member, nranks and nnodes are
//   signed.
// - Both sides draw a nonce per connection, and the store draws the id when it starts: a recorded proof is worth nothing
//   on another connection. The label keeps a proof from being sent back as its own answer.
// - Later messages are neither signed nor encrypted.
//
// Source: RFC 2104 (HMAC); RFC 4868 (its truncation); libsodium, crypto_auth.
#pragma once

#include "core/job/store/message.h"

struct store_contact { // one connection
    unsigned char job[STORE_NONCE_BYTES], of_member[STORE_NONCE_BYTES], of_store[STORE_NONCE_BYTES];
};

// Whether this build can prove anything.  errors: CLAB_EUNSUPPORTED (without libsodium), CLAB_ESYS; one line
int store_proof_ready(void);

void store_draw(unsigned char nonce_p[STORE_NONCE_BYTES]);

struct store_contact store_contact_of(const struct store_message *hello, const struct store_message *challenge);

// The proof for `join`, or with an `answer` the one for that. Ignores the proof fields of both.
void store_prove(const unsigned char token[CLAB_TOKEN_BYTES], const struct store_contact *contact,
                 const struct store_message *join, const struct store_message *answer,
                 unsigned char proof_p[STORE_PROOF_BYTES]);

// Whether the proof in `answer`, or in `join` if that is NULL, is right. Takes the same time wherever it differs.
bool store_is_proved(const unsigned char token[CLAB_TOKEN_BYTES], const struct store_contact *contact,
                     const struct store_message *join, const struct store_message *answer);
