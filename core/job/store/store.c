// SPDX-License-Identifier: MIT
// The store (store.h): who has joined, what is to be told to whom, and when the job is over.

#include "core/job/store/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/job/store/connection.h"

// ---- what is to be sent --------------------------------------------------------------------------------------

void store_answer(struct store_guest *guest, const struct store_message *message, struct store_block *block)
{
    store_block_release(guest->answer.block);
    guest->answer.bytes = store_message_write(message, guest->answer.head);
    guest->answer.block = block;
    if (block)
        block->users++;
}

static void answer_member(void *of, int member, const struct store_message *answer, struct store_block *block)
{
    const struct store *store = of;
    if (store->members[member].guest)
        store_answer(store->members[member].guest, answer, block);
}

static void add(struct store_guest *guest, const struct store_message *message)
{
    guest->out_bytes += store_message_write(message, guest->out + guest->out_bytes);
}

static bool has_room(const struct store_guest *guest)
{
    return guest->out_bytes + STORE_FIXED_BYTES <= STORE_BATCH_BYTES;
}

// The oldest notice that it has not heard has been overwritten.
static bool has_missed(const struct store_guest *guest)
{
    return guest->member >= 0 && guest->store->told - guest->heard > STORE_NOTICES;
}

static void add_notices(struct store_guest *guest)
{
    const struct store *store = guest->store;
    for (; guest->heard < store->told && has_room(guest); guest->heard++) {
        const struct store_told *line = &store->notices[guest->heard % STORE_NOTICES];
        add(guest, &(struct store_message){.kind = line->gone ? STORE_GONE : STORE_NOTICE, .notice = line->notice});
    }
}

static void add_end(struct store_guest *guest)
{
    const struct store *store = guest->store;
    if (!store->verdict.is_given || guest->heard_end || store_is_rank(store, guest->member) || !has_room(guest))
        return;
    add(guest, &store->verdict.end);
    guest->heard_end = true;
}

// To node 0's launcher, or rank 0.
static void add_refusals(struct store_guest *guest)
{
    struct store *store = guest->store;
    struct store_message refused;
    const int first = store->job.nnodes > 0 ? store->job.nranks : 0;
    if (guest->member == first && has_room(guest) && store_refusals_take(&store->refusals, clab_now(), &refused))
        add(guest, &refused);
}

// To node 0's launcher, once: how many nodes it waits for, the first of them, and in `key` a bit for it and the next
// 63.
static void add_awaited(struct store_guest *guest)
{
    struct store *store = guest->store;
    const struct store_member *nodes = store->members + store->job.nranks;
    struct store_message awaited = {.kind = STORE_AWAITED};
    if (guest->member != store->job.nranks || store->has_told_awaited || clab_now() < store->patient_until ||
        !has_room(guest))
        return;
    for (int i = 0; i < store->job.nnodes; i++) {
        if (nodes[i].presence != CLAB_EXPECTED)
            continue;
        if (awaited.number++ == 0)
            awaited.member = i;
        if (i - awaited.member < 64)
            awaited.key |= UINT64_C(1) << (i - awaited.member);
    }
    if (awaited.number)
        add(guest, &awaited);
    store->has_told_awaited = true;
}

// Notices come first, so that who is answered that a peer is gone has heard of it.
static void compose(struct store_guest *guest)
{
    struct store_answer *answer = &guest->answer;
    guest->out_bytes = guest->sent = 0;
    if (has_missed(guest))
        return; // it is cut off, and what is left would be out of order
    if (guest->is_welcome) {
        add_notices(guest);
        add_refusals(guest);
        add_awaited(guest);
        add_end(guest);
    }
    if (answer->bytes && has_room(guest)) {
        memcpy(guest->out + guest->out_bytes, answer->head, answer->bytes);
        guest->out_bytes += answer->bytes;
        guest->block = answer->block;
        guest->is_welcome = guest->member >= 0;
        *answer = (struct store_answer){0};
    }
    if (guest->beats && guest->out_bytes == 0)
        add(guest, &(struct store_message){.kind = STORE_BEAT});
    guest->beats = false;
}

