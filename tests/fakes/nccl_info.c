// SPDX-License-Identifier: MIT
// What the fake libnccl says: its version, its errors, and lines on stderr as NCCL_DEBUG asks (VERSION, WARN, INFO).

#include "tests/fakes/nccl_inside.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <unistd.h>

#include "tests/fakes/fake.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char last[512]; // of all threads, as NCCL has it

enum level { QUIET, VERSION, WARN, INFO };

static enum level level(void)
{
    static const char *const names[] = {"NONE", "VERSION", "WARN", "INFO", "ABORT", "TRACE"};
    const char *asked = getenv("NCCL_DEBUG");
    for (int i = 0; asked && i < 6; i++)
        if (!strcasecmp(asked, names[i]))
            return i < INFO ? (enum level)i : INFO;
    return QUIET;
}

static void print(enum level least, const char *text)
{
    static atomic_flag said = ATOMIC_FLAG_INIT;
    if (level() >= VERSION && !atomic_flag_test_and_set(&said))
        fprintf(stderr, "fake NCCL version %d.%d.%d, commlab's, on the CPU\n", NCCL_MAJOR, NCCL_MINOR, NCCL_PATCH);
    if (level() >= least)
        fprintf(stderr, "fake NCCL [%d] %s\n", (int)getpid(), text);
}

ncclResult_t warn(ncclResult_t result, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    pthread_mutex_lock(&lock);
    vsnprintf(last, sizeof last, format, arguments);
    print(WARN, last);
    pthread_mutex_unlock(&lock);
    va_end(arguments);
    return result;
}

void inform(const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    print(INFO, text);
}

size_t type_bytes(ncclDataType_t type)
{
    switch (type) {
    case ncclInt8:
    case ncclUint8: return 1;
    case ncclFloat16:
    case ncclBfloat16: return 2;
    case ncclInt32:
    case ncclUint32:
    case ncclFloat32: return 4;
    case ncclInt64:
    case ncclUint64:
    case ncclFloat64: return 8;
    default: return 0;
    }
}

const char *clab_fake_version(void)
{
    return "fake NCCL of commlab: shared memory, no GPU";
}

ncclResult_t ncclGetVersion(int *version)
{
    if (!version)
        return ncclInvalidArgument;
    *version = NCCL_VERSION_CODE;
    return ncclSuccess;
}

const char *ncclGetErrorString(ncclResult_t result)
{
    switch (result) {
    case ncclSuccess: return "no error";
    case ncclUnhandledCudaError: return "unhandled cuda error (fake NCCL)";
    case ncclSystemError: return "unhandled system error (fake NCCL)";
    case ncclInternalError: return "internal error (fake NCCL)";
    case ncclInvalidArgument: return "invalid argument (fake NCCL)";
    case ncclInvalidUsage: return "invalid usage (fake NCCL)";
    case ncclRemoteError: return "remote process exited or there was a network error (fake NCCL)";
    case ncclInProgress: return "NCCL operation in progress (fake NCCL)";
    default: return "unknown result code (fake NCCL)";
    }
}

const char *ncclGetLastError(ncclComm_t comm)
{
    (void)comm;
    return last;
}
