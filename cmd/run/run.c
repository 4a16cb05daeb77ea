// SPDX-License-Identifier: MIT
// commlab run: start copies of a program as the ranks of a job, and end with the status of the first that fails.

#include "cmd/command.h"

#include <argp.h>
#include <stdlib.h>

#include "core/base/log.h"
#include "core/base/units.h"
#include "core/job/job.h"

enum { STATUS_NOT_FOUND = 127 };
enum {
    KEY_BACKEND = 256,
    KEY_NO_PIN,
    KEY_TIMEOUT,
    KEY_NODES,
    KEY_NODE,
    KEY_MASTER,
    KEY_PROVIDER,
    KEY_INTERFACE,
    KEY_EMULATE,
    KEY_NET,
    KEY_STRAGGLE,
    KEY_KEEP_GOING
};

static const struct argp_option options[] = {
    {"ranks", 'n', "N", 0, "ranks to start, on all nodes together (2)", 1},
    {"backend", KEY_BACKEND, "NAME", 0, "what moves their bytes (CLAB_BACKEND, or shm; ofi among several nodes)", 1},
    {"prefix", 'l', NULL, 0, "put \"[rank] \" before each line of output", 1},
    {"no-pin", KEY_NO_PIN, NULL, 0, "leave ranks to the scheduler; else each has a core, or as many have each core", 1},
    {"timeout", KEY_TIMEOUT, "TIME", 0, "how long a rank waits for another before it gives up (30s)", 1},
    {"keep-going", KEY_KEEP_GOING, NULL, 0, "let survivors of a failed rank go on; else they are ended", 1},
    {"emulate", KEY_EMULATE, "NAME|FILE", 0, "delay messages as this network would; `commlab nets` lists them", 1},
    {"net", KEY_NET, "NAME|FILE", 0, "with --backend sim: the network whose time it is (dgx-h100)", 1},
    {"straggle", KEY_STRAGGLE, "RANK=FACTOR", 0, "with --backend sim: this rank computes so many times as long", 1},
    {"provider", KEY_PROVIDER, "NAME", 0, "by which ofi reaches the network, such as tcp or verbs", 1},
    {"interface", KEY_INTERFACE, "NAME|ADDR", 0, "by which ranks reach each other, such as eth1 or 10.0.0.7", 1},
    {NULL, 0, NULL, 0, "Several nodes, with one `commlab run` on each:", 2},
    {"nodes", KEY_NODES, "N", 0, "how many there are (1)", 2},
    {"node-rank", KEY_NODE, "K", 0, "which of them this is, from 0", 2},
    {"master", KEY_MASTER, "HOST:PORT", 0, "an address of node 0, and a port that is free there", 2},
    {NULL, 0, NULL, 0, "Help:", -1},
    {0},
};

static const char doc[] =
    "Start N copies of PROGRAM as the ranks of a job.\v"
    "`commlab run -n 64 --backend sim --net dgx-h100 -- PROGRAM` runs it in that network's time, with real data, on "
    "one laptop.\n\n"
    "Ranks find RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, GROUP_RANK (the node), MASTER_ADDR and MASTER_PORT in "
    "their environment. Rank 0 reads standard input unless it is a terminal; the others read nothing. The first rank "
    "that fails ends the job; its exit status, or 128 and its signal, is ours. Signals are passed on to every rank; a "
    "second one that ends programs ends the job.\n\n"
    "On several nodes, N ranks are divided among them; where that does not come out even, the first have one more. All "
    "nodes have the same -n, --nodes and --master, and the same token: CLAB_TOKEN (32 hexadecimal digits), or else "
    "~/.config/commlab/token, which is made at first use. A failure on one ends all, with its status.";

static int parse_ranks(const char *text, struct clab_launch *launch)
{
    if (clab_parse_int(text, 1, CLAB_MAX_RANKS, &launch->nranks) == CLAB_OK)
        return 0;
    clab_error("-n '%s': a job has 1 to %d ranks", text, CLAB_MAX_RANKS);
    exit(STATUS_USAGE);
}

static int parse_timeout(const char *text)
{
    double seconds;
    if (clab_timeout_parse(text, &seconds) == CLAB_OK)
        return setenv("CLAB_TIMEOUT", text, 1);
    clab_error("--timeout '%s' is not " CLAB_TIMEOUT_RANGE, text);
    exit(STATUS_USAGE);
}

static error_t parse_number(const char *flag, const char *text, int low, int *number_p)
{
    if (clab_parse_int(text, low, CLAB_MAX_RANKS, number_p) == CLAB_OK)
        return 0;
    clab_error("%s '%s' is not a number from %d to %d", flag, text, low, CLAB_MAX_RANKS);
    exit(STATUS_USAGE);
}

static error_t parse_nodes(int key, char *arg, struct clab_launch *launch)
{
    switch (key) {
    case KEY_NODES: return parse_number("--nodes", arg, 1, &launch->nnodes);
    case KEY_NODE: return parse_number("--node-rank", arg, 0, &launch->node);
    case KEY_MASTER: launch->master = arg; return 0;
    case KEY_PROVIDER: return setenv("CLAB_PROVIDER", arg, 1);
    case KEY_INTERFACE: return setenv("CLAB_INTERFACE", arg, 1);
    case KEY_EMULATE: return setenv("CLAB_EMULATE", arg, 1);
    case KEY_NET: return setenv("CLAB_NET", arg, 1);
    case KEY_STRAGGLE: return setenv("CLAB_STRAGGLE", arg, 1);
    case KEY_KEEP_GOING: launch->keep_going = true; return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

// The first argument that is no option is the program; all later words are its own arguments.
static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct clab_launch *launch = state->input;
    switch (key) {
    case 'n': return parse_ranks(arg, launch);
    case 'l': launch->prefix = true; return 0;
    case KEY_BACKEND: launch->backend = arg; return 0;
    case KEY_NO_PIN: launch->pin = false; return 0;
    case KEY_TIMEOUT: return parse_timeout(arg);
    case ARGP_KEY_ARG:
        launch->program = state->argv + state->next - 1;
        state->next = state->argc;
        return 0;
    default: return parse_nodes(key, arg, launch);
    }
}

static int run(int argc, char **argv)
{
    static const struct argp argp = {options, parse, "[--] PROGRAM [ARGS...]", doc, NULL, NULL, NULL};
    struct clab_launch launch = {.nranks = 2, .nnodes = 1, .node = -1, .pin = true, .grace = CLAB_GRACE_DEFAULT};
    int rank, status;
    argp_err_exit_status = STATUS_USAGE;
    argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &launch);
    if (!launch.program) {
        clab_error("run: no program given: ./commlab run -n 4 -- PROGRAM [ARGS...]");
        return STATUS_USAGE;
    }
    switch (clab_launch_ranks(&launch, &rank, &status)) {
    case CLAB_OK: return status;
    case CLAB_EINVAL: return STATUS_USAGE;
    case CLAB_ENOENT: return STATUS_NOT_FOUND;
    default: return EXIT_FAILURE;
    }
}

const struct clab_command cmd_run = {"run", "start copies of a program as the ranks of a job", run};
