// SPDX-License-Identifier: MIT
// Unauthenticated peers of the store: which of them become members (store.h, proof.h).

#include "core/job/store/connection.h"

#include <stdlib.h>
#include <string.h>

// Whether the sender of this STORE_JOIN, which knows the token, may join. If not: the reason in *refusal_p, *number_p.
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

static int refuse(struct store_connection *connection, const struct store_message *refused)
{
    store_answer(connection, refused, NULL);
    store_refusals_add(&connection->store->refusals, (enum store_refusal)refused->refusal, connection->address);
    connection->over = true;
    return CLAB_OK;
}

static int join(struct store_connection *connection, const struct store_message *message)
{
    struct store *store = connection->store;
    struct store_message answer = {.kind = STORE_WELCOME};
    if (!store_is_proved(store->job.token, &connection->contact, message, NULL))
        return refuse(connection, &(struct store_message){.kind = STORE_REFUSED, .refusal = STORE_WRONG_TOKEN});
    if (!may_join(store, message, &answer.refusal, &answer.number))
        answer.kind = STORE_REFUSED;
    store_prove(store->job.token, &connection->contact, message, &answer, answer.proof);
    if (answer.kind == STORE_REFUSED)
        return refuse(connection, &answer);
    unsigned char *room = malloc(STORE_POST_BYTES);
    if (!room)
        return CLAB_ENOMEM;
    connection->in = room; // connection->first holds STORE_JOIN, which is read
    connection->member = message->member;
    connection->next_notice = store->nnotices > STORE_NOTICES / 2 ? store->nnotices - STORE_NOTICES / 2 : 0;
    store->members[connection->member].connection = connection;
    store->members[connection->member].presence = CLAB_PRESENT;
    store_answer(connection, &answer, NULL);
    return CLAB_OK;
}

static void greet(struct store_connection *connection, const struct store_message *hello)
{
    struct store_message challenge = {.kind = STORE_CHALLENGE};
    memcpy(challenge.job, connection->store->id, sizeof challenge.job);
    store_draw(challenge.nonce);
    connection->contact = store_contact_of(hello, &challenge);
    connection->is_greeted = true;
    store_answer(connection, &challenge, NULL);
}

int store_admission_receive(struct store_connection *connection, const struct store_message *message)
{
    if (message->kind == STORE_JOIN && connection->is_greeted)
        return join(connection, message);
    if (message->kind != STORE_HELLO || connection->is_greeted)
        return CLAB_EPARSE;
    greet(connection, message);
    return CLAB_OK;
}

int store_refuse_version(struct store_connection *connection)
{
    return refuse(connection, &(struct store_message){
                                  .kind = STORE_REFUSED, .refusal = STORE_OTHER_VERSION, .number = STORE_VERSION});
}
