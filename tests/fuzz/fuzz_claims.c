// SPDX-License-Identifier: MIT
// Claims to audit: each is judged or refused, a refusal is one line that names the file, and what is computed is one line.

#include "tests/fuzz/fuzz.h"

#include "core/base/err.h"
#include "cmd/audit/audit.h"

static const char path[] = "my-claims.txt";

static void judge(const struct audit_claims *claims)
{
    for (int i = 0; i < claims->n; i++) {
        struct audit_verdict verdict = {0};
        fuzz_log_clear();
        const int err = audit_judge(claims, &claims->all[i], &verdict);
        must_hold(err == CLAB_OK || err == CLAB_EPARSE);
        if (err)
            must_say_once(path);
        else
            must_hold(verdict.word && *verdict.word && strlen(verdict.computed) < AUDIT_COMPUTED);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct audit_claims claims;
    FILE *file = fuzz_file(data, size);
    fuzz_log_clear();
    const int err = audit_claims_read(file, path, &claims);
    fclose(file);
    must_hold(err == CLAB_OK || err == CLAB_EPARSE);
    if (err) {
        must_say_once(path);
        return 0;
    }
    judge(&claims);
    audit_claims_free(&claims);
    return 0;
}
