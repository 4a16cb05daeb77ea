// SPDX-License-Identifier: MIT
// Ranks' output, prefixed (relay.h).

#include "job/relay.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/log.h"

enum { PREFIX_BYTES = 16 };

struct stream {
    int from, to; // pipe, and ours; from is -1 when closed
    char *memory; // PREFIX_BYTES, RELAY_LINE_BYTES, and 1 for an end of line
    size_t used;  // bytes of unfinished line, from memory + PREFIX_BYTES on
    char prefix[PREFIX_BYTES];
};

struct relay {
    int first, nstreams;
    struct stream streams[]; // (2 * nranks): stdout and stderr of the first rank, of the next, ...
};

struct relay *relay_create(int first, int nranks)
{
    struct relay *relay = calloc(1, sizeof *relay + 2 * (size_t)nranks * sizeof *relay->streams);
    if (!relay)
        return NULL;
    relay->first = first;
    relay->nstreams = 2 * nranks;
    for (int i = 0; i < relay->nstreams; i++)
        relay->streams[i].from = -1;
    return relay;
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
    for (int i = 0; i < relay->nstreams; i++) {
        stream_close(&relay->streams[i]);
        free(relay->streams[i].memory);
    }
    free(relay);
}

// Only our end does not block: the rank's is another file description.
static int stream_open(struct stream *stream, int rank, int to, int *write_end_p)
{
    int ends[2];
    stream->memory = malloc(PREFIX_BYTES + RELAY_LINE_BYTES + 1);
    if (!stream->memory || pipe2(ends, O_CLOEXEC) != 0) {
        clab_error("can not make a pipe for the output of rank %d: %m", rank);
        return CLAB_ESYS;
    }
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    stream->from = ends[0];
    stream->to = to;
    snprintf(stream->prefix, sizeof stream->prefix, "[%d] ", rank);
    *write_end_p = ends[1];
    return CLAB_OK;
}

int relay_add(struct relay *relay, int rank, int *out_p, int *err_p)
{
    int out, err;
    struct stream *streams = &relay->streams[2 * (rank - relay->first)];
    CLAB_TRY(stream_open(&streams[0], rank, STDOUT_FILENO, &out));
    if (stream_open(&streams[1], rank, STDERR_FILENO, &err) != CLAB_OK) {
        close(out);
        return CLAB_ESYS;
    }
    *out_p = out;
    *err_p = err;
    return CLAB_OK;
}

static void write_all(struct stream *stream, const char *text, size_t bytes)
{
    while (bytes > 0) {
        const ssize_t written = write(stream->to, text, bytes);
        if (written < 0 && errno == EAGAIN) {
            poll(&(struct pollfd){stream->to, POLLOUT, 0}, 1, -1);
        } else if (written < 0 && errno != EINTR) {
            stream_close(stream);
            return;
        } else if (written > 0) {
            text += written;
            bytes -= (size_t)written;
        }
    }
}

// The prefix takes the place of the bytes before the line: they are the reserve, or a line that has been written.
static void write_line(struct stream *stream, char *line, size_t bytes)
{
    const size_t prefix = strlen(stream->prefix);
    memcpy(line - prefix, stream->prefix, prefix);
    write_all(stream, line - prefix, prefix + bytes);
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

static void write_lines(struct stream *stream)
{
    char *const first = stream->memory + PREFIX_BYTES, *const end = first + stream->used, *line = first;
    for (char *last; (last = memchr(line, '\n', (size_t)(end - line))); line = last + 1)
        write_line(stream, line, (size_t)(last + 1 - line));
    stream->used = (size_t)(end - line);
    memmove(first, line, stream->used);
    if (stream->used == RELAY_LINE_BYTES)
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

int relay_fds(const struct relay *relay, struct pollfd fds[])
{
    int n = 0;
    for (int i = 0; i < relay->nstreams; i++)
        if (relay->streams[i].from >= 0)
            fds[n++] = (struct pollfd){relay->streams[i].from, POLLIN, 0};
    return n;
}

void relay_pass(struct relay *relay, const struct pollfd fds[])
{
    for (int i = 0, n = 0; i < relay->nstreams; i++)
        if (relay->streams[i].from >= 0 && fds[n++].revents)
            stream_pass(&relay->streams[i]);
}

void relay_finish(struct relay *relay)
{
    for (int i = 0; i < relay->nstreams; i++) {
        struct stream *stream = &relay->streams[i];
        while (stream->from >= 0 && stream_pass(stream))
            ;
        if (stream->from >= 0)
            write_unfinished(stream);
    }
}