size_t store_output(struct store_guest *guest, const unsigned char **bytes_p)
{
    const size_t block_bytes = guest->block ? guest->block->bytes : 0;
    if (guest->sent == guest->out_bytes + block_bytes) {
        store_block_release(guest->block);
        guest->block = NULL;
        compose(guest);
    }
    if (guest->sent < guest->out_bytes) {
        *bytes_p = guest->out + guest->sent;
        return guest->out_bytes - guest->sent;
    }
    const size_t at = guest->sent - guest->out_bytes;
    *bytes_p = guest->block ? guest->block->data + at : NULL;
    return guest->block ? guest->block->bytes - at : 0;
}

void store_sent(struct store_guest *guest, size_t n)
{
    guest->sent += n;
}

void store_beat(struct store_guest *guest)
{
    guest->beats = guest->is_welcome;
}

// ---- what goes wrong -----------------------------------------------------------------------------------------

static void tell(struct store *store, bool gone, const struct clab_notice *notice)
{
    store->notices[store->told++ % STORE_NOTICES] = (struct store_told){gone, *notice};
    for (int i = 0; i < store_members(store); i++) {
        struct store_guest *guest = store->members[i].guest;
        if (guest && store->told - guest->heard >= STORE_NOTICES)
            guest->over = true; // it has not listened for long
    }
}

static void lose_node(struct store *store, int node);

// A rank, or a node, has LEFT or is LOST.
static void lose(struct store *store, int member, enum clab_presence how)
{
    struct store_member *m = &store->members[member];
    if (m->presence >= how)
        return;
    m->presence = how;
    store_meetings_lose(store->meetings, member);
    if (how == CLAB_LOST && m->guest)
        m->guest->over = true;
    if (store_is_rank(store, member))
        tell(store, true,
             &(struct clab_notice){.kind = how == CLAB_LOST ? CLAB_NOTICE_LOST : CLAB_NOTICE_LEFT,
                                   .teller = member,
                                   .culprit = member,
                                   .err = CLAB_EPEER});
    else if (!m->done)
        lose_node(store, member - store->job.nranks);
}

// Its ranks end with their launcher, or are as far away.
static void lose_node(struct store *store, int node)
{
    const struct store_job *job = &store->job;
    const int end = store_first_rank(job->nranks, job->nnodes, node + 1);
    for (int rank = store_first_rank(job->nranks, job->nnodes, node); rank < end; rank++)
        if (store->members[rank].presence != CLAB_LEFT)
            lose(store, rank, CLAB_LOST);
    store_verdict_give(&store->verdict, node, -1, 1);
}

static int node_of(const struct store *store, int rank)
{
    int node = 0;
    while (rank >= store_first_rank(store->job.nranks, store->job.nnodes, node + 1))
        node++;
    return node;
}

// ---- what members say ----------------------------------------------------------------------------------------

// A node says that the process of one of its ranks has ended. One that never joined can not be waited for, either.
static int note_end(struct store *store, int node, int rank, int status)
{
    if (!store_is_rank(store, rank) || node_of(store, rank) != node)
        return CLAB_EPARSE;
    const bool silent = store->members[rank].presence == CLAB_PRESENT; // it did not say farewell
    lose(store, rank, status || silent ? CLAB_LOST : CLAB_LEFT);
    store_verdict_hear(&store->verdict, node, rank, status, clab_now());
    return CLAB_OK;
}

static void note_done(struct store *store, int member)
{
    store->members[member].done = true;
    for (int i = store->job.nranks; i < store_members(store); i++)
        if (!store->members[i].done)
            return;
    store_verdict_give(&store->verdict, -1, -1, 0);
}

static int hear_node(struct store *store, int member, const struct store_message *message)
{
    switch (message->kind) {
    case STORE_ENDED: return note_end(store, member - store->job.nranks, message->member, message->status);
    case STORE_DONE: note_done(store, member); return CLAB_OK;
    default: return CLAB_EPARSE;
    }
}

static int hear_member(struct store_guest *guest, const struct store_message *message)
{
    struct store *store = guest->store;
    switch (message->kind) {
    case STORE_POST: return store_meetings_post(store->meetings, guest->member, message);
    case STORE_WITHDRAW:
        store_meetings_withdraw(store->meetings, guest->member, message->key, message->err);
        return CLAB_OK;
    case STORE_NOTICE:
        if (message->notice.kind == CLAB_NOTICE_LEFT && message->notice.culprit == guest->member)
            store_meetings_lose(store->meetings, guest->member); // it is about to leave, and will come to none
        tell(store, false, &message->notice);
        return CLAB_OK;
    case STORE_BEAT: return CLAB_OK;
    case STORE_FAREWELL:
        lose(store, guest->member, CLAB_LEFT);
        guest->over = true;
        return CLAB_OK;
    default: return store_is_rank(store, guest->member) ? CLAB_EPARSE : hear_node(store, guest->member, message);
    }
}

