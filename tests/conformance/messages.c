// SPDX-License-Identifier: MIT
// Messages: large ones in both directions at once, more than a channel holds, and some beside a collective.

#include "tests/conformance/conformance.h"

static void wait_all(struct sweep *s, struct clab_work **works, int nworks, const char *what)
{
    for (int i = 0; i < nworks; i++)
        check(s, clab_work_wait(works[i]) == CLAB_OK, what);
}

// 1 MiB to each neighbour and from each, all at once. With two ranks both neighbours are the same; alone, oneself.
static void exchange_large(struct sweep *s, char *memory)
{
    enum { COUNT = (1 << 20) / sizeof(int32_t) };
    const int left = (s->rank + s->n - 1) % s->n, right = (s->rank + 1) % s->n;
    int32_t *data = (int32_t *)(void *)memory, *from_left = data + 2 * COUNT, *from_right = data + 3 * COUNT;
    struct clab_work *works[4];
    fill(s, data, COUNT, s->rank, 1);
    fill(s, data + COUNT, COUNT, s->rank, 2);
    must(clab_send_start(s->comm, data, COUNT, CLAB_I32, right, &works[0]));
    must(clab_send_start(s->comm, data + COUNT, COUNT, CLAB_I32, left, &works[1]));
    must(clab_recv_start(s->comm, from_left, COUNT, CLAB_I32, left, &works[2]));
    must(clab_recv_start(s->comm, from_right, COUNT, CLAB_I32, right, &works[3]));
    wait_all(s, works, 4, "a large message failed");
    check(s, is_filled(s, from_left, COUNT, left, 1), "1 MiB from the left is wrong");
    check(s, is_filled(s, from_right, COUNT, right, 2), "1 MiB from the right is wrong");
}

// More messages around a ring than a channel holds, of all kinds of sizes, begun before any is received.
static void send_many(struct sweep *s, char *memory)
{
    enum { MESSAGES = 50, ROOM = 5000 };
    static const size_t counts[] = {1, 12, 13, 700, ROOM, 0};
    const int to = (s->rank + 1) % s->n, from = (s->rank + s->n - 1) % s->n;
    int32_t *sent = (int32_t *)(void *)memory, *got = sent + MESSAGES * ROOM;
    struct clab_work *works[2 * MESSAGES];
    for (int i = 0; i < MESSAGES; i++) {
        fill(s, sent + i * ROOM, counts[i % 6], s->rank, (unsigned)i);
        must(clab_send_start(s->comm, sent + i * ROOM, counts[i % 6], CLAB_I32, to, &works[i]));
    }
    for (int i = 0; i < MESSAGES; i++)
        must(clab_recv_start(s->comm, got + i * ROOM, counts[i % 6], CLAB_I32, from, &works[MESSAGES + i]));
    wait_all(s, works, 2 * MESSAGES, "a message failed");
    for (int i = 0; i < MESSAGES; i++)
        check(s, is_filled(s, got + i * ROOM, counts[i % 6], from, (unsigned)i), "a message is wrong");
}

// Rank 0 begins a sum, then sends messages that grow, each when the one before has come; the others take these before
// they come to the sum. On a communicator that has sent nothing yet.
static void send_beside(struct sweep *s, char *memory)
{
    static const size_t counts[] = {1, 5000, 100003};
    enum { MESSAGES = sizeof counts / sizeof *counts };
    int32_t *data = (int32_t *)(void *)memory;
    struct clab_comm *comm = NULL;
    struct clab_work *begun;
    int sum = 0;
    must(clab_comm_create(s->job, &comm));
    if (s->rank == 0) {
        fill(s, data, counts[MESSAGES - 1], 0, 1);
        must(clab_allreduce_start(comm, &s->n, &sum, 1, CLAB_I32, CLAB_SUM, &begun));
        for (int i = 0; i < MESSAGES; i++)
            for (int to = 1; to < s->n; to++)
                check(s, clab_send(comm, data, counts[i], CLAB_I32, to) == CLAB_OK, "a message beside a sum failed");
        check(s, clab_work_wait(begun) == CLAB_OK, "a sum beside messages failed");
    } else {
        for (int i = 0; i < MESSAGES; i++) {
            check(s, clab_recv(comm, data, counts[i], CLAB_I32, 0) == CLAB_OK, "a message beside a sum failed");
            check(s, is_filled(s, data, counts[i], 0, 1), "a message beside a sum is wrong");
        }
        must(clab_allreduce(comm, &s->n, &sum, 1, CLAB_I32, CLAB_SUM));
    }
    check(s, sum == s->n * s->n, "a sum beside messages is wrong");
    clab_comm_destroy(comm);
}

void conform_messages(struct sweep *s)
{
    if (!conform_has_time(s, "messages", NULL))
        return;
    for (int m = 0; m < 2; m++) {
        exchange_large(s, s->memory[m]);
        send_many(s, s->memory[m]);
        send_beside(s, s->memory[m]);
    }
}
