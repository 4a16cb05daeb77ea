// SPDX-License-Identifier: MIT commlab fit: measure what a message, a copy and a reduction cost between two ranks of
// this machine, and write it down as the network `machine`, by which `sim` and `bench` predict collectives.
//
// - Rounds of all probes follow each other, so that what disturbs the machine for a while disturbs one round;
//   parameters are medians over rounds. fit_probe.c has the probes, sim/fit.c the estimation.
// - A virtual machine's cores are moved about (line.h). Samples are sorted by where the cores were; if there were two
//   places, and every probe was made in either, there are two profiles, of which the first names the second.

#include "command.h"

#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/machine.h"
#include "base/output.h"
#include "base/units.h"
#include "fit_probe.h"
#include "shm/protocol.h"
#include "sim.h"

enum { STATUS_USAGE = 2, ROUNDS = 9, ROUNDS_AT_MOST = 64, RANKS = 2, RANKS_PER_NODE = 1024 };
enum { KEY_BACKEND = 256, KEY_SECONDS };
static const double seconds_at_most = 60;

static const struct argp_option argp_options[] = {
    {"ranks", 'n', "N", 0, "ranks: 2", 0},
    {"backend", KEY_BACKEND, "NAME", 0, "what moves their bytes: shm (shm)", 0},
    {"output", 'o', "FILE", 0, "where the profile is written (CLAB_PROFILE, or machine.net beside the program)", 0},
    {"seconds", KEY_SECONDS, "TIME", 0, "how long to measure at most, up to 60s (30s)", 0},
    {0},
};

static const char doc[] =
    "Measure this machine, and write its profile: the network `machine` of `commlab sim` and `commlab bench`.\v"
    "Two ranks time messages to each other, one way, to and fro, and both ways at once, and copies and reductions of "
    "their own memory. Collectives are not run: they are what the profile predicts. Let nothing else run meanwhile.";

struct request {
    const char *backend;
    char *path;
    double seconds;
    struct clab_machine machine;
    struct clab_protocols protocols;
    size_t largest; // bytes of a message
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
    case KEY_BACKEND:
        if (strcmp(arg, "shm"))
            refuse("--backend", arg, "shm, the only one whose protocols are known");
        r->backend = arg;
        return 0;
    case 'o':
        free(r->path);
        r->path = strdup(arg);
        return r->path ? 0 : ENOMEM;
    case KEY_SECONDS:
        if (clab_parse_seconds(arg, &r->seconds) != CLAB_OK || r->seconds < 1 || r->seconds > seconds_at_most)
            refuse("--seconds", arg, "a time from 1s to 60s");
        return 0;
    case ARGP_KEY_ARG: refuse("argument", arg, "none");
    }
    return ARGP_ERR_UNKNOWN;
}

// The largest message goes well beyond the last cache, but takes no more than a small part of the memory.
static size_t largest_message(const struct clab_machine *machine)
{
    size_t bytes = 64 << 20;
    while (bytes < 2 * machine->l3_bytes)
        bytes *= 2;
    while (bytes > 1 << 20 && machine->memory_bytes && bytes > machine->memory_bytes / 32)
        bytes /= 2;
    return bytes;
}

static int prepare(struct request *r)
{
    if (!r->path)
        CLAB_TRY(clab_net_profile_path(&r->path));
    CLAB_TRY(clab_output_check(r->path));
    clab_machine_read(&r->machine);
    if (r->machine.cores < RANKS) {
        clab_error("fit: two ranks need two cores, and this process may use %d", r->machine.cores);
        return CLAB_EUNSUPPORTED;
    }
    r->largest = largest_message(&r->machine);
    r->protocols = (struct clab_protocols){.inline_bytes = SHM_INLINE_BYTES, .pull_bytes = SHM_PULL_SHARED};
    return CLAB_OK;
}

// ---- measuring -----------------------------------------------------------------------------------------------

// All samples that were taken, and the lines that were measured beside them.
struct record {
    struct fit_task *tasks;
    int ntasks, nrounds;         // rounds that are complete
    struct clab_sample *samples; // (ROUNDS_AT_MOST, ntasks)
    double *lines;               // (ROUNDS_AT_MOST, ntasks) s
};

static void show_progress(double share)
{
    if (isatty(STDERR_FILENO))
        fprintf(stderr, "\rfit: %3.0f %%", 100 * share);
}

static void clear_progress(void)
{
    if (isatty(STDERR_FILENO))
        fprintf(stderr, "\r\033[K");
}

static int run_round(const struct request *r, struct fit_ranks *ranks, struct record *record, double begin)
{
    int first = record->nrounds * record->ntasks;
    for (int i = 0; i < record->ntasks; i++) {
        if (ranks->rank == 0 && i % 8 == 0)
            show_progress((clab_now() - begin) / r->seconds);
        CLAB_TRY(fit_task_run(ranks, &record->tasks[i], 0.5 * r->seconds / ROUNDS / record->ntasks,
                              &record->samples[first + i], &record->lines[first + i]));
    }
    record->nrounds++;
    return CLAB_OK;
}

