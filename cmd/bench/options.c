// SPDX-License-Identifier: MIT
// The command line of the bench. Flags are those of nccl-tests, except -n: here it is the number of ranks.
//
// - Mistakes are found before a rank starts, and reported in one line that names the flag.

#include "cmd/bench/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "cmd/kit/load.h"
#include "core/base/err.h"
#include "core/base/files/json.h"
#include "core/base/log.h"
#include "core/base/files/output.h"
#include "core/base/text.h"
#include "core/base/units.h"
#include "core/base/variables.h"
#include "core/clab/options.h"
#include "core/job/job.h"
#include "core/transport/backend.h"

#define OPTIONS struct bench_options

static const char *mode_name(int i)
{
    return bench_mode_name((enum bench_mode)i);
}

static const struct clab_names modes = {BENCH_MODES, NULL, mode_name};

static int take_collective(const char *text, void *into)
{
    struct bench_options *o = into;
    bool chosen[CLAB_COLLECTIVE_COUNT];
    CLAB_TRY(clab_names_take(&clab_collective_names, "bench", text, chosen));
    for (int c = 0; c < CLAB_COLLECTIVE_COUNT; c++) {
        for (int i = 0; i < o->ncollectives; i++)
            chosen[c] &= o->collectives[i] != (enum clab_collective)c;
        if (chosen[c])
            o->collectives[o->ncollectives++] = (enum clab_collective)c;
    }
    return CLAB_OK;
}

static int take_root(const char *flag, const char *text, void *into)
{
    struct bench_options *o = into;
    if (strcmp(text, "all"))
        return clab_take_int(flag, text, 0, CLAB_MAX_RANKS - 1, &o->root);
    o->root = BENCH_ALL_ROOTS;
    return CLAB_OK;
}

static int take_placements(const char *flag, const char *text, void *into)
{
    struct bench_options *o = into;
    const int number = clab_names_find(&CLAB_NAMES("0", "1", "both"), flag, text, strlen(text));
    o->placements[BENCH_OUT_OF_PLACE] = number != 1;
    o->placements[BENCH_IN_PLACE] = number != 0;
    return number < 0 ? CLAB_EINVAL : CLAB_OK;
}

// bench.c has looked for the whole word, before anything was read.
static int take_matrix(const char *flag, const char *text, void *into)
{
    (void)text, (void)into;
    clab_error("%s: write it out", flag);
    return CLAB_EINVAL;
}

