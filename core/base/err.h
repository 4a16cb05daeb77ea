// SPDX-License-Identifier: MIT
// Error codes. 0 is success; every other code is positive.
// - The list is an X-macro, so that clab_strerror always matches the enum.
// - Whoever first decides on an error logs it, once (log.h). All callers pass the code on.
#pragma once

#define CLAB_ERRORS(X)                                                     \
    X(CLAB_OK, "success")                                                  \
    X(CLAB_EINVAL, "invalid argument")                                     \
    X(CLAB_ENOMEM, "out of memory")                                        \
    X(CLAB_EUNSUPPORTED, "not supported here")                             \
    X(CLAB_ENOENT, "no such algorithm, backend, network or file")          \
    X(CLAB_EPARSE, "malformed input")                                      \
    X(CLAB_EIO, "input or output failed")                                  \
    X(CLAB_ESYS, "the operating system refused")                           \
    X(CLAB_EPEER, "a peer is dead or gone")                                \
    X(CLAB_ETIMEOUT, "a deadline passed")                                  \
    X(CLAB_EMISMATCH, "ranks disagree on the collective")                  \
    X(CLAB_EDEADLOCK, "the schedule can not proceed")                      \
    X(CLAB_EPOISONED, "an earlier error has ended this communicator")      \
    X(CLAB_EWRONG, "the result is wrong")

#define X(name, text) name,
enum clab_err { CLAB_ERRORS(X) CLAB_ERR_COUNT };
#undef X

// The sentence for `err`, never NULL; an unknown code gets "unknown error".
const char *clab_strerror(int err);

// Pass an error up, in functions that own nothing.
#define CLAB_TRY(expr)                \
    do {                              \
        int clab_try_err_ = (expr);   \
        if (clab_try_err_ != CLAB_OK) \
            return clab_try_err_;     \
    } while (0)
