// SPDX-License-Identifier: MIT
// Sends signals by other means than kill: by a folder of /proc, as the owner of a pipe, and by a limit of time.
// says: no signal
#include <fcntl.h>
#include <sys/resource.h>

#include "cheat.h"

static void try_all(pid_t pid)
{
    const struct rlimit none = {0, 0};
    char path[64];
    int ends[2];
    snprintf(path, sizeof path, "/proc/%d", (int)pid);
    const int folder = open(path, O_RDONLY | O_DIRECTORY);
    if (folder >= 0 && syscall(SYS_pidfd_send_signal, folder, SIGKILL, NULL, 0) == 0)
        fprintf(stderr, "GOT IT: pidfd_send_signal\n");
    if (pipe(ends) == 0 && (fcntl(ends[0], F_SETOWN, pid) == 0 || fcntl(ends[0], F_SETSIG, SIGKILL) == 0))
        fprintf(stderr, "GOT IT: fcntl\n");
    if (syscall(SYS_prlimit64, pid, RLIMIT_CPU, &none, NULL) == 0)
        fprintf(stderr, "GOT IT: prlimit\n");
}

static void deed(void)
{
    const pid_t first = getppid();
    for (pid_t pid = first > 8 ? first - 8 : 1; pid <= first; pid++)
        try_all(pid);
    fprintf(stderr, "no signal\n");
    abort();
}
