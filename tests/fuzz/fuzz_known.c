// SPDX-License-Identifier: MIT
// Errors that a user describes for `explain --known`: a refusal is one line, and patterns of any kind end.

#include "tests/fuzz/fuzz.h"

#include "cmd/explain/known.h"
#include "core/base/err.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct known known = {0};
    FILE *file = fuzz_file(data, size);
    fuzz_log_clear();
    const int err = known_read(&known, file, "known");
    must_hold(err == CLAB_OK || err == CLAB_EPARSE || err == CLAB_EUNSUPPORTED);
    must_hold(fuzz_log_errors == (err != CLAB_OK));
    for (int i = 0; i < known.count && !err; i++) {
        must_hold(known.errors[i].what && known.errors[i].remedy);
        known_look(&known, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa match = port in use", 1);
    }
    fclose(file);
    known_free(&known);
    return 0;
}
