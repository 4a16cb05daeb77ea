// SPDX-License-Identifier: MIT
// The output forwarder (forward.h).

#include "core/job/launch/forward.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/err.h"
#include "core/base/log.h"
#include "core/job/launch/outlet.h"

enum { PREFIX_BYTES = 16, LINE_ROOM = PREFIX_BYTES + FORWARDER_LINE_BYTES + 1 };

// Where lines go: an outlet, and the rest of a line that it has taken in part.
struct sink {
    struct outlet *outlet;
    char *rest; // (LINE_ROOM), of a line that the outlet has taken in part
    size_t begun, end;
    int entry; // in the result of forwarder_fds; -1: none
};

// A stream of a rank. Complete lines wait here only while its sink is blocked.
struct stream {
    int from; // pipe; -1 when closed
    struct sink *sink;
    char *memory; // PREFIX_BYTES, FORWARDER_LINE_BYTES, and 1 for an end of line
    size_t used;  // bytes from memory + PREFIX_BYTES on
    int entry;
    char prefix[PREFIX_BYTES];
};

enum { OUT, ERR, SINKS };
enum { LOG_BYTES = 1 << 20 }; // of the pipe for what we log

struct forwarder {
    int first, nstreams; // of ranks; 0: they write to the launcher's streams
    int turn;            // the stream to serve first, so that each has its turn
    int log_to;          // write end of the log's pipe, until it becomes our stderr
    struct sink sinks[SINKS];
    struct stream streams[]; // (nstreams + 1): stdout and stderr of the first rank, of the next, ...; our log's
};

static struct stream *log_of(struct forwarder *forwarder)
{
    return &forwarder->streams[forwarder->nstreams];
}

static void stream_close(struct stream *stream)
{
    if (stream->from >= 0)
        close(stream->from);
    stream->from = -1;
}

void forwarder_destroy(struct forwarder *forwarder)
{
    if (!forwarder)
        return;
    for (int i = 0; i <= forwarder->nstreams; i++) {
        stream_close(&forwarder->streams[i]);
        free(forwarder->streams[i].memory);
    }
    if (forwarder->log_to >= 0)
        close(forwarder->log_to);
    for (int i = 0; i < SINKS; i++) {
        outlet_close(forwarder->sinks[i].outlet);
        free(forwarder->sinks[i].rest);
    }
    free(forwarder);
}

// A pipe for lines with that prefix. Only our end is non-blocking: the rank's end is another file description.
static int stream_open(struct stream *stream, const char *prefix, int *write_end_p)
{
    int ends[2];
    stream->memory = malloc(LINE_ROOM);
    if (!stream->memory || pipe2(ends, O_CLOEXEC) != 0) {
        clab_error("can not make a pipe for the output of ranks: %m");
        return CLAB_ESYS;
    }
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    stream->from = ends[0];
    snprintf(stream->prefix, sizeof stream->prefix, "%s", prefix);
    *write_end_p = ends[1];
    return CLAB_OK;
}

static int sink_open(struct sink *sink, int stream)
{
    sink->rest = malloc(LINE_ROOM);
    return sink->rest ? outlet_open(stream, &sink->outlet) : CLAB_ENOMEM;
}

static int log_open(struct forwarder *forwarder)
{
    CLAB_TRY(stream_open(log_of(forwarder), "", &forwarder->log_to));
    fcntl(forwarder->log_to, F_SETFL, O_NONBLOCK);
    fcntl(forwarder->log_to, F_SETPIPE_SZ, LOG_BYTES);
    return CLAB_OK;
}

