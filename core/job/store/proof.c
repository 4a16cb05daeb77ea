// SPDX-License-Identifier: MIT
// Proofs that the token is known (proof.h), by libsodium.

#include "core/base/machine/called.h"
#include "core/job/store/proof.h"

#include <string.h>

#include "core/base/log.h"

struct store_contact store_contact_of(const struct store_message *hello, const struct store_message *challenge)
{
    struct store_contact contact;
    memcpy(contact.job, challenge->job, sizeof contact.job);
    memcpy(contact.of_member, hello->nonce, sizeof contact.of_member);
    memcpy(contact.of_store, challenge->nonce, sizeof contact.of_store);
    return contact;
}

#ifdef HAVE_SODIUM

#include <sodium.h>

_Static_assert(STORE_PROOF_BYTES == crypto_auth_hmacsha512256_BYTES, "a proof is one HMAC");

// One for each direction, of the same length, so that no two inputs of the HMAC are alike.
static const unsigned char by_member[16] = "commlab: member", by_store[16] = "commlab: store";

int store_proof_ready(void)
{
    if (sodium_init() >= 0)
        return CLAB_OK;
    clab_error("libsodium can not start: %m");
    return CLAB_ESYS;
}

void store_draw(unsigned char nonce_p[STORE_NONCE_BYTES])
{
    randombytes_buf(nonce_p, STORE_NONCE_BYTES);
}

// As it is sent, but for the proof.
static void add(crypto_auth_hmacsha512256_state *state, const struct store_message *message)
{
    unsigned char bytes[STORE_FIXED_BYTES];
    struct store_message unsigned_one = *message;
    memset(unsigned_one.proof, 0, sizeof unsigned_one.proof);
    crypto_auth_hmacsha512256_update(state, bytes, store_message_write(&unsigned_one, bytes));
}

void store_prove(const unsigned char token[CLAB_TOKEN_BYTES], const struct store_contact *contact,
                 const struct store_message *join, const struct store_message *answer,
                 unsigned char proof_p[STORE_PROOF_BYTES])
{
    crypto_auth_hmacsha512256_state state;
    crypto_auth_hmacsha512256_init(&state, token, CLAB_TOKEN_BYTES);
    crypto_auth_hmacsha512256_update(&state, answer ? by_store : by_member, sizeof by_store);
    crypto_auth_hmacsha512256_update(&state, contact->job, sizeof contact->job);
    crypto_auth_hmacsha512256_update(&state, contact->of_member, sizeof contact->of_member);
    crypto_auth_hmacsha512256_update(&state, contact->of_store, sizeof contact->of_store);
    add(&state, join);
    if (answer)
        add(&state, answer);
    crypto_auth_hmacsha512256_final(&state, proof_p);
}

bool store_is_proved(const unsigned char token[CLAB_TOKEN_BYTES], const struct store_contact *contact,
                     const struct store_message *join, const struct store_message *answer)
{
    unsigned char proof[STORE_PROOF_BYTES];
    store_prove(token, contact, join, answer, proof);
    return sodium_memcmp(proof, answer ? answer->proof : join->proof, sizeof proof) == 0;
}

#else // without libsodium: nobody gets past store_proof_ready

int store_proof_ready(void)
{
    clab_error("this build lacks libsodium, so a job can only be on one node and be started by commlab itself: run "
               "%s, then %s",
               clab_setup(), clab_rebuild());
    return CLAB_EUNSUPPORTED;
}

void store_draw(unsigned char nonce_p[STORE_NONCE_BYTES])
{
    memset(nonce_p, 0, STORE_NONCE_BYTES);
}

void store_prove(const unsigned char token[CLAB_TOKEN_BYTES], const struct store_contact *contact,
                 const struct store_message *join, const struct store_message *answer,
                 unsigned char proof_p[STORE_PROOF_BYTES])
{
    (void)token, (void)contact, (void)join, (void)answer;
    memset(proof_p, 0, STORE_PROOF_BYTES);
}

bool store_is_proved(const unsigned char token[CLAB_TOKEN_BYTES], const struct store_contact *contact,
                     const struct store_message *join, const struct store_message *answer)
{
    (void)token, (void)contact, (void)join, (void)answer;
    return false;
}

#endif
