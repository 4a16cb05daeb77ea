// SPDX-License-Identifier: MIT
// Where a backend changes the way of a message, by its bytes: what must be known before it is measured.
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct clab_protocols {
    bool memory;         // receivers read the memory of their peers; else messages cross a wire, or what acts as one
    size_t inline_bytes; // at most these go along with what announces them; 0: there is no such way
    size_t pull_bytes;   // from these on a message, or the rest of it, waits for its receiver; 0: none does
};
