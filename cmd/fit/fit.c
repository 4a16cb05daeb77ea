// SPDX-License-Identifier: MIT
// commlab fit: the command line, and the job of two ranks that measures (session.h).
//
// - By itself it launches both ranks here. In a job of two ranks it joins: on two nodes it measures the link between
//   them, and rank 0 writes the profile.

#include "cmd/fit/session.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/mix.h"
#include "core/base/options.h"
#include "core/base/files/output.h"
#include "core/base/units.h"
#include "core/base/variables.h"
#include "cmd/command.h"
#include "cmd/kit/kit.h"
#include "cmd/probe/flops.h"
#include "cmd/probe/timer.h"
#include "cmd/probe/yield.h"
#include "core/comm/job.h"
#include "core/job/job.h"
#include "sim/net/net.h"

#define FENCE_KEY UINT64_C(0x6669747461206172) // the key of this fence

enum { RANKS = 2, SECONDS_AT_MOST = 60 };

static const char doc[] =
    "Measure this machine, and write its profile: the network `machine` of `commlab sim` and `commlab bench`. For "
    "another backend than shm, the network is called `machine-NAME`.\v"
    "Two ranks time messages to each other: one way, to and fro, and both ways at once. They also time copies and "
    "reductions of their own memory. They run no collectives, since the profile is to predict those. Run nothing else "
    "meanwhile.\n\n"
    "Between two hosts: `commlab run -n 2 --nodes 2 --node-rank K --master HOST:PORT --backend ofi -- commlab fit`, "
    "with K = 0 on one host, which keeps the profile, and K = 1 on the other.";

struct request {
    const char *backend; // as given; NULL: not
    const char *output;  // likewise
    char *path;          // of the profile
    const char *samples;
    double seconds;
};

// ---- the command line ----------------------------------------------------------------------------------------

static int take_ranks(const char *flag, const char *text, void *into)
{
    int ranks;
    (void)into;
    return clab_parse_int(text, RANKS, RANKS, &ranks) ? clab_refuse(flag, text, "2: a message needs two ranks")
                                                      : CLAB_OK;
}

static const struct clab_option options[] = {
    {"ranks", 'n', "N", "ranks: 2", CLAB_CALL(take_ranks)},
    {"backend", 0, "NAME", "what moves their bytes (shm)", CLAB_TEXT_AT(struct request, backend),
     .variable = CLAB_VARIABLE_BACKEND},
    {"output", 'o', "FILE",
     "write the profile here (CLAB_PROFILE, or machine.net beside the program; for another backend than shm "
     "machine-NAME.net)",
     CLAB_TEXT_AT(struct request, output)},
    {"samples", 0, "FILE", "also write all samples here, as CSV", CLAB_TEXT_AT(struct request, samples)},
    {"seconds", 0, "TIME", "measure for at most TIME, up to 60s (14s)",
     CLAB_SECONDS(struct request, seconds, 1, SECONDS_AT_MOST)},
    {0},
};

// The largest buffer is much larger than the last cache, but takes only a small part of the memory. A virtual machine
// may see a cache of hundreds of megabytes that it shares with others: longer messages than this are rare.
static size_t largest_buffer(const struct clab_machine *machine)
{
    const size_t at_most = 128 << 20;
    size_t bytes = 64 << 20;
    while (bytes < at_most && bytes < 2 * machine->l3_bytes)
        bytes *= 2;
    while (bytes > 1 << 20 && machine->memory_bytes && bytes > machine->memory_bytes / 32)
        bytes /= 2;
    return bytes;
}

// *joins_p: whether this process is a rank of a running job.
static int check_job(bool *joins_p)
{
    struct clab_launch_plan plan;
    CLAB_TRY(clab_job_plan(0, &plan));
    *joins_p = plan.joins;
    if (!plan.joins || plan.nranks == RANKS)
        return CLAB_OK;
    clab_error("fit: a message needs two ranks, but this rank's job has %d: run it with -n 2", plan.nranks);
    return CLAB_EINVAL;
}

static int find_backend(struct request *r, const struct clab_backend **backend_p)
{
    const char *job = clab_variable_text(CLAB_VARIABLE_BACKEND);
    if (!r->backend)
        r->backend = job ? job : clab_backend_usual(1);
    *backend_p = clab_backend_find(r->backend);
    if (*backend_p && (*backend_p)->time->is_exact) {
        clab_error("fit: %s has the time of a network that is described already: there is nothing to measure",
                   r->backend);
        return CLAB_EINVAL;
    }
    return *backend_p ? CLAB_OK : CLAB_EINVAL;
}

