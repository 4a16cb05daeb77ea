// SPDX-License-Identifier: MIT
// How much memory a call touches: what caches must hold.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "core/program/program.h"

struct touched {
    size_t all;     // bytes: of all ranks' memory
    size_t core;    // by the core that touches most: its own memory, and that of peers that it reads
    size_t written; // by the core that writes most
};

// Those of the programs that the executor runs: the root's, and those of at most 15 other ranks, which stand for the rest.
//   errors: CLAB_ENOMEM; CLAB_EUNSUPPORTED (program.h, logged)
int touched_by(const struct clab_problem *problem, const struct clab_algorithm *algorithm, bool in_place,
               size_t element_bytes, struct touched *touched_p);
