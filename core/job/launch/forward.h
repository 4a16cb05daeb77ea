// SPDX-License-Identifier: MIT
// What the supervisor writes: its own lines on stderr, and ranks' output with "[rank] " before each line, if wanted.
//
// - Lines of different ranks never mix: each is written whole, by one write(2).
// - A line longer than RELAY_LINE_BYTES is cut into lines; a last line that does not end gets its end.
// - When nobody reads our output any more, the rank's pipe is closed, so that it learns as it would have without us.
// - When our reader does not read, the ranks' pipes are not read either, so that ranks that write wait. We do not.
// - What we log goes through a pipe, too, which takes the place of our stderr: some 200 KiB for a report on 1024 ranks.
//   More than its 1 MiB is lost.
// - If stdout and stderr are one file, as on a terminal, one thread writes both, in the order that we read them.
#pragma once

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>

enum { RELAY_LINE_BYTES = 64 << 10 };

struct relay;

// A relay for (nranks) ranks from `first` on, whose output passes through it if `prefixes`. NULL: out of memory, or
// what was logged.
struct relay *relay_create(int first, int nranks, bool prefixes);
// In a copy of this process that has not started it; NULL is fine.
void relay_destroy(struct relay *relay);

// Pipes for stdout and stderr of `rank`: their write ends, for the rank, and for the caller to close behind it; both -1
// without prefixes.
//   errors: CLAB_ESYS
int relay_add(struct relay *relay, int rank, int *out_p, int *err_p);
// All ranks are there. From now on this process does not fork.
//   errors: CLAB_ESYS
int relay_start(struct relay *relay);
// Whether nobody reads our stdout or stderr any more.
bool relay_is_left(const struct relay *relay);

// What to wait for: at most RELAY_FDS(nranks) entries; how many.
#define RELAY_FDS(nranks) (3 + 2 * (size_t)(nranks))
int relay_fds(struct relay *relay, struct pollfd fds[]);
// Pass on what poll(2) has found in them; never waits.
void relay_pass(struct relay *relay, const struct pollfd fds[]);

// When nobody writes any more: pass on what there is, as far as that needs no waiting. How many `fds` to wait for
// before the next call; 0: all has been written, or nobody reads.
int relay_finish(struct relay *relay, struct pollfd fds[]);
// Then the same for what has been logged. stderr is itself again: later lines wait for their reader.
int relay_finish_log(struct relay *relay, struct pollfd fds[]);
// Bytes of ranks' output that have not been written yet, at most: a part of what is being written may be out.
// And those that have been, log lines among them.
size_t relay_waiting(const struct relay *relay);
size_t relay_written(const struct relay *relay);
