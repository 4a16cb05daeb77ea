// SPDX-License-Identifier: MIT
// The turns of the probes. Messages go through the backend's start and test, as in the executor.

#include "cmd/fit/turns.h"

#include "core/base/clock.h"
#include "core/base/relax.h"
#include "cmd/probe/placement.h"

// ---- messages ------------------------------------------------------------------------------------------------

// In shared memory a rank that waits looks so many times as often as usual before it yields its core. If another program
// runs there, a yield costs milliseconds, and a pull takes longer than the usual looks.
enum { PATIENCE = 100 };

static void run_transfers(struct fit_ranks *r, struct clab_transfer *transfers, int n)
{
    const struct clab_backend *backend = r->comm->backend;
    const unsigned patience = backend->protocols.memory ? PATIENCE : 1;
    unsigned fruitless = 0;
    bool done = false;
    if (!r->err)
        r->err = backend->start(r->comm->endpoint, transfers, n);
    while (!r->err && !done) {
        r->err = backend->test(r->comm->endpoint, transfers, n, &done);
        if (!r->err && !done)
            backend->idle(r->comm->endpoint, fruitless++ / patience);
    }
}

static struct clab_transfer sending(const struct fit_ranks *r, const char *from, size_t bytes)
{
    return (struct clab_transfer){.op = CLAB_SEND,
                                  .peer = !r->rank,
                                  .lane = r->lane,
                                  .src = from,
                                  .count = bytes / sizeof(float),
                                  .bytes = bytes,
                                  .type = CLAB_F32,
                                  .redop = CLAB_SUM};
}

// to = the message, or `with` + the message
static struct clab_transfer receiving(const struct fit_ranks *r, char *to, size_t bytes, const char *with)
{
    return (struct clab_transfer){.op = with ? CLAB_RECV_REDUCE : CLAB_RECV,
                                  .peer = !r->rank,
                                  .lane = r->lane,
                                  .src = with,
                                  .dst = to,
                                  .count = bytes / sizeof(float),
                                  .bytes = bytes,
                                  .type = CLAB_F32,
                                  .redop = CLAB_SUM};
}

// The executor keeps the transfers of a call for the next one. So do turns: those that are the same are not filled again.
static struct clab_transfer *keep_sending(struct fit_ranks *r, const char *from, size_t bytes)
{
    struct clab_transfer *t = &r->transfers[r->lane][0];
    if (t->src != from || t->bytes != bytes)
        *t = sending(r, from, bytes);
    return t;
}

static struct clab_transfer *keep_receiving(struct fit_ranks *r, char *to, size_t bytes, const char *with)
{
    struct clab_transfer *t = &r->transfers[r->lane][1];
    if (t->dst != to || t->src != with || t->bytes != bytes)
        *t = receiving(r, to, bytes, with);
    return t;
}

static void send(struct fit_ranks *r, const char *from, size_t bytes)
{
    run_transfers(r, keep_sending(r, from, bytes), 1);
}

static void receive(struct fit_ranks *r, char *to, size_t bytes, const char *with)
{
    run_transfers(r, keep_receiving(r, to, bytes, with), 1);
}

static void exchange(struct fit_ranks *r, const char *from, char *to, size_t bytes, const char *with)
{
    keep_receiving(r, to, bytes, with);
    run_transfers(r, keep_sending(r, from, bytes), 2);
}

void fit_meet(struct fit_ranks *r)
{
    float token = 0;
    struct clab_transfer tokens[] = {sending(r, (char *)&token, sizeof token), receiving(r, r->z, sizeof token, NULL)};
    run_transfers(r, tokens, 2);
}

void fit_tell(struct fit_ranks *r)
{
    float token = 0;
    if (r->rank == 1)
        send(r, (char *)&token, sizeof token);
    else
        receive(r, (char *)&token, sizeof token, NULL);
}

