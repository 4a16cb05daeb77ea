// SPDX-License-Identifier: MIT
// The caller's side of the sandbox: it starts the keeper, watches what is below it, and ends all of it.

#include "cmd/sandbox/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/kit/child.h"
#include "cmd/sandbox/inside.h"
#include "core/base/clock.h"
#include "core/base/err.h"
#include "core/base/log.h"

enum { LOOK_EVERY = 20, COUNT_EVERY = 8 }; // ms; looks from one count of files to the next, since a count takes longer
enum { MOST_FILES = 2000, FILES_AT_MOST = 4 };  // in its folder: their number, and their size in largest files

const char *const sandbox_end_texts[SANDBOX_ENDS] = {"ended by itself", "took longer than it may", "held more memory than it may",
                                                     "started more processes than it may",
                                                     "left more files than it may"};

struct watch {
    const struct sandbox *box;
    pid_t keeper;
    int listen; // the first process's words
    double began;
    struct sandbox_walls walls;
    struct sandbox_result result;
    bool has_word, has_ended;
    int looks;
};

// Words that are there, after at most LOOK_EVERY ms. False: nobody is left to say any.
static bool listen_briefly(struct watch *w)
{
    struct pollfd there = {.fd = w->listen, .events = POLLIN};
    struct sandbox_word word;
    if (poll(&there, 1, LOOK_EVERY) <= 0)
        return true;
    if (read(w->listen, &word, sizeof word) != (ssize_t)sizeof word)
        return false;
    if (!word.has_ended)
        w->walls = word.walls;
    w->has_word = true;
    w->has_ended |= word.has_ended;
    w->result.status = word.status;
    return true;
}

// Whether it may go on.
static bool look(struct watch *w)
{
    const struct sandbox_tree tree = sandbox_look(w->keeper);
    const int processes = tree.processes - 1; // without the first
    struct sandbox_result *r = &w->result;
    r->seconds = clab_now() - w->began;
    r->most_memory = tree.memory > r->most_memory ? tree.memory : r->most_memory;
    r->most_processes = processes > r->most_processes ? processes : r->most_processes;
    if (w->has_ended)
        return false;
    r->end = processes > w->box->processes ? SANDBOX_PROCESSES
             : tree.memory > w->box->memory ? SANDBOX_MEMORY
             : r->seconds > w->box->seconds ? SANDBOX_LATE
             : w->looks++ % COUNT_EVERY == 0 && sandbox_is_full(w->box->folder, MOST_FILES, FILES_AT_MOST * w->box->file_bytes)
                 ? SANDBOX_FILES
                 : SANDBOX_ENDED;
    return r->end == SANDBOX_ENDED;
}

// Where there is no filter of calls, a guest can end the keeper. What was below it is ours then.
static void end(void)
{
    sandbox_end_all(getpid());
    while (waitpid(-1, NULL, 0) > 0 || errno == EINTR)
        continue;
}

static int run(const struct sandbox *box, char *const argv[], int output, struct watch *w)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return CLAB_ESYS;
    struct sandbox_setup setup = {.box = box, .argv = argv, .output = output, .say = ends[1]};
    *w = (struct watch){.box = box, .listen = ends[0], .began = clab_now()};
    w->keeper = child_fork();
    if (w->keeper == 0)
        sandbox_keep(&setup);
    close(ends[1]);
    if (w->keeper > 0) {
        while (listen_briefly(w) && !child_ended_by() && look(w))
            continue;
        end();
    }
    close(ends[0]);
    return w->keeper > 0 ? CLAB_OK : CLAB_ESYS;
}

static int run_watched(const struct sandbox *box, char *const argv[], int output, struct watch *w)
{
    if (access(argv[0], X_OK) != 0) {
        clab_error("%s can not be started: %s", argv[0], strerror(errno));
        return CLAB_ESYS;
    }
    child_watch();
    sandbox_close_memory();
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    int err = run(box, argv, output, w);
    const int signo = child_unwatch();
    if (signo)
        return CLAB_EPEER;
    if (!err && w->has_word && !w->has_ended && w->result.end == SANDBOX_ENDED) {
        w->result.status = SIGKILL; // somebody ended the first process, and all with it
        w->has_ended = true;
    }
    if (!err && !w->has_ended && w->result.end == SANDBOX_ENDED)
        err = CLAB_ESYS;
    if (err)
        clab_error("%s can not be run apart from others: %s", argv[0], strerror(errno));
    return err;
}

int sandbox_run(const struct sandbox *box, char *const argv[], int output, struct sandbox_result *result_p)
{
    struct watch w;
    CLAB_TRY(run_watched(box, argv, output, &w));
    *result_p = w.result;
    return CLAB_OK;
}

int sandbox_try(struct sandbox_walls *walls_p)
{
    static char name[] = "/bin/true", *argv[] = {name, NULL};
    char folder[PATH_MAX];
    struct watch w;
    CLAB_TRY(child_folder_make(folder));
    const struct sandbox box = {.folder = folder, .seconds = 10, .memory = 1 << 28, .processes = 4, .file_bytes = 1 << 20};
    const int err = run_watched(&box, argv, -1, &w);
    child_folder_remove(folder);
    if (!err)
        *walls_p = w.walls;
    return err;
}
