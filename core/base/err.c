// SPDX-License-Identifier: MIT
// The sentences of the error codes (err.h).

#include "core/base/err.h"

const char *clab_strerror(int err)
{
#define X(name, text) [name] = text,
    static const char *const sentences[] = {CLAB_ERRORS(X)};
#undef X
    return err >= 0 && err < CLAB_ERR_COUNT ? sentences[err] : "unknown error";
}