double fit_time_poll(struct fit_ranks *r)
{
    enum { POLLS = 256 };
    const struct clab_backend *backend = r->comm->backend;
    float token = 0;
    struct clab_transfer transfer =
        r->rank == 0 ? receiving(r, r->y, sizeof token, NULL) : sending(r, (char *)&token, sizeof token);
    bool done = false;
    if (!r->err && r->rank == 0)
        r->err = backend->start(r->comm->endpoint, &transfer, 1);
    const double begin = clab_now();
    for (int i = 0; i < POLLS && !r->err && r->rank == 0; i++) {
        r->err = backend->test(r->comm->endpoint, &transfer, 1, &done);
        clab_relax();
    }
    const double seconds = (clab_now() - begin) / POLLS;
    if (r->rank == 0)
        send(r, (char *)&token, sizeof token);
    else
        receive(r, r->y, sizeof token, NULL);
    if (r->rank == 1)
        run_transfers(r, &transfer, 1);
    while (!r->err && r->rank == 0 && !done)
        r->err = backend->test(r->comm->endpoint, &transfer, 1, &done);
    return seconds;
}

// ---- turns ---------------------------------------------------------------------------------------------------

void fit_turn_call(struct fit_ranks *r, size_t bytes)
{
    (void)bytes;
    if (!r->err)
        r->err = probe_call(r->alone);
}

void fit_turn_stages(struct fit_ranks *r, size_t bytes)
{
    (void)bytes;
    if (!r->err)
        r->err = clab_barrier(r->alone);
}

void fit_turn_laned(struct fit_ranks *r, size_t bytes)
{
    static const float in;
    float out;
    (void)bytes;
    if (!r->err)
        r->err = clab_gather(r->alone, &in, &out, 1, CLAB_F32, 0);
}

// Rank 0 to rank 1.
static void one_way(struct fit_ranks *r, size_t bytes, const char *with)
{
    if (r->rank == 0)
        send(r, r->x, bytes);
    else
        receive(r, r->y, bytes, with);
}

void fit_turn_one_way(struct fit_ranks *r, size_t bytes)
{
    one_way(r, bytes, NULL);
}
void fit_turn_one_way_back(struct fit_ranks *r, size_t bytes)
{
    if (r->rank == 1)
        send(r, r->x, bytes);
    else
        receive(r, r->y, bytes, NULL);
}
void fit_turn_one_way_reduce(struct fit_ranks *r, size_t bytes)
{
    one_way(r, bytes, r->x);
}
void fit_turn_one_way_add(struct fit_ranks *r, size_t bytes)
{
    one_way(r, bytes, r->y);
}

void fit_turn_lanes(struct fit_ranks *r, size_t bytes)
{
    for (r->lane = 0; r->lane < CLAB_FIT_LANES; r->lane++)
        one_way(r, bytes, NULL);
    r->lane = 0;
}

// A look at each lane; how many are under way still.
static int test_lanes(struct fit_ranks *r, struct clab_transfer *lanes[CLAB_FIT_LANES])
{
    int left = 0;
    for (int i = 0; i < CLAB_FIT_LANES && !r->err; i++) {
        bool done = lanes[i]->done;
        if (!done)
            r->err = r->comm->backend->test(r->comm->endpoint, lanes[i], 1, &done);
        left += !done;
    }
    return left;
}

// As the executor does it: all lanes begin, and then a rank looks at each lane in turn.
void fit_turn_all_lanes(struct fit_ranks *r, size_t bytes)
{
    const struct clab_backend *backend = r->comm->backend;
    struct clab_transfer *lanes[CLAB_FIT_LANES];
    unsigned fruitless = 0;
    int left = CLAB_FIT_LANES;
    for (r->lane = 0; r->lane < CLAB_FIT_LANES && !r->err; r->lane++) {
        const size_t at = (size_t)r->lane * bytes;
        lanes[r->lane] = r->rank == 0 ? keep_sending(r, r->x + at, bytes) : keep_receiving(r, r->y + at, bytes, NULL);
        r->err = backend->start(r->comm->endpoint, lanes[r->lane], 1);
    }
    r->lane = 0;
    while (!r->err && left > 0) {
        const int before = left;
        left = test_lanes(r, lanes);
        if (left == before)
            backend->idle(r->comm->endpoint, fruitless++ / PATIENCE);
    }
}

void fit_turn_stream(struct fit_ranks *r, size_t bytes)
{
    for (int i = 0; i < FIT_STREAM; i++)
        one_way(r, bytes, NULL);
}

