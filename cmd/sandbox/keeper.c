// SPDX-License-Identifier: MIT
// The two processes between the caller and the program.
//
// - The keeper gets all that is orphaned, and ends when the caller does. The first process waits for the program.
// - With namespaces the first process is process 1 of its own: when it ends, the kernel ends all that are in there.

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/sandbox/inside.h"

static void end_with_parent(void)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
}

static void say(const struct sandbox_setup *setup, const struct sandbox_word *word)
{
    if (write(setup->say, word, sizeof *word) != (ssize_t)sizeof *word)
        _exit(EXIT_FAILURE);
}

static void become_program(const struct sandbox_setup *setup)
{
    const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC), output = setup->output < 0 ? nothing : setup->output;
    dup2(nothing, STDIN_FILENO);
    dup2(output, STDOUT_FILENO);
    dup2(output, STDERR_FILENO);
    close_range(STDERR_FILENO + 1, ~0U, 0);
    execv(setup->argv[0], setup->argv);
    _exit(127);
}

// The walls are built here and not in the keeper, which must be able to end what is behind them.
static void start_program(const struct sandbox_setup *setup, struct sandbox_walls walls)
{
    end_with_parent();
    setsid(); // a signal to its whole group reaches none of us
    sandbox_limit(setup->box);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    walls.files = !setup->box->without.files && sandbox_close_files(setup->box, setup->argv[0]);
    walls.calls = !setup->box->without.calls && sandbox_filter_calls();
    say(setup, &(struct sandbox_word){.walls = walls});
    become_program(setup);
}

// As process 1 it gets orphans, too, and does not wait for them: its own end is theirs.
static void be_first(const struct sandbox_setup *setup, struct sandbox_walls walls)
{
    struct sandbox_word end = {.walls = walls, .has_ended = true};
    end_with_parent();
    const pid_t program = fork();
    if (program == 0)
        start_program(setup, walls);
    if (program < 0)
        _exit(EXIT_FAILURE);
    for (pid_t ended = 0; ended != program;) {
        ended = wait(&end.status);
        if (ended < 0 && errno != EINTR)
            _exit(EXIT_FAILURE);
    }
    say(setup, &end);
    _exit(EXIT_SUCCESS);
}

void sandbox_keep(struct sandbox_setup *setup)
{
    struct sandbox_walls walls = {0};
    int status;
    setsid();
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    if (chdir(setup->box->folder) != 0)
        _exit(EXIT_FAILURE);
    walls.user = !setup->box->without.user && sandbox_leave_root(setup->box->folder, setup->argv[0]);
    end_with_parent(); // another user forgets it
    walls.namespaces = !setup->box->without.namespaces && sandbox_unshare();
    sandbox_close_memory();
    const pid_t first = fork();
    if (first == 0)
        be_first(setup, walls);
    close(setup->say);
    while (first > 0 && (wait(&status) >= 0 || errno == EINTR))
        continue;
    _exit(EXIT_SUCCESS);
}
