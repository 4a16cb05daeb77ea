// SPDX-License-Identifier: MIT
// The store: which members have joined, what to send to each, and when the job is over (store.h).

#include "core/job/store/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/job/store/connection.h"

// ---- output --------------------------------------------------------------------------------------------------

void store_answer(struct store_connection *connection, const struct store_message *message, struct store_block *block)
{
    store_block_release(connection->answer.block);
    connection->answer.bytes = store_message_write(message, connection->answer.head);
    connection->answer.block = block;
    if (block)
        block->users++;
}

static void answer_member(void *of, int member, const struct store_message *answer, struct store_block *block)
{
    const struct store *store = of;
    if (store->members[member].connection)
        store_answer(store->members[member].connection, answer, block);
}

static void add(struct store_connection *connection, const struct store_message *message)
{
    connection->out_bytes += store_message_write(message, connection->out + connection->out_bytes);
}

static bool has_room(const struct store_connection *connection)
{
    return connection->out_bytes + STORE_FIXED_BYTES <= STORE_BATCH_BYTES;
}

// A newer notice has overwritten the next one to send.
static bool has_missed(const struct store_connection *connection)
{
    return connection->member >= 0 && connection->store->nnotices - connection->next_notice > STORE_NOTICES;
}

static void add_notices(struct store_connection *connection)
{
    const struct store *store = connection->store;
    for (; connection->next_notice < store->nnotices && has_room(connection); connection->next_notice++) {
        const struct store_notice *line = &store->notices[connection->next_notice % STORE_NOTICES];
        add(connection,
            &(struct store_message){.kind = line->gone ? STORE_GONE : STORE_NOTICE, .notice = line->notice});
    }
}

static void add_end(struct store_connection *connection)
{
    const struct store *store = connection->store;
    if (!store->job_status.is_decided || connection->has_sent_end || store_is_rank(store, connection->member) ||
        !has_room(connection))
        return;
    add(connection, &store->job_status.end);
    connection->has_sent_end = true;
}

// Refusals, for node 0's launcher or rank 0.
static void add_refusals(struct store_connection *connection)
{
    struct store *store = connection->store;
    struct store_message refused;
    const int first = store->job.nnodes > 0 ? store->job.nranks : 0;
    if (connection->member == first && has_room(connection) &&
        store_refusals_take(&store->refusals, clab_now(), &refused))
        add(connection, &refused);
}

// Once, for node 0's launcher: how many nodes have not joined, the first of them, and in `key` one bit for each of the
// 64 nodes from that one on.
static void add_awaited(struct store_connection *connection)
{
    struct store *store = connection->store;
    const struct store_member *nodes = store->members + store->job.nranks;
    struct store_message awaited = {.kind = STORE_AWAITED};
    if (connection->member != store->job.nranks || store->has_reported_missing || clab_now() < store->patient_until ||
        !has_room(connection))
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
        add(connection, &awaited);
    store->has_reported_missing = true;
}

// Notices first: a member reads that a peer is gone before the answer that fails because of it.
static void compose(struct store_connection *connection)
{
    struct store_answer *answer = &connection->answer;
    connection->out_bytes = connection->sent = 0;
    if (has_missed(connection))
        return; // its connection is closed: later notices would be out of order
    if (connection->is_welcome) {
        add_notices(connection);
        add_refusals(connection);
        add_awaited(connection);
        add_end(connection);
    }
    if (answer->bytes && has_room(connection)) {
        memcpy(connection->out + connection->out_bytes, answer->head, answer->bytes);
        connection->out_bytes += answer->bytes;
        connection->block = answer->block;
        connection->is_welcome = connection->member >= 0;
        *answer = (struct store_answer){0};
    }
    if (connection->needs_heartbeat && connection->out_bytes == 0)
        add(connection, &(struct store_message){.kind = STORE_HEARTBEAT});
    connection->needs_heartbeat = false;
}

