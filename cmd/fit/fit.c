// SPDX-License-Identifier: MIT
// commlab fit: the command line, and the job of two ranks that measures (session.h).
//
// - By itself it launches both ranks here. In a job of two ranks it joins: on two nodes it measures the link between
//   them, and rank 0 writes the profile.

#include "cmd/fit/session.h"

#include <argp.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/output.h"
#include "core/base/units.h"
#include "core/base/variables.h"
#include "cmd/command.h"
#include "core/job/job.h"
#include "sim/net/net.h"

enum { RANKS = 2 };
enum { KEY_BACKEND = 256, KEY_SECONDS, KEY_SAMPLES };
static const double seconds_at_most = 60;

static const struct argp_option argp_options[] = {
    {"ranks", 'n', "N", 0, "ranks: 2", 0},
    {"backend", KEY_BACKEND, "NAME", 0, "what moves their bytes (CLAB_BACKEND, or shm)", 0},
    {"output", 'o', "FILE", 0,
     "where the profile is written (CLAB_PROFILE, or machine.net beside the program; of another backend than shm "
     "machine-NAME.net beside it)",
     0},
    {"samples", KEY_SAMPLES, "FILE", 0, "write all that was measured as CSV, too", 0},
    {"seconds", KEY_SECONDS, "TIME", 0, "how long to measure at most, up to 60s (30s)", 0},
    {0},
};

static const char doc[] =
    "Measure this machine, and write its profile: the network `machine` of `commlab sim` and `commlab bench`, or "
    "`machine-NAME` of another backend.\v"
    "Two ranks time messages to each other, one way, to and fro, and both ways at once, and copies and reductions of "
    "their own memory. Collectives are not run: they are what the profile predicts. Let nothing else run meanwhile.\n\n"
    "Between two hosts: `commlab run -n 2 --nodes 2 --node-rank K --master HOST:PORT --backend ofi -- commlab fit`, K "
    "being 0 at the one, which keeps the profile, and 1 at the other.";

struct request {
    const char *backend; // as given; NULL: not
    char *path;
    const char *samples;
    double seconds;
};

// ---- the command line ----------------------------------------------------------------------------------------

static void refuse(const char *option, const char *text, const char *expected)
{
    clab_error("fit: %s '%s': expected %s", option, text, expected);
    exit(STATUS_USAGE);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct request *r = state->input;
    int ranks;
    switch (key) {
    case 'n':
        if (clab_parse_int(arg, RANKS, RANKS, &ranks) != CLAB_OK)
            refuse("-n", arg, "2, which is what a message needs");
        return 0;
    case KEY_BACKEND: r->backend = arg; return 0;
    case 'o':
        free(r->path);
        r->path = strdup(arg);
        return r->path ? 0 : ENOMEM;
    case KEY_SAMPLES: r->samples = arg; return 0;
    case KEY_SECONDS:
        if (clab_parse_seconds_within(arg, 1, seconds_at_most, &r->seconds) != CLAB_OK)
            refuse("--seconds", arg, "a time from 1s to 60s");
        return 0;
    case ARGP_KEY_ARG: refuse("argument", arg, "none");
    }
    return ARGP_ERR_UNKNOWN;
}

// The largest buffer goes well beyond the last cache, but takes no more than a small part of the memory.
static size_t largest_buffer(const struct clab_machine *machine)
{
    size_t bytes = 64 << 20;
    while (bytes < 2 * machine->l3_bytes)
        bytes *= 2;
    while (bytes > 1 << 20 && machine->memory_bytes && bytes > machine->memory_bytes / 32)
        bytes /= 2;
    return bytes;
}

// *joins_p: whether this process is a rank of a job that is there.
static int check_job(bool *joins_p)
{
    struct clab_launch_plan plan;
    CLAB_TRY(clab_job_plan(0, &plan));
    *joins_p = plan.joins;
    if (!plan.joins || plan.nranks == RANKS)
        return CLAB_OK;
    clab_error("fit: a message needs two ranks, and the job that this rank belongs to has %d", plan.nranks);
    return CLAB_EINVAL;
}

static int find_backend(struct request *r, const struct clab_backend **backend_p)
{
    const char *job = clab_variable_text(CLAB_VARIABLE_BACKEND);
    if (!r->backend)
        r->backend = job ? job : "shm";
    *backend_p = clab_backend_find(r->backend);
    if (*backend_p && (*backend_p)->is_virtual) {
        clab_error("fit: %s has the time of a network that is described already: there is nothing to measure",
                   r->backend);
        return CLAB_EINVAL;
    }
    return *backend_p ? CLAB_OK : CLAB_EINVAL;
}

static int find_path(struct request *r)
{
    const char *emulated = clab_variable_text(CLAB_VARIABLE_EMULATE);
    if (!r->path && emulated && *emulated) {
        clab_error("fit: this machine behaves as %s at present (CLAB_EMULATE): say by -o where that profile goes",
                   emulated);
        return CLAB_EINVAL;
    }
    if (!r->path)
        CLAB_TRY(clab_net_profile_path(r->backend, &r->path));
    return CLAB_OK;
}

