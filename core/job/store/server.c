// SPDX-License-Identifier: MIT
// The store's sockets: one poll(2) loop between connections and the guests of store.c.
//
// - A stranger has JOIN_SECONDS to prove that it knows the token, however slowly it speaks; when too many are there,
//   the one that has been there longest goes. A member whose JOIN was cut off in such a crowd tries again.
// - Members may be silent for hours, but not their hosts (keepalive.h).

#include "core/job/store/store.h"

#include <errno.h>
#include <math.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/job/store/keepalive.h"
#include "core/job/store/socket.h"

#define JOIN_SECONDS 5.0 // for a stranger to join
#define LAST_SECONDS 5.0 // for members to leave once the job has ended, and for who is over to take its output
#define DEAF_SECONDS 0.1 // without accepting, when there are no descriptors left

enum { STRANGERS = 128, READ_BYTES = 64 << 10 };
enum { OF_LISTENER, OF_LIFELINE, OF_LINES }; // entries of server.fds

struct line {
    int fd;
    struct store_guest *guest;
    double until; // it is closed; INFINITY: never
    struct store_pulse pulse;
};

struct server {
    struct store *store;
    int listener, lifeline;
    bool is_orphan;     // the lifeline has ended; our end of it stays open until we do
    struct line *lines; // (nlines), the oldest first
    struct pollfd *fds; // (OF_LINES + room)
    int nlines, room;
    double deaf_until, end_at;
};

// ---- lines ---------------------------------------------------------------------------------------------------

static void close_line(struct line *line, bool unreachable)
{
    close(line->fd);
    store_leave(line->guest, unreachable);
    line->guest = NULL;
}

// Those that were closed have no guest.
static void forget_closed(struct server *server)
{
    int kept = 0;
    for (int i = 0; i < server->nlines; i++)
        if (server->lines[i].guest)
            server->lines[kept++] = server->lines[i];
    server->nlines = kept;
}

static bool grow(struct server *server)
{
    if (server->nlines < server->room)
        return true;
    const int room = 2 * server->room + 64;
    struct line *lines = realloc(server->lines, (size_t)room * sizeof *lines);
    server->lines = lines ? lines : server->lines;
    struct pollfd *fds = realloc(server->fds, (size_t)(OF_LINES + room) * sizeof *fds);
    server->fds = fds ? fds : server->fds;
    server->room = lines && fds ? room : server->room;
    return lines && fds;
}

static bool is_stranger(const struct line *line)
{
    return line->guest && !store_has_joined(line->guest);
}

// So that no crowd of strangers keeps members out.
static void make_way(struct server *server)
{
    int strangers = 0, oldest = -1;
    for (int i = server->nlines - 1; i >= 0; i--)
        if (is_stranger(&server->lines[i]))
            strangers++, oldest = i;
    if (strangers < STRANGERS)
        return;
    close_line(&server->lines[oldest], false);
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
    struct store_guest *guest = grow(server) ? store_enter(server->store, address) : NULL;
    if (!guest) {
        close(fd);
        return false;
    }
    store_socket_watch(fd);
    server->lines[server->nlines++] = (struct line){.fd = fd, .guest = guest, .until = clab_now() + JOIN_SECONDS};
    return true;
}

// As many as there is room for, so that the lines that have come are looked at between two crowds.
static void accept_some(struct server *server)
{
    for (int i = 0; i < STRANGERS / 2 && accept_one(server); i++)
        ;
}

// ---- bytes ---------------------------------------------------------------------------------------------------

static bool is_unreachable(int error)
{
    return error == ETIMEDOUT || error == EHOSTUNREACH || error == ENETUNREACH || error == EHOSTDOWN;
}

static void read_line(struct line *line)
{
    unsigned char bytes[READ_BYTES];
    const ssize_t n = recv(line->fd, bytes, sizeof bytes, 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0)
        close_line(line, n < 0 && is_unreachable(errno));
    else if (store_hear(line->guest, bytes, (size_t)n) != CLAB_OK)
        close_line(line, false);
    else if (store_has_joined(line->guest) && !store_is_over(line->guest))
        line->until = INFINITY;
}

static void write_line(struct line *line)
{
    const unsigned char *bytes;
    for (size_t n; (n = store_output(line->guest, &bytes)) > 0;) {
        const ssize_t sent = send(line->fd, bytes, n, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0) {
            if (errno != EAGAIN)
                close_line(line, is_unreachable(errno));
            return;
        }
        store_sent(line->guest, (size_t)sent);
    }
}

static void take_pulse(struct line *line)
{
    switch (store_pulse_take(&line->pulse, line->fd)) {
    case STORE_BEATS: store_beat(line->guest); break;
    case STORE_SILENT: close_line(line, true); break;
    default: break;
    }
}

// Send what there is, and see whether the line has served.
static void look_after(struct line *line)
{
    const unsigned char *bytes;
    if (store_has_joined(line->guest))
        take_pulse(line);
    if (line->guest)
        write_line(line);
    if (!line->guest)
        return;
    if (store_is_over(line->guest) && isinf(line->until))
        line->until = clab_now() + LAST_SECONDS;
    if ((store_is_over(line->guest) && store_output(line->guest, &bytes) == 0) || clab_now() >= line->until)
        close_line(line, false);
}

// ---- the loop ------------------------------------------------------------------------------------------------

static int wait_ms(const struct server *server)
{
    double at = fmin(server->end_at, store_next(server->store));
    for (int i = 0; i < server->nlines; i++) {
        const struct line *line = &server->lines[i];
        at = fmin(at, store_has_joined(line->guest) ? fmin(line->until, line->pulse.next) : line->until);
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
    for (int i = 0; i < server->nlines; i++) {
        const unsigned char *bytes;
        const struct line *line = &server->lines[i];
        const short more = store_output(line->guest, &bytes) > 0 ? POLLOUT : 0;
        server->fds[OF_LINES + i] = (struct pollfd){line->fd, (short)(POLLIN | more), 0};
    }
    if (poll(server->fds, (nfds_t)(OF_LINES + server->nlines), wait_ms(server)) <= 0)
        for (int i = 0; i < OF_LINES + server->nlines; i++)
            server->fds[i].revents = 0;
}

// What one line says may be for all: all are looked after, again and again until nobody is lost by it.
static void look_after_all(struct server *server)
{
    int before;
    do {
        before = server->nlines;
        for (int i = 0; i < server->nlines; i++)
            look_after(&server->lines[i]);
        forget_closed(server);
    } while (server->nlines < before);
}

static void read_lines(struct server *server, bool of_launchers)
{
    for (int i = 0; i < server->nlines; i++) {
        struct line *line = &server->lines[i];
        if (server->fds[OF_LINES + i].revents && line->guest && store_is_launcher(line->guest) == of_launchers)
            read_line(line);
    }
}

static void step(struct server *server)
{
    await_something(server);
    read_lines(server, false);
    read_lines(server, true); // what they say of ends is judged by who is lost (job_status.h)
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
    for (int i = 0; i < server->nlines; i++)
        is_used |= store_has_joined(server->lines[i].guest);
    return is_used && clab_now() < server->end_at;
}

// A connection a member, and strangers.
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
    for (int i = 0; i < server.nlines; i++)
        close_line(&server.lines[i], false);
    store_destroy(server.store);
    free(server.lines);
    free(server.fds);
}
