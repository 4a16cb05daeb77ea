// SPDX-License-Identifier: MIT
// The message sizes at which a backend changes its protocol. The simulator needs them before it measures.
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct clab_protocols {
    bool memory;         // receivers read the memory of their peers; else messages cross a wire, or what acts as one
    size_t inline_bytes; // at most these go along with what announces them; 0: there is no such way
    size_t lines_bytes;  // at most these go in several of such; 0: there is no such way
    size_t pull_bytes;   // from these on a message, or the rest of it, waits for its receiver; 0: none does
    int crowded_polls;   // fruitless looks of a rank that shares its core, after which it yields it
};
