// SPDX-License-Identifier: MIT
// Ranks' output, prefixed (forward.h).

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

enum { PREFIX_BYTES = 16, LINE_ROOM = PREFIX_BYTES + RELAY_LINE_BYTES + 1 };

// Where lines go: an outlet, and what it has not taken yet.
struct sink {
    struct outlet *outlet;
    char *rest; // (LINE_ROOM), of a line that the outlet has taken in part
    size_t begun, end;
    int entry; // of what relay_fds has asked for; -1: none
};

// Of a rank. Its whole lines wait here only while its sink is blocked.
struct stream {
    int from; // pipe; -1 when closed
    struct sink *sink;
    char *memory; // PREFIX_BYTES, RELAY_LINE_BYTES, and 1 for an end of line
    size_t used;  // bytes from memory + PREFIX_BYTES on
    int entry;
    char prefix[PREFIX_BYTES];
};

enum { OUT, ERR, SINKS };
enum { LOG_BYTES = 1 << 20 }; // of the pipe for what we log

struct relay {
    int first, nstreams; // of ranks; 0: they write where we do
    int turn;            // the stream that is served first: none waits for ever behind those that always write
    int log_to;          // write end of the log's pipe, until that is our stderr
    struct sink sinks[SINKS];
    struct stream streams[]; // (nstreams + 1): stdout and stderr of the first rank, of the next, ...; our log's
};

static struct stream *log_of(struct relay *relay)
{
    return &relay->streams[relay->nstreams];
}

static void stream_close(struct stream *stream)
{
    if (stream->from >= 0)
        close(stream->from);
    stream->from = -1;
}

void relay_destroy(struct relay *relay)
{
    if (!relay)
        return;
    for (int i = 0; i <= relay->nstreams; i++) {
        stream_close(&relay->streams[i]);
        free(relay->streams[i].memory);
    }
    if (relay->log_to >= 0)
        close(relay->log_to);
    for (int i = 0; i < SINKS; i++) {
        outlet_close(relay->sinks[i].outlet);
        free(relay->sinks[i].rest);
    }
    free(relay);
}

// A pipe for lines with that prefix.  Only our end does not block: the rank's is another file description.
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

static int log_open(struct relay *relay)
{
    CLAB_TRY(stream_open(log_of(relay), "", &relay->log_to));
    fcntl(relay->log_to, F_SETFL, O_NONBLOCK);
    fcntl(relay->log_to, F_SETPIPE_SZ, LOG_BYTES);
    return CLAB_OK;
}

