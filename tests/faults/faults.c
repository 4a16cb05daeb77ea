// SPDX-License-Identifier: MIT
// faults [--backend B] [--count N] [--seed S]: inject N faults, one job each, and say what came of them.
// - Each job is of copies of this process: 2 to 6 ranks, more than most machines have cores.
// - Exit status 0 if every fault was detected in time by every survivor, no job hung, and nothing was left behind.

#include "tests/faults/faults.h"

#include <argp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/err.h"
#include "core/base/units.h"
#include "core/flight/dump.h"
#include "core/job/job.h"

static const double deadline = 1.0;  // s: CLAB_TIMEOUT of a job whose fault only silence tells
static const double timeout = 20.0;  // s: CLAB_TIMEOUT of the others, whose faults are seen at once
enum { ATTEMPTS = 5 };               // to start a job
static const double hang = 30.0;     // s after which a job is hung

static const char *const names[FAULT_KINDS] = {"kill",  "crash", "stop",  "exit", "fail",   "leave",
                                               "close", "nomem", "count", "op",   "another"};

struct options {
    const char *backend;
    int count;
    uint32_t seed;
    bool only; // faults of this kind
    enum fault_kind kind;
    bool verbose;
};

struct tally {
    int faults, wrong, hangs, left_processes, left_files;
    int of[FAULT_KINDS];
    double longest[FAULT_KINDS];
};

const char *fault_name(enum fault_kind kind)
{
    return names[kind];
}

static void pass(double seconds)
{
    const struct timespec time = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
    nanosleep(&time, NULL);
}

// ---- drawing -------------------------------------------------------------------------------------------------

static uint32_t draw(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u; // Knuth, The Art of Computer Programming 2, section 3.3.4
    return *state >> 8;
}

static struct fault draw_fault(const struct options *o, uint32_t *state)
{
    struct fault f = {.kind = (enum fault_kind)(draw(state) % FAULT_KINDS), .nranks = 2 + (int)(draw(state) % 5)};
    if (o->only)
        f.kind = o->kind;
    if (f.kind == FAULT_CLOSE && strcmp(o->backend, "shm") == 0)
        f.kind = FAULT_KILL; // it has no sockets
    f.seed = draw(state);
    f.victim = (int)(draw(state) % (uint32_t)f.nranks);
    f.delay = 1e-6 * (double)(draw(state) % 20000);
    f.iteration = (int)(draw(state) % 60);
    return f;
}

// ---- one fault -----------------------------------------------------------------------------------------------

static bool is_from_outside(enum fault_kind kind)
{
    return kind == FAULT_KILL || kind == FAULT_CRASH || kind == FAULT_STOP;
}

static pid_t start_job(const struct options *o, struct scene *scene)
{
    const pid_t pid = fork();
    if (pid != 0)
        return pid;
    struct clab_launch launch = {.nranks = scene->fault.nranks,
                                 .backend = o->backend,
                                 .grace = CLAB_GRACE_DEFAULT,
                                 .keep_going = true,
                                 .flights = &clab_flight_reader};
    int rank, status = 1;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setenv("CLAB_TIMEOUT", scene->fault.kind == FAULT_STOP ? "1s" : "20s", 1);
    setenv("CLAB_FLIGHT", "0", 0);
    if ((!o->verbose && !freopen("/dev/null", "w", stderr)) || clab_launch_ranks(&launch, &rank, &status))
        _exit(1);
    if (rank >= 0)
        fault_rank(scene, rank);
    _exit(status);
}

// Whether `is_so` became true before `until`.
static bool await(const struct scene *scene, pid_t job, bool (*is_so)(const struct scene *, pid_t), double until)
{
    while (!is_so(scene, job)) {
        if (clab_now() > until)
            return false;
        pass(1e-3);
    }
    return true;
}

static bool all_are_at_it(const struct scene *scene, pid_t job)
{
    (void)job;
    return scene->ready == scene->fault.nranks;
}

