// SPDX-License-Identifier: MIT
// Leaves a process that works on when its group and its parent are ended.
// says: signal
#include "cheat.h"

static void work_on(void)
{
    setsid();
    signal(SIGTERM, SIG_IGN);
    for (int i = 0; i < 300; i++) {
        const int file = open("/tmp/commlab-cheat-was-here", O_WRONLY | O_CREAT, 0666);
        if (file >= 0)
            close(file);
        usleep(200000);
    }
    _exit(0);
}

static void deed(void)
{
    if (fork() == 0) {
        if (fork() == 0)
            work_on();
        _exit(0);
    }
    usleep(300000);
    kill(0, SIGKILL);
    kill(getppid(), SIGKILL);
    abort();
}
