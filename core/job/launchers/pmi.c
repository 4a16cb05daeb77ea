// SPDX-License-Identifier: MIT
// PMI-1, as a client: lines of text over the socket that a launcher leaves open in PMI_FD; question, answer.
//
//   cmd=init pmi_version=1 pmi_subversion=1             cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0
//   cmd=get_maxes                                       cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024
//   cmd=get_my_kvsname                                  cmd=my_kvsname kvsname=K
//   cmd=put kvsname=K key=k value=v        (rank 0)     cmd=put_result rc=0
//   cmd=barrier_in                                      cmd=barrier_out              when all are in
//   cmd=get kvsname=K key=k                             cmd=get_result rc=0 value=v
//   cmd=finalize                                        cmd=finalize_ack
//
// - Values hold no spaces: the text travels as hexadecimal digits.
// - The greeting is said once, and the goodbye when the process exits, over a descriptor of our own: after a goodbye
//   the launcher hangs up, and MPI_Init would find nobody; without one it takes the exit for a crash. What MPI has
//   closed meanwhile is not said goodbye to again.
// Source: Balaji et al. 2010 (PMI: A Scalable Parallel Process-Management Interface); MPICH's and Slurm's answers.

#include "core/job/launchers/launcher.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/units.h"
#include "core/job/launchers/siblings.h"

enum { LINE_BYTES = 2048, NAME_BYTES = 257, KEY_BYTES = 32 };
#define GOODBYE_SECONDS 2.0

// This process's one connection to its launcher, as PMI_FD is one.
static struct {
    int fd; // a duplicate of PMI_FD, -1: not connected
    pid_t owner;
    double timeout; // of the share under way
    int value_max;  // bytes, with the 0
    char store[NAME_BYTES];
    int shares; // so far
} pmi = {.fd = -1};

// ---- lines ----------------------------------------------------------------------------------------------------

bool launcher_pmi_value(const char *line, const char *key, char *out, size_t room)
{
    const size_t length = strlen(key);
    while (*line) {
        line += strspn(line, " \n");
        const size_t word = strcspn(line, " \n");
        if (word > length && strncmp(line, key, length) == 0 && line[length] == '=') {
            const size_t bytes = word - length - 1;
            if (bytes >= room)
                return false;
            memcpy(out, line + length + 1, bytes);
            out[bytes] = '\0';
            return true;
        }
        line += word;
    }
    return false;
}

// Wait until the launcher has written, or has hung up, or a rank has ended that all wait for.
static int await_bytes(double deadline)
{
    for (;;) {
        struct pollfd fd = {.fd = pmi.fd, .events = POLLIN};
        const double now = clab_now(), left = fmin(deadline, siblings_next()) - now;
        if (now >= deadline)
            return CLAB_ETIMEOUT;
        CLAB_TRY(siblings_check());
        const int ready = poll(&fd, 1, left < 1000 ? (int)(fmax(left, 0) * 1000) + 1 : 1000000);
        if (ready > 0)
            return CLAB_OK;
        if (ready < 0 && errno != EINTR)
            return CLAB_ESYS;
    }
}

// A byte at a time: what follows the line may be for MPI.
static int receive(double deadline, char line_p[LINE_BYTES])
{
    for (size_t n = 0; n < LINE_BYTES - 1;) {
        CLAB_TRY(await_bytes(deadline));
        const ssize_t got = recv(pmi.fd, line_p + n, 1, MSG_DONTWAIT);
        if (got < 0 && (errno == EAGAIN || errno == EINTR))
            continue;
        if (got <= 0 || line_p[n] == '\0')
            return CLAB_ESYS;
        if (line_p[n++] == '\n') {
            line_p[n] = '\0';
            return CLAB_OK;
        }
    }
    return CLAB_ESYS;
}

static int send_line(const char *line)
{
    const size_t bytes = strlen(line); // less than any socket's buffer
    return send(pmi.fd, line, bytes, MSG_NOSIGNAL) == (ssize_t)bytes ? CLAB_OK : CLAB_ESYS;
}

// Whether `line` is the answer called `command`, and says no failure.
static bool is_answer(const char *line, const char *command)
{
    char text[32], status[16];
    return launcher_pmi_value(line, "cmd", text, sizeof text) && strcmp(text, command) == 0 &&
           (!launcher_pmi_value(line, "rc", status, sizeof status) || strcmp(status, "0") == 0);
}

static int complain(int err, const char *answer, const char *line)
{
    if (err == CLAB_EPEER)
        return err; // siblings.c has logged which
    if (err == CLAB_ETIMEOUT)
        clab_error(
            "the launcher has not answered over PMI_FD within %g s (CLAB_TIMEOUT), not %s: have all ranks of the "
            "job started?",
            pmi.timeout, answer);
    else if (err != CLAB_OK)
        clab_error(
            "the launcher's end of PMI_FD is closed or sends an invalid message (%s): start the program by mpiexec or srun "
            "itself, or set MASTER_ADDR and MASTER_PORT",
            answer);
    else
        clab_error("the launcher answers '%.*s' over PMI_FD, not %s", (int)strcspn(line, "\n"), line, answer);
    return err == CLAB_OK ? CLAB_ESYS : err;
}

