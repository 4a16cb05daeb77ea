// SPDX-License-Identifier: MIT
// The terminal of `commlab netmon` (screen.h).

#include "cmd/netmon/screen.h"

#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "core/base/clock.h"

static volatile sig_atomic_t is_over;
static sigset_t outside; // signals that were blocked before
static struct termios before;
static bool has_page, has_keys;

static void end(int signal)
{
    (void)signal;
    is_over = 1;
}

// They are blocked but while we wait, so that none comes between a look at is_over and the wait.
static void take_signals(void)
{
    static const int all[] = {SIGINT, SIGTERM, SIGHUP};
    const struct sigaction action = {.sa_handler = end};
    struct sigaction old;
    sigset_t ours;
    sigemptyset(&ours);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        sigaction(all[i], NULL, &old);
        if (old.sa_handler == SIG_IGN) // nohup
            continue;
        sigaction(all[i], &action, NULL);
        sigaddset(&ours, all[i]);
    }
    sigprocmask(SIG_BLOCK, &ours, &outside);
}

void screen_begin(bool is_page)
{
    has_page = is_page;
    take_signals();
    has_keys = is_page && isatty(STDIN_FILENO) && tcgetpgrp(STDIN_FILENO) == getpgrp() &&
               tcgetattr(STDIN_FILENO, &before) == 0;
    if (has_keys) {
        struct termios keys = before;
        keys.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
        keys.c_cc[VMIN] = 0, keys.c_cc[VTIME] = 0;
        tcsetattr(STDIN_FILENO, TCSANOW, &keys);
    }
    if (has_page)
        printf("\033[?25l\033[2J"); // without a cursor, empty
}

void screen_end(void)
{
    if (has_page)
        printf("\033[?25h");
    fflush(stdout);
    if (has_keys)
        tcsetattr(STDIN_FILENO, TCSANOW, &before);
    has_page = has_keys = false;
    sigprocmask(SIG_SETMASK, &outside, NULL);
}

void screen_top(void)
{
    printf("\033[H");
}

void screen_line(const char *format, ...)
{
    char line[512];
    va_list values;
    va_start(values, format);
    vsnprintf(line, sizeof line, format, values);
    va_end(values);
    printf("%.*s%s\n", has_page ? screen_columns() : (int)sizeof line, line, has_page ? "\033[K" : "");
}

void screen_bottom(void)
{
    printf("\033[J");
    fflush(stdout);
}

int screen_columns(void)
{
    struct winsize size;
    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

static bool is_ended_by_key(void)
{
    char key = 0;
    return read(STDIN_FILENO, &key, 1) == 1 && (key == 'q' || key == 'Q');
}

bool screen_wait(double until)
{
    struct pollfd input = {.fd = has_keys ? STDIN_FILENO : -1, .events = POLLIN};
    for (double left; !is_over && (left = until - clab_now()) > 0;) {
        const struct timespec wait = {(time_t)left, (long)((left - (double)(time_t)left) * 1e9)};
        if (ppoll(&input, 1, &wait, &outside) > 0 && is_ended_by_key())
            is_over = 1;
        if (input.revents & (POLLHUP | POLLERR | POLLNVAL))
            input.fd = -1;
    }
    return !is_over;
}

void screen_bar(double value, double most, int width, char bar[])
{
    int filled = most > 0 ? (int)(width * value / most + 0.5) : 0;
    filled = filled > width ? width : filled == 0 && value > 0 ? 1 : filled;
    memset(bar, '-', (size_t)width);
    memset(bar, '#', (size_t)filled);
    bar[width] = '\0';
}
