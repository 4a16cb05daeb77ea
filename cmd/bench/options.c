// SPDX-License-Identifier: MIT
// The command line of the bench. Flags are those of nccl-tests, except -n: here it is the number of ranks.
//
// - Mistakes are found before a rank starts, and reported in one line that names the flag.

#include "cmd/bench/options.h"

#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "backends/model/virtual.h"
#include "cmd/bench/values.h"
#include "cmd/command.h"
#include "core/base/err.h"
#include "core/base/json.h"
#include "core/base/log.h"
#include "core/base/machine.h"
#include "core/base/output.h"
#include "core/base/text.h"
#include "core/base/units.h"
#include "core/base/variables.h"
#include "core/job/job.h"
#include "core/transport/backend.h"

enum {
    KEY_BACKEND = 256,
    KEY_PROVIDER,
    KEY_INTERFACE,
    KEY_ALGO,
    KEY_MODE,
    KEY_LANES,
    KEY_ITERS,
    KEY_SECONDS,
    KEY_IN_PLACE,
    KEY_MEMORY,
    KEY_NET,
    KEY_CSV,
    KEY_JSON,
    KEY_SEED,
    KEY_EMULATE,
    KEY_TRACE,
};

static const struct argp_option options[] = {
    {NULL, 0, NULL, 0, "What is measured:", 1},
    {"ranks", 'n', "N", 0, "ranks (2)", 1},
    {"backend", KEY_BACKEND, "NAMES", 0,
     "what moves their bytes; several, with commas, in one table (shm; among several hosts ofi)", 1},
    {"provider", KEY_PROVIDER, "NAME", 0, "ofi: libfabric's provider, such as verbs or efa (CLAB_PROVIDER, or tcp)", 1},
    {"interface", KEY_INTERFACE, "NAME|ADDRESS", 0, "ofi: the network interface that ranks are reached at", 1},
    {"emulate", KEY_EMULATE, "NAME|FILE", 0, "delay messages as this network would", 1},
    {"trace", KEY_TRACE, "FILE", 0, "what all ranks did when, for Perfetto: the last calls (commlab trace)", 4},
    {"algo", KEY_ALGO, "NAMES", 0, "algorithms, commas between them; native: the backend's own; auto; all (auto)", 1},
    {"lanes", KEY_LANES, "L", 0, "lanes of each algorithm; 0: its own (0)", 1},
    {"minbytes", 'b', "SIZE", 0, "smallest size, such as 8, 64K, 1M (8)", 1},
    {"maxbytes", 'e', "SIZE", 0, "largest size (64M)", 1},
    {"stepfactor", 'f', "N", 0, "sizes grow by this factor (4)", 1},
    {"stepbytes", 'i', "SIZE", 0, "or by this many bytes", 1},
    {"datatype", 'd', "TYPES", 0, "element types, commas between them, or all (float)", 1},
    {"op", 'o', "OPS", 0, "reductions, commas between them, or all (sum)", 1},
    {"root", 'r', "RANK", 0, "root, or all (0)", 1},
    {"in-place", KEY_IN_PLACE, "0|1|both", 0, "placements (both: 150 columns; one: 120)", 1},
    {"memory", KEY_MEMORY, "alloc|malloc", 0, "buffers that peers reach fastest, or any (alloc)", 1},
    {NULL, 0, NULL, 0, "How:", 2},
    {"mode", KEY_MODE, "MODE", 0,
     "throughput: calls back to back; latency: one call from a common start, on one host; local: each rank's mean", 2},
    {"seconds", KEY_SECONDS, "TIME", 0, "time for a row and placement, at most (0.3s)", 2},
    {"iters", KEY_ITERS, "N", 0, "calls a batch, instead of as many as last 1 ms", 2},
    {"warmup_iters", 'w', "N", 0, "calls before it, instead of until there is no drift", 2},
    {"check", 'c', "0|1", 0, "check results (1)", 2},
    {"seed", KEY_SEED, "N", 0, "of the data, to repeat a run", 2},
    {NULL, 0, NULL, 0, "What is done with it:", 3},
    {"net", KEY_NET, "NAME|FILE", 0,
     "the network that predicts (machine: the profile that `commlab fit` wrote), and whose time it is on sim", 3},
    {"csv", KEY_CSV, "FILE", 0, "write all as CSV", 3},
    {"json", KEY_JSON, "FILE", 0, "write all as JSON", 3},
    {0},
};

static const char doc[] =
    "Time collectives on N ranks, check their results, and compare with the prediction.\v"
    "COLLECTIVE is allreduce (the default), broadcast, reduce, allgather, reduce_scatter, alltoall, gather, scatter, "
    "barrier, sendrecv, or all. Sizes count the whole buffer, as nccl-tests does. Exit status: 0; 1 if any element was "
    "wrong, any time was refused, or a rank failed; 2 for wrong usage; 3 where this machine lacks the backend. Of "
    "several backends, those that are missing are named and left out.";

