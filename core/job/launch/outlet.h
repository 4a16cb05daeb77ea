// SPDX-License-Identifier: MIT
// A standard stream of ours that a thread writes: a reader that does not read blocks only that thread.
//
// - The caller writes to the outlet's pipe, which never blocks. EAGAIN: the pipe is full. EPIPE: nobody reads the stream
//   any more.
// - The stream stays in blocking mode. O_NONBLOCK would count for all processes that share it, such as a shell at its
//   terminal. And a short write to a terminal may block although poll(2) has reported room.
// - One write(2) writes whole lines, several together if they fit in PIPE_BUF.
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct outlet;

// For `stream`, STDOUT_FILENO or STDERR_FILENO. Nothing is written before it is started.
//   errors: CLAB_ENOMEM, CLAB_ESYS
int outlet_open(int stream, struct outlet **outlet_p);
// In a fork of this process that does not start it; NULL is fine.
void outlet_close(struct outlet *outlet);
// From now on this process must not fork.
//   errors: CLAB_ESYS
int outlet_start(struct outlet *outlet);

struct outlet_fds {
    int to;     // to write to
    int stream; // another descriptor of the stream
    int done;   // readable after outlet_end when all is written, or nobody reads the stream any more
};
struct outlet_fds outlet_fds(const struct outlet *outlet);

// There is no more to write. A second call does nothing.
void outlet_end(struct outlet *outlet);
// Bytes written so far; bytes that wait.
size_t outlet_written(const struct outlet *outlet);
size_t outlet_waiting(const struct outlet *outlet);