static int find_path(struct request *r)
{
    const char *emulated = clab_variable_given(CLAB_VARIABLE_EMULATE);
    if (!r->output && emulated) {
        clab_error(
            "fit: this machine emulates %s (CLAB_EMULATE): name the file of that profile by -o, or unset the variable",
            emulated);
        return CLAB_EINVAL;
    }
    if (!r->output) {
        CLAB_TRY(clab_net_profile_path(r->backend, &r->path));
        char *slash = strrchr(r->path, '/');
        if (!slash)
            return CLAB_OK;
        *slash = '\0';
        const int err = kit_make_folder(r->path); // that of the user's settings may be missing
        *slash = '/';
        return err;
    }
    r->path = strdup(r->output);
    return r->path ? CLAB_OK : CLAB_ENOMEM;
}

static int check_outputs(const struct fit_session *session)
{
    CLAB_TRY(clab_output_announce(session->path));
    return session->samples ? clab_output_announce(session->samples) : CLAB_OK;
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
    session->switch_cost = session->arming = 0;
    clab_machine_read(&session->machine);
    if (session->backend->protocols.memory && session->machine.cores < RANKS) {
        clab_error("fit: two ranks need two cores, and this process may use %d", session->machine.cores);
        return CLAB_EUNSUPPORTED;
    }
    if (!joins) // else rank 0 writes
        CLAB_TRY(check_outputs(session));
    session->reach = (struct fit_reach){.largest = largest_buffer(&session->machine)};
    return CLAB_OK;
}

// ---- the ranks -----------------------------------------------------------------------------------------------

// The longest message of a wire. A round sends about 30 times its bytes, and several rounds must fit into the time.
static int find_longest(struct fit_session *session, struct fit_ranks *ranks)
{
    enum { LOOK = 32 << 10, LOOKS = 3, AT_LEAST = 16 << 10, AT_MOST = 16 << 20, WORTH = 80, ROUNDS = 9 };
    double begin = 0;
    for (int i = 0; i <= LOOKS; i++) { // the first turn opens the connection
        fit_turn_round_trip(ranks, LOOK);
        if (i == 0)
            begin = clab_now();
    }
    double each = (clab_now() - begin) / LOOKS / 2 / LOOK;
    CLAB_TRY(ranks->err);
    CLAB_TRY(clab_broadcast(ranks->comm, &each, &each, 1, CLAB_F64, 0));
    ranks->each = each;
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
    session->flops = probe_flops(); // both at a time, as ranks compute
    if (!session->backend->protocols.memory) {
        session->switch_cost = session->backend->protocols.crowded_polls * fit_time_poll(ranks) + probe_yield();
        session->arming = probe_arming();
    }
    int err = ranks->rank == 0 && !ranks->err ? fit_report(session, &record) : ranks->err;
    fit_record_free(&record);
    return err;
}

// The machine with less memory decides how large the buffers are.
static int agree(struct fit_session *session, struct clab_comm *comm)
{
    long long largest = (long long)session->reach.largest;
    CLAB_TRY(clab_allreduce(comm, &largest, &largest, 1, CLAB_I64, CLAB_MIN));
    session->reach.largest = (size_t)largest;
    return CLAB_OK;
}

// Who ends first ends the job: nobody does before rank 0 has said why.
static int say_that_there_is_no_model(struct clab_job *job)
{
    char mine = 0, all[CLAB_MAX_RANKS];
    const struct clab_fence fence = {.key = clab_mix(FENCE_KEY, 0), .quiet = true};
    if (job->rank == 0)
        clab_error("fit: %s moves a GPU's memory, for which there is no model to fit: predict with a described network "
                   "(`commlab nets`), or measure with `commlab bench`",
                   clab_job_backend(job));
    job->bootstrap->exchange(job->bootstrap, fence, &mine, sizeof mine, all);
    return CLAB_EUNSUPPORTED;
}

static int run_rank(struct fit_session *session, struct clab_job *job)
{
    struct clab_comm *comm;
    struct fit_ranks ranks;
    if (!job->backend->reaches(job->domain, job))
        return say_that_there_is_no_model(job);
    session->backend = job->backend; // another may wrap the one that was asked for
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

// In a launcher this does not return; it does in the two ranks.
static int run_job(const struct request *r, struct fit_session *session)
{
    const struct clab_job_options options = {.nranks = RANKS, .backend = r->backend};
    struct clab_job *job;
    CLAB_TRY(clab_job_open_with(&options, &job));
    int err = run_rank(session, job);
    const int closed = clab_job_close(job);
    return err ? err : closed;
}

static int run(int argc, char **argv)
{
    static const struct clab_command_line line = {.options = options, .about = doc};
    struct request request = {.seconds = 14};
    struct fit_session session;
    if (clab_options_parse(&line, argc, argv, &request))
        return STATUS_USAGE;
    clab_variable_set(CLAB_VARIABLE_PACKETS, "off"); // the model is of messages that leave alone
    int err = prepare(&request, &session);
    if (!err)
        err = run_job(&request, &session);
    free(request.path);
    return err == CLAB_EPARSE ? EXIT_FAILURE : command_status(err); // EPARSE: our own profile would be refused
}

const struct clab_command cmd_fit = {"fit", "measure this machine, for predictions of its collectives", run};
