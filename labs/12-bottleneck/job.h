// SPDX-License-Identifier: MIT
// The training job of lab 12, with its hidden fault: how it is started and mended. The same in both programs. (What a rank
// does and measures: training.h.)
//
// - A program brings what it does with the measurements: it names the fault, and foresees what its remedy gives.
// - Each measurement is a job of its own, as in life: a setting such as the network interface is chosen when a job
//   starts. So a program started by hand launches one job after another.
// - `job SEED [REMEDY]` runs one job only, for `commlab bottleneck`: all it does in a step lies in a span "iteration".
#pragma once

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "training.h"

enum { MOST_SEEDS = 64 };
static const char usual_net[] = "25gbe";

// The part of a step from which on a difference counts: the target for overhead.
static const double enough = 0.05;

typedef enum fault name_fault(const struct evidence *now, const struct evidence *well);
typedef double foresee_step(const struct evidence *now, const struct evidence *well, enum fault named);

// ---- starting one --------------------------------------------------------------------------------------------

// The ranks' own processor time is not the simulator's: on the backend sim a wrong binding is a slower rank, elsewhere
// all ranks really share one core.
static inline void bind_wrongly(bool is_virtual)
{
    cpu_set_t first;
    CPU_ZERO(&first);
    if (is_virtual)
        return;
    for (int core = 0; core < CPU_SETSIZE; core++) {
        CPU_SET(core, &first);
        if (sched_setaffinity(0, sizeof first, &first) == 0)
            return;
        CPU_CLR(core, &first);
    }
}

static inline bool is_in_virtual_time(const struct clab_job_options *options)
{
    const char *backend = options->backend ? options->backend : getenv("CLAB_BACKEND");
    return !backend || !strcmp(backend, "sim");
}

// Open the job with the setting in its network, its processors and its ranks. Texts stay as long as the program.
static inline struct clab_job *start(const struct clab_job_options *given, const struct setting *s)
{
    static char net[256], wire[64], slow[16384];
    struct clab_job_options options = *given;
    struct clab_job *job;
    const bool is_virtual = is_in_virtual_time(given);
    const char *named = is_virtual        ? options.net ? options.net : getenv("CLAB_NET")
                               : options.emulate ? options.emulate
                                          : getenv("CLAB_EMULATE");
    setting_wire(s, wire);
    snprintf(net, sizeof net, "%s%s", named ? named : usual_net, wire);
    if (is_virtual)
        options.net = net;
    else if (named)
        options.emulate = net; // without it shared memory is the network, and no fault of it can be had
    if (s->slowness > 1 && is_virtual) {
        size_t used = 0;
        for (int r = 0; r < options.nranks && used < sizeof slow; r++)
            used += (size_t)snprintf(slow + used, sizeof slow - used, "%s%d=%.2f", r ? "," : "", r, s->slowness);
        options.straggle = slow;
    }
    options.usual_backend = "sim";
    must(clab_job_open_with(&options, &job));
    if (s->slowness > 1)
        bind_wrongly(is_virtual);
    return job;
}

// In a process of its own, which becomes the job's launcher.
static inline void measure_there(const struct clab_job_options *options, const struct setting *s, int samples,
                                 struct evidence *evidence_p)
{
    struct clab_job_options quiet = *options;
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    quiet.trace = NULL;
    unsetenv("CLAB_COUNTS"), unsetenv("CLAB_TRACE"); // those are of the program's own job
    struct clab_job *job = start(&quiet, s);
    const struct evidence e = work(job, s, samples, true);
    if (clab_job_rank(job) == 0)
        *evidence_p = e;
    must(clab_job_close(job));
    exit(0);
}

