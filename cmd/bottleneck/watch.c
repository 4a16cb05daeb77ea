// SPDX-License-Identifier: MIT
// Run a program as a job that writes a trace, and look at its processes meanwhile (watch.h).

#include "cmd/bottleneck/watch.h"

#include <math.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cmd/kit/child.h"
#include "cmd/netmon/ranks.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/machine/machine.h"

enum { NOT_FOUND = 127 };

static void be_program(char *const program[], const char *path)
{
    const struct child_variable changes[] = {{"CLAB_TRACE", path, false}, {0}};
    child_set_environment(changes);
    dup2(STDERR_FILENO, STDOUT_FILENO); // our own output is the report
    execvp(program[0], program);
    clab_error("bottleneck: can not run '%s': %m", program[0]);
    _exit(NOT_FOUND);
}

// How many of the ranks may use one core only, and the same.
static int count_sharing(const struct netmon_ranks *ranks)
{
    int most = 0, on[CPU_SETSIZE] = {0};
    for (int r = 0; r < ranks->n; r++) {
        cpu_set_t set;
        if (sched_getaffinity(ranks->pids[r], sizeof set, &set) != 0 || CPU_COUNT(&set) != 1)
            continue;
        for (int c = 0; c < CPU_SETSIZE; c++)
            if (CPU_ISSET(c, &set) && ++on[c] > most)
                most = on[c];
    }
    return most;
}

static void look_at_sockets(const struct netmon_ranks *ranks, struct bottleneck_seen *seen)
{
    struct netmon_socket *sockets;
    struct netmon_pair *pairs;
    int n, npairs;
    double retransmits = 0;
    if (netmon_sockets_read(&sockets, &n) != CLAB_OK)
        return;
    if (netmon_pairs_sum(ranks, sockets, n, &pairs, &npairs) == CLAB_OK) {
        for (int i = 0; i < npairs; i++) {
            retransmits += (double)pairs[i].retransmits;
            if (pairs[i].busy > 0.1)
                seen->limited = fmax(seen->limited, pairs[i].limited / pairs[i].busy);
        }
        free(pairs);
    }
    free(sockets);
    seen->retransmits = fmax(seen->retransmits, retransmits);
}

// How often ranks were looked at, and how often they shared a core although there are enough cores for all.
struct looks {
    int all, sharing, most;
};

static void look(pid_t job, struct bottleneck_seen *seen, struct looks *looks)
{
    struct netmon_ranks ranks;
    struct clab_log_held held;
    char name[16];
    snprintf(name, sizeof name, "%d", (int)job);
    clab_log_hold(&held); // a job that is not there yet, or no more
    if (netmon_ranks_find(name, &ranks) == CLAB_OK) {
        const int sharing = count_sharing(&ranks), fair = (ranks.n + seen->cores - 1) / seen->cores;
        const bool is_wrong = ranks.n > 1 && sharing > fair;
        looks->all++, looks->sharing += is_wrong;
        looks->most = is_wrong && sharing > looks->most ? sharing : looks->most;
        look_at_sockets(&ranks, seen);
        netmon_ranks_free(&ranks);
    }
    clab_log_release(&held);
}

int bottleneck_watch(char *const program[], const char *path, int *status_p, struct bottleneck_seen *seen_p)
{
    struct timespec pause = {0, 10000000}; // a short job is seen, too; a long one is not disturbed often
    struct looks looks = {0};
    struct bottleneck_seen seen = {.cores = clab_machine_cores(NULL)};
    const pid_t pid = child_fork();
    if (pid == 0)
        be_program(program, path);
    if (pid < 0) {
        clab_error("bottleneck: can not start '%s': %m", program[0]);
        return CLAB_ESYS;
    }
    pid_t ended;
    while ((ended = waitpid(pid, status_p, WNOHANG)) == 0) {
        nanosleep(&pause, NULL);
        if (child_ended_by()) { // it is asked to end, too, and made to if it does not
            bool is_late;
            ended = child_wait_until(pid, 0, status_p, &is_late) ? -1 : pid;
            break;
        }
        look(pid, &seen, &looks);
        pause.tv_nsec = pause.tv_nsec < 50000000 ? 2 * pause.tv_nsec : 100000000;
    }
    seen.sharing = 2 * looks.sharing > looks.all ? looks.most : 0; // ranks that start are bound one after another
    *seen_p = seen;
    if (ended < 0)
        return CLAB_ESYS;
    return WIFEXITED(*status_p) && WEXITSTATUS(*status_p) == NOT_FOUND ? CLAB_ENOENT : CLAB_OK;
}