static const struct clab_option options[] = {
    CLAB_HEADING("What is measured:"),
    {"ranks", 'n', "N", "ranks (2)", CLAB_INT(OPTIONS, nranks, 1, CLAB_MAX_RANKS)},
    {"backend", 0, "NAMES", "what moves their bytes; several, with commas, in one table (shm; among several hosts ofi)",
     CLAB_TEXT_AT(OPTIONS, job.backend), .variable = CLAB_VARIABLE_BACKEND},
    {"provider", 0, "NAME", "ofi: libfabric's provider, such as verbs or efa (tcp)",
     CLAB_TEXT_AT(OPTIONS, job.provider), .variable = CLAB_VARIABLE_PROVIDER},
    {"interface", 0, "NAME|ADDRESS", "ofi: the network interface that ranks are reached at",
     CLAB_TEXT_AT(OPTIONS, job.interface), .variable = CLAB_VARIABLE_INTERFACE},
    {"emulate", 0, "NAME|FILE", "delay messages as this network would, and predict by it",
     CLAB_TEXT_AT(OPTIONS, job.emulate), .variable = CLAB_VARIABLE_EMULATE},
    {"algo", 0, "NAMES", "algorithms, commas between them; native: the backend's own; auto; all (auto)",
     CLAB_TEXT_AT(OPTIONS, algorithms)},
    {"msccl", 0, "FILE", "a schedule in MSCCL's XML, proved, instead of an algorithm; ranks are those of the file",
     CLAB_TEXT_AT(OPTIONS, msccl)},
    {"lanes", 0, "L", "lanes of each algorithm; 0: its own (0)", CLAB_INT(OPTIONS, lanes, 0, CLAB_MAX_LANES)},
    {"minbytes", 'b', "SIZE", "smallest size, such as 8, 64K, 1M (8)", CLAB_SIZE(OPTIONS, first, 1)},
    {"maxbytes", 'e', "SIZE", "largest size (64M)", CLAB_SIZE(OPTIONS, last, 1)},
    {"stepfactor", 'f', "N", "sizes grow by this factor (4)", CLAB_INT(OPTIONS, factor, 2, 1 << 20)},
    {"stepbytes", 'i', "SIZE", "or by this many bytes", CLAB_SIZE(OPTIONS, step, 1)},
    {"datatype", 'd', "TYPES", "element types, commas between them, or all (float)",
     CLAB_NAME_LIST(OPTIONS, types, &clab_type_names)},
    {"op", 'o', "OPS", "reductions, commas between them, or all (sum)", CLAB_NAME_LIST(OPTIONS, ops, &clab_op_names)},
    {"root", 'r', "RANK", "root, or all (0)", CLAB_CALL(take_root)},
    {"in-place", 0, "0|1|both", "placements (both: 150 columns; one: 120)", CLAB_CALL(take_placements)},
    {"local_register", 'R', "0|1|2",
     "nccl: register buffers with NCCL; 2: as symmetric windows, of NCCL 2.27 (CLAB_NCCL_REGISTER, or 0)",
     CLAB_INT(OPTIONS, registration, 0, 2)},
    {"memory", 0, "alloc|malloc", "buffers that peers reach fastest, or any (alloc)",
     CLAB_NAME(OPTIONS, memory, &CLAB_NAMES("malloc", "alloc"))},
    CLAB_HEADING("How:"),
    {"mode", 0, "MODE",
     "throughput: calls back to back; latency: one call from a common start, on one host; local: each rank's mean; "
     "enqueue: calls started one behind the other, and one wait, as nccl-tests does",
     CLAB_NAME(OPTIONS, mode, &modes)},
    {"cudagraph", 'G', "N", "nccl: record the calls of a batch as a CUDA graph, and launch it N times (0: no graph)",
     CLAB_INT(OPTIONS, launches, 0, 256)},
    {"average", 'a', "0|1|2|3",
     "a batch's time is that of rank 0, the mean of all, that of the fastest or the slowest rank (3)",
     CLAB_INT(OPTIONS, average, BENCH_RANK_0, BENCH_MOST)},
    {"seconds", 0, "TIME", "time for a row and placement, at most (0.3s)",
     CLAB_BARE_SECONDS(OPTIONS, budget, BENCH_MOST_SECONDS)},
    {"iters", 0, "N", "calls per batch, instead of as many as last 1 ms", CLAB_INT(OPTIONS, iterations, 1, 1 << 22)},
    {"warmup_iters", 'w', "N", "calls before it, instead of until there is no drift",
     CLAB_INT(OPTIONS, warmup, 0, 1 << 30)},
    {"batches", 0, "N", "batches, instead of as many as the interval needs; fewer where --seconds is over before",
     CLAB_INT(OPTIONS, batches, 1, BENCH_MOST_BATCHES)},
    {"check", 'c', "0|1", "check results (1)", CLAB_INT(OPTIONS, check, 0, 1)},
    {"seed", 0, "N", "of the data, to repeat a run", CLAB_SEED(OPTIONS, seed)},
    {"matrix", 0, NULL, "ranks x sizes x backends x collectives within a budget: see `commlab bench --matrix --help`",
     CLAB_CALL(take_matrix)},
    CLAB_HEADING("What is done with it:"),
    {"net", 0, "NAME|FILE",
     "the network that predicts (machine: the profile that `commlab fit` wrote), and whose time it is on sim",
     CLAB_TEXT_AT(OPTIONS, net)},
    {"format", 0, "table|nccl-tests",
     "the table on the screen; nccl-tests: 13 columns, for scripts that read its programs",
     CLAB_NAME(OPTIONS, format, &CLAB_NAMES("table", "nccl-tests"))},
    {"csv", 0, "FILE", "write all as CSV", CLAB_TEXT_AT(OPTIONS, csv)},
    {"json", 0, "FILE", "write all as JSON", CLAB_TEXT_AT(OPTIONS, json)},
    {"json-format", 0, "table|nccl-tests",
     "of that JSON; nccl-tests: as its programs write, with the times of each rank",
     CLAB_NAME(OPTIONS, json_format, &CLAB_NAMES("table", "nccl-tests"))},
    {"samples", 0, "FILE", "write what each rank measured in each batch as CSV", CLAB_TEXT_AT(OPTIONS, samples)},
    {"trace", 0, "FILE", "write what all ranks did when, for Perfetto: the last calls (`commlab trace`)",
     CLAB_TEXT_AT(OPTIONS, job.trace), .variable = CLAB_VARIABLE_TRACE},
    {0},
};

