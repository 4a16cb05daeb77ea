// SPDX-License-Identifier: MIT
// A member of the store's job: what it receives, sends and waits for (client.h). join.c connects it.

#include "core/job/store/client.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/vector.h"
#include "core/job/exchange.h"
#include "core/job/launchers/siblings.h"
#include "core/job/store/client_inside.h"
#include "core/job/store/refusals.h"

#define LOOK_SECONDS     1e-3 // between two looks of next_notice
#define NAP_SECONDS      1e-3 // of a wait, at most, while `meanwhile` is busy
#define WITHDRAW_SECONDS 2.0  // for the answer to a withdrawal: on a busy host the store may wait long for a core
#define LEAVE_SECONDS    1.0  // for the store to close after a leave message

// ---- what has come --------------------------------------------------------------------------------------------

static void keep_notice(struct store_client *c, const struct clab_notice *notice)
{
    if (c->first == c->nnotices)
        c->first = c->nnotices = 0;
    (void)CLAB_PUSH(c->notices, c->nnotices, c->room, *notice); // without memory: `presence` still has it
}

static void keep_gone(struct store_client *c, const struct clab_notice *notice)
{
    if (notice->culprit < 0 || notice->culprit >= c->ticket.job.nranks)
        return;
    c->presence[notice->culprit] = notice->kind == CLAB_NOTICE_LOST ? CLAB_LOST : CLAB_LEFT;
    keep_notice(c, notice);
}

// A rank may announce that it is about to leave.
static void keep_reported(struct store_client *c, const struct clab_notice *notice)
{
    const int rank = notice->culprit;
    if (notice->kind == CLAB_NOTICE_LEFT && rank == notice->reporter && rank >= 0 && rank < c->ticket.job.nranks &&
        c->presence[rank] < CLAB_LEAVING)
        c->presence[rank] = CLAB_LEAVING;
    keep_notice(c, notice);
}

static void lose_all(struct store_client *c)
{
    for (int rank = 0; rank < c->ticket.job.nranks; rank++)
        if (rank != c->ticket.member && c->presence[rank] < CLAB_LEFT)
            keep_gone(c, &(struct clab_notice){CLAB_NOTICE_LOST, c->ticket.member, rank, CLAB_EPEER, 0});
}

// The connection has ended: every other rank counts as lost.
static void cut(struct store_client *c, const char *why)
{
    if (!c->is_cut && !c->has_ended)
        clab_error("the connection to the job's store at %s:%d has ended (%s): this rank counts all others as lost",
                   c->ticket.host, c->ticket.port, why);
    if (!c->has_ended)
        c->end = (struct store_end){-1, -1, 1};
    c->is_cut = c->has_ended = true;
    lose_all(c);
}

static void keep_answer(struct store_client *c, const struct store_message *message)
{
    c->tail.n = 0;
    c->answer = *message;
    c->has_answer = store_bytes_add(&c->tail, message->tail, message->tail_bytes);
    if (!c->has_answer)
        cut(c, "out of memory");
}

static void log_awaited(const struct store_client *c, const struct store_message *m)
{
    int listed[EXCHANGE_LISTED], n = 0;
    for (int i = 0; i < 64 && n < EXCHANGE_LISTED; i++)
        if (m->key >> i & 1)
            listed[n++] = m->member + i;
    exchange_log_awaited(listed, n, (int)m->number, c->ticket.job.nnodes, c->ticket.host, c->ticket.port);
}

static void take(struct store_client *c, const struct store_message *message)
{
    switch (message->kind) {
    case STORE_GATHERED: keep_answer(c, message); break;
    case STORE_GONE: keep_gone(c, &message->notice); break;
    case STORE_NOTICE: keep_reported(c, &message->notice); break;
    case STORE_TURNED_AWAY: store_refusals_log(message); break;
    case STORE_AWAITED: log_awaited(c, message); break;
    case STORE_END:
        c->end = (struct store_end){message->node, message->member, message->status};
        c->has_ended = true;
        break;
    default: break; // not sent to members
    }
}

// No heartbeat while other messages wait to be sent.
static void check_keepalive(struct store_client *c)
{
    const enum store_liveness sign = store_keepalive_check(&c->keepalive, c->channel.fd);
    if (sign == STORE_PROBE && c->channel.out.n == 0 &&
        store_channel_send(&c->channel, &(struct store_message){.kind = STORE_HEARTBEAT}) != CLAB_OK)
        cut(c, "out of memory");
    else if (sign == STORE_SILENT)
        cut(c, "its host does not answer");
}

