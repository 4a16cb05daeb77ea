// SPDX-License-Identifier: MIT
// What the supervisor writes: its own lines on stderr, and ranks' output with "[rank] " before each line, if wanted.
//
// - Lines of different ranks never mix: each is written whole, by one write(2).
// - A line longer than FORWARDER_LINE_BYTES is cut into lines; a last line that does not end gets its end.
// - When nobody reads our output any more, the rank's pipe is closed, so that it learns as it would have without us.
// - When our reader does not read, the ranks' pipes are not read either, so that ranks that write wait. We do not.
// - What we log goes through a pipe, too, which takes the place of our stderr: some 200 KiB for a report on 1024 ranks.
//   More than its 1 MiB is lost.
// - If stdout and stderr are one file, as on a terminal, one thread writes both, in the order that we read them.
#pragma once

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>

enum { FORWARDER_LINE_BYTES = 64 << 10 };

struct forwarder;

// A forwarder for (nranks) ranks from `first` on, whose output passes through it if `prefixes`. NULL: out of memory, or
// what was logged.
struct forwarder *forwarder_create(int first, int nranks, bool prefixes);
// In a copy of this process that has not started it; NULL is fine.
void forwarder_destroy(struct forwarder *forwarder);

// Pipes for stdout and stderr of `rank`: their write ends, for the rank, and for the caller to close behind it; both -1
// without prefixes.
//   errors: CLAB_ESYS
int forwarder_add(struct forwarder *forwarder, int rank, int *out_p, int *err_p);
// All ranks are there. From now on this process does not fork.
//   errors: CLAB_ESYS
int forwarder_start(struct forwarder *forwarder);
// Whether nobody reads our stdout or stderr any more.
bool forwarder_is_left(const struct forwarder *forwarder);

// What to wait for: at most FORWARDER_FDS(nranks) entries; how many.
#define FORWARDER_FDS(nranks) (3 + 2 * (size_t)(nranks))
int forwarder_fds(struct forwarder *forwarder, struct pollfd fds[]);
// Pass on what poll(2) has found in them; never waits.
void forwarder_pass(struct forwarder *forwarder, const struct pollfd fds[]);

// When nobody writes any more: pass on what there is, as far as that needs no waiting. How many `fds` to wait for
// before the next call; 0: all has been written, or nobody reads.
int forwarder_finish(struct forwarder *forwarder, struct pollfd fds[]);
// Then the same for what has been logged. stderr is itself again: later lines wait for their reader.
int forwarder_finish_log(struct forwarder *forwarder, struct pollfd fds[]);
// Bytes of ranks' output that have not been written yet, at most: a part of what is being written may be out.
// And those that have been, log lines among them.
size_t forwarder_waiting(const struct forwarder *forwarder);
size_t forwarder_written(const struct forwarder *forwarder);