// ---- names ---------------------------------------------------------------------------------------------------

static const char *type_name(int i)
{
    return clab_type_name((enum clab_type)i);
}

static const char *op_name(int i)
{
    return clab_op_name((enum clab_op)i);
}

static const char *mode_name(int i)
{
    return bench_mode_name((enum bench_mode)i);
}

static const char *collective_name(int i)
{
    return clab_collective_name((enum clab_collective)i);
}

static const struct bench_names types = {CLAB_TYPE_COUNT, type_name}, ops = {CLAB_OP_COUNT, op_name},
                                modes = {BENCH_MODES, mode_name},
                                collectives = {CLAB_COLLECTIVE_COUNT, collective_name};

// ---- flags ---------------------------------------------------------------------------------------------------

static error_t take_collective(const char *text, struct bench_options *o)
{
    bool chosen[CLAB_COLLECTIVE_COUNT];
    if (bench_take_list(collectives, "bench", text, chosen))
        return CLAB_EINVAL;
    for (int c = 0; c < CLAB_COLLECTIVE_COUNT; c++) {
        for (int i = 0; i < o->ncollectives; i++)
            chosen[c] &= o->collectives[i] != (enum clab_collective)c;
        if (chosen[c])
            o->collectives[o->ncollectives++] = (enum clab_collective)c;
    }
    return 0;
}

static error_t take_root(const char *text, struct bench_options *o)
{
    if (strcmp(text, "all"))
        return bench_take_int("-r", text, 0, CLAB_MAX_RANKS - 1, &o->root);
    o->root = BENCH_ALL_ROOTS;
    return 0;
}

static error_t take_placements(const char *text, struct bench_options *o)
{
    static const char *const words[] = {"0", "1", "both", NULL};
    int number;
    if (bench_take_word("--in-place", text, words, &number))
        return CLAB_EINVAL;
    o->placements[BENCH_OUT_OF_PLACE] = number != 1;
    o->placements[BENCH_IN_PLACE] = number != 0;
    return 0;
}

static error_t take_memory(const char *text, struct bench_options *o)
{
    static const char *const words[] = {"malloc", "alloc", NULL};
    int number;
    if (bench_take_word("--memory", text, words, &number))
        return CLAB_EINVAL;
    o->shared_memory = number == 1;
    return 0;
}

static error_t take_check(const char *text, struct bench_options *o)
{
    int checks;
    if (bench_take_int("-c", text, 0, 1, &checks))
        return CLAB_EINVAL;
    o->check = checks > 0;
    return 0;
}

static error_t take_mode(const char *text, struct bench_options *o)
{
    const int mode = bench_find_name(modes, "--mode", text, strlen(text));
    o->mode = mode < 0 ? o->mode : (enum bench_mode)mode;
    return mode < 0 ? EINVAL : 0;
}

static error_t parse_what(int key, char *arg, struct bench_options *o)
{
    switch (key) {
    case 'n': return bench_take_int("-n", arg, 1, CLAB_MAX_RANKS, &o->nranks);
    case 'b': return bench_take_size("-b", arg, &o->first);
    case 'e': return bench_take_size("-e", arg, &o->last);
    case 'f': return bench_take_int("-f", arg, 2, 1 << 20, &o->factor);
    case 'i': return bench_take_size("-i", arg, &o->step);
    case 'd': return bench_take_list(types, "-d", arg, o->types);
    case 'o': return bench_take_list(ops, "-o", arg, o->ops);
    case 'r': return take_root(arg, o);
    case KEY_BACKEND: o->backend_name = arg; return 0;
    case KEY_PROVIDER: o->has_provider = true; return setenv("CLAB_PROVIDER", arg, 1);
    case KEY_INTERFACE: return setenv("CLAB_INTERFACE", arg, 1);
    case KEY_EMULATE: o->net = o->net ? o->net : arg; return setenv("CLAB_EMULATE", arg, 1);
    case KEY_TRACE: return setenv("CLAB_TRACE", arg, 1);
    case KEY_ALGO: o->algorithms = arg; return 0;
    case KEY_LANES: return bench_take_int("--lanes", arg, 0, CLAB_MAX_LANES, &o->lanes);
    case KEY_IN_PLACE: return take_placements(arg, o);
    case KEY_MEMORY: return take_memory(arg, o);
    case ARGP_KEY_ARG: return take_collective(arg, o);
    default: return ARGP_ERR_UNKNOWN;
    }
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct bench_options *o = state->input;
    switch (key) {
    case 'w': return bench_take_int("-w", arg, 0, 1 << 30, &o->warmup);
    case 'c': return take_check(arg, o);
    case KEY_MODE: return take_mode(arg, o);
    case KEY_ITERS: return bench_take_int("--iters", arg, 1, 1 << 22, &o->iterations);
    case KEY_SECONDS: return bench_take_seconds(arg, &o->budget);
    case KEY_SEED: return bench_take_seed(arg, &o->seed);
    case KEY_NET: o->net = arg; return 0;
    case KEY_CSV: o->csv = arg; return 0;
    case KEY_JSON: o->json = arg; return 0;
    default: return parse_what(key, arg, o);
    }
}