static int check_outputs(const struct fit_session *session)
{
    CLAB_TRY(clab_output_check(session->path));
    return session->samples ? clab_output_check(session->samples) : CLAB_OK;
}

static int prepare(struct request *r, struct fit_session *session)
{
    bool joins;
    CLAB_TRY(check_job(&joins));
    CLAB_TRY(find_backend(r, &session->backend));
    CLAB_TRY(find_path(r));
    session->path = r->path;
    session->samples = r->samples;
    session->seconds = r->seconds;
    if (!joins) // else rank 0 writes
        CLAB_TRY(check_outputs(session));
    clab_machine_read(&session->machine);
    if (session->backend->protocols.memory && session->machine.cores < RANKS) {
        clab_error("fit: two ranks need two cores, and this process may use %d", session->machine.cores);
        return CLAB_EUNSUPPORTED;
    }
    session->reach = (struct fit_reach){.largest = largest_buffer(&session->machine)};
    return CLAB_OK;
}

// ---- the ranks -----------------------------------------------------------------------------------------------

// The longest message of a wire: a round sends about 30 times its bytes, and there shall be some rounds.
static int find_longest(struct fit_session *session, struct fit_ranks *ranks)
{
    enum { LOOK = 32 << 10, LOOKS = 3, AT_LEAST = 64 << 10, AT_MOST = 16 << 20, WORTH = 80, ROUNDS = 9 };
    double begin = 0;
    for (int i = 0; i <= LOOKS; i++) { // the first turn opens the connection
        fit_turn_round_trip(ranks, LOOK);
        if (i == 0)
            begin = clab_now();
    }
    double each = (clab_now() - begin) / LOOKS / 2 / LOOK;
    CLAB_TRY(ranks->err);
    CLAB_TRY(clab_broadcast(ranks->comm, &each, &each, 1, CLAB_F64, 0));
    size_t longest = AT_MOST < session->reach.largest ? AT_MOST : session->reach.largest;
    while (longest > AT_LEAST && (double)longest * each * WORTH * ROUNDS > session->seconds)
        longest /= 2;
    session->reach.longest = longest;
    return CLAB_OK;
}

static int measure(struct fit_session *session, struct fit_ranks *ranks)
{
    struct fit_record record;
    if (!session->backend->protocols.memory)
        CLAB_TRY(find_longest(session, ranks));
    CLAB_TRY(fit_rounds(session, ranks, &record));
    int err = ranks->rank == 0 ? fit_report(session, &record) : CLAB_OK;
    fit_record_free(&record);
    return err;
}

// Buffers are as large as the smaller machine's may be.
static int agree(struct fit_session *session, struct clab_comm *comm)
{
    long long largest = (long long)session->reach.largest;
    CLAB_TRY(clab_allreduce(comm, &largest, &largest, 1, CLAB_I64, CLAB_MIN));
    session->reach.largest = (size_t)largest;
    return CLAB_OK;
}

static int run_rank(struct fit_session *session, struct clab_job *job)
{
    struct clab_comm *comm;
    struct fit_ranks ranks;
    if (!job->backend->reaches(job->domain, job)) {
        if (job->rank == 0)
            clab_error(
                "fit: %s moves a GPU's memory, for which there is no model to fit: predict by a described network "
                "(`commlab nets`), or measure by `commlab bench`",
                clab_job_backend(job));
        return CLAB_EUNSUPPORTED;
    }
    session->backend = job->backend; // an emulated network wraps another
    session->reach.protocols = &job->backend->protocols;
    session->across = job->bootstrap->local_ranks < RANKS;
    if (job->rank == 0)
        CLAB_TRY(check_outputs(session));
    CLAB_TRY(clab_comm_create(job, &comm));
    int err = agree(session, comm);
    if (!err)
        err = fit_ranks_open(comm, job, session->reach.largest, &ranks);
    if (!err) {
        err = measure(session, &ranks);
        fit_ranks_close(&ranks, job);
    }
    clab_comm_destroy(comm);
    return err;
}

// In a launcher, this does not return: its two copies do.
static int run_job(const struct request *r, struct fit_session *session)
{
    char *words[] = {"commlab fit", "-n", "2", "--backend", (char *)r->backend, NULL};
    int count = 5;
    struct clab_job *job;
    CLAB_TRY(clab_job_open(&count, words, &job));
    int err = run_rank(session, job);
    const int closed = clab_job_close(job);
    return err ? err : closed;
}

static int run(int argc, char **argv)
{
    static const struct argp argp = {.options = argp_options, .parser = parse, .doc = doc};
    struct request request = {.seconds = 30};
    struct fit_session session;
    argp_err_exit_status = STATUS_USAGE;
    argp_parse(&argp, argc, argv, 0, NULL, &request);
    int err = prepare(&request, &session);
    if (!err)
        err = run_job(&request, &session);
    free(request.path);
    return err == CLAB_EPARSE ? EXIT_FAILURE : command_status(err); // of the profile that was to be written
}

const struct clab_command cmd_fit = {"fit", "measure this machine, so that collectives on it can be predicted", run};
