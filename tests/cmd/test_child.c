// SPDX-License-Identifier: MIT
// Children of a command (cmd/kit/child.h).
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "cmd/kit/child.h"

static _Noreturn void have_a_child(int say)
{
    if (child_fork() == 0 && write(say, "", 1) == 1)
        for (;;)
            pause();
    for (;;)
        pause();
}

// Whoever holds the pipe's other end has ended when poll(2) says so.
static void test_a_child_ends_with_its_command_even_by_sigkill(void **state)
{
    int ends[2], status;
    char byte;
    assert_int_equal(pipe(ends), 0);
    prctl(PR_SET_CHILD_SUBREAPER, 1); // the child becomes ours, so that none is left behind
    const pid_t command = fork();
    if (command == 0)
        have_a_child(ends[1]);
    close(ends[1]);
    assert_int_equal(read(ends[0], &byte, 1), 1);
    kill(command, SIGKILL);
    assert_int_equal(waitpid(command, &status, 0), command);
    struct pollfd held = {.fd = ends[0], .events = POLLIN};
    assert_int_equal(poll(&held, 1, 5000), 1);
    const pid_t child = wait(&status);
    assert_true(child > 0);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
    close(ends[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_a_child_ends_with_its_command_even_by_sigkill)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