// ---- guests --------------------------------------------------------------------------------------------------

// The next message, if all of it is there: heard, and its size in *bytes_p; else the size that it will have.
static int hear_next(struct store_guest *guest, const unsigned char *in, size_t n, size_t *bytes_p)
{
    struct store_message message;
    const int err = store_message_read(in, n, &message, bytes_p);
    if (err == CLAB_EUNSUPPORTED && guest->member < 0)
        return store_refuse_version(guest);
    if (err != CLAB_OK || *bytes_p > (guest->member < 0 ? sizeof guest->first : STORE_POST_BYTES))
        return CLAB_EPARSE;
    if (*bytes_p > n)
        return CLAB_OK;
    return guest->member < 0 ? store_hear_stranger(guest, &message) : hear_member(guest, &message);
}

// Messages are collected until they are whole.
int store_hear(struct store_guest *guest, const unsigned char *bytes, size_t n)
{
    while (!guest->over) {
        size_t wanted = guest->in_bytes;
        CLAB_TRY(hear_next(guest, guest->in, guest->in_bytes, &wanted));
        if (wanted == guest->in_bytes) {
            guest->in_bytes = 0;
            continue;
        }
        if (n == 0)
            break;
        const size_t missing = wanted - guest->in_bytes, part = n < missing ? n : missing;
        memcpy(guest->in + guest->in_bytes, bytes, part);
        guest->in_bytes += part;
        bytes += part;
        n -= part;
    }
    return CLAB_OK;
}

struct store_guest *store_enter(struct store *store, const char *address)
{
    struct store_guest *guest = calloc(1, sizeof *guest);
    if (!guest)
        return NULL;
    guest->store = store;
    snprintf(guest->address, sizeof guest->address, "%s", address);
    guest->member = -1;
    guest->in = guest->first;
    return guest;
}

void store_leave(struct store_guest *guest, bool unreachable)
{
    struct store *store = guest->store;
    if (guest->member >= 0) {
        store->members[guest->member].guest = NULL;
        if (store->members[guest->member].presence == CLAB_PRESENT && store_is_rank(store, guest->member))
            store_verdict_await(&store->verdict, guest->member);
        if (store->members[guest->member].presence == CLAB_PRESENT)
            lose(store, guest->member, CLAB_LOST);
        if (unreachable && store->job.nnodes > 0 && store_is_rank(store, guest->member)) // so is its node
            lose(store, store->job.nranks + node_of(store, guest->member), CLAB_LOST);
    }
    store_block_release(guest->block);
    store_block_release(guest->answer.block);
    if (guest->in != guest->first)
        free(guest->in);
    free(guest);
}

bool store_has_joined(const struct store_guest *guest)
{
    return guest->member >= 0;
}

bool store_is_launcher(const struct store_guest *guest)
{
    return guest->member >= 0 && !store_is_rank(guest->store, guest->member);
}

bool store_is_over(const struct store_guest *guest)
{
    return guest->over;
}

// ---- the store -----------------------------------------------------------------------------------------------

double store_next(const struct store *store)
{
    return store->verdict.until;
}

void store_look(struct store *store)
{
    store_verdict_look(&store->verdict, clab_now());
}

bool store_has_ended(const struct store *store)
{
    return store->verdict.is_given;
}

void store_destroy(struct store *store)
{
    if (!store)
        return;
    store_meetings_destroy(store->meetings);
    free(store);
}

struct store *store_create(const struct store_job *job)
{
    const size_t members = (size_t)job->nranks + (size_t)job->nnodes;
    struct store *store = calloc(1, sizeof *store + members * sizeof *store->members);
    if (!store)
        return NULL;
    store->job = *job;
    store_draw(store->id);
    store->patient_until = clab_now() + STORE_PATIENCE;
    store_verdict_init(&store->verdict);
    store->meetings = store_meetings_create(job->nranks, (int)members, answer_member, store);
    if (!store->meetings) {
        free(store);
        return NULL;
    }
    return store;
}