// ---- what must fit together ----------------------------------------------------------------------------------

static int resolve_ranks(struct bench_options *o)
{
    struct clab_launch_plan plan;
    CLAB_TRY(clab_job_plan(o->nranks, &plan));
    o->nranks = plan.nranks;
    o->joins = plan.joins;
    o->cores = clab_cores();
    if (o->root < o->nranks)
        return CLAB_OK;
    clab_error("-r %d, but the ranks are 0 to %d", o->root, o->nranks - 1);
    return CLAB_EINVAL;
}

static int resolve_backend(struct bench_options *o)
{
    const char *job = clab_variable_text(CLAB_VARIABLE_BACKEND);
    const bool several = o->backend_name && strchr(o->backend_name, ',');
    const char *names = o->backend_name ? o->backend_name : job ? job : clab_backend_usual(1);
    const bool is_open = o->joins && !o->backend_name && !job; // it depends on how many hosts there are
    if (several && clab_variable_is_set(CLAB_VARIABLE_TRACE)) {
        clab_error("--trace FILE is of one job, and each of several backends has its own: name one --backend");
        return CLAB_EINVAL;
    }
    if (o->has_provider && !is_open && !clab_list_has(names, "ofi")) {
        clab_error("--provider is of ofi, and --backend is %s: add --backend ofi, or drop it", names);
        return CLAB_EINVAL;
    }
    if (several)
        return CLAB_OK; // bench_several's
    o->backend = clab_backend_find(names);
    if (!o->backend)
        return CLAB_EINVAL;
    if (o->backend->is_virtual && o->net)
        setenv("CLAB_NET", o->net, 1);
    else if (o->backend->is_virtual)
        o->net = clab_sim_net_name();
    return CLAB_OK;
}

// In virtual time hundreds of ranks share this machine: together their buffers of one kind are to have no more than 2
// GiB.
static void choose_last_size(struct bench_options *o)
{
    const size_t together = (size_t)2 << 30;
    o->last = (size_t)64 << 20;
    while (o->backend && o->backend->is_virtual && o->last * (size_t)o->nranks > together && o->last / 2 >= o->first) {
        o->last /= 2;
        o->is_short = true;
    }
}

static int resolve_sizes(struct bench_options *o)
{
    if (!o->last)
        choose_last_size(o);
    if (o->factor && o->step)
        clab_error("-f %d and -i %zu: sizes grow by a factor or by bytes, not by both", o->factor, o->step);
    else if (o->first > o->last)
        clab_error("-b %zu is larger than -e %zu", o->first, o->last);
    else
        return CLAB_OK;
    return CLAB_EINVAL;
}

static int check_files(const struct bench_options *o)
{
    if (o->csv)
        CLAB_TRY(clab_output_check(o->csv));
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
    return o->backend && o->backend->is_virtual ? (o->nranks + o->cores - 1) / o->cores : 1;
}

int bench_options_parse(int argc, char **argv, struct bench_options *options_p)
{
    static const struct argp argp = {.options = options, .parser = parse, .args_doc = "[COLLECTIVE...]", .doc = doc};
    struct bench_options o = {
        .algorithms = "auto",
        .types[CLAB_F32] = true,
        .ops[CLAB_SUM] = true,
        .first = 8,
        .placements = {true, true},
        .warmup = -1,
        .iterations = -1,
        .check = true,
        .budget = 0.3,
        .shared_memory = true,
    };
    argp_err_exit_status = STATUS_USAGE;
    if (getrandom(&o.seed, sizeof(uint32_t), 0) < 0)
        return CLAB_EINVAL;
    const uint64_t drawn = o.seed;
    if (argp_parse(&argp, argc, argv, 0, NULL, &o) != 0)
        return CLAB_EINVAL;
    if (!o.ncollectives)
        o.collectives[o.ncollectives++] = CLAB_ALLREDUCE;
    CLAB_TRY(resolve_ranks(&o));
    CLAB_TRY(resolve_backend(&o));
    CLAB_TRY(resolve_sizes(&o));
    if (o.seed == drawn && o.backend && o.backend->is_virtual)
        o.seed = 1; // where all is exact, nothing is left to chance
    CLAB_TRY(check_files(&o));
    o.factor = o.factor ? o.factor : 4;
    o.command = join_words(argc, argv);
    *options_p = o;
    return o.command ? CLAB_OK : CLAB_ENOMEM;
}