static bool are_one_file(int a, int b)
{
    struct stat x, y;
    return fstat(a, &x) == 0 && fstat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

struct relay *relay_create(int first, int nranks, bool prefixes)
{
    const int nstreams = prefixes ? SINKS * nranks : 0;
    struct relay *relay = calloc(1, sizeof *relay + ((size_t)nstreams + 1) * sizeof *relay->streams);
    if (!relay)
        return NULL;
    const bool shares = are_one_file(STDOUT_FILENO, STDERR_FILENO);
    relay->first = first;
    relay->nstreams = nstreams;
    relay->log_to = -1;
    for (int i = 0; i <= nstreams; i++)
        relay->streams[i] = (struct stream){.from = -1, .sink = &relay->sinks[shares ? ERR : i % SINKS]};
    log_of(relay)->sink = &relay->sinks[ERR];
    if ((!prefixes || shares || sink_open(&relay->sinks[OUT], STDOUT_FILENO) == CLAB_OK) &&
        sink_open(&relay->sinks[ERR], STDERR_FILENO) == CLAB_OK && log_open(relay) == CLAB_OK)
        return relay;
    relay_destroy(relay);
    return NULL;
}

int relay_start(struct relay *relay)
{
    int err = CLAB_OK;
    for (int i = SINKS - 1; i >= 0; i--)
        if (relay->sinks[i].outlet && outlet_start(relay->sinks[i].outlet) != CLAB_OK)
            err = CLAB_ESYS;
    dup3(relay->log_to, STDERR_FILENO, O_CLOEXEC);
    close(relay->log_to);
    relay->log_to = -1;
    return err;
}

bool relay_is_left(const struct relay *relay)
{
    const short gone = POLLERR | POLLHUP; // of a pipe, or a socket; poll(2) tells it unasked
    struct pollfd ours[] = {{STDOUT_FILENO, 0, 0}, {outlet_stream(relay->sinks[ERR].outlet), 0, 0}};
    return poll(ours, 2, 0) > 0 && ((ours[0].revents | ours[1].revents) & gone) != 0;
}

int relay_add(struct relay *relay, int rank, int *out_p, int *err_p)
{
    int out, err;
    char prefix[PREFIX_BYTES];
    *out_p = *err_p = -1;
    if (relay->nstreams == 0)
        return CLAB_OK;
    struct stream *streams = &relay->streams[SINKS * (rank - relay->first)];
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

// How much of it the outlet takes now, or -1: nobody reads any more.
static ssize_t offer(const struct sink *sink, const char *text, size_t bytes)
{
    ssize_t taken;
    do
        taken = write(outlet_fd(sink->outlet), text, bytes);
    while (taken < 0 && errno == EINTR);
    return taken < 0 && errno == EAGAIN ? 0 : taken;
}

// A line that the outlet has taken in part blocks the sink, so that no other comes into it.
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
    sink->begun = taken < 0 ? sink->end : sink->begun + (size_t)taken; // what nobody reads is dropped
}

// ---- streams -------------------------------------------------------------------------------------------------

// The prefix takes the place of the bytes before the line: they are the reserve, or a line that has been written.
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

// Those that are whole, as long as the sink is free.
static void write_lines(struct stream *stream)
{
    char *const first = stream->memory + PREFIX_BYTES, *const end = first + stream->used, *line = first;
    for (char *last; !is_blocked(stream->sink) && (last = memchr(line, '\n', (size_t)(end - line))); line = last + 1)
        write_line(stream, line, (size_t)(last + 1 - line));
    stream->used = (size_t)(end - line);
    memmove(first, line, stream->used);
    if (stream->used == RELAY_LINE_BYTES && !is_blocked(stream->sink))
        write_unfinished(stream);
}

// One read, so that a rank which never stops to write keeps nobody waiting. False: there was nothing.
static bool stream_pass(struct stream *stream)
{
    char *const text = stream->memory + PREFIX_BYTES + stream->used;
    const ssize_t bytes = read(stream->from, text, RELAY_LINE_BYTES - stream->used);
    if (bytes > 0) {
        stream->used += (size_t)bytes;
        write_lines(stream);
    } else if (bytes == 0) {
        write_unfinished(stream);
        stream_close(stream);
    }
    return bytes > 0;
}

static struct stream *in_turn(struct relay *relay, int i)
{
    return &relay->streams[(relay->turn + i) % (relay->nstreams + 1)];
}

// Clear the sinks, and pass on what has waited for that.
static void clear_all(struct relay *relay)
{
    for (int i = 0; i < SINKS; i++)
        clear(&relay->sinks[i]);
    for (int i = 0; i <= relay->nstreams; i++)
        if (in_turn(relay, i)->used > 0 && !is_blocked(in_turn(relay, i)->sink))
            write_lines(in_turn(relay, i));
}

// ---- the relay -----------------------------------------------------------------------------------------------

static int ask(struct pollfd fds[], int *n, int fd, short events)
{
    fds[*n] = (struct pollfd){fd, events, 0};
    return (*n)++;
}

int relay_fds(struct relay *relay, struct pollfd fds[])
{
    int n = 0;
    for (int i = 0; i < SINKS; i++) {
        struct sink *sink = &relay->sinks[i];
        sink->entry = is_blocked(sink) ? ask(fds, &n, outlet_fd(sink->outlet), POLLOUT) : -1;
    }
    for (int i = 0; i <= relay->nstreams; i++) {
        struct stream *stream = &relay->streams[i];
        const bool reads = stream->from >= 0 && !is_blocked(stream->sink);
        stream->entry = reads ? ask(fds, &n, stream->from, POLLIN) : -1;
    }
    return n;
}

void relay_pass(struct relay *relay, const struct pollfd fds[])
{
    clear_all(relay);
    for (int i = 0; i <= relay->nstreams; i++) {
        struct stream *stream = in_turn(relay, i);
        if (stream->entry >= 0 && stream->from >= 0 && fds[stream->entry].revents && !is_blocked(stream->sink))
            stream_pass(stream);
    }
    relay->turn = (relay->turn + 1) % (relay->nstreams + 1);
}

// Whether all that was written to it is in its outlet.
static bool finish_stream(struct stream *stream)
{
    while (stream->from >= 0 && !is_blocked(stream->sink))
        if (!stream_pass(stream) && stream->from >= 0) { // a process that is not ours still has it
            write_unfinished(stream);
            stream_close(stream);
        }
    return stream->from < 0 && !is_blocked(stream->sink);
}

// Ends the outlet; 0: its thread has.
static int finish_outlet(struct outlet *outlet, struct pollfd fds[])
{
    int n = 0;
    outlet_end(outlet);
    ask(fds, &n, outlet_done_fd(outlet), POLLIN);
    return poll(fds, 1, 0) > 0 ? 0 : n;
}

int relay_finish(struct relay *relay, struct pollfd fds[])
{
    bool is_all = true;
    clear_all(relay);
    for (int i = 0; i < relay->nstreams; i++)
        is_all &= finish_stream(&relay->streams[i]);
    if (!is_all)
        return relay_fds(relay, fds);
    return relay->sinks[OUT].outlet ? finish_outlet(relay->sinks[OUT].outlet, fds) : 0;
}

int relay_finish_log(struct relay *relay, struct pollfd fds[])
{
    struct outlet *err = relay->sinks[ERR].outlet;
    dup2(outlet_stream(err), STDERR_FILENO);
    clear_all(relay);
    return finish_stream(log_of(relay)) ? finish_outlet(err, fds) : relay_fds(relay, fds);
}

size_t relay_waiting(const struct relay *relay)
{
    size_t bytes = relay->sinks[OUT].outlet ? outlet_waiting(relay->sinks[OUT].outlet) : 0;
    for (int i = 0; i < SINKS; i++)
        bytes += relay->sinks[i].end - relay->sinks[i].begun;
    for (int i = 0; i < relay->nstreams; i++) {
        int unread = 0;
        if (relay->streams[i].from >= 0 && ioctl(relay->streams[i].from, FIONREAD, &unread) == 0)
            bytes += relay->streams[i].used + (size_t)unread;
    }
    return bytes;
}

size_t relay_written(const struct relay *relay)
{
    size_t bytes = 0;
    for (int i = 0; i < SINKS; i++)
        bytes += relay->sinks[i].outlet ? outlet_written(relay->sinks[i].outlet) : 0;
    return bytes;
}
