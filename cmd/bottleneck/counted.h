// SPDX-License-Identifier: MIT
// What can be said of a run by its counts alone (CLAB_COUNTS): how much of it communication takes, and how uneven the work
// is. Which network is slow, and who waits for whom, only a trace says.
#pragma once

// Read the counts of `path`, of spans of that name or else of the whole job, and print what they say.
//   errors: those of clab_counts_read, CLAB_EINVAL (logged: a run in real time, whose computing is not counted)
int bottleneck_counted(const char *path, const char *span);
