// SPDX-License-Identifier: MIT
// How long a thread waited for a core (kept.h).

#include "core/base/machine/kept.h"

#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>

// The file stays open: opening it costs ten times as much as reading it. A copy of the process (fork) opens its own.
static _Thread_local pid_t opener;
static _Thread_local int file = -1;

static void open_own(pid_t thread)
{
    if (opener && file >= 0)
        close(file);
    opener = thread;
    file = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
}

double clab_kept(void)
{
    char text[96], *at;
    const pid_t thread = gettid();
    if (thread != opener)
        open_own(thread);
    const ssize_t n = file >= 0 ? pread(file, text, sizeof text - 1, 0) : -1;
    if (n <= 0)
        return NAN;
    text[n] = '\0';
    strtoull(text, &at, 10); // ns that it ran
    return *at == ' ' ? 1e-9 * (double)strtoull(at, NULL, 10) : NAN;
}
