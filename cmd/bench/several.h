// SPDX-License-Identifier: MIT
// Several backends in one bench.
#pragma once

struct bench_options;

// Bench each backend that `options` names, and print one table of them all.
//   argv: as bench was called
//   errors: CLAB_EUNSUPPORTED (this machine has none of them), CLAB_EINVAL, CLAB_EPEER (a job failed), CLAB_EIO, ...
int bench_several(const struct bench_options *options, int argc, char **argv);