static bool are_one_file(int a, int b)
{
    struct stat x, y;
    return fstat(a, &x) == 0 && fstat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

struct forwarder *forwarder_create(int first, int nranks, bool prefixes)
{
    const int nstreams = prefixes ? SINKS * nranks : 0;
    struct forwarder *forwarder = calloc(1, sizeof *forwarder + ((size_t)nstreams + 1) * sizeof *forwarder->streams);
    if (!forwarder)
        return NULL;
    const bool shares = are_one_file(STDOUT_FILENO, STDERR_FILENO);
    forwarder->first = first;
    forwarder->nstreams = nstreams;
    forwarder->log_to = -1;
    for (int i = 0; i <= nstreams; i++)
        forwarder->streams[i] = (struct stream){.from = -1, .sink = &forwarder->sinks[shares ? ERR : i % SINKS]};
    log_of(forwarder)->sink = &forwarder->sinks[ERR];
    if ((!prefixes || shares || sink_open(&forwarder->sinks[OUT], STDOUT_FILENO) == CLAB_OK) &&
        sink_open(&forwarder->sinks[ERR], STDERR_FILENO) == CLAB_OK && log_open(forwarder) == CLAB_OK)
        return forwarder;
    forwarder_destroy(forwarder);
    return NULL;
}

int forwarder_start(struct forwarder *forwarder)
{
    int err = CLAB_OK;
    for (int i = SINKS - 1; i >= 0; i--)
        if (forwarder->sinks[i].outlet && outlet_start(forwarder->sinks[i].outlet) != CLAB_OK)
            err = CLAB_ESYS;
    dup3(forwarder->log_to, STDERR_FILENO, O_CLOEXEC);
    close(forwarder->log_to);
    forwarder->log_to = -1;
    return err;
}

bool forwarder_is_left(const struct forwarder *forwarder)
{
    const short gone = POLLERR | POLLHUP; // of a pipe or a socket; poll(2) always reports them
    struct pollfd ours[] = {{STDOUT_FILENO, 0, 0}, {outlet_fds(forwarder->sinks[ERR].outlet).stream, 0, 0}};
    return poll(ours, 2, 0) > 0 && ((ours[0].revents | ours[1].revents) & gone) != 0;
}

int forwarder_add(struct forwarder *forwarder, int rank, int *out_p, int *err_p)
{
    int out, err;
    char prefix[PREFIX_BYTES];
    *out_p = *err_p = -1;
    if (forwarder->nstreams == 0)
        return CLAB_OK;
    struct stream *streams = &forwarder->streams[SINKS * (rank - forwarder->first)];
    snprintf(prefix, sizeof prefix, "[%d] ", rank);
    CLAB_TRY(stream_open(&streams[OUT], prefix, &out));
    if (stream_open(&streams[ERR], prefix, &err) != CLAB_OK) {
        close(out);
        return CLAB_ESYS;
    }
    *out_p = out;
    *err_p = err;
    return CLAB_OK;
}

// ---- sinks -------------------------------------------------------------------------------------------------

static bool is_blocked(const struct sink *sink)
{
    return sink->begun < sink->end;
}

// The bytes that the outlet takes now; -1: nobody reads any more.
static ssize_t offer(const struct sink *sink, const char *text, size_t bytes)
{
    ssize_t taken;
    do
        taken = write(outlet_fds(sink->outlet).to, text, bytes);
    while (taken < 0 && errno == EINTR);
    return taken < 0 && errno == EAGAIN ? 0 : taken;
}

// A line that the outlet has taken in part blocks the sink, so that no other line is mixed into it.
static int put(struct sink *sink, const char *text, size_t bytes)
{
    const ssize_t taken = offer(sink, text, bytes);
    if (taken < 0)
        return CLAB_EPEER;
    sink->begun = 0;
    sink->end = bytes - (size_t)taken;
    memcpy(sink->rest, text + taken, sink->end);
    return CLAB_OK;
}

static void clear(struct sink *sink)
{
    const ssize_t taken = is_blocked(sink) ? offer(sink, sink->rest + sink->begun, sink->end - sink->begun) : 0;
    sink->begun = taken < 0 ? sink->end : sink->begun + (size_t)taken; // drop what nobody reads
}

// ---- streams -------------------------------------------------------------------------------------------------

// Write the prefix over the bytes before the line: they are reserved for it, or of a line that was written.
static void write_line(struct stream *stream, char *line, size_t bytes)
{
    const size_t prefix = strlen(stream->prefix);
    memcpy(line - prefix, stream->prefix, prefix);
    if (put(stream->sink, line - prefix, prefix + bytes) != CLAB_OK)
        stream_close(stream);
}

static void write_unfinished(struct stream *stream)
{
    char *line = stream->memory + PREFIX_BYTES;
    if (stream->used == 0)
        return;
    line[stream->used] = '\n';
    write_line(stream, line, stream->used + 1);
    stream->used = 0;
}

// Pass on complete lines while the sink is free.
static void write_lines(struct stream *stream)
{
    char *const first = stream->memory + PREFIX_BYTES, *const end = first + stream->used, *line = first;
    for (char *last; !is_blocked(stream->sink) && (last = memchr(line, '\n', (size_t)(end - line))); line = last + 1)
        write_line(stream, line, (size_t)(last + 1 - line));
    stream->used = (size_t)(end - line);
    memmove(first, line, stream->used);
    if (stream->used == FORWARDER_LINE_BYTES && !is_blocked(stream->sink))
        write_unfinished(stream);
}

// Read once, so that a rank that writes all the time does not delay others. False: there was nothing.
static bool stream_pass(struct stream *stream)
{
    char *const text = stream->memory + PREFIX_BYTES + stream->used;
    const ssize_t bytes = read(stream->from, text, FORWARDER_LINE_BYTES - stream->used);
    if (bytes > 0) {
        stream->used += (size_t)bytes;
        write_lines(stream);
    } else if (bytes == 0) {
        write_unfinished(stream);
        stream_close(stream);
    }
    return bytes > 0;
}

static struct stream *in_turn(struct forwarder *forwarder, int i)
{
    return &forwarder->streams[(forwarder->turn + i) % (forwarder->nstreams + 1)];
}

// Write the rest of lines, and pass on the lines that waited for that.
static void clear_all(struct forwarder *forwarder)
{
    for (int i = 0; i < SINKS; i++)
        clear(&forwarder->sinks[i]);
    for (int i = 0; i <= forwarder->nstreams; i++)
        if (in_turn(forwarder, i)->used > 0 && !is_blocked(in_turn(forwarder, i)->sink))
            write_lines(in_turn(forwarder, i));
}

// ---- the forwarder -----------------------------------------------------------------------------------------------

static int ask(struct pollfd fds[], int *n, int fd, short events)
{
    fds[*n] = (struct pollfd){fd, events, 0};
    return (*n)++;
}

int forwarder_fds(struct forwarder *forwarder, struct pollfd fds[])
{
    int n = 0;
    for (int i = 0; i < SINKS; i++) {
        struct sink *sink = &forwarder->sinks[i];
        sink->entry = is_blocked(sink) ? ask(fds, &n, outlet_fds(sink->outlet).to, POLLOUT) : -1;
    }
    for (int i = 0; i <= forwarder->nstreams; i++) {
        struct stream *stream = &forwarder->streams[i];
        const bool reads = stream->from >= 0 && !is_blocked(stream->sink);
        stream->entry = reads ? ask(fds, &n, stream->from, POLLIN) : -1;
    }
    return n;
}

void forwarder_pass(struct forwarder *forwarder, const struct pollfd fds[])
{
    clear_all(forwarder);
    for (int i = 0; i <= forwarder->nstreams; i++) {
        struct stream *stream = in_turn(forwarder, i);
        if (stream->entry >= 0 && stream->from >= 0 && fds[stream->entry].revents && !is_blocked(stream->sink))
            stream_pass(stream);
    }
    forwarder->turn = (forwarder->turn + 1) % (forwarder->nstreams + 1);
}

// Whether the outlet has all that was written to the stream.
static bool finish_stream(struct stream *stream)
{
    while (stream->from >= 0 && !is_blocked(stream->sink))
        if (!stream_pass(stream) && stream->from >= 0) { // a process that we did not start still has the pipe open
            write_unfinished(stream);
            stream_close(stream);
        }
    return stream->from < 0 && !is_blocked(stream->sink);
}

// End the outlet. 0: its thread has ended.
static int finish_outlet(struct outlet *outlet, struct pollfd fds[])
{
    int n = 0;
    outlet_end(outlet);
    ask(fds, &n, outlet_fds(outlet).done, POLLIN);
    return poll(fds, 1, 0) > 0 ? 0 : n;
}

int forwarder_finish(struct forwarder *forwarder, struct pollfd fds[])
{
    bool is_all = true;
    clear_all(forwarder);
    for (int i = 0; i < forwarder->nstreams; i++)
        is_all &= finish_stream(&forwarder->streams[i]);
    if (!is_all)
        return forwarder_fds(forwarder, fds);
    return forwarder->sinks[OUT].outlet ? finish_outlet(forwarder->sinks[OUT].outlet, fds) : 0;
}

int forwarder_finish_log(struct forwarder *forwarder, struct pollfd fds[])
{
    struct outlet *err = forwarder->sinks[ERR].outlet;
    dup2(outlet_fds(err).stream, STDERR_FILENO);
    clear_all(forwarder);
    return finish_stream(log_of(forwarder)) ? finish_outlet(err, fds) : forwarder_fds(forwarder, fds);
}

size_t forwarder_waiting(const struct forwarder *forwarder)
{
    size_t bytes = forwarder->sinks[OUT].outlet ? outlet_waiting(forwarder->sinks[OUT].outlet) : 0;
    for (int i = 0; i < SINKS; i++)
        bytes += forwarder->sinks[i].end - forwarder->sinks[i].begun;
    for (int i = 0; i < forwarder->nstreams; i++) {
        int unread = 0;
        if (forwarder->streams[i].from >= 0 && ioctl(forwarder->streams[i].from, FIONREAD, &unread) == 0)
            bytes += forwarder->streams[i].used + (size_t)unread;
    }
    return bytes;
}

size_t forwarder_written(const struct forwarder *forwarder)
{
    size_t bytes = 0;
    for (int i = 0; i < SINKS; i++)
        bytes += forwarder->sinks[i].outlet ? outlet_written(forwarder->sinks[i].outlet) : 0;
    return bytes;
}