// Send and read what is possible without waiting.
static void look(struct store_client *c)
{
    struct store_message message;
    int err = CLAB_OK;
    store_channel_flush(&c->channel);
    while (!c->is_cut && (err = store_channel_read(&c->channel, &message)) == CLAB_OK)
        take(c, &message);
    if (!c->is_cut && err == CLAB_EPEER)
        cut(c, errno ? strerror(errno) : "its process was killed, or has cut us off");
    else if (!c->is_cut && err != CLAB_ENOENT)
        cut(c, clab_strerror(err));
    if (!c->is_cut)
        check_keepalive(c);
}

static void say(struct store_client *c, const struct store_message *message)
{
    if (!c->is_cut && store_channel_send(&c->channel, message) != CLAB_OK)
        cut(c, "out of memory");
}

// ---- exchange ------------------------------------------------------------------------------------------------

static void post(struct store_client *c, const struct exchange_part *p)
{
    unsigned char tail[4 * STORE_MEMBERS + STORE_BLOB_BYTES];
    const size_t listed = p->ranks ? (size_t)p->n : 0;
    for (size_t i = 0; i < listed; i++)
        store_u32_write((uint32_t)p->ranks[i], tail + 4 * i);
    if (p->bytes)
        memcpy(tail + 4 * listed, p->mine, p->bytes);
    say(c, &(struct store_message){.kind = STORE_POST,
                                   .key = p->key,
                                   .whole = p->whole,
                                   .bytes = (uint32_t)p->bytes,
                                   .n = (uint32_t)listed,
                                   .tail = tail,
                                   .tail_bytes = 4 * listed + p->bytes});
}

// The answer to a fence that this member gave up may come late.
static bool is_answered(const struct store_client *c, uint64_t key)
{
    return c->has_answer && c->answer.key == key;
}

static double next_look(const struct store_client *c)
{
    return fmin(c->keepalive.next, siblings_next());
}

// Wait for the answer to the fence of `key`.
//   errors: CLAB_ETIMEOUT (at `deadline`), CLAB_EPEER (the connection has ended), those of meanwhile
static int await(struct store_client *c, uint64_t key, double deadline, struct exchange_progress progress)
{
    for (;;) {
        bool busy = false;
        look(c);
        if (is_answered(c, key))
            return CLAB_OK;
        const double now = clab_now();
        if (c->is_cut || now >= deadline)
            return c->is_cut ? CLAB_EPEER : CLAB_ETIMEOUT;
        if (progress.meanwhile)
            CLAB_TRY(progress.meanwhile(progress.of, &busy));
        if (!is_answered(c, key)) // meanwhile reads notices, and maybe the answer, from the same connection
            store_channel_await(&c->channel, fmin(busy ? now + NAP_SECONDS : next_look(c), deadline));
    }
}

static bool has_come(const struct store_client *c, int i)
{
    return c->answer.err == CLAB_OK || (c->answer.n && c->tail.at[i]);
}

// One of the members that fail together logs why.
static void log_failure(const struct store_client *c, const struct exchange_part *p)
{
    const struct store_message *answer = &c->answer;
    if (!answer->says || p->quiet)
        return;
    if (answer->err == CLAB_EPEER)
        exchange_log_ended(answer->culprit, c->ticket.job.nranks);
    else if (answer->err == CLAB_ETIMEOUT && answer->n == (uint32_t)p->n)
        exchange_log_missing(p, c->tail.at, c->ticket.job.nranks, c->ticket.timeout);
    else if (answer->err == CLAB_EMISMATCH && answer->whole != p->whole)
        exchange_log_sizes(p->whole, answer->culprit, (size_t)answer->whole, c->ticket.job.nranks);
    else if (answer->err == CLAB_EMISMATCH)
        clab_error("rendezvous: ranks disagree on the members of a fence");
}

static void note_coming(struct store_client *c, int member)
{
    if (member < c->ticket.job.nranks && c->presence[member] == CLAB_EXPECTED)
        c->presence[member] = CLAB_PRESENT;
}

