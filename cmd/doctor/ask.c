// SPDX-License-Identifier: MIT
// Questions that may hang or crash, asked in a child (doctor.h).
//
// - The child sends each finding when the next one begins, so that the findings before a hang are kept. A finding is
//   its level, whether it is a fact for the first screen, then topic, text and remedy, each ended by a zero byte.
// - It leads a process group, which ends with it: libraries start processes of their own. A broken driver may hold a
//   child in the kernel, where nothing can end it; nobody waits for it.

#include "cmd/doctor/doctor.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/variables.h"
#include "core/job/job.h"

enum { MOST_BYTES = 1 << 20 };
static const char end_mark = 'E';
static const double tidying = 2; // s

// ---- the child -----------------------------------------------------------------------------------------------

void doctor_tell(struct doctor *doctor)
{
    for (; doctor->pipe >= 0 && doctor->told < doctor->count; doctor->told++) {
        const struct doctor_finding *finding = &doctor->findings[doctor->told];
        dprintf(doctor->pipe, "%d%d%s%c%s%c%s%c", finding->level, finding->is_fact, finding->topic, 0, finding->text, 0, finding->remedy,
                0);
    }
}

static void be_silent(void)
{
    const int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int stream = 0; stream <= 2 && nowhere >= 0; stream++)
        dup2(nowhere, stream);
}

static _Noreturn void run_child(struct doctor *doctor, pid_t parent, void (*ask)(struct doctor *, const void *),
                                const void *of)
{
    struct clab_log_held held; // an error there becomes a finding here
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(EXIT_FAILURE);
    be_silent();
    clab_log_hold(&held);
    ask(doctor, of);
    doctor_tell(doctor);
    if (write(doctor->pipe, &end_mark, 1) != 1)
        _exit(EXIT_FAILURE);
    exit(EXIT_SUCCESS); // runs exit handlers of libraries, which may hang: the parent has its answer
}

// ---- the parent ----------------------------------------------------------------------------------------------

// All bytes from the child until it closes its pipe, or the deadline. Ended by a zero byte; *bytes_p without it.
static char *hear(int pipe, double deadline, size_t *bytes_p)
{
    char *text = malloc(MOST_BYTES + 1);
    size_t bytes = 0;
    while (text && bytes < MOST_BYTES) {
        const double left = deadline - clab_now();
        struct pollfd ready = {pipe, POLLIN, 0};
        const int n = left > 0 ? poll(&ready, 1, (int)(left * 1e3) + 1) : 0;
        if (n < 0 && errno == EINTR)
            continue;
        const ssize_t got = n > 0 ? read(pipe, text + bytes, MOST_BYTES - bytes) : 0;
        if (got <= 0)
            break;
        bytes += (size_t)got;
        if (text[bytes - 1] == end_mark && (bytes == 1 || text[bytes - 2] == '\0'))
            break; // processes that a library has left behind may keep the pipe open
    }
    if (text)
        text[bytes] = '\0';
    *bytes_p = bytes;
    return text;
}

// Add the findings that came whole. Returns whether the end mark was last.
static bool take(struct doctor *doctor, const char *text, size_t bytes)
{
    const char *at = text, *end = text + bytes;
    while (at < end && *at != end_mark) {
        if (end - at < 2)
            return false;
        const char *topic = at + 2, *line = topic + strlen(topic) + 1;
        const char *remedy = line < end ? line + strlen(line) + 1 : end;
        if (remedy >= end || remedy + strlen(remedy) >= end)
            return false;
        doctor_add(doctor, (enum doctor_level)(*at - '0'), topic, "%s", line);
        doctor_advise(doctor, "%s", remedy);
        if (at[1] == '1')
            doctor_mark_fact(doctor);
        at = remedy + strlen(remedy) + 1;
    }
    return at < end;
}

// CLAB_TIMEOUT, if that is less. A wrong value is a finding of its own.
static double shortened(double seconds)
{
    const char *told = clab_variable_text(CLAB_VARIABLE_TIMEOUT);
    double most;
    return told && clab_timeout_parse(told, &most) == CLAB_OK && most < seconds ? most : seconds;
}

// Wait for up to `seconds` until the child has ended, and return whether it has. *status_p: as of waitpid.
static bool has_ended(pid_t pid, double seconds, int *status_p)
{
    const struct timespec nap = {0, 2000000};
    const double deadline = clab_now() + seconds;
    while (waitpid(pid, status_p, WNOHANG) == 0) {
        if (clab_now() >= deadline)
            return false;
        nanosleep(&nap, NULL);
    }
    return true;
}

// End the child's group. Processes that libraries have started first get time to remove their files (Open MPI's daemon,
// in TMPDIR). *status_p: as of waitpid, 0 if the kernel holds the child.
static void end(pid_t pid, bool done, int *status_p)
{
    const struct timespec nap = {0, 2000000};
    const double deadline = clab_now() + tidying;
    *status_p = 0;
    bool ended = has_ended(pid, done ? tidying : 0, status_p);
    while (done && ended && kill(-pid, 0) == 0 && clab_now() < deadline)
        nanosleep(&nap, NULL);
    kill(-pid, SIGKILL);
    if (!ended)
        has_ended(pid, 1, status_p);
}

bool doctor_ask(struct doctor *doctor, const char *topic, double seconds, void (*ask)(struct doctor *, const void *of),
                const void *of)
{
    int ends[2], status;
    size_t bytes = 0;
    fflush(NULL);
    if (pipe2(ends, O_CLOEXEC) != 0) {
        doctor_add(doctor, DOCTOR_BROKEN, topic, "the check could not start: %s", strerror(errno));
        return false;
    }
    const pid_t parent = getpid(), pid = fork();
    if (pid == 0) {
        struct doctor child = {.root = doctor->root, .section = doctor->section, .pipe = ends[1]};
        close(ends[0]);
        run_child(&child, parent, ask, of);
    }
    close(ends[1]);
    seconds = shortened(seconds);
    const double deadline = clab_now() + seconds;
    char *text = pid > 0 ? hear(ends[0], deadline, &bytes) : NULL;
    close(ends[0]);
    const bool late = clab_now() >= deadline;
    const bool done = text && take(doctor, text, bytes);
    free(text);
    if (pid > 0)
        end(pid, done, &status);
    if (!done && late)
        doctor_add(doctor, DOCTOR_BROKEN, topic, "no answer within %g s", seconds);
    else if (!done && pid > 0 && WIFSIGNALED(status))
        doctor_add(doctor, DOCTOR_BROKEN, topic, "the check ended with signal %d (%s)", WTERMSIG(status),
                   strsignal(WTERMSIG(status)));
    else if (!done)
        doctor_add(doctor, DOCTOR_BROKEN, topic, "the check ended early");
    return done;
}
