// SPDX-License-Identifier: MIT
// Ranks' output on its way through the supervisor, with "[rank] " before each line.
//
// - Lines of different ranks never mix: each is written whole, by one write(2).
// - A line longer than RELAY_LINE_BYTES is cut into lines; a last line that does not end gets its end.
// - When nobody reads our output any more, the rank's pipe is closed, so that it learns as it would have without us.
#pragma once

#include <poll.h>
#include <stddef.h>

enum { RELAY_LINE_BYTES = 64 << 10 };

struct relay;

// A relay for (nranks) ranks from `first` on, or NULL: out of memory.
struct relay *relay_create(int first, int nranks);
// Closes all; NULL is fine.
void relay_destroy(struct relay *relay);

// Pipes for stdout and stderr of `rank`: their write ends, for the rank, and for the caller to close behind it.
//   errors: CLAB_ESYS
int relay_add(struct relay *relay, int rank, int *out_p, int *err_p);

// What to wait for: at most 2 * nranks entries; how many.
int relay_fds(const struct relay *relay, struct pollfd fds[]);
// Pass on what poll(2) has found in them; never waits for more.
void relay_pass(struct relay *relay, const struct pollfd fds[]);
// Pass on what there is, and what has no end of line: nobody writes any more.
void relay_finish(struct relay *relay);