// Rounds until the next would be too late: rank 0 says when.
static int run_rounds(const struct request *r, struct fit_ranks *ranks, struct record *record)
{
    double begin = clab_now();
    for (int go = 1; go;) {
        CLAB_TRY(run_round(r, ranks, record, begin));
        double spent = clab_now() - begin;
        go = record->nrounds < ROUNDS_AT_MOST && spent + spent / record->nrounds < r->seconds;
        CLAB_TRY(clab_broadcast(ranks->comm, &go, &go, 1, CLAB_I32, 0));
    }
    return CLAB_OK;
}

// ---- estimating ----------------------------------------------------------------------------------------------

// What was measured while the cores were at one of their placements.
struct placement {
    double line;
    int nrounds;                 // most samples of a task
    bool complete;               // every task has one
    struct clab_sample *samples; // (nrounds, ntasks): tasks that have fewer repeat theirs
    struct clab_fit fit;
    double noise;
};

static double factor_of(double line, double placement)
{
    return line > placement ? line / placement : placement / line;
}

// Whether sample `i` belongs to the placement; of a task that has none, the one that is nearest.
static bool is_taken(const struct record *record, const struct clab_placements *all, int which, int task, int i)
{
    int nearest = task;
    for (int k = task; k < record->nrounds * record->ntasks; k += record->ntasks) {
        if (clab_fit_placement_of(all, record->lines[k]) == which)
            return clab_fit_placement_of(all, record->lines[i]) == which;
        if (factor_of(record->lines[k], all->line[which]) < factor_of(record->lines[nearest], all->line[which]))
            nearest = k;
    }
    return i == nearest;
}

static int take_samples(const struct record *record, const struct clab_placements *all, int which, struct placement *p)
{
    int n = record->ntasks, rounds = record->nrounds;
    p->line = all->line[which];
    p->complete = true;
    if (!(p->samples = malloc((size_t)(n * rounds) * sizeof *p->samples)))
        return CLAB_ENOMEM;
    for (int task = 0; task < n; task++) {
        int found = 0;
        for (int i = task; i < n * rounds; i += n)
            if (is_taken(record, all, which, task, i)) {
                p->samples[found++ * n + task] = record->samples[i];
                p->complete &= clab_fit_placement_of(all, record->lines[i]) == which;
            }
        p->nrounds = found > p->nrounds ? found : p->nrounds;
        for (int i = found; i < rounds; i++)
            p->samples[i * n + task] = p->samples[i % found * n + task];
    }
    return CLAB_OK;
}

static int estimate(const struct request *r, int ntasks, struct placement *p)
{
    struct clab_net *nets = calloc((size_t)p->nrounds, sizeof *nets);
    double *seconds = calloc((size_t)(p->nrounds * ntasks), sizeof *seconds);
    int err = nets && seconds ? CLAB_OK : CLAB_ENOMEM;
    for (int i = 0; i < p->nrounds && !err; i++)
        err = clab_fit_round(p->samples + i * ntasks, ntasks, &r->protocols, &nets[i]);
    for (int i = 0; i < p->nrounds * ntasks && !err; i++)
        seconds[i] = p->samples[i].seconds;
    if (!err)
        err = clab_fit_combine(nets, p->nrounds, &p->fit);
    if (!err && p->nrounds > 1)
        err = clab_fit_noise(seconds, p->nrounds, ntasks, &p->noise);
    free(seconds);
    free(nets);
    return err;
}

// ---- the profile ---------------------------------------------------------------------------------------------

static void describe(const struct request *r, struct placement *p, struct clab_net *net)
{
    time_t now = time(NULL);
    struct tm date;
    gmtime_r(&now, &date);
    strftime(net->date, sizeof net->date, "%Y-%m-%dT%H:%M:%SZ", &date);
    snprintf(net->machine, sizeof net->machine, "%.80s, %d cores, %.32s", r->machine.cpu, r->machine.cores,
             r->machine.kernel);
    snprintf(net->title, sizeof net->title, "this machine, shared memory, by %d rounds of probes", p->nrounds);
    net->ranks_per_node = RANKS_PER_NODE;
    net->cores_per_node = r->machine.cores;
    net->core_cache = r->machine.l2_bytes;
    net->shared_cache = r->machine.l3_bytes;
    net->noise = p->noise;
    net->line = p->fit.low.line = p->fit.high.line = p->line;
}

enum { FEW_ROUNDS = 3 };