static inline struct evidence measure(const struct clab_job_options *options, const struct setting *s, int samples)
{
    struct evidence *there = mmap(NULL, sizeof *there, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int status = -1;
    must(there != MAP_FAILED ? CLAB_OK : CLAB_ENOMEM);
    fflush(NULL);
    const pid_t pid = fork();
    if (pid == 0)
        measure_there(options, s, samples, there);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (status != 0) // it has said why
        exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
    const struct evidence e = *there;
    munmap(there, sizeof *there);
    return e;
}

// ---- a program -----------------------------------------------------------------------------------------------

struct result {
    uint64_t seed;
    enum fault named;
    double faulty, foreseen, mended, loss[2];
    double apart;   // two measurements of a job that is well, by this part of a step: the machine's own doing
    bool is_unsure; // nothing is named
};

static inline void report_results(struct clab_comm *comm, const struct result results[], int n)
{
    for (int i = 0; i < n; i++) {
        const struct result *r = &results[i];
        const unsigned long long seed = r->seed;
        double values[] = {r->faulty, r->mended, r->foreseen, r->named, r->loss[1]};
        lab_report(comm, "s", &values[0], 1, "faulty/%llu", seed);
        lab_report(comm, "s", &values[1], 1, "time/%llu", seed);
        lab_report(comm, "s", &values[2], 1, "foreseen/%llu", seed);
        lab_report(comm, "1", &values[3], 1, "named/%llu", seed);
        lab_report(comm, "1", &values[4], 1, "loss/%llu", seed);
        if (clab_comm_rank(comm) == 0 && r->apart > enough)
            printf(
                "# seed %llu: this machine is too busy to tell: the job that is well, measured twice, differs by %.0f %% of a "
                "step\n",
                seed, 100 * r->apart);
        else if (clab_comm_rank(comm) == 0 && r->is_unsure)
            printf("# seed %llu: this machine is too busy to tell: the job, measured twice, gets two names\n", seed);
        else if (clab_comm_rank(comm) == 0)
            printf("# seed %llu: named %s; a step took %.3f ms, with the remedy %.3f ms (foreseen: %.3f)\n", seed,
                   fault_words[r->named], 1e3 * r->faulty, 1e3 * r->mended, 1e3 * r->foreseen);
    }
}

// How far two measurements of the same job are apart, in parts of a step.
static inline double apart(const struct evidence *a, const struct evidence *b)
{
    const double differences[] = {a->least - b->least, a->mean - b->mean,     a->most - b->most,
                                  a->first - b->first, a->copies - b->copies, a->exposed - b->exposed};
    double most = 0;
    for (size_t i = 0; i < sizeof differences / sizeof *differences; i++)
        most = differences[i] > most ? differences[i] : -differences[i] > most ? -differences[i] : most;
    return most / (a->step < b->step ? a->step : b->step);
}

// Measure the job of a seed; name its fault, mend that, and measure again. In real time, both jobs are measured once more:
// if the job that is well differs from itself, or the same job gets another name, the machine is too busy.
static inline struct result mend_one(const struct clab_job_options *options, int samples, uint64_t seed,
                                     struct evidence *well, name_fault *name, foresee_step *foresee)
{
    const struct setting none = setting_of(0, options->nranks, fault_of(0));
    struct setting s = setting_of(seed, options->nranks, FAULTS);
    const struct evidence now = measure(options, &s, samples);
    struct result r = {.seed = seed, .named = name(&now, well), .faulty = now.step, .loss = {now.loss}};
    r.foreseen = foresee(&now, well, r.named);
    if (!is_in_virtual_time(options)) {
        const struct evidence well_again = measure(options, &none, samples), now_again = measure(options, &s, samples);
        r.apart = apart(well, &well_again);
        r.is_unsure = r.apart > enough || name(&now_again, &well_again) != r.named;
        *well = well_again; // the next job's is no older than that
    }
    if (r.is_unsure)
        r.named = NO_FAULT, r.foreseen = r.faulty;
    s = setting_of(seed, options->nranks, r.named);
    const struct evidence then = measure(options, &s, samples);
    r.mended = then.step, r.loss[1] = then.loss;
    return r;
}

// Measure a job without faults, and then mend that of each seed.
static inline int mend_all(const struct clab_job_options *options, int samples, int n, char *const words[],
                           name_fault *name, foresee_step *foresee)
{
    static struct result results[MOST_SEEDS];
    const struct setting none = setting_of(0, options->nranks, fault_of(0));
    struct evidence well = measure(options, &none, samples);
    for (int i = 0; i < n; i++)
        results[i] = mend_one(options, samples, strtoull(words[i], NULL, 10), &well, name, foresee);
    struct clab_job *job = start(options, &none);
    struct clab_comm *comm;
    must(clab_comm_create(job, &comm));
    report_results(comm, results, n);
    clab_comm_destroy(comm);
    must(clab_job_close(job));
    return 0;
}

// One job as its seed has it, or with a remedy.
static inline int run_one(const struct clab_job_options *options, int samples, const char *seed, enum fault remedy)
{
    const struct setting s = setting_of(strtoull(seed, NULL, 10), options->nranks, remedy);
    struct clab_job *job = start(options, &s);
    const struct evidence e = work(job, &s, samples, false);
    if (clab_job_rank(job) == 0)
        printf("a step takes %.3f ms\n", 1e3 * e.step);
    must(clab_job_close(job));
    return 0;
}

static const char about[] =
    "A training job with one of eight hidden faults, or none: the seed chooses it.\n"
    "Measures the job, names its fault, applies that fault's remedy, and measures again.\n\n"
    "  SAMPLES            samples per rank and step (128)\n"
    "  SEED...            the jobs (1 2 3 4 5 6 7 8 9)\n\n"
    "SAMPLES job SEED runs one job only, as it is. A REMEDY behind it is applied: interface, straggler, buffers, "
    "binding, retransmits, copy, first-rank or buckets. There are four ranks unless -n says another number.\n";
static const char usage[] = "give SAMPLES SEED... or SAMPLES job SEED [REMEDY], as in 128 1 2 3, or 128 job 1 copy";

static inline void refuse(const char *word)
{
    fprintf(stderr, "commlab: error: '%s': %s\n", word ? word : "", usage);
    exit(2);
}

static inline enum fault remedy_of(const char *word)
{
    for (int f = 0; f < FAULTS; f++)
        if (!strcmp(word, fault_words[f]))
            return (enum fault)f;
    refuse(word);
    return FAULTS;
}

static inline void check_seed(const char *word)
{
    if (!word || !*word || strspn(word, "0123456789") != strlen(word) || strlen(word) > 18)
        refuse(word);
}

// All of a program's main. It starts jobs itself, so it can not be a rank of one that a launcher has started.
static inline int job_main(int argc, char **argv, name_fault *name, foresee_step *foresee)
{
    struct clab_job_options options = {0};
    clab_help(argc, argv, "[SAMPLES SEED... | SAMPLES job SEED [REMEDY]]", about);
    if (clab_job_options_take(&argc, argv, &options))
        return 2;
    lab_arguments(&argc, &argv, "128 1 2 3 4 5 6 7 8 9");
    options.nranks = options.nranks ? options.nranks : 4;
    const bool is_one = argc > 2 && !strcmp(argv[2], "job");
    if (getenv("WORLD_SIZE") || getenv("OMPI_COMM_WORLD_SIZE") || getenv("PMI_SIZE")) {
        fprintf(stderr, "commlab: error: lab 12 starts one job after another: start it by hand, with -n RANKS\n");
        return 2;
    }
    const int samples = argc > 1 ? atoi(argv[1]) : 0;
    if (samples < 1 || samples > 1 << 20 || argc < 3 || argc - 2 > MOST_SEEDS || (is_one && argc > 5))
        refuse(argc > 1 ? argv[1] : NULL);
    if (is_one && argc < 4) {
        fprintf(stderr, "commlab: error: 'job': give a SEED after it, as in %s job 1\n", argv[1]);
        return 2;
    }
    for (int i = is_one ? 3 : 2; i < (is_one ? 4 : argc); i++)
        check_seed(argv[i]);
    if (is_one)
        return run_one(&options, samples, argv[3], argc > 4 ? remedy_of(argv[4]) : FAULTS);
    return mend_all(&options, samples, argc - 2, argv + 2, name, foresee);
}
