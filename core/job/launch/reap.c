// SPDX-License-Identifier: MIT
// Finding and ending processes that ranks have left behind.
//
// - A subreaper (prctl(2), PR_SET_CHILD_SUBREAPER) becomes the parent of its descendants' orphans. So every process that
//   a job leaves behind becomes a child of the subreaper. It ends children until there are none, also in other sessions.

#include "core/job/launch/run.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/machine/process.h"

int children_list(pid_t **pids_p, int *count_p)
{
    struct clab_process *all;
    int n, count = 0;
    CLAB_TRY(clab_process_list(&all, &n));
    pid_t *pids = malloc(((size_t)n + 1) * sizeof *pids);
    for (int i = 0; i < n && pids; i++)
        if (all[i].parent == getpid())
            pids[count++] = all[i].pid;
    free(all);
    if (!pids)
        return CLAB_ENOMEM;
    *pids_p = pids;
    *count_p = count;
    return CLAB_OK;
}

static bool contains(const pid_t *pids, int count, pid_t pid)
{
    for (int i = 0; i < count; i++)
        if (pids[i] == pid)
            return true;
    return false;
}

// Kill all children of now but the spared; how many. Their own children become ours.
static int end_generation(const pid_t *spared, int nspared)
{
    pid_t *pids = NULL;
    int count = 0, ended = 0;
    if (children_list(&pids, &count) != CLAB_OK) {
        clab_warn("can not look for processes that ranks left behind");
        return 0;
    }
    for (int i = 0; i < count; i++) {
        if (contains(spared, nspared, pids[i]))
            continue;
        kill(pids[i], SIGKILL);
        while (waitpid(pids[i], NULL, 0) < 0 && errno == EINTR)
            ;
        ended++;
    }
    free(pids);
    return ended;
}

static bool has_children(void)
{
    siginfo_t info;
    return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

void children_ask_to_end(double seconds)
{
    const struct timespec nap = {0, 2000000};
    const double deadline = clab_now() + seconds;
    pid_t *pids = NULL, ended;
    int count = 0;
    if (!has_children() || children_list(&pids, &count) != CLAB_OK)
        return;
    for (int i = 0; i < count; i++)
        kill(pids[i], SIGTERM);
    free(pids);
    while ((ended = waitpid(-1, NULL, WNOHANG)) >= 0 && clab_now() < deadline)
        if (ended == 0)
            nanosleep(&nap, NULL);
}

void children_end(const pid_t *spared, int count)
{
    while (has_children() && end_generation(spared, count) > 0)
        ;
}