static int write_placement(const struct request *r, struct placement *p, const char *other, const char *path)
{
    struct clab_manifest manifest = {0};
    char alpha[CLAB_TEXT], beta[CLAB_TEXT], line[CLAB_TEXT];
    struct clab_net *net = &p->fit.median;
    describe(r, p, net);
    if (other)
        snprintf(net->other_name, sizeof net->other_name, "%s", other);
    CLAB_TRY(clab_machine_warn(&r->machine, RANKS, &manifest));
    const char *warning = clab_manifest_get(&manifest, "warning");
    const char *const remarks[] = {
        "SPDX-License-Identifier: MIT",
        "Written by `commlab fit`: medians over rounds of probes; behind each the interval of its median.",
        warning ? "Measured while there was reason to doubt it:" : NULL, warning, NULL};
    int err = clab_fit_write(&p->fit, remarks, path);
    if (!err && warning)
        clab_warn("fit: %s", warning);
    if (!err && p->nrounds < FEW_ROUNDS)
        clab_warn("fit: %s has %d rounds of probes, too few to know their noise: try again, or with --seconds 60", path,
                  p->nrounds);
    if (!err)
        printf("%s: line %s, alpha %s, beta %s, %d rounds, noise floor %.1f %%\n", path,
               clab_seconds_text(net->line, line), clab_seconds_text(net->intra.alpha, alpha),
               clab_rate_text(1 / net->intra.beta, beta), p->nrounds, 100 * p->noise);
    clab_manifest_free(&manifest);
    return err;
}

// "build/machine.net" -> "build/machine-other.net"
static int other_path(const char *path, char **other_p)
{
    size_t length = strlen(path), stem = length > 4 && strcmp(path + length - 4, ".net") == 0 ? length - 4 : length;
    return asprintf(other_p, "%.*s-other.net", (int)stem, path) < 0 ? CLAB_ENOMEM : CLAB_OK;
}

// The other placement first: who finds the profile finds it whole.
static int write_profile(const struct request *r, struct placement placements[2], int n)
{
    char *path;
    CLAB_TRY(other_path(r->path, &path));
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    bool two = n == 2 && placements[1].complete && strlen(name) < CLAB_NET_NAME;
    int err = two ? write_placement(r, &placements[1], NULL, path) : CLAB_OK;
    if (!err)
        err = write_placement(r, &placements[0], two ? name : NULL, r->path);
    free(path);
    return err;
}

static int report(const struct request *r, const struct record *record)
{
    struct clab_placements all;
    struct placement placements[2] = {0};
    int err = clab_fit_placements(record->lines, record->nrounds * record->ntasks, &all);
    for (int i = 0; i < all.n && !err; i++) {
        err = take_samples(record, &all, i, &placements[i]);
        if (!err)
            err = estimate(r, record->ntasks, &placements[i]);
    }
    if (!err)
        err = write_profile(r, placements, all.n);
    free(placements[0].samples);
    free(placements[1].samples);
    return err;
}

// ---- the ranks -----------------------------------------------------------------------------------------------

static int run_in_rank(const struct request *r, struct fit_ranks *ranks)
{
    struct record record = {0};
    CLAB_TRY(fit_tasks_make(&r->protocols, r->largest, &record.tasks, &record.ntasks));
    size_t room = (size_t)record.ntasks * ROUNDS_AT_MOST;
    record.samples = calloc(room, sizeof *record.samples);
    record.lines = calloc(room, sizeof *record.lines);
    int err = record.samples && record.lines ? run_rounds(r, ranks, &record) : CLAB_ENOMEM;
    if (ranks->rank == 0)
        clear_progress();
    if (!err && ranks->rank == 0)
        err = report(r, &record);
    free(record.lines);
    free(record.samples);
    free(record.tasks);
    return err;
}

static int run_rank(const struct request *r, struct clab_job *job)
{
    struct clab_comm *comm;
    struct fit_ranks ranks;
    CLAB_TRY(clab_comm_create(job, &comm));
    int err = fit_ranks_open(comm, job, r->largest, &ranks);
    if (!err) {
        err = run_in_rank(r, &ranks);
        fit_ranks_close(&ranks, job);
    }
    clab_comm_destroy(comm);
    return err;
}

// In the launcher, this does not return: its two copies do.
static int run_job(const struct request *r)
{
    char *words[] = {"commlab fit", "-n", "2", "--backend", "shm", NULL};
    int count = 5;
    struct clab_job *job;
    CLAB_TRY(clab_job_open(&count, words, &job));
    int err = run_rank(r, job);
    clab_job_close(job);
    return err;
}

static int run(int argc, char **argv)
{
    static const struct argp argp = {.options = argp_options, .parser = parse, .doc = doc};
    struct request request = {.backend = "shm", .seconds = 30};
    argp_err_exit_status = STATUS_USAGE;
    argp_parse(&argp, argc, argv, 0, NULL, &request);
    int err = prepare(&request);
    if (!err)
        err = run_job(&request);
    free(request.path);
    return err ? EXIT_FAILURE : EXIT_SUCCESS;
}

const struct clab_command cmd_fit = {"fit", "measure this machine, so that collectives on it can be predicted", run};
