// SPDX-License-Identifier: MIT
// The output forwarder: writes the supervisor's own lines to stderr, and the output of ranks with "[rank] " before each
// line if asked to.
//
// - Lines of different ranks never mix: one write(2) writes a whole line.
// - A line longer than FORWARDER_LINE_BYTES is cut into several. A last line without a newline gets one.
// - If nobody reads our output any more, the forwarder closes the rank's pipe: its next write fails with EPIPE, as it
//   would without us.
// - If our reader is slow, the forwarder does not read the ranks' pipes, so ranks that write wait. The supervisor itself
//   does not wait.
// - Our log lines go through a pipe, too, which replaces our stderr. A report on 1024 ranks takes some 200 KiB; more than
//   the pipe's 1 MiB is lost.
// - If stdout and stderr are one file, as on a terminal, one thread writes both, in the order that we read them.
#pragma once

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>

enum { FORWARDER_LINE_BYTES = 64 << 10 };

struct forwarder;

// A forwarder for (nranks) ranks from `first` on; their output passes through it if `prefixes`. NULL: out of memory, or
// logged.
struct forwarder *forwarder_create(int first, int nranks, bool prefixes);
// In a fork of this process that did not start it; NULL is fine.
void forwarder_destroy(struct forwarder *forwarder);

// Pipes for stdout and stderr of `rank`. *out_p, *err_p: their write ends, which the caller closes after it has started
// the rank; both -1 without prefixes.
//   errors: CLAB_ESYS
int forwarder_add(struct forwarder *forwarder, int rank, int *out_p, int *err_p);
// All ranks are started. From now on this process must not fork.
//   errors: CLAB_ESYS
int forwarder_start(struct forwarder *forwarder);
// Whether nobody reads our stdout or stderr any more.
bool forwarder_is_left(const struct forwarder *forwarder);

// Fill in the entries to poll(2), at most FORWARDER_FDS(nranks); how many.
#define FORWARDER_FDS(nranks) (3 + 2 * (size_t)(nranks))
int forwarder_fds(struct forwarder *forwarder, struct pollfd fds[]);
// Pass on the output that poll(2) has found there; never waits.
void forwarder_pass(struct forwarder *forwarder, const struct pollfd fds[]);

// After the last writer has ended: pass on the rest as far as possible without waiting. How many `fds` to poll before
// the next call; 0: all has been written, or nobody reads.
int forwarder_finish(struct forwarder *forwarder, struct pollfd fds[]);
// Then the same for log lines. stderr is restored: later lines wait for their reader.
int forwarder_finish_log(struct forwarder *forwarder, struct pollfd fds[]);
// Bytes of ranks' output that are not written yet, or at most that many: a write may be under way. And the bytes that
// are written, with log lines.
size_t forwarder_waiting(const struct forwarder *forwarder);
size_t forwarder_written(const struct forwarder *forwarder);
