// SPDX-License-Identifier: MIT
// A standard stream of ours, written by a thread, so that a reader that does not read blocks only that thread.
//
// - What is to be written goes to the outlet's own pipe, which never blocks the writer: EAGAIN means that it is full,
//   EPIPE that nobody reads the stream any more.
// - The stream itself is left as it is. O_NONBLOCK would be set for all processes that share it, among them a shell at
//   its terminal. And a write of a few bytes to a terminal may block although poll(2) has said that there is room.
// - Whole lines are written by one write(2), several together if they are no longer than PIPE_BUF.
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct outlet;

// For `stream`, STDOUT_FILENO or STDERR_FILENO. Nothing is written before it is started.
//   errors: CLAB_ENOMEM, CLAB_ESYS
int outlet_open(int stream, struct outlet **outlet_p);
// In a copy of this process that does not start it; NULL is fine.
void outlet_close(struct outlet *outlet);
// From now on this process does not fork.
//   errors: CLAB_ESYS
int outlet_start(struct outlet *outlet);

int outlet_fd(const struct outlet *outlet);     // to write to
int outlet_stream(const struct outlet *outlet); // another descriptor of the stream

// No more is to be written. A second call does nothing.
void outlet_end(struct outlet *outlet);
// Can be read when all has been written after that, or nobody reads the stream any more.
int outlet_done_fd(const struct outlet *outlet);
// Bytes that have been written, ever; bytes that wait.
size_t outlet_written(const struct outlet *outlet);
size_t outlet_waiting(const struct outlet *outlet);
