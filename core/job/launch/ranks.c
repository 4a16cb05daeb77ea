// SPDX-License-Identifier: MIT
// How the supervisor starts a rank: fork, tie it to its parent, set its environment, streams and core.

#include "core/job/launch/run.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "core/base/log.h"
#include "core/base/machine/machine.h"
#include "core/base/units.h"
#include "core/base/variables.h"

// A pinned program sees only its own core: the launcher's count is in CLAB_CORES.
int clab_cores(void)
{
    const char *text = clab_variable_text(CLAB_VARIABLE_CORES);
    int cores;
    return text && clab_parse_int(text, 1, INT_MAX, &cores) == CLAB_OK ? cores : clab_machine_cores(NULL);
}

static void set_number(const char *name, int value)
{
    char text[16];
    snprintf(text, sizeof text, "%d", value);
    setenv(name, text, 1);
}

// Where the ranks of several nodes find the store. They find the token as we did (CLAB_TOKEN, or the user's file); we
// add it to no environment.
static void set_store(const struct store_ticket *ticket)
{
    char place[CLAB_HOST_BYTES + 16];
    snprintf(place, sizeof place, strchr(ticket->host, ':') ? "[%s]:%d" : "%s:%d", ticket->host, ticket->port);
    setenv("CLAB_STORE", place, 1);
    unsetenv("CLAB_JOB_FD");
}

// torchrun's names, and ours. We are a child that has one thread and runs on without exec, or before it: the environment
// itself must change, since the rank, its libraries and the program that it becomes all read it by getenv.
static void set_environment(const struct run *run, int rank)
{
    const struct nodes *nodes = &run->nodes;
    set_number("RANK", rank);
    set_number("LOCAL_RANK", rank - run->first);
    set_number("GROUP_RANK", run->launch->node);
    set_number("WORLD_SIZE", run->launch->nranks);
    set_number("LOCAL_WORLD_SIZE", run->nlocal);
    set_number("GROUP_WORLD_SIZE", nodes->client ? run->launch->nnodes : 1);
    setenv("MASTER_ADDR", nodes->ticket.host, 1);
    set_number("MASTER_PORT", nodes->master_port);
    set_number("CLAB_CORES", (int)run->control->cores);
    setenv("CLAB_BACKEND", run->backend, 1);
    if (nodes->client)
        set_store(&nodes->ticket);
    else
        set_number("CLAB_JOB_FD", run->memory_fd);
}

// Rank 0 reads the launcher's stdin unless that is a terminal: a terminal would stop it (SIGTTIN), since its process
// group is not in the foreground. The others read nothing.
static void set_streams(int rank, int out, int err)
{
    if (rank > 0 || isatty(STDIN_FILENO)) {
        const int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
        dup2(null, STDIN_FILENO);
        close(null);
    }
    if (out >= 0)
        dup2(out, STDOUT_FILENO);
    if (err >= 0)
        dup2(err, STDERR_FILENO);
}

static void restore_signals(const struct run *run)
{
    sigaction(SIGCHLD, &run->caller_on_child, NULL);
    sigprocmask(SIG_SETMASK, &run->caller_mask, NULL);
}

// In the child, first: it dies with its parent, which may already have died before this line.
static void tie_to_parent(pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
    setpgid(0, 0);
}

int rank_start(const struct run *run, int rank, int out, int err, pid_t *pid_p)
{
    const pid_t parent = getpid();
    const pid_t pid = fork();
    if (pid < 0) {
        clab_error("can not start rank %d: %m", rank);
        return CLAB_ESYS;
    }
    if (pid == 0) {
        tie_to_parent(parent);
        set_environment(run, rank);
        set_streams(rank, out, err);
        const bool pins = run->launch->pin && !clab_backend_find(run->backend)->has_threads;
        if (pins && clab_machine_pin(rank - run->first, run->nlocal) != CLAB_OK)
            clab_debug("rank %d is not pinned: %d ranks, %d cores", rank, run->nlocal, (int)run->control->cores);
        restore_signals(run);
        if (run->launch->program) {
            clab_variables_export();
            execvp(run->launch->program[0], run->launch->program);
            clab_error("can not run '%s': %m", run->launch->program[0]);
            _exit(127);
        }
    } else {
        setpgid(pid, pid); // in both processes: either may be first
    }
    *pid_p = pid;
    return CLAB_OK;
}