size_t store_output(struct store_connection *connection, const unsigned char **bytes_p)
{
    const size_t block_bytes = connection->block ? connection->block->bytes : 0;
    if (connection->sent == connection->out_bytes + block_bytes) {
        store_block_release(connection->block);
        connection->block = NULL;
        compose(connection);
    }
    if (connection->sent < connection->out_bytes) {
        *bytes_p = connection->out + connection->sent;
        return connection->out_bytes - connection->sent;
    }
    const size_t at = connection->sent - connection->out_bytes;
    *bytes_p = connection->block ? connection->block->data + at : NULL;
    return connection->block ? connection->block->bytes - at : 0;
}

void store_sent(struct store_connection *connection, size_t n)
{
    connection->sent += n;
}

void store_heartbeat(struct store_connection *connection)
{
    connection->needs_heartbeat = connection->is_welcome;
}

// ---- failures ------------------------------------------------------------------------------------------------

static void post_notice(struct store *store, bool gone, const struct clab_notice *notice)
{
    store->notices[store->nnotices++ % STORE_NOTICES] = (struct store_notice){gone, *notice};
    for (int i = 0; i < store_members(store); i++) {
        struct store_connection *connection = store->members[i].connection;
        if (connection && store->nnotices - connection->next_notice >= STORE_NOTICES)
            connection->over = true; // it has not read for long
    }
}

static void lose_node(struct store *store, int node);

// `member`, a rank or a node, has LEFT or is LOST.
static void lose(struct store *store, int member, enum clab_presence how)
{
    struct store_member *m = &store->members[member];
    if (m->presence >= how)
        return;
    m->presence = how;
    store_fences_lose(store->fences, member);
    if (how == CLAB_LOST && m->connection)
        m->connection->over = true;
    if (store_is_rank(store, member))
        post_notice(store, true,
                    &(struct clab_notice){.kind = how == CLAB_LOST ? CLAB_NOTICE_LOST : CLAB_NOTICE_LEFT,
                                          .reporter = member,
                                          .culprit = member,
                                          .err = CLAB_EPEER});
    else if (!m->done)
        lose_node(store, member - store->job.nranks);
}

// Its ranks are lost, too: they end with their launcher, or their host does not answer.
static void lose_node(struct store *store, int node)
{
    const struct store_job *job = &store->job;
    const int end = store_first_rank(job->nranks, job->nnodes, node + 1);
    for (int rank = store_first_rank(job->nranks, job->nnodes, node); rank < end; rank++)
        if (store->members[rank].presence != CLAB_LEFT)
            lose(store, rank, CLAB_LOST);
    store_job_status_decide(&store->job_status, node, -1, 1);
}

static int node_of(const struct store *store, int rank)
{
    int node = 0;
    while (rank >= store_first_rank(store->job.nranks, store->job.nnodes, node + 1))
        node++;
    return node;
}

// ---- messages of members -------------------------------------------------------------------------------------

// A node reports that the process of one of its ranks has ended. That rank may never have joined.
static int note_end(struct store *store, int node, int rank, int status)
{
    if (!store_is_rank(store, rank) || node_of(store, rank) != node)
        return CLAB_EPARSE;
    const bool silent = store->members[rank].presence == CLAB_PRESENT; // it sent no leave message
    lose(store, rank, status || silent ? CLAB_LOST : CLAB_LEFT);
    store_job_status_report(&store->job_status, node, rank, status, clab_now());
    return CLAB_OK;
}

static void note_done(struct store *store, int member)
{
    store->members[member].done = true;
    for (int i = store->job.nranks; i < store_members(store); i++)
        if (!store->members[i].done)
            return;
    store_job_status_decide(&store->job_status, -1, -1, 0);
}

static int receive_from_node(struct store *store, int member, const struct store_message *message)
{
    switch (message->kind) {
    case STORE_ENDED: return note_end(store, member - store->job.nranks, message->member, message->status);
    case STORE_DONE: note_done(store, member); return CLAB_OK;
    default: return CLAB_EPARSE;
    }
}