// `from` is x for data that nobody writes, or y for the message received last.
static void round_trip(struct fit_ranks *r, const char *from, size_t bytes, const char *with)
{
    if (r->rank == 0)
        send(r, from, bytes);
    receive(r, r->y, bytes, with);
    if (r->rank == 1)
        send(r, from, bytes);
}

void fit_turn_round_trip(struct fit_ranks *r, size_t bytes)
{
    round_trip(r, r->x, bytes, NULL);
}
// Each rank makes a call before it answers.
void fit_turn_answer(struct fit_ranks *r, size_t bytes)
{
    if (r->rank == 0)
        send(r, r->x, bytes);
    receive(r, r->y, bytes, NULL);
    fit_turn_call(r, bytes);
    if (r->rank == 1)
        send(r, r->x, bytes);
}
void fit_turn_round_trip_fresh(struct fit_ranks *r, size_t bytes)
{
    round_trip(r, r->y, bytes, NULL);
}
void fit_turn_round_trip_fresh_add(struct fit_ranks *r, size_t bytes)
{
    round_trip(r, r->y, bytes, r->y);
}

void fit_turn_exchange(struct fit_ranks *r, size_t bytes)
{
    exchange(r, r->x, r->y, bytes, NULL);
}
void fit_turn_exchange_reduce(struct fit_ranks *r, size_t bytes)
{
    exchange(r, r->x, r->y, bytes, r->rank == 1 ? r->z : NULL);
}
void fit_turn_exchange_add(struct fit_ranks *r, size_t bytes)
{
    exchange(r, r->x, r->y, bytes, r->rank == 1 ? r->y : NULL);
}

// This turn sends the message that the turn before received.
static void exchange_fresh(struct fit_ranks *r, size_t bytes, bool adds)
{
    r->turned = !r->turned;
    char *from = r->turned ? r->y : r->z, *to = r->turned ? r->z : r->y;
    exchange(r, from, to, bytes, adds ? to : NULL);
}

void fit_turn_exchange_fresh(struct fit_ranks *r, size_t bytes)
{
    exchange_fresh(r, bytes, false);
}
void fit_turn_exchange_fresh_add(struct fit_ranks *r, size_t bytes)
{
    exchange_fresh(r, bytes, r->rank == 1);
}

// Its copies go to memory of few bytes, which stays in the nearest cache.
static void read_again(const struct fit_ranks *r, size_t bytes)
{
    for (size_t at = 0; at < bytes; at += PROBE_ROOM)
        r->comm->backend->device->copy(r->probe_room, r->y + at, bytes - at < PROBE_ROOM ? bytes - at : PROBE_ROOM);
}

void fit_turn_exchange_home(struct fit_ranks *r, size_t bytes)
{
    exchange(r, r->y, r->z, bytes, NULL);
    read_again(r, bytes);
    r->comm->backend->device->copy(r->y, r->z, bytes);
}

void fit_turn_copy(struct fit_ranks *r, size_t bytes)
{
    if (r->rank == 0)
        r->comm->backend->device->copy(r->y, r->x, bytes);
}

void fit_turn_copy_both(struct fit_ranks *r, size_t bytes)
{
    r->comm->backend->device->copy(r->y, r->x, bytes);
}

void fit_turn_sum_both(struct fit_ranks *r, size_t bytes)
{
    r->comm->backend->device->reduce(CLAB_F32, CLAB_SUM, r->z, r->z, r->z, bytes / sizeof(float));
}

void fit_turn_sum(struct fit_ranks *r, size_t bytes)
{
    if (r->rank == 0)
        fit_turn_sum_both(r, bytes);
}

void fit_turn_one_way_summed(struct fit_ranks *r, size_t bytes)
{
    fit_turn_sum(r, bytes);
    if (r->rank == 0)
        send(r, r->z, bytes);
    else
        receive(r, r->y, bytes, NULL);
}

void fit_turn_exchange_summed(struct fit_ranks *r, size_t bytes)
{
    fit_turn_sum_both(r, bytes);
    exchange(r, r->z, r->y, bytes, NULL);
}
