// SPDX-License-Identifier: MIT
// /proc/PID/stat: a program may call itself anything, and its parent is still its parent.

#include "tests/fuzz/fuzz.h"

#include "core/base/machine/process.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size), *line;
    struct clab_process p;
    clab_process_parse(text, &p); // anything
    must_hold(asprintf(&line, "4711 (%s) S 815 4711 4711 0 -1 4194304 (no name)", text) > 0);
    *strrchr(line, '(') = '\0';
    must_hold(clab_process_parse(line, &p) && p.pid == 4711 && p.state == 'S' && p.parent == 815 && p.group == 4711);
    must_hold(!clab_process_parse("", &p) && !clab_process_parse("1 (x) R", &p));
    free(line);
    free(text);
    return 0;
}