static int receive_from_member(struct store_connection *connection, const struct store_message *message)
{
    struct store *store = connection->store;
    switch (message->kind) {
    case STORE_POST: return store_fences_post(store->fences, connection->member, message);
    case STORE_WITHDRAW:
        store_fences_withdraw(store->fences, connection->member, message->key, message->err);
        return CLAB_OK;
    case STORE_NOTICE:
        if (message->notice.kind == CLAB_NOTICE_LEFT && message->notice.culprit == connection->member)
            store_fences_lose(store->fences, connection->member); // it is about to leave, and takes part in no fence
        post_notice(store, false, &message->notice);
        return CLAB_OK;
    case STORE_HEARTBEAT: return CLAB_OK;
    case STORE_LEAVE:
        lose(store, connection->member, CLAB_LEFT);
        connection->over = true;
        return CLAB_OK;
    default:
        return store_is_rank(store, connection->member) ? CLAB_EPARSE
                                                        : receive_from_node(store, connection->member, message);
    }
}

// ---- connections --------------------------------------------------------------------------------------------------

// Handle the next message if it is complete. *bytes_p: its size; of an incomplete one, the size that it will have.
static int receive_next(struct store_connection *connection, const unsigned char *in, size_t n, size_t *bytes_p)
{
    struct store_message message;
    const int err = store_message_read(in, n, &message, bytes_p);
    if (err == CLAB_EUNSUPPORTED && connection->member < 0)
        return store_refuse_version(connection);
    if (err != CLAB_OK || *bytes_p > (connection->member < 0 ? sizeof connection->first : STORE_POST_BYTES))
        return CLAB_EPARSE;
    if (*bytes_p > n)
        return CLAB_OK;
    return connection->member < 0 ? store_admission_receive(connection, &message)
                                  : receive_from_member(connection, &message);
}

// Collect bytes until a message is complete.
int store_receive(struct store_connection *connection, const unsigned char *bytes, size_t n)
{
    while (!connection->over) {
        size_t wanted = connection->in_bytes;
        CLAB_TRY(receive_next(connection, connection->in, connection->in_bytes, &wanted));
        if (wanted == connection->in_bytes) {
            connection->in_bytes = 0;
            continue;
        }
        if (n == 0)
            break;
        const size_t missing = wanted - connection->in_bytes, part = n < missing ? n : missing;
        memcpy(connection->in + connection->in_bytes, bytes, part);
        connection->in_bytes += part;
        bytes += part;
        n -= part;
    }
    return CLAB_OK;
}

struct store_connection *store_accept(struct store *store, const char *address)
{
    struct store_connection *connection = calloc(1, sizeof *connection);
    if (!connection)
        return NULL;
    connection->store = store;
    snprintf(connection->address, sizeof connection->address, "%s", address);
    connection->member = -1;
    connection->in = connection->first;
    return connection;
}

void store_disconnect(struct store_connection *connection, bool unreachable)
{
    struct store *store = connection->store;
    if (connection->member >= 0) {
        store->members[connection->member].connection = NULL;
        if (store->members[connection->member].presence == CLAB_PRESENT && store_is_rank(store, connection->member))
            store_job_status_await(&store->job_status, connection->member);
        if (store->members[connection->member].presence == CLAB_PRESENT)
            lose(store, connection->member, CLAB_LOST);
        if (unreachable && store->job.nnodes > 0 && store_is_rank(store, connection->member)) // so does its node's
            lose(store, store->job.nranks + node_of(store, connection->member), CLAB_LOST);
    }
    store_block_release(connection->block);
    store_block_release(connection->answer.block);
    if (connection->in != connection->first)
        free(connection->in);
    free(connection);
}

bool store_has_joined(const struct store_connection *connection)
{
    return connection->member >= 0;
}

bool store_is_launcher(const struct store_connection *connection)
{
    return connection->member >= 0 && !store_is_rank(connection->store, connection->member);
}

bool store_is_over(const struct store_connection *connection)
{
    return connection->over;
}

// ---- the store -----------------------------------------------------------------------------------------------

double store_next(const struct store *store)
{
    return store->job_status.until;
}

void store_look(struct store *store)
{
    store_job_status_poll(&store->job_status, clab_now());
}

bool store_has_ended(const struct store *store)
{
    return store->job_status.is_decided;
}

void store_destroy(struct store *store)
{
    if (!store)
        return;
    store_fences_destroy(store->fences);
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
    store_job_status_init(&store->job_status);
    store->fences = store_fences_create(job->nranks, (int)members, answer_member, store);
    if (!store->fences) {
        free(store);
        return NULL;
    }
    return store;
}
