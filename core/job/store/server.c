// SPDX-License-Identifier: MIT
// The store's sockets: one poll(2) loop moves bytes between sockets and the connections of store.c.
//
// - A peer has JOIN_SECONDS to prove that it knows the token. If too many are unauthenticated, the server closes the
//   oldest. A member whose connection it closed that way tries again.
// - Members may send nothing for hours; their hosts must answer (keepalive.h).

#include "core/job/store/store.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/vector.h"
#include "core/job/store/keepalive.h"
#include "core/job/store/socket.h"

#define JOIN_SECONDS 5.0 // for a peer to join
#define LAST_SECONDS \
    5.0 // for members to leave after the job has ended, and for a closing connection to take its output
#define DEAF_SECONDS 0.1 // without accepting, after descriptors ran out

enum { MAX_UNAUTHENTICATED = 128, READ_BYTES = 64 << 10 };
enum { OF_LISTENER, OF_LIFELINE, OF_PEERS }; // entries of server.fds

struct peer {
    int fd;
    struct store_connection *connection;
    double until; // clab_now() when it is closed; INFINITY: never
    struct store_keepalive keepalive;
};

struct server {
    struct store *store;
    int listener, lifeline;
    bool is_orphan;     // the lifeline has ended; this end stays open until the server exits
    struct peer *peers; // (npeers), oldest first
    struct pollfd *fds; // (OF_PEERS + npeers)
    int npeers, room, fd_room;
    double deaf_until, end_at;
};

// ---- peers ---------------------------------------------------------------------------------------------------

static void close_peer(struct peer *peer, bool unreachable)
{
    close(peer->fd);
    store_disconnect(peer->connection, unreachable);
    peer->connection = NULL;
}

// Closed peers have no connection.
static void forget_closed(struct server *server)
{
    int kept = 0;
    for (int i = 0; i < server->npeers; i++)
        if (server->peers[i].connection)
            server->peers[kept++] = server->peers[i];
    server->npeers = kept;
}

static bool grow(struct server *server)
{
    return CLAB_RESERVE(server->peers, server->room, server->npeers + 1) == CLAB_OK &&
           CLAB_RESERVE(server->fds, server->fd_room, OF_PEERS + server->npeers + 1) == CLAB_OK;
}

static bool is_unauthenticated(const struct peer *peer)
{
    return peer->connection && !store_has_joined(peer->connection);
}

// Close the oldest unauthenticated peer if there are too many: they must not keep members out.
static void make_way(struct server *server)
{
    int unauthenticated = 0, oldest = -1;
    for (int i = server->npeers - 1; i >= 0; i--)
        if (is_unauthenticated(&server->peers[i]))
            unauthenticated++, oldest = i;
    if (unauthenticated < MAX_UNAUTHENTICATED)
        return;
    close_peer(&server->peers[oldest], false);
    forget_closed(server);
}

static bool accept_one(struct server *server)
{
    const int fd = accept4(server->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) {
        if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS)
            server->deaf_until = clab_now() + DEAF_SECONDS;
        return errno == ECONNABORTED || errno == EINTR;
    }
    make_way(server);
    char address[STORE_ADDRESS_BYTES];
    store_socket_peer(fd, address);
    struct store_connection *connection = grow(server) ? store_accept(server->store, address) : NULL;
    if (!connection) {
        close(fd);
        return false;
    }
    store_socket_watch(fd);
    server->peers[server->npeers++] =
        (struct peer){.fd = fd, .connection = connection, .until = clab_now() + JOIN_SECONDS};
    return true;
}

// At most half of the limit at a time, so that those that have come are served before the next.
static void accept_some(struct server *server)
{
    for (int i = 0; i < MAX_UNAUTHENTICATED / 2 && accept_one(server); i++)
        ;
}

// ---- bytes ---------------------------------------------------------------------------------------------------

static bool is_unreachable(int error)
{
    return error == ETIMEDOUT || error == EHOSTUNREACH || error == ENETUNREACH || error == EHOSTDOWN;
}

static void read_peer(struct peer *peer)
{
    unsigned char bytes[READ_BYTES];
    const ssize_t n = recv(peer->fd, bytes, sizeof bytes, 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0)
        close_peer(peer, n < 0 && is_unreachable(errno));
    else if (store_receive(peer->connection, bytes, (size_t)n) != CLAB_OK)
        close_peer(peer, false);
    else if (store_has_joined(peer->connection) && !store_is_over(peer->connection))
        peer->until = INFINITY;
}

static void write_peer(struct peer *peer)
{
    const unsigned char *bytes;
    for (size_t n; (n = store_output(peer->connection, &bytes)) > 0;) {
        const ssize_t sent = send(peer->fd, bytes, n, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0) {
            if (errno != EAGAIN)
                close_peer(peer, is_unreachable(errno));
            return;
        }
        store_sent(peer->connection, (size_t)sent);
    }
}

