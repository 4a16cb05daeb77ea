// SPDX-License-Identifier: MIT
// What tests of the store share: a store as a process, and its members as threads.
#pragma once

#include "job/store_client.h"

#include "capture.h"

#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "job/store_socket.h"
#include "needs.h"

enum { MAX_MEMBERS = 16 };
#define PATIENCE 10.0

struct party {
    struct store_ticket ticket; // but for the member
    int lifeline;
};

static inline struct party open_party(int nranks, double timeout)
{
    needs_sodium();
    int listener;
    struct party party = {.ticket = {.host = "127.0.0.1", .job = {.nranks = nranks, .token = "a test's token."}}};
    party.ticket.timeout = timeout;
    assert_int_equal(store_listen("127.0.0.1", 0, "the test", &listener, &party.ticket.port), CLAB_OK);
    assert_int_equal(store_start(&party.ticket.job, listener, &party.lifeline), CLAB_OK);
    close(listener);
    return party;
}

static inline int try_to_join(const struct party *party, int member, struct store_client **client_p)
{
    struct store_ticket ticket = party->ticket;
    ticket.member = member;
    return store_client_join(&ticket, client_p);
}

static inline struct store_client *join(const struct party *party, int member)
{
    struct store_client *client = NULL;
    assert_int_equal(try_to_join(party, member, &client), CLAB_OK);
    return client;
}

// Whether the store ends by itself now that nobody needs it.
static inline bool ends(struct party *party)
{
    char byte;
    shutdown(party->lifeline, SHUT_WR);
    const bool has_ended = poll(&(struct pollfd){party->lifeline, POLLIN, 0}, 1, (int)(PATIENCE * 1e3)) == 1 &&
                           read(party->lifeline, &byte, 1) == 0;
    close(party->lifeline);
    return has_ended;
}

struct player {
    const struct party *party;
    int member, rounds;
    int err;
    double seconds; // that it took
    int (*play)(struct player *, struct store_client *);
};

static inline void *run_player(void *argument)
{
    struct player *player = argument;
    struct store_client *client;
    const double start = clab_now();
    player->err = try_to_join(player->party, player->member, &client);
    if (player->err == CLAB_OK) {
        player->err = player->play(player, client);
        store_client_leave(client);
    }
    player->seconds = clab_now() - start;
    return NULL;
}

// All members from `first` on play.
static inline void play(const struct party *party, int first, int rounds,
                        int (*how)(struct player *, struct store_client *), struct player players[MAX_MEMBERS])
{
    pthread_t threads[MAX_MEMBERS];
    const int nranks = party->ticket.job.nranks;
    for (int m = nranks - 1; m >= first; m--) {
        players[m] = (struct player){.party = party, .member = m, .rounds = rounds, .play = how};
        assert_int_equal(pthread_create(&threads[m], NULL, run_player, &players[m]), 0);
    }
    for (int m = first; m < nranks; m++)
        pthread_join(threads[m], NULL);
}

static inline int meet(struct store_client *client, const int *ranks, int n, uint64_t key, const void *mine,
                       size_t bytes, void *all)
{
    const struct clab_meeting meeting = {.ranks = ranks, .n = n, .key = key};
    return store_client_exchange(client, meeting, mine, bytes, all, (struct store_pastime){0});
}

static inline void assert_all(const struct player players[], int first, int n, int err)
{
    for (int m = first; m < n; m++)
        assert_int_equal(players[m].err, err);
}
