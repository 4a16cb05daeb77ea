// SPDX-License-Identifier: MIT
// The store as a process of its own (store.h).
//
// - It is nobody's child: it outlives the process that started it, and no wait for children returns it.
// - It closes the descriptors that it has inherited: a launcher that waits for the end of its ranks' output does not
//   wait for the store.

#include "core/job/store/store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/log.h"

enum { LISTENER = STDERR_FILENO + 1, LIFELINE, FIRST_OTHER };

// Move both up first: one may have the number that the other shall get.
static void keep_only(int listener, int lifeline)
{
    const int high_listener = fcntl(listener, F_DUPFD, FIRST_OTHER),
              high_lifeline = fcntl(lifeline, F_DUPFD, FIRST_OTHER);
    dup2(high_listener, LISTENER);
    dup2(high_lifeline, LIFELINE);
    DIR *open_files = opendir("/proc/self/fd");
    for (const struct dirent *entry; open_files && (entry = readdir(open_files));) {
        const int fd = atoi(entry->d_name); // "." and ".." are 0, which stays
        if (fd >= FIRST_OTHER && fd != dirfd(open_files))
            close(fd);
    }
    if (open_files)
        closedir(open_files);
    const int null = open("/dev/null", O_RDWR);
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        dup2(null, fd);
    if (null > STDERR_FILENO)
        close(null);
}

// Default signal actions and an empty mask, whatever the caller has set.
static void reset_signals(void)
{
    sigset_t none;
    for (int signo = 1; signo < SIGRTMIN; signo++)
        signal(signo, SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

static _Noreturn void become_store(const struct store_job *job, int listener, int lifeline)
{
    setsid();
    if (fork() != 0)
        _exit(0);
    keep_only(listener, lifeline);
    reset_signals();
    prctl(PR_SET_NAME, "commlab-store");
    if (chdir("/") == 0)
        store_serve(job, LISTENER, LIFELINE);
    _exit(0);
}

int store_start(const struct store_job *job, int listener, int *lifeline_p)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
        clab_error("can not start the job's store: %m");
        return CLAB_ESYS;
    }
    const pid_t pid = fork();
    if (pid == 0)
        become_store(job, listener, ends[1]);
    close(ends[1]);
    if (pid < 0) {
        clab_error("can not start the job's store: %m");
        close(ends[0]);
        return CLAB_ESYS;
    }
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
    *lifeline_p = ends[0];
    return CLAB_OK;
}

void store_await_end(int lifeline, double seconds)
{
    shutdown(lifeline, SHUT_WR);
    poll(&(struct pollfd){lifeline, POLLIN, 0}, 1, (int)(seconds * 1e3));
    close(lifeline);
}