static const char doc[] =
    "Time collectives on N ranks, check their results, and compare with the prediction.\v"
    "COLLECTIVE is allreduce (the default), broadcast, reduce, allgather, reduce_scatter, alltoall, gather, scatter, "
    "barrier, sendrecv, or all. Sizes count the whole buffer, as nccl-tests does. Exit status: 0; 1 if any element was "
    "wrong, any time was refused, or a rank failed; 2 for wrong usage; 3 where this machine lacks the backend. Of "
    "several backends, those that are missing are named and left out.";

// ---- what must fit together ----------------------------------------------------------------------------------

// The file says which collective it is, of how many ranks.
static int take_listing(struct bench_options *o)
{
    if (!o->msccl)
        return CLAB_OK;
    if (strcmp(o->algorithms, "auto") || o->ncollectives || o->lanes) {
        clab_error("--msccl %s: the file says which collective, algorithm and lanes; leave out %s", o->msccl,
                   o->ncollectives ? clab_collective_name(o->collectives[0])
                   : o->lanes      ? "--lanes"
                                   : "--algo");
        return CLAB_EINVAL;
    }
    CLAB_TRY(load_listing(NULL, o->msccl, &o->listing));
    o->collectives[o->ncollectives++] = o->listing->problem.collective;
    return CLAB_OK;
}

static int check_listing(const struct bench_options *o)
{
    if (!o->listing || o->listing->problem.nranks == o->nranks)
        return CLAB_OK;
    clab_error("--msccl %s is a schedule of %d ranks, and there are %d: use -n %d", o->msccl,
               o->listing->problem.nranks, o->nranks, o->listing->problem.nranks);
    return CLAB_EINVAL;
}

// The check knows the data of a rank, and the sum of all; an average divides both alike.
static int check_custom(const struct bench_options *o)
{
    const struct clab_listing *l = o->listing;
    if (clab_listing_is_custom(l) && o->ops[CLAB_AVG]) {
        clab_error("--msccl %s: a collective of its own has no average; choose another --op", o->msccl);
        return CLAB_EINVAL;
    }
    for (int rank = 0; o->check && clab_listing_is_custom(l) && rank < l->problem.nranks; rank++)
        for (int c = 0; c < l->outputs[rank]; c++)
            if (l->ends[(size_t)rank * (size_t)l->chunks + (size_t)c].origin == CLAB_SOME) {
                clab_error("--msccl %s: chunk %d of rank %d is the sum of some ranks, which can not be checked; use "
                           "--check 0",
                           o->msccl, c, rank);
                return CLAB_EINVAL;
            }
    return CLAB_OK;
}

static int resolve_ranks(struct bench_options *o)
{
    struct clab_launch_plan plan;
    CLAB_TRY(clab_job_plan(o->nranks, &plan));
    if (o->listing && !o->nranks && !plan.joins)
        CLAB_TRY(clab_job_plan(o->listing->problem.nranks, &plan));
    o->nranks = o->job.nranks = plan.nranks;
    o->joins = plan.joins;
    o->cores = clab_cores();
    CLAB_TRY(check_listing(o));
    CLAB_TRY(check_custom(o));
    if (o->root < o->nranks)
        return CLAB_OK;
    clab_error("-r %d, but the ranks are 0 to %d", o->root, o->nranks - 1);
    return CLAB_EINVAL;
}