static bool has_ended(const struct scene *scene, pid_t job)
{
    siginfo_t info = {0};
    (void)scene;
    return waitid(P_PID, (id_t)job, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == job;
}

static bool nothing_is_left(const struct scene *scene, pid_t job)
{
    (void)scene, (void)job;
    return !fault_left_processes();
}

static void strike(struct scene *scene)
{
    static const int signals[] = {[FAULT_KILL] = SIGKILL, [FAULT_CRASH] = SIGSEGV, [FAULT_STOP] = SIGSTOP};
    pass(scene->fault.delay);
    scene->injected = clab_now();
    kill(scene->pids[scene->fault.victim], signals[scene->fault.kind]);
}

static bool have_gone_on(const struct scene *scene, pid_t job)
{
    (void)job;
    for (int rank = 0; rank < scene->fault.nranks; rank++)
        if (rank != scene->fault.victim && !scene->shrunk[rank])
            return false;
    return true;
}

static bool is_at_it_or_over(const struct scene *scene, pid_t job)
{
    return all_are_at_it(scene, job) || has_ended(scene, job);
}

// Whether the job came to its end by itself. Who was stopped wakes up when the others have gone on without it.
static bool run_job(const struct options *o, struct scene *scene)
{
    const pid_t job = start_job(o, scene);
    const double until = clab_now() + hang;
    bool ended = await(scene, job, is_at_it_or_over, until);
    const bool began = all_are_at_it(scene, job);
    if (began && is_from_outside(scene->fault.kind))
        strike(scene);
    if (began && scene->fault.kind == FAULT_STOP) {
        ended = await(scene, job, have_gone_on, until);
        kill(scene->pids[scene->fault.victim], SIGCONT);
    }
    ended = ended && await(scene, job, has_ended, until);
    if (!ended)
        kill(job, SIGKILL); // its supervisor ends the ranks
    waitpid(job, NULL, 0);
    return ended;
}

static void describe(const struct scene *scene, int number)
{
    const struct fault *f = &scene->fault;
    printf("fault %d: %s of rank %d of %d, seed %u, after %d calls or %.3f ms\n", number, names[f->kind], f->victim,
           f->nranks, f->seed, f->iteration, 1e3 * f->delay);
    for (int rank = 0; rank < f->nranks; rank++)
        printf("  rank %d: %d calls, %s\n", rank, scene->iterations[rank], clab_strerror(scene->errs[rank]));
}

// Whether all ranks were at it, and none had ended, when the fault came.
static bool was_struck(const struct scene *scene)
{
    bool struck = all_are_at_it(scene, 0);
    for (int rank = 0; rank < scene->fault.nranks; rank++)
        struck &= !scene->errs[rank] || scene->returned[rank] >= scene->injected;
    return struck;
}

static void try_fault(const struct options *o, struct fault fault, int number, struct scene *scene, struct tally *t)
{
    const int files = fault_left_files();
    double detection = 0;
    bool ended;
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        memset(scene, 0, sizeof *scene);
        scene->fault = fault;
        ended = run_job(o, scene);
        if (!ended || was_struck(scene))
            break; // else the machine was too busy: the job's own deadline came before the fault
    }
    char *text = NULL;
    size_t bytes;
    FILE *complaints = open_memstream(&text, &bytes);
    bool right = ended && fault_judge(scene, fault.kind == FAULT_STOP ? deadline : timeout, complaints, &detection);
    fclose(complaints);
    if (!ended || !right)
        describe(scene, number);
    printf("%s%s", ended ? "" : "  the job hung\n", text);
    free(text);
    if (!await(scene, 0, nothing_is_left, clab_now() + 1)) {
        describe(scene, number);
        printf("  a process is left\n");
        t->left_processes++;
    }
    t->left_files += fault_left_files() > files;
    t->faults++;
    t->hangs += !ended;
    t->wrong += ended && !right;
    t->of[fault.kind]++;
    t->longest[fault.kind] = detection > t->longest[fault.kind] ? detection : t->longest[fault.kind];
    fflush(stdout);
}

// ---- the whole -----------------------------------------------------------------------------------------------

static int sum_up(const struct options *o, const struct tally *t)
{
    double longest = 0;
    char text[CLAB_TEXT];
    for (int k = 0; k < FAULT_KINDS; k++) {
        if (t->of[k])
            printf("%-8s %4d, detected by all within %s\n", names[k], t->of[k], clab_seconds_text(t->longest[k], text));
        longest = t->longest[k] > longest ? t->longest[k] : longest;
    }
    printf("%s: %d faults, %d not as they should, %d hangs, %d left processes, %d left files; longest detection %s\n",
           o->backend, t->faults, t->wrong, t->hangs, t->left_processes, t->left_files,
           clab_seconds_text(longest, text));
    return t->wrong || t->hangs || t->left_processes || t->left_files;
}

static const struct argp_option argp_options[] = {
    {"backend", 'b', "NAME", 0, "what moves the bytes (shm)", 0},
    {"count", 'c', "N", 0, "faults (100)", 0},
    {"seed", 's', "N", 0, "to repeat a run", 0},
    {"only", 'k', "KIND", 0, "only this kind", 0},
    {"verbose", 'v', NULL, 0, "show what ranks log", 0},
    {0},
};

static error_t take_kind(const char *text, enum fault_kind *kind_p)
{
    for (int k = 0; k < FAULT_KINDS; k++)
        if (!strcmp(text, names[k])) {
            *kind_p = (enum fault_kind)k;
            return 0;
        }
    fprintf(stderr, "faults: there is no kind '%s'\n", text);
    exit(2);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct options *o = state->input;
    int value;
    switch (key) {
    case 'b': o->backend = arg; return 0;
    case 'k': o->only = true; return take_kind(arg, &o->kind);
    case 'v': o->verbose = true; return 0;
    case 'c':
    case 's':
        if (clab_parse_int(arg, key == 'c', 1 << 30, &value) != CLAB_OK)
            argp_error(state, "'%s' is not a number", arg);
        if (key == 'c')
            o->count = value;
        else
            o->seed = (uint32_t)value;
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

int main(int argc, char **argv)
{
    static const struct argp argp = {.options = argp_options, .parser = parse, .doc = "Inject faults into jobs."};
    struct options o = {.backend = "shm", .count = 100};
    struct tally tally = {0};
    if (getrandom(&o.seed, sizeof o.seed, 0) < 0)
        return 2;
    o.seed &= 0x3fffffff;
    argp_parse(&argp, argc, argv, 0, NULL, &o);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    struct scene *scene = mmap(NULL, sizeof *scene, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (scene == MAP_FAILED)
        return 2;
    printf("seed %u\n", o.seed);
    fflush(stdout);
    uint32_t state = o.seed;
    for (int i = 0; i < o.count; i++)
        try_fault(&o, draw_fault(&o, &state), i, scene, &tally);
    return sum_up(&o, &tally);
}