static void check_keepalive(struct peer *peer)
{
    switch (store_keepalive_check(&peer->keepalive, peer->fd)) {
    case STORE_PROBE: store_heartbeat(peer->connection); break;
    case STORE_SILENT: close_peer(peer, true); break;
    default: break;
    }
}

// Send what there is, and close the peer if it is done.
static void look_after(struct peer *peer)
{
    const unsigned char *bytes;
    if (store_has_joined(peer->connection))
        check_keepalive(peer);
    if (peer->connection)
        write_peer(peer);
    if (!peer->connection)
        return;
    if (store_is_over(peer->connection) && isinf(peer->until))
        peer->until = clab_now() + LAST_SECONDS;
    if ((store_is_over(peer->connection) && store_output(peer->connection, &bytes) == 0) || clab_now() >= peer->until)
        close_peer(peer, false);
}

// ---- the loop ------------------------------------------------------------------------------------------------

static int wait_ms(const struct server *server)
{
    double at = fmin(server->end_at, store_next(server->store));
    for (int i = 0; i < server->npeers; i++) {
        const struct peer *peer = &server->peers[i];
        at = fmin(at, store_has_joined(peer->connection) ? fmin(peer->until, peer->keepalive.next) : peer->until);
    }
    if (server->deaf_until > 0)
        at = fmin(at, server->deaf_until);
    const double left = at - clab_now();
    return isinf(left) ? -1 : left <= 0 ? 0 : (int)ceil(left * 1e3);
}

static bool is_deaf(struct server *server)
{
    if (server->deaf_until > 0 && clab_now() >= server->deaf_until)
        server->deaf_until = 0;
    return server->deaf_until > 0;
}

static void await_something(struct server *server)
{
    server->fds[OF_LISTENER] = (struct pollfd){is_deaf(server) ? -1 : server->listener, POLLIN, 0};
    server->fds[OF_LIFELINE] = (struct pollfd){server->is_orphan ? -1 : server->lifeline, POLLIN, 0};
    for (int i = 0; i < server->npeers; i++) {
        const unsigned char *bytes;
        const struct peer *peer = &server->peers[i];
        const short more = store_output(peer->connection, &bytes) > 0 ? POLLOUT : 0;
        server->fds[OF_PEERS + i] = (struct pollfd){peer->fd, (short)(POLLIN | more), 0};
    }
    if (poll(server->fds, (nfds_t)(OF_PEERS + server->npeers), wait_ms(server)) <= 0)
        for (int i = 0; i < OF_PEERS + server->npeers; i++)
            server->fds[i].revents = 0;
}

// A message of one peer may be for all, and a lost peer is news for all: repeat until nobody is lost.
static void look_after_all(struct server *server)
{
    int before;
    do {
        before = server->npeers;
        for (int i = 0; i < server->npeers; i++)
            look_after(&server->peers[i]);
        forget_closed(server);
    } while (server->npeers < before);
}

static void read_peers(struct server *server, bool of_launchers)
{
    for (int i = 0; i < server->npeers; i++) {
        struct peer *peer = &server->peers[i];
        if (server->fds[OF_PEERS + i].revents && peer->connection &&
            store_is_launcher(peer->connection) == of_launchers)
            read_peer(peer);
    }
}

static void step(struct server *server)
{
    await_something(server);
    read_peers(server, false);
    read_peers(server, true); // after ranks: a launcher's report is judged by which ranks are lost (job_status.h)
    forget_closed(server);
    if (server->fds[OF_LISTENER].revents)
        accept_some(server);
    server->is_orphan |= server->fds[OF_LIFELINE].revents != 0;
    store_look(server->store);
    look_after_all(server);
    if (store_has_ended(server->store) && isinf(server->end_at))
        server->end_at = clab_now() + LAST_SECONDS;
}

static bool is_needed(const struct server *server)
{
    bool is_used = !server->is_orphan;
    for (int i = 0; i < server->npeers; i++)
        is_used |= store_has_joined(server->peers[i].connection);
    return is_used && clab_now() < server->end_at;
}

// One descriptor per member, and those of unauthenticated peers.
static void allow_many_files(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

void store_serve(const struct store_job *job, int listener, int lifeline)
{
    struct server server = {.listener = listener, .lifeline = lifeline, .end_at = INFINITY};
    allow_many_files();
    server.store = store_create(job);
    while (server.store && grow(&server) && is_needed(&server))
        step(&server);
    for (int i = 0; i < server.npeers; i++)
        close_peer(&server.peers[i], false);
    store_destroy(server.store);
    free(server.peers);
    free(server.fds);
}
