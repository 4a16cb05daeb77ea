// SPDX-License-Identifier: MIT
// A target with faults, for the test of drive.c and run.sh: what they would not find here they would miss elsewhere.

#include "tests/fuzz/fuzz.h"

#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size);
    must_hold(!strstr(text, "wrong"));
    while (strstr(text, "endless"))
        pause();
    free(text);
    return 0;
}