static int resolve_backend(struct bench_options *o)
{
    const char *job = clab_variable_text(CLAB_VARIABLE_BACKEND);
    const bool several = o->job.backend && strchr(o->job.backend, ',');
    const char *names = o->job.backend ? o->job.backend : job ? job : clab_backend_usual(1);
    const bool is_open = o->joins && !o->job.backend && !job; // it depends on how many hosts there are
    if (several && clab_variable_is_set(CLAB_VARIABLE_TRACE)) {
        clab_error("--trace FILE is of one job, and each of several backends has its own: name one --backend");
        return CLAB_EINVAL;
    }
    if (o->job.provider && !is_open && !clab_list_has(names, "ofi")) {
        clab_error("--provider is of ofi, and --backend is %s: add --backend ofi, or drop it", names);
        return CLAB_EINVAL;
    }
    if (several && (o->format == BENCH_NCCL_TESTS || o->json_format == BENCH_NCCL_TESTS)) {
        clab_error("nccl-tests' format has no column for the backend: name one --backend");
        return CLAB_EINVAL;
    }
    if (several && o->samples) {
        clab_error("--samples FILE is of one bench, and each of several backends has its own: name one --backend, or "
                   "use --matrix");
        return CLAB_EINVAL;
    }
    if (several)
        return CLAB_OK; // bench_several's
    o->backend = clab_backend_find(names);
    if (!o->backend)
        return CLAB_EINVAL;
    if (o->backend->flush && !clab_variable_is_set(CLAB_VARIABLE_PACKETS))
        clab_variable_set(CLAB_VARIABLE_PACKETS, "off"); // predictions are of messages that leave alone
    if (o->backend->time->is_exact && o->net)
        clab_variable_set(CLAB_VARIABLE_NET, o->net);
    else if (o->backend->time->is_exact)
        o->net = o->backend->time->net(NULL);
    return CLAB_OK;
}

// What only NCCL has.
static int resolve_nccl(const struct bench_options *o)
{
    static const char *const texts[] = {"0", "1", "2"};
    if (o->registration < 0 && !o->launches)
        return CLAB_OK;
    if (!o->backend || strcmp(o->backend->name, "nccl")) {
        clab_error("-%c %d is of nccl, and --backend is %s: name --backend nccl alone, or drop it",
                   o->launches ? 'G' : 'R', o->launches ? o->launches : o->registration,
                   o->backend ? o->backend->name : o->job.backend);
        return CLAB_EINVAL;
    }
    if (o->registration >= 0)
        clab_variable_set(CLAB_VARIABLE_NCCL_REGISTER, texts[o->registration]);
    return CLAB_OK;
}

enum { USUAL_LAST = 64 << 20 };

size_t bench_last_size(const struct clab_backend *backend, int nranks, size_t first)
{
    const size_t together = (size_t)2 << 30;
    size_t last = USUAL_LAST;
    while (backend && backend->time->is_exact && last * (size_t)nranks > together && last / 2 >= first)
        last /= 2;
    return last;
}

static int resolve_sizes(struct bench_options *o)
{
    char first[CLAB_TEXT], last[CLAB_TEXT];
    if (!o->last) {
        o->last = bench_last_size(o->backend, o->nranks, o->first);
        o->is_short = o->last < USUAL_LAST;
    }
    if (o->factor && o->step)
        clab_error("-f %d and -i %zu: sizes grow by a factor or by bytes, not by both", o->factor, o->step);
    else if (o->first > o->last)
        clab_error("-b %s is larger than -e %s", clab_size_text(o->first, first), clab_size_text(o->last, last));
    else
        return CLAB_OK;
    return CLAB_EINVAL;
}

