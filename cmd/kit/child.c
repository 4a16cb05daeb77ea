// SPDX-License-Identifier: MIT
// Children, and the signals that are meant for them (child.h).

#include "cmd/kit/child.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/variables.h"

static volatile sig_atomic_t child, ended_by;
static int watches; // how many want to know of signals

// To the child, and to its process group, if it leads one.
static void signal_child(pid_t pid, int signo)
{
    kill(pid, signo);
    kill(-pid, signo);
}

static void pass_on(int signo)
{
    ended_by = signo;
    if (child > 0)
        signal_child((pid_t)child, signo);
}

static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
enum { NSIGNALS = sizeof signals / sizeof *signals };

// What our caller ignores, as nohup(1) does hangups, stays ignored, here and in children.
static void take_signals(void (*handler)(int))
{
    for (int i = 0; i < NSIGNALS; i++) {
        struct sigaction now;
        if (sigaction(signals[i], NULL, &now) == 0 && now.sa_handler != SIG_IGN)
            signal(signals[i], handler);
    }
}

void child_watch(void)
{
    if (watches++)
        return;
    ended_by = 0;
    take_signals(pass_on);
}

int child_unwatch(void)
{
    if (--watches == 0)
        take_signals(SIG_DFL);
    return ended_by;
}

int child_ended_by(void)
{
    return ended_by;
}

int child_folder_make(char path_p[PATH_MAX])
{
    const char *base = getenv("TMPDIR");
    char path[PATH_MAX];
    if (!base || !*base)
        base = "/tmp";
    const int n = snprintf(path, sizeof path, "%s/commlab-XXXXXX", base);
    if (n >= (int)sizeof path) {
        clab_error("can not make a folder in TMPDIR, whose name has %zu bytes: it is too long", strlen(base));
        return CLAB_EIO;
    }
    if (!mkdtemp(path)) {
        clab_error("can not make a folder in %s: %m; TMPDIR names where", base);
        return CLAB_EIO;
    }
    memcpy(path_p, path, (size_t)n + 1);
    return CLAB_OK;
}

void child_folder_remove(const char *path)
{
    DIR *folder = opendir(path);
    for (struct dirent *entry; folder && (entry = readdir(folder));)
        if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
            unlinkat(dirfd(folder), entry->d_name, 0);
    if (folder)
        closedir(folder);
    rmdir(path);
}

int child_wait(pid_t pid, int *status_p)
{
    child = pid;
    if (ended_by)
        kill(pid, ended_by); // it came before we could pass it on
    pid_t waited;
    do
        waited = waitpid(pid, status_p, 0);
    while (waited < 0 && errno == EINTR);
    child = 0;
    return waited == pid ? CLAB_OK : CLAB_ESYS;
}

// Until the child has ended, a signal has come, or so many seconds are over: asleep, since the child may be timing
// something. Kernels without such descriptors (before 5.3) let us look every 2 ms.
static void sleep_beside(int descriptor, double seconds)
{
    struct pollfd ended = {.fd = descriptor, .events = POLLIN};
    const double longest = descriptor < 0 ? 2e-3 : 3600;
    poll(&ended, descriptor >= 0, (int)(1e3 * fmin(seconds, longest)) + 1);
}

// Wait for at most so many seconds. Returns 0 if the child has not ended, -1 if there is none.
static pid_t wait_briefly(pid_t pid, double seconds, int *status_p)
{
    const int descriptor = (int)syscall(SYS_pidfd_open, pid, 0);
    const double end = clab_now() + seconds;
    double left = seconds;
    pid_t waited;
    for (; (waited = waitpid(pid, status_p, WNOHANG)) == 0 && left > 0; left = end - clab_now())
        sleep_beside(descriptor, left);
    if (descriptor >= 0)
        close(descriptor);
    return waited;
}

int child_wait_until(pid_t pid, double seconds, int *status_p, bool *is_late_p)
{
    static const double grace = 3; // s
    child = pid;
    if (ended_by)
        signal_child(pid, ended_by);
    pid_t waited = wait_briefly(pid, seconds, status_p);
    *is_late_p = waited == 0 && !ended_by;
    if (waited == 0) {
        signal_child(pid, SIGTERM);
        waited = wait_briefly(pid, grace, status_p);
    }
    if (waited == 0) {
        signal_child(pid, SIGKILL);
        waited = waitpid(pid, status_p, 0);
    }
    child = 0;
    return waited == pid ? CLAB_OK : CLAB_ESYS;
}

pid_t child_fork(void)
{
    fflush(NULL); // what is buffered here is written once
    const pid_t parent = getpid(), pid = fork();
    if (pid != 0)
        return pid;
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent)
        _exit(EXIT_FAILURE); // it ended before we could ask for its signal
    watches = 0;
    take_signals(SIG_DFL);
    if (ended_by)
        raise(ended_by); // passed on before the child could die of it
    return 0;
}

void child_set_environment(const struct child_variable changes[])
{
    clab_variables_export();
    for (const struct child_variable *v = changes; v && v->name; v++)
        if (v->value)
            setenv(v->name, v->value, !v->is_default);
        else
            unsetenv(v->name);
}

int child_run(char *const words[], const struct child_variable changes[], int *status_p)
{
    const pid_t pid = child_fork();
    if (pid == 0) {
        child_set_environment(changes);
        if (freopen("/dev/null", "w", stdout))
            execv("/proc/self/exe", words);
        _exit(EXIT_FAILURE);
    }
    return pid < 0 ? CLAB_ESYS : child_wait(pid, status_p);
}
