// SPDX-License-Identifier: MIT
// /proc/PID/stat: a program may call itself anything, and its parent is still its parent.

#include "tests/fuzz/fuzz.h"

#include "core/job/launch/run.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size), *line;
    process_parent(text); // anything
    must_hold(asprintf(&line, "4711 (%s) S 815 4711 4711 0 -1 4194304 (no name)", text) > 0);
    *strrchr(line, '(') = '\0';
    must_hold(process_parent(line) == 815);
    must_hold(process_parent("") == -1 && process_parent("1 (x) R") == -1);
    free(line);
    free(text);
    return 0;
}