// A graph is launched, and waited for once.
static int check_mode(struct bench_options *o)
{
    if (o->launches && o->mode == BENCH_THROUGHPUT)
        o->mode = BENCH_ENQUEUE;
    if (o->launches && o->mode != BENCH_ENQUEUE) {
        clab_error("-G %d: graphs are of --mode enqueue, not of %s: drop one", o->launches, bench_mode_name(o->mode));
        return CLAB_EINVAL;
    }
    if (o->launches && o->ops[CLAB_AVG]) {
        clab_error("-G %d: a graph can not hold an average, which the communicator divides: choose another --op",
                   o->launches);
        return CLAB_EINVAL;
    }
    if (o->average == BENCH_MOST || o->mode == BENCH_THROUGHPUT || o->mode == BENCH_ENQUEUE)
        return CLAB_OK;
    clab_error("-a %d is of modes throughput and enqueue: in --mode %s a time is of all ranks; drop one", o->average,
               bench_mode_name(o->mode));
    return CLAB_EINVAL;
}

static int check_files(const struct bench_options *o)
{
    if (o->samples && o->mode == BENCH_LATENCY) {
        clab_error("--samples: in --mode latency a sample is of all ranks together, and no rank has its own: use "
                   "throughput or local");
        return CLAB_EINVAL;
    }
    if (o->samples)
        CLAB_TRY(clab_output_check(o->samples));
    if (o->csv)
        CLAB_TRY(clab_output_check(o->csv));
    if (o->json_format == BENCH_NCCL_TESTS && !o->json) {
        clab_error("--json-format nccl-tests is of the file that --json names: add --json FILE");
        return CLAB_EINVAL;
    }
    if (o->json)
        CLAB_TRY(clab_json_check());
    return o->json ? clab_output_check(o->json) : CLAB_OK;
}

static char *join_words(int argc, char **argv)
{
    size_t room = 1;
    for (int i = 0; i < argc; i++)
        room += strlen(argv[i]) + 1;
    char *line = calloc(room, 1);
    for (int i = 0; line && i < argc; i++)
        strcat(strcat(line, i ? " " : ""), argv[i]);
    return line;
}

int bench_crowd(const struct bench_options *o)
{
    return o->backend && o->backend->time->is_exact ? (o->nranks + o->cores - 1) / o->cores : 1;
}

// What was not given. drawn: the seed, unless one was given
static int complete(struct bench_options *o, uint64_t drawn)
{
    CLAB_TRY(take_listing(o));
    if (!o->ncollectives)
        o->collectives[o->ncollectives++] = CLAB_ALLREDUCE;
    CLAB_TRY(resolve_ranks(o));
    CLAB_TRY(resolve_backend(o));
    CLAB_TRY(resolve_nccl(o));
    CLAB_TRY(resolve_sizes(o));
    if (o->seed == drawn && o->backend && o->backend->time->is_exact)
        o->seed = 1; // where all is exact, nothing is left to chance
    CLAB_TRY(check_mode(o));
    CLAB_TRY(check_files(o));
    o->factor = o->factor ? o->factor : 4;
    return CLAB_OK;
}

int bench_options_parse(int argc, char **argv, struct bench_options *options_p)
{
    static const struct clab_command_line line = {
        .options = options, .arguments = "[COLLECTIVE...]", .about = doc, .argument = take_collective};
    struct bench_options o = {
        .algorithms = "auto",
        .types[CLAB_F32] = true,
        .ops[CLAB_SUM] = true,
        .first = 8,
        .placements = {true, true},
        .warmup = -1,
        .iterations = -1,
        .check = 1,
        .budget = 0.3,
        .average = BENCH_MOST,
        .registration = -1,
        .memory = BENCH_ALLOC,
    };
    if (getrandom(&o.seed, sizeof(uint32_t), 0) < 0)
        return CLAB_EINVAL;
    const uint64_t drawn = o.seed;
    CLAB_TRY(clab_options_parse(&line, argc, argv, &o));
    clab_job_options_apply(&o.job);
    o.net = o.net ? o.net : o.job.emulate;
    const int err = complete(&o, drawn);
    if (err) {
        clab_listing_free(o.listing);
        return err;
    }
    o.command = join_words(argc, argv);
    *options_p = o;
    return o.command ? CLAB_OK : CLAB_ENOMEM;
}
