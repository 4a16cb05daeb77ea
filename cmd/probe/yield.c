// SPDX-License-Identifier: MIT
// Two processes take turns at one core (yield.h).

#include "cmd/probe/yield.h"

#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/stats.h"

enum { RUNS = 5, TURNS = 2000, SWITCHES = 2 * TURNS };

static _Noreturn void only_yield(pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    while (getppid() == parent)
        for (int i = 0; i < TURNS; i++)
            sched_yield();
    _exit(0);
}

static double time_turns(void)
{
    const double begin = clab_now();
    for (int i = 0; i < TURNS; i++)
        sched_yield();
    return (clab_now() - begin) / SWITCHES;
}

double probe_yield(void)
{
    cpu_set_t before, one;
    double runs[RUNS];
    const pid_t parent = getpid();
    if (sched_getaffinity(0, sizeof before, &before))
        return 0;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    if (sched_setaffinity(0, sizeof one, &one))
        return 0;
    const pid_t child = fork();
    if (child == 0)
        only_yield(parent);
    for (int i = 0; i < RUNS && child > 0; i++)
        runs[i] = time_turns();
    if (child > 0) {
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
    }
    sched_setaffinity(0, sizeof before, &before);
    return child > 0 ? clab_quantile(runs, RUNS, 0.5) : 0;
}