// One question and its answer, which must be called `answer`.  line: the question on entry, the answer on exit
static int ask(char line[LINE_BYTES], const char *answer, double deadline)
{
    int err = send_line(line);
    if (err == CLAB_OK)
        err = receive(deadline, line);
    return err == CLAB_OK && is_answer(line, answer) ? CLAB_OK : complain(err, answer, line);
}

static int ask_for(const char *question, const char *answer, const char *key, char *value_p, size_t room,
                   double deadline)
{
    char line[LINE_BYTES];
    snprintf(line, sizeof line, "%s\n", question);
    CLAB_TRY(ask(line, answer, deadline));
    return launcher_pmi_value(line, key, value_p, room) ? CLAB_OK : complain(CLAB_OK, key, line);
}

// ---- the connection -------------------------------------------------------------------------------------------

static void hang_up(void)
{
    close(pmi.fd);
    pmi.fd = -1;
}

static void say_goodbye(void)
{
    char line[LINE_BYTES];
    if (pmi.fd < 0 || pmi.owner != getpid())
        return;
    if (send_line("cmd=finalize\n") == CLAB_OK)
        receive(clab_now() + GOODBYE_SECONDS, line); // the launcher complains to the user when nobody listens
    hang_up();
}

static int open_descriptor(void)
{
    int fd;
    const char *text = getenv("PMI_FD");
    if (!text || clab_parse_int(text, 0, INT32_MAX, &fd) != CLAB_OK) {
        clab_error("PMI_FD is '%s', not the number of an open file: leave it as the launcher set it", text ? text : "");
        return CLAB_ESYS;
    }
    pmi.fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (pmi.fd < 0) {
        clab_error("PMI_FD is %d, which is not open: was it closed on the way here?", fd);
        return CLAB_ESYS;
    }
    return CLAB_OK;
}

static int greet(double deadline)
{
    char number[16];
    CLAB_TRY(ask_for("cmd=init pmi_version=1 pmi_subversion=1", "response_to_init", "pmi_version", number,
                     sizeof number, deadline));
    CLAB_TRY(ask_for("cmd=get_maxes", "maxes", "vallen_max", number, sizeof number, deadline));
    if (clab_parse_int(number, 0, INT32_MAX, &pmi.value_max) != CLAB_OK)
        return complain(CLAB_OK, "vallen_max", number);
    return ask_for("cmd=get_my_kvsname", "my_kvsname", "kvsname", pmi.store, sizeof pmi.store, deadline);
}

static int connect_once(double deadline)
{
    if (pmi.fd >= 0)
        return CLAB_OK;
    CLAB_TRY(open_descriptor());
    pmi.owner = getpid();
    atexit(say_goodbye);
    return greet(deadline);
}

// ---- sharing --------------------------------------------------------------------------------------------------

static int put(const char *key, const char *text, double deadline)
{
    char value[2 * CLAB_SHARED_BYTES + 1], line[LINE_BYTES];
    launcher_hex(text, strlen(text), value);
    if (strlen(value) >= (size_t)pmi.value_max) {
        clab_error("the launcher takes values of %d bytes over PMI_FD, not of %zu: set MASTER_ADDR and MASTER_PORT",
                   pmi.value_max, strlen(value) + 1);
        return CLAB_EUNSUPPORTED;
    }
    snprintf(line, sizeof line, "cmd=put kvsname=%s key=%s value=%s\n", pmi.store, key, value);
    return ask(line, "put_result", deadline);
}

static int get(const char *key, double deadline, char text_p[CLAB_SHARED_BYTES])
{
    char value[2 * CLAB_SHARED_BYTES + 1], question[NAME_BYTES + KEY_BYTES + 32];
    snprintf(question, sizeof question, "cmd=get kvsname=%s key=%s", pmi.store, key);
    CLAB_TRY(ask_for(question, "get_result", "value", value, sizeof value, deadline));
    const size_t bytes = strlen(value) / 2;
    char text[CLAB_SHARED_BYTES];
    if (bytes >= sizeof text || launcher_unhex(value, text, bytes) != CLAB_OK)
        return complain(CLAB_OK, "what rank 0 has put", "other text"); // it may hold the token
    memcpy(text_p, text, bytes);
    text_p[bytes] = '\0';
    return CLAB_OK;
}

static int share(int rank, double deadline, char text[CLAB_SHARED_BYTES])
{
    char key[KEY_BYTES], line[LINE_BYTES] = "cmd=barrier_in\n";
    CLAB_TRY(connect_once(deadline));
    snprintf(key, sizeof key, "commlab-store-%d", pmi.shares++); // a key is put once, ever
    if (rank == 0)
        CLAB_TRY(put(key, text, deadline));
    CLAB_TRY(ask(line, "barrier_out", deadline));
    return get(key, deadline, text);
}

int launcher_share_pmi(int rank, double timeout, char text[CLAB_SHARED_BYTES])
{
    pmi.timeout = timeout;
    const int err = share(rank, clab_now() + timeout, text);
    if (err != CLAB_OK && pmi.fd >= 0)
        hang_up(); // no goodbye: the launcher shall end the job
    return err;
}
