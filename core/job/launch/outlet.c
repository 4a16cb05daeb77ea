// SPDX-License-Identifier: MIT
// A standard stream that a thread writes (outlet.h).

#include "core/job/launch/outlet.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "core/base/err.h"
#include "core/base/log.h"
#include "core/job/launch/forward.h"

enum { ROOM = FORWARDER_LINE_BYTES + PIPE_BUF }; // a line with its prefix, and lines that are written together

struct outlet {
    struct outlet_fds fds; // `to`: the pipe; `done`: an eventfd
    _Atomic int from;      // of the pipe; -1 when closed
    _Atomic size_t written, held;
    char text[ROOM]; // (held), of the thread
};

struct outlet_fds outlet_fds(const struct outlet *outlet)
{
    return outlet->fds;
}

size_t outlet_written(const struct outlet *outlet)
{
    return outlet->written;
}

size_t outlet_waiting(const struct outlet *outlet)
{
    int bytes = 0;
    const int from = outlet->from;
    if (from < 0 || ioctl(from, FIONREAD, &bytes) != 0)
        return 0; // nobody reads the stream any more
    return outlet->held + (size_t)bytes;
}

// ---- the thread ----------------------------------------------------------------------------------------------

// The bytes of the next write: complete lines, at most PIPE_BUF unless the first line is longer; 0: no complete line.
static size_t next_bytes(const char *text, size_t bytes)
{
    const char *const short_end = text + (bytes < PIPE_BUF ? bytes : PIPE_BUF);
    const char *last = memrchr(text, '\n', (size_t)(short_end - text));
    if (!last)
        last = memchr(short_end, '\n', (size_t)(text + bytes - short_end));
    return last ? (size_t)(last + 1 - text) : bytes == ROOM ? bytes : 0;
}

// False: nobody reads it any more.
static bool write_all(struct outlet *outlet, const char *text, size_t bytes)
{
    while (bytes > 0) {
        const ssize_t written = write(outlet->fds.stream, text, bytes);
        if (written < 0 && errno == EAGAIN)
            poll(&(struct pollfd){outlet->fds.stream, POLLOUT, 0}, 1, -1); // another process has set O_NONBLOCK
        else if (written < 0 && errno != EINTR)
            return false;
        if (written <= 0)
            continue;
        text += written;
        bytes -= (size_t)written;
        outlet->written += (size_t)written;
        outlet->held -= (size_t)written;
    }
    return true;
}

// Write the complete lines; at the end also the rest.
static bool write_lines(struct outlet *outlet, bool is_last)
{
    const char *text = outlet->text;
    for (size_t left = outlet->held, bytes; left > 0; left -= bytes, text += bytes) {
        bytes = next_bytes(text, left);
        bytes = bytes || !is_last ? bytes : left;
        if (bytes == 0)
            break;
        if (!write_all(outlet, text, bytes))
            return false;
    }
    memmove(outlet->text, text, outlet->held);
    return true;
}

// The writer gets EPIPE from now on.
static void stop(struct outlet *outlet)
{
    close(atomic_exchange(&outlet->from, -1));
    eventfd_write(outlet->fds.done, 1);
}

static void *run(void *argument)
{
    struct outlet *outlet = argument;
    for (bool is_open = true; is_open;) {
        const ssize_t bytes = read(outlet->from, outlet->text + outlet->held, ROOM - outlet->held);
        if (bytes < 0 && errno == EINTR)
            continue;
        outlet->held += bytes > 0 ? (size_t)bytes : 0;
        is_open = write_lines(outlet, bytes <= 0) && bytes > 0;
    }
    stop(outlet);
    return NULL;
}

// ---- its life ------------------------------------------------------------------------------------------------

int outlet_open(int stream, struct outlet **outlet_p)
{
    int ends[2];
    struct outlet *outlet = calloc(1, sizeof *outlet);
    if (!outlet)
        return CLAB_ENOMEM;
    outlet->from = outlet->fds.to = -1;
    outlet->fds.stream = fcntl(stream, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    outlet->fds.done = eventfd(0, EFD_CLOEXEC);
    if (outlet->fds.stream >= 0 && outlet->fds.done >= 0 && pipe2(ends, O_CLOEXEC) == 0) {
        outlet->from = ends[0];
        outlet->fds.to = ends[1];
        fcntl(outlet->fds.to, F_SETFL, O_NONBLOCK); // only our end of the pipe
        *outlet_p = outlet;
        return CLAB_OK;
    }
    clab_error("can not make a pipe for the output of ranks: %m");
    outlet_close(outlet);
    return CLAB_ESYS;
}

void outlet_close(struct outlet *outlet)
{
    if (!outlet)
        return;
    const int fds[] = {outlet->fds.stream, outlet->fds.done, outlet->from, outlet->fds.to};
    for (size_t i = 0; i < sizeof fds / sizeof *fds; i++)
        if (fds[i] >= 0)
            close(fds[i]);
    free(outlet);
}

int outlet_start(struct outlet *outlet)
{
    pthread_t thread;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int err = pthread_create(&thread, NULL, run, outlet);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (err) {
        clab_error("can not start a thread for the output of ranks: %s", strerror(err));
        stop(outlet);
        return CLAB_ESYS;
    }
    pthread_detach(thread); // it may wait for a reader until this process ends
    return CLAB_OK;
}

void outlet_end(struct outlet *outlet)
{
    if (outlet->fds.to >= 0)
        close(outlet->fds.to);
    outlet->fds.to = -1;
}
