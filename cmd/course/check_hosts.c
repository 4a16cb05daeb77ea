// SPDX-License-Identifier: MIT
// Runs a student's program under a launcher, on one host or on two, which are both this machine (check_inside.h).
//
// - Each host is a launcher of its own, as `commlab run --nodes 2`. CLAB_HOST makes ranks believe that they share no
//   memory. Ranks do not find the launcher's choice of a backend: under mpirun or torchrun there is none.
// - A shell starts both launchers, and passes on the signal that ends it. The status is that of the one with rank 0.

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "cmd/course/check_inside.h"
#include "cmd/kit/kit.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "core/transport/backend.h"

// $0: commlab. $1: a free port. $2: the ranks. $3: the hosts, 1 or 2. Then the program and its arguments.
static const char script[] =
    "port=$1 ranks=$2 hosts=$3; shift 3\n"
    "host() {\n"
    "    host=$1; shift\n"
    "    set -- -- env -u CLAB_BACKEND CLAB_HOST=$host \"$@\"\n"
    "    [ $hosts = 1 ] || set -- --nodes 2 --node-rank $host --master 127.0.0.1:$port \"$@\"\n"
    "    exec \"$0\" run -n $ranks --no-pin \"$@\"\n"
    "}\n"
    "host 0 \"$@\" & first=$! other=\n"
    "[ $hosts = 1 ] || { host 1 \"$@\" & other=$!; }\n"
    "trap 'kill $first $other' TERM\n"
    "wait $first; status=$?\n"
    "wait $other\n"
    "exit $status\n";

bool check_has_hosts(void)
{
#ifdef HAVE_SODIUM
    for (int i = 0; clab_backend_name(i); i++)
        if (!strcmp(clab_backend_name(i), "ofi"))
            return true;
#endif
    return false;
}

// A port of 127.0.0.1 that nobody has.
static int find_port(int *port_p)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const bool has = fd >= 0 && bind(fd, (struct sockaddr *)&address, length) == 0 &&
                     getsockname(fd, (struct sockaddr *)&address, &length) == 0;
    if (!has)
        clab_error("check: no port of 127.0.0.1: %s", strerror(errno));
    if (fd >= 0)
        close(fd);
    *port_p = ntohs(address.sin_port);
    return has ? CLAB_OK : CLAB_ESYS;
}

// The launchers find a secret of their own in their environment, and stay within this machine.
static int set_environment(void)
{
    unsigned char secret[16];
    char token[2 * sizeof secret + 1];
    if (getrandom(secret, sizeof secret, 0) != sizeof secret)
        return CLAB_ESYS;
    for (size_t i = 0; i < sizeof secret; i++)
        snprintf(token + 2 * i, 3, "%02x", secret[i]);
    setenv("CLAB_TOKEN", token, 1);
    setenv("CLAB_INTERFACE", "127.0.0.1", 1);
    return CLAB_OK;
}

static void forget_environment(void)
{
    unsetenv("CLAB_TOKEN");
    unsetenv("CLAB_INTERFACE");
}

int check_hosts_start(struct check *c, struct check_run *run, char *const words[], enum check_failure *failure_p,
                      char facts[2 * CHECK_LINE])
{
    enum { OWN = 7 };
    char *argv[OWN + CHECK_WORDS], commlab[PATH_MAX + 8], port_text[16], ranks[16], *build;
    int port;
    CLAB_TRY(kit_build(&build));
    snprintf(commlab, sizeof commlab, "%s/commlab", build);
    free(build);
    CLAB_TRY(find_port(&port));
    snprintf(port_text, sizeof port_text, "%d", port);
    snprintf(ranks, sizeof ranks, "%d", run->ranks);
    memcpy(argv, (char *[]){"/bin/sh", "-c", (char *)script, commlab, port_text, ranks, run->hosts > 1 ? "2" : "1"},
           OWN * sizeof *argv);
    memcpy(argv + OWN, words, CHECK_WORDS * sizeof *argv);
    CLAB_TRY(set_environment());
    const int err = check_start(c, run, argv, failure_p, facts);
    forget_environment();
    return err;
}
