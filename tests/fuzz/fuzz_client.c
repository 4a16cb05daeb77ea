// SPDX-License-Identifier: MIT
// A member's end of its connection to the store, which has said the input and then hung up: an exchange gives what the
// store's answer holds or an error, what is heard are its notices, and that it has ended is said once.

#include "tests/fuzz/fuzz.h"

#include <sys/socket.h>
#include <unistd.h>

#include "core/base/err.h"
#include "core/base/mix.h"
#include "core/job/store/client_inside.h"

enum { RANKS = 3, NODES = 2, SELF = 1, BYTES = 8 };

// As store_client_join would have made it.
static struct store_client *join(int fd, int member)
{
    struct store_client *client = calloc(1, sizeof *client + RANKS * sizeof *client->presence);
    must_hold(client);
    client->ticket = (struct store_ticket){
        .host = "store", .port = 1, .job = {.nranks = RANKS, .nnodes = NODES}, .member = member, .timeout = 1};
    client->channel.fd = fd;
    return client;
}

// A connection on which `data` has come, and its end.
static int connect_to(const uint8_t *data, size_t size)
{
    int ends[2];
    must_hold(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
    must_hold(send(ends[1], data, size, MSG_NOSIGNAL) == (ssize_t)size); // no more than it takes
    close(ends[1]);
    return ends[0];
}

static void check_exchange(struct store_client *c, const int *ranks, int n)
{
    static const unsigned char mine[BYTES] = "my part";
    unsigned char *all = malloc((size_t)n * BYTES); // not a byte more
    must_hold(all);
    memset(all, 0xa5, (size_t)n * BYTES);
    const struct clab_fence fence = {.ranks = ranks, .n = n, .key = 7};
    const int err = store_client_exchange(c, fence, mine, BYTES, all, (struct exchange_progress){0});
    must_hold(err || c->answer.key == clab_mix(fence.key, 0));
    must_hold(err >= 0 && err < CLAB_ERR_COUNT && fuzz_log_errors <= 2); // its own, and the end of the connection
    for (int i = 0; err == CLAB_OK && i < n; i++)
        if ((ranks ? ranks[i] : i) == SELF)
            must_hold(memcmp(all + (size_t)i * BYTES, mine, BYTES) == 0);
    free(all);
}

static void check_heard(struct store_client *c)
{
    struct clab_notice notice;
    bool lost[RANKS] = {false};
    while (store_client_next_notice(c, &notice)) {
        must_hold(notice.kind <= CLAB_NOTICE_EXPELLED && notice.err >= 0 && notice.err < CLAB_ERR_COUNT);
        must_hold(notice.culprit >= -1 && notice.culprit < STORE_MEMBERS);
        if (notice.kind == CLAB_NOTICE_LOST && notice.culprit >= 0 && notice.culprit < RANKS)
            lost[notice.culprit] = true;
    }
    for (int rank = 0; rank < RANKS; rank++) { // all others count as lost
        const enum clab_presence presence = store_client_presence(c, rank);
        must_hold(presence == CLAB_LEFT || presence == CLAB_LOST || rank == SELF);
        must_hold(presence != CLAB_LOST || lost[rank]);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const int some[] = {SELF, 2};
    struct store_end end;
    const bool is_node = size && data[0] & 1, lists = size && data[0] & 2;
    size_t skip = size ? 1 : 0;
    struct store_client *c = join(connect_to(data + skip, size - skip), is_node ? RANKS : SELF);
    fuzz_log_clear();
    if (!is_node)
        check_exchange(c, lists ? some : NULL, lists ? 2 : RANKS);
    must_hold(store_client_look(c, &end)); // the job is over: the connection is
    must_hold(end.node >= -1 && end.node < STORE_MEMBERS && end.rank >= -1 && end.rank < STORE_MEMBERS);
    if (!is_node)
        check_heard(c);
    store_client_leave(c);
    must_hold(fuzz_log_errors <= 2);
    return 0;
}
