// SPDX-License-Identifier: MIT
// commlab run: start copies of a program as the ranks of a job, and end with the status of the first that fails.

#include "cmd/command.h"

#include <stdlib.h>

#include "core/base/log.h"
#include "core/clab/options.h"
#include "core/flight/dump.h"
#include "core/job/job.h"

enum { STATUS_NOT_FOUND = 127 };

struct request {
    struct clab_launch launch;
    struct clab_job_options job;
};

static int take_timeout(const char *flag, const char *text, void *into)
{
    double seconds;
    (void)into;
    if (clab_timeout_parse(text, &seconds) != CLAB_OK)
        return clab_refuse(flag, text, CLAB_TIMEOUT_RANGE);
    clab_variable_set(CLAB_VARIABLE_TIMEOUT, text);
    return CLAB_OK;
}

static const struct clab_option options[] = {
    CLAB_TABLE(struct request, job, clab_job_flags),
    {"prefix", 'l', NULL, "put \"[rank] \" before each line of output", CLAB_ON(struct request, launch.prefix)},
    {"no-pin", 0, NULL, "leave ranks to the scheduler; else each has a core, or as many have each core",
     CLAB_OFF(struct request, launch.pin)},
    {"timeout", 0, "TIME", "how long a rank waits for another before it gives up (30s)", CLAB_CALL(take_timeout),
     .variable = CLAB_VARIABLE_TIMEOUT},
    {"keep-going", 0, NULL, "let survivors of a failed rank go on; else they are ended",
     CLAB_ON(struct request, launch.keep_going)},
    CLAB_HEADING("Several nodes, with one `commlab run` on each:"),
    {"nodes", 0, "N", "how many there are (1)", CLAB_INT(struct request, launch.nnodes, 1, CLAB_MAX_RANKS)},
    {"node-rank", 0, "K", "which of them this is, from 0", CLAB_INT(struct request, launch.node, 0, CLAB_MAX_RANKS)},
    {"master", 0, "HOST:PORT", "an address of node 0, and a port that is free there",
     CLAB_TEXT_AT(struct request, launch.master)},
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

static int run(int argc, char **argv)
{
    static const struct clab_command_line line = {.options = options,
                                                  .arguments = "[--] PROGRAM [ARGS...]",
                                                  .about = doc,
                                                  .has_rest = true,
                                                  .rest_at = offsetof(struct request, launch.program)};
    struct request r = {
        .launch = {.nnodes = 1, .node = -1, .pin = true, .grace = CLAB_GRACE_DEFAULT, .flights = &clab_flight_reader}};
    int rank, status;
    if (clab_options_parse(&line, argc, argv, &r))
        return STATUS_USAGE;
    if (!r.launch.program) {
        clab_error("run: no program given: ./commlab run -n 4 -- PROGRAM [ARGS...]");
        return STATUS_USAGE;
    }
    clab_job_options_apply(&r.job);
    r.launch.nranks = r.job.nranks ? r.job.nranks : 2;
    r.launch.backend = r.job.backend;
    switch (clab_launch_ranks(&r.launch, &rank, &status)) {
    case CLAB_OK: return status;
    case CLAB_EINVAL: return STATUS_USAGE;
    case CLAB_ENOENT: return STATUS_NOT_FOUND;
    default: return EXIT_FAILURE;
    }
}

const struct clab_command cmd_run = {"run", "start copies of a program as the ranks of a job", run};