// Copy the blobs that have come, and in any case this member's own.
static int take_parts(struct store_client *c, const struct exchange_part *p)
{
    const struct store_message *answer = &c->answer;
    if (answer->n && (answer->n != (uint32_t)p->n || answer->bytes != p->bytes))
        return CLAB_EMISMATCH; // two fences with the same key
    const unsigned char *bytes = c->tail.at + (answer->err ? answer->n : 0);
    for (int i = 0; i < p->n; i++) {
        const int member = exchange_member(p, i);
        if (!has_come(c, i) && member != c->ticket.member)
            continue;
        note_coming(c, member);
        if (p->bytes)
            memcpy(p->all + (size_t)i * p->whole, member == c->ticket.member ? p->mine : bytes + (size_t)i * p->bytes,
                   p->bytes);
    }
    return answer->err;
}

// Give up because of `err`. The store sends what has come to all members that wait.
static int withdraw(struct store_client *c, const struct exchange_part *p, int err)
{
    say(c, &(struct store_message){.kind = STORE_WITHDRAW, .key = p->key, .err = err});
    const int answered = await(c, p->key, clab_now() + WITHDRAW_SECONDS, (struct exchange_progress){0});
    if (answered == CLAB_ETIMEOUT && !p->quiet)
        clab_error("rendezvous: the job's store at %s:%d does not answer", c->ticket.host, c->ticket.port);
    return answered;
}

// An exchange under way.
struct exchange {
    struct store_client *client;
    struct exchange_progress progress;
};

static int run_part(void *of, const struct exchange_part *p)
{
    const struct exchange *exchange = of;
    struct store_client *c = exchange->client;
    c->has_answer = false;
    post(c, p);
    int err = await(c, p->key, clab_now() + c->ticket.timeout, exchange->progress);
    if (err != CLAB_OK && !c->is_cut && withdraw(c, p, err) != CLAB_OK)
        return c->is_cut ? CLAB_EPEER : err;
    if (!is_answered(c, p->key))
        return CLAB_EPEER;
    if (c->answer.err)
        log_failure(c, p);
    return take_parts(c, p);
}

int store_client_exchange(struct store_client *c, struct clab_fence fence, const void *mine, size_t bytes, void *all,
                          struct exchange_progress progress)
{
    struct exchange exchange = {c, progress};
    const struct exchange_part whole = exchange_whole(fence, c->ticket.job.nranks, mine, bytes, all);
    return exchange_in_parts(&whole, STORE_BLOB_BYTES, run_part, &exchange);
}

// ---- notices -------------------------------------------------------------------------------------------------

void store_client_notify(struct store_client *c, const struct clab_notice *notice)
{
    say(c, &(struct store_message){.kind = STORE_NOTICE, .notice = *notice});
}

// One system call per LOOK_SECONDS; otherwise only the clock.
static void look_now_and_then(struct store_client *c)
{
    const double now = clab_now();
    if (now - c->looked < LOOK_SECONDS)
        return;
    c->looked = now;
    look(c);
}

bool store_client_next_notice(struct store_client *c, struct clab_notice *notice_p)
{
    if (c->first == c->nnotices)
        look_now_and_then(c);
    if (c->first == c->nnotices)
        return false;
    *notice_p = c->notices[c->first++];
    return true;
}

enum clab_presence store_client_presence(struct store_client *c, int rank)
{
    look_now_and_then(c);
    return c->presence[rank];
}

// ---- nodes ---------------------------------------------------------------------------------------------------

int store_client_fd(const struct store_client *c)
{
    return c->channel.fd;
}

double store_client_next(const struct store_client *c)
{
    return c->keepalive.next;
}

bool store_client_look(struct store_client *c, struct store_end *end_p)
{
    look(c);
    if (c->has_ended)
        *end_p = c->end;
    return c->has_ended;
}

void store_client_say_ended(struct store_client *c, int rank, int status)
{
    say(c, &(struct store_message){.kind = STORE_ENDED, .member = rank, .status = status});
}

void store_client_say_done(struct store_client *c)
{
    say(c, &(struct store_message){.kind = STORE_DONE});
}

// ---- leaving -------------------------------------------------------------------------------------------------

void store_client_forget(struct store_client *c)
{
    store_channel_close(&c->channel);
    free(c->notices);
    free(c->tail.at);
    free(c);
}

// The store closes when it has read the leave message. If this end closed first, the rank might count as lost.
void store_client_leave(struct store_client *c)
{
    if (!c)
        return;
    const double deadline = clab_now() + LEAVE_SECONDS;
    say(c, &(struct store_message){.kind = STORE_LEAVE});
    c->has_ended = true; // so the end of the connection is no error
    for (look(c); !c->is_cut && clab_now() < deadline; look(c))
        store_channel_await(&c->channel, fmin(c->keepalive.next, deadline));
    store_client_forget(c);
}
