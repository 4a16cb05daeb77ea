// SPDX-License-Identifier: MIT
// How a member joins: it connects to the store, both prove that they know the token, and the store accepts it or says
// why not (client.h).
//
// - Members start in any order, so a member tries again until the timeout if no store listens yet. It also tries again
//   if the store hangs up before it has answered: the store of the previous job does that, and so does one that has too
//   many unauthenticated peers.

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/job/launchers/siblings.h"
#include "core/job/store/client_inside.h"
#include "core/job/store/proof.h"
#include "core/job/store/socket.h"

#define FIRST_NAP 0.01 // seconds between two attempts, at first
#define LAST_NAP  0.25 // and at last

static int refused(const struct store_ticket *t, const struct store_message *answer)
{
    const int number = (int)answer->number, ranks = t->job.nranks;
    const char *host = t->host;
    switch ((enum store_refusal)answer->refusal) {
    case STORE_WRONG_TOKEN:
        clab_error(
            "the job at %s:%d refuses our token: let CLAB_TOKEN, or else ~/.config/commlab/token, be the same on "
            "all nodes",
            host, t->port);
        break;
    case STORE_OTHER_VERSION:
        clab_error("the job at %s:%d is of another version of commlab: install the same on all nodes", host, t->port);
        break;
    case STORE_OTHER_RANKS:
        clab_error("the job at %s:%d has %d ranks, not %d: start all nodes with the same number", host, t->port, number,
                   ranks);
        break;
    case STORE_OTHER_NODES:
        clab_error("the job at %s:%d has %d nodes, not %d: start all nodes with the same number", host, t->port, number,
                   t->job.nnodes);
        break;
    case STORE_TAKEN:
        clab_error("%s %d has joined the job at %s:%d already: each joins once", t->member < ranks ? "rank" : "node",
                   t->member < ranks ? t->member : t->member - ranks, host, t->port);
        break;
    default: clab_error("the job at %s:%d has no rank %d: its ranks are 0 to %d", host, t->port, t->member, ranks - 1);
    }
    return CLAB_EINVAL;
}

static int unmasked(const struct store_ticket *t)
{
    clab_error(
        "the program at %s:%d is not the job's store: it does not know the token. Choose another port; to see who "
        "listens at this one, type: ss -tlnp",
        t->host, t->port);
    return CLAB_EINVAL;
}

// Send one message, and wait for the next.  errors: as of store_channel_read; CLAB_ENOENT: no answer in time
static int ask(struct store_channel *channel, const struct store_message *question, double deadline,
               struct store_message *answer_p)
{
    int err = store_channel_send(channel, question);
    while (err == CLAB_OK && (err = store_channel_read(channel, answer_p)) == CLAB_ENOENT && clab_now() < deadline) {
        store_channel_await(channel, deadline);
        store_channel_flush(channel);
        err = CLAB_OK;
    }
    return err;
}

static int greet(struct store_channel *channel, double deadline, struct store_contact *contact_p)
{
    struct store_message hello = {.kind = STORE_HELLO}, challenge;
    store_draw(hello.nonce);
    CLAB_TRY(ask(channel, &hello, deadline, &challenge));
    if (challenge.kind != STORE_CHALLENGE)
        return CLAB_EPARSE;
    *contact_p = store_contact_of(&hello, &challenge);
    return CLAB_OK;
}

// Every answer needs a proof but STORE_WRONG_TOKEN: the store of another job can not give one.
int store_introduce(struct store_channel *channel, const struct store_ticket *t, double deadline)
{
    struct store_contact contact;
    struct store_message answer, join = {.kind = STORE_JOIN,
                                         .member = t->member,
                                         .nranks = (uint32_t)t->job.nranks,
                                         .nnodes = (uint32_t)t->job.nnodes};
    CLAB_TRY(greet(channel, deadline, &contact));
    store_prove(t->job.token, &contact, &join, NULL, join.proof);
    CLAB_TRY(ask(channel, &join, deadline, &answer));
    if (answer.kind != STORE_WELCOME && answer.kind != STORE_REFUSED)
        return CLAB_EPARSE;
    if (answer.kind == STORE_REFUSED && answer.refusal == STORE_WRONG_TOKEN)
        return refused(t, &answer);
    if (!store_is_proved(t->job.token, &contact, &join, &answer))
        return unmasked(t);
    return answer.kind == STORE_REFUSED ? refused(t, &answer) : CLAB_OK;
}

static int unreached(const struct store_ticket *t, int why)
{
    clab_error("no job answers at %s:%d within %g s (%s): is rank 0, or node 0, running, and its port open to us?",
               t->host, t->port, t->timeout, strerror(why));
    return CLAB_ETIMEOUT;
}

static int unknown(const struct store_ticket *t, int err)
{
    switch (err) {
    case CLAB_ENOENT: clab_error("there is no host '%s'", t->host); return CLAB_EINVAL;
    case CLAB_EPARSE:
        clab_error("the program that listens at %s:%d is not a commlab job: choose another port", t->host, t->port);
        return CLAB_EINVAL;
    case CLAB_EUNSUPPORTED:
        clab_error("the job at %s:%d is of another version of commlab: install the same on all nodes", t->host,
                   t->port);
        return CLAB_EINVAL;
    default: return err;
    }
}

// One attempt, which gives up a host that does not answer at `until`.
//   errors: CLAB_ESYS: try again, errno says why; all others are final and logged
static int attempt(const struct store_ticket *t, double until, double deadline, struct store_channel *channel_p)
{
    struct store_channel channel = {0};
    int err = store_connect(t->host, t->port, until - clab_now(), &channel.fd);
    if (err != CLAB_OK)
        return err == CLAB_ESYS ? err : unknown(t, err);
    err = store_introduce(&channel, t, deadline);
    if (err == CLAB_OK) {
        *channel_p = channel;
        return CLAB_OK;
    }
    const int why = err == CLAB_ENOENT ? ETIMEDOUT : errno ? errno : ECONNRESET;
    store_channel_close(&channel);
    errno = why;
    return err == CLAB_EPEER || err == CLAB_ENOENT ? CLAB_ESYS : unknown(t, err);
}

// Ranks do not log that they wait: they are many, or their launcher has already waited for all nodes.
static int reach(const struct store_ticket *t, struct store_channel *channel_p)
{
    const double deadline = clab_now() + t->timeout;
    double patient_until = t->member >= t->job.nranks ? clab_now() + STORE_PATIENCE : INFINITY;
    for (double nap = FIRST_NAP;; nap = fmin(2 * nap, LAST_NAP)) {
        const int err = attempt(t, fmin(deadline, patient_until), deadline, channel_p);
        if (err != CLAB_ESYS)
            return err;
        if (clab_now() >= patient_until) {
            clab_warn("waiting for node 0 at %s:%d", t->host, t->port);
            patient_until = INFINITY;
        }
        if (clab_now() + nap >= deadline)
            return unreached(t, errno);
        CLAB_TRY(siblings_check());
        usleep((useconds_t)(nap * 1e6));
    }
}

int store_client_join(const struct store_ticket *ticket, struct store_client **client_p)
{
    const int nranks = ticket->job.nranks;
    struct store_client *client = calloc(1, sizeof *client + (size_t)nranks * sizeof *client->presence);
    if (!client) {
        clab_error("out of memory");
        return CLAB_ENOMEM;
    }
    client->ticket = *ticket;
    const int err = reach(ticket, &client->channel);
    if (err != CLAB_OK) {
        free(client);
        return err;
    }
    if (ticket->member < nranks)
        client->presence[ticket->member] = CLAB_PRESENT;
    *client_p = client;
    return CLAB_OK;
}
