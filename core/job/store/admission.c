// SPDX-License-Identifier: MIT
// What strangers say to the store (store.h), and who of them becomes a member (proof.h).

#include "core/job/store/connection.h"

#include <stdlib.h>
#include <string.h>

// Whether who says this, and knows the token, may join. If not, *refusal_p and *number_p of the message that says why.
static bool may_join(const struct store *store, const struct store_message *m, uint32_t *refusal_p, uint32_t *number_p)
{
    if (m->nranks != (uint32_t)store->job.nranks)
        *refusal_p = STORE_OTHER_RANKS, *number_p = (uint32_t)store->job.nranks;
    else if (!store_is_rank(store, m->member) && m->nnodes != (uint32_t)store->job.nnodes)
        *refusal_p = STORE_OTHER_NODES, *number_p = (uint32_t)store->job.nnodes;
    else if (m->member >= store_members(store))
        *refusal_p = STORE_NO_SUCH_MEMBER;
    else if (store->members[m->member].presence != CLAB_EXPECTED)
        *refusal_p = STORE_TAKEN;
    else
        return true;
    return false;
}

static int refuse(struct store_guest *guest, const struct store_message *refused)
{
    store_answer(guest, refused, NULL);
    store_refusals_add(&guest->store->refusals, (enum store_refusal)refused->refusal, guest->address);
    guest->over = true;
    return CLAB_OK;
}

static int join(struct store_guest *guest, const struct store_message *message)
{
    struct store *store = guest->store;
    struct store_message answer = {.kind = STORE_WELCOME};
    if (!store_is_proved(store->job.token, &guest->contact, message, NULL))
        return refuse(guest, &(struct store_message){.kind = STORE_REFUSED, .refusal = STORE_WRONG_TOKEN});
    if (!may_join(store, message, &answer.refusal, &answer.number))
        answer.kind = STORE_REFUSED;
    store_prove(store->job.token, &guest->contact, message, &answer, answer.proof);
    if (answer.kind == STORE_REFUSED)
        return refuse(guest, &answer);
    unsigned char *room = malloc(STORE_POST_BYTES);
    if (!room)
        return CLAB_ENOMEM;
    guest->in = room; // what it has said is in guest->first, and has been heard
    guest->member = message->member;
    guest->heard = store->told > STORE_NOTICES / 2 ? store->told - STORE_NOTICES / 2 : 0;
    store->members[guest->member].guest = guest;
    store->members[guest->member].presence = CLAB_PRESENT;
    store_answer(guest, &answer, NULL);
    return CLAB_OK;
}

static void greet(struct store_guest *guest, const struct store_message *hello)
{
    struct store_message challenge = {.kind = STORE_CHALLENGE};
    memcpy(challenge.job, guest->store->id, sizeof challenge.job);
    store_draw(challenge.nonce);
    guest->contact = store_contact_of(hello, &challenge);
    guest->is_greeted = true;
    store_answer(guest, &challenge, NULL);
}

int store_hear_stranger(struct store_guest *guest, const struct store_message *message)
{
    if (message->kind == STORE_JOIN && guest->is_greeted)
        return join(guest, message);
    if (message->kind != STORE_HELLO || guest->is_greeted)
        return CLAB_EPARSE;
    greet(guest, message);
    return CLAB_OK;
}

int store_refuse_version(struct store_guest *guest)
{
    return refuse(
        guest, &(struct store_message){.kind = STORE_REFUSED, .refusal = STORE_OTHER_VERSION, .number = STORE_VERSION});
}
