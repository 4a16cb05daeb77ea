// SPDX-License-Identifier: MIT
// commlab sim: predict the time of a collective on a described network, and its parts.

#include "cmd/command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/files/json.h"
#include "core/base/log.h"
#include "core/base/nearest.h"
#include "core/base/options.h"
#include "sim/engine/in_network.h"
#include "cmd/kit/kit.h"
#include "cmd/kit/load.h"
#include "core/comm/comm.h"
#include "sim/net/net.h"
#include "core/schedule/schedule.h"
#include "sim/sim.h"
#include "cmd/sim/commands.h"
#include "cmd/sim/given_net.h"
#include "cmd/sim/print.h"
#include "cmd/sim/ranks.h"
#include "cmd/sim/why.h"

enum { CALLS_AT_MOST = 1000 };
static const char doc[] =
    "Predict the time of COLLECTIVE on a described network.\v"
    "The prediction follows the same schedule that `commlab bench` runs and `commlab verify` proves. The four parts of "
    "the time are latency (fixed costs of messages), bandwidth (bytes, and local copies), reduce, and wait. They "
    "describe the rank that ends last; --why prints those of the critical path instead.";

static const char automatic[] = "auto";
static const char in_network[] = "in_network"; // the switches reduce: no rank has a schedule

// ---- the command line ----------------------------------------------------------------------------------------

#define REQUEST struct sim_request

static const char *engine_name(int i)
{
    return clab_sim_engine_name((enum clab_sim_engine)i);
}

static const struct clab_names engines = {CLAB_ENGINES, NULL, engine_name};

static const struct clab_option options[] = {
    {"algo", 'a', "NAME",
     "the algorithm; in_network: the switches reduce; auto: the library's choice; all: a table, fastest first (all)",
     CLAB_TEXT_AT(REQUEST, algorithm)},
    {"ranks", 'r', "P", "ranks (2)", CLAB_INT(REQUEST, problem.nranks, 1, RANKS_AT_MOST)},
    {"bytes", 'b', "SIZE", "the whole buffer, as nccl-tests counts it: if each rank has a block, all blocks (1M)",
     CLAB_SIZE(REQUEST, bytes, 1)},
    {"goal", 0, "FILE",
     "a program in GOAL, from `commlab show -f goal`, Schedgen or ATLAHS, instead of COLLECTIVE: its operations run as "
     "they are; --engine full, --why, --trace and --calls want stages",
     CLAB_TEXT_AT(REQUEST, goal)},
    {"msccl", 0, "FILE", "a schedule in MSCCL's XML, instead of COLLECTIVE; --bytes is its buffer",
     CLAB_TEXT_AT(REQUEST, msccl)},
    CLAB_TABLE(REQUEST, given, given_net_options),
    CLAB_HEADING("How:"),
    {"engine", 0, "NAME",
     "auto, closed (a formula in alpha, beta, gamma), full (one clock per rank), folded (full, but simulates only a few "
     "ranks that stand for all) or events (full, with shared links and cores) (auto)",
     CLAB_NAME(REQUEST, options.engine, &engines)},
    {"force", 0, NULL, "simulate even more than 50 million messages, which may take long",
     CLAB_ON(REQUEST, options.force)},
    {"lanes", 0, "L", "lanes (the algorithm's own)", CLAB_INT(REQUEST, lanes, 1, 64)},
    {"root", 0, "R", "root (0)", CLAB_INT(REQUEST, problem.root, 0, RANKS_AT_MOST)},
    {"type", 0, "NAME", "element type (float)", CLAB_NAME(REQUEST, type, &clab_type_names)},
    {"calls", 0, "K", "predict the cost of one more of K calls back to back; with 1, of one call that all ranks start together (1)",
     CLAB_INT(REQUEST, options.calls, 1, CALLS_AT_MOST)},
    {"delay", 0, "RANK=TIME", "a straggler: this rank begins later by TIME, such as 3=100us; repeat it for more ranks",
     CLAB_CALL(sim_take_delay)},
    {"order", 0, "NAME",
     "of the ranks: compact (a node's ranks follow each other), or scattered (dealt out, one to each node in turn) (compact)",
     CLAB_CALL(sim_take_order)},
    {"compute", 0, "TIME", "computation of each rank's core before each call (0s)",
     CLAB_SECONDS(REQUEST, options.compute, 0, SECONDS_AT_MOST)},
    {"in-place", 0, NULL, "in and out are the same memory", CLAB_ON(REQUEST, options.in_place)},
    CLAB_HEADING("What is printed:"),
    {"json", 0, NULL, "print JSON", CLAB_ON(REQUEST, json)},
    {"why", 0, NULL, "print the critical path, and which changes would help; with several algorithms, for the fastest",
     CLAB_ON(REQUEST, why)},
    {"trace", 0, "FILE", "write a timeline of each core and port, for Perfetto or chrome://tracing",
     CLAB_TEXT_AT(REQUEST, trace)},
    {0},
};

static void ask_for_collective(void)
{
    char names[256] = "";
    for (int i = 0; i < CLAB_COLLECTIVE_COUNT; i++) {
        strcat(names, i ? ", " : "");
        strcat(names, clab_collective_name((enum clab_collective)i));
    }
    clab_error("sim: name a collective: %s", names);
    exit(STATUS_USAGE);
}

static void refuse_algorithm(const struct sim_request *r)
{
    char names[512] = "";
    for (const struct clab_algorithm *const *a = clab_algorithms; *a; a++)
        if ((*a)->collective == r->problem.collective) {
            strcat(names, *names ? ", " : "");
            strcat(names, (*a)->name);
        }
    struct clab_nearest nearest = clab_nearest_to(r->algorithm, strlen(r->algorithm));
    clab_algorithm_offer(r->problem.collective, &nearest);
    clab_nearest_offer(&nearest, automatic);
    clab_nearest_offer(&nearest, in_network);
    clab_error("sim: %s has no algorithm '%s'%s; it has %s, in_network, auto, or all", r->collective,
               r->algorithm, clab_nearest_hint(&nearest), names);
    exit(STATUS_USAGE);
}

static void refuse_bytes(const struct sim_request *r)
{
    clab_error("sim: --bytes %zu is less than one %s per block: there are %d blocks", r->bytes, clab_type_name(r->type),
               clab_problem_blocks(&r->problem));
    exit(STATUS_USAGE);
}

static void refuse_words(const struct sim_request *r)
{
    if (!r->collective && !strcmp(r->algorithm, "all") && !r->problem.nranks && !r->problem.root && !r->lanes)
        return;
    clab_error("sim: --%s: the file states its collective, algorithm, ranks, root and lanes: drop those words",
               r->goal ? "goal" : "msccl");
    exit(STATUS_USAGE);
}

// The file states the collective, its ranks, root and lanes.
static int complete_listing(struct sim_request *r)
{
    CLAB_TRY(load_listing(r->goal, r->msccl, &r->listing));
    bool loose = r->listing->loose;
    r->options.element_bytes = loose ? 1 : clab_type_bytes(r->type);
    CLAB_TRY(clab_listing_problem(r->listing, r->bytes, r->options.element_bytes, &r->problem));
    r->collective = loose ? "goal" : clab_problem_name(&r->problem);
    r->algorithm = r->listing->name;
    r->bytes = loose ? 0 : r->problem.count * r->options.element_bytes * (size_t)clab_problem_blocks(&r->problem);
    return CLAB_OK;
}

// Whether what is asked for is of stages, not of single operations.
static bool wants_stages(const struct sim_request *r)
{
    const enum clab_sim_engine engine = r->options.engine;
    return r->why || r->trace || r->options.calls > 1 || (engine != CLAB_ENGINE_AUTO && engine != CLAB_ENGINE_EVENTS);
}

static int complete_program(struct sim_request *r)
{
    CLAB_TRY(load_goal(r->goal, &r->program));
    r->problem.nranks = r->program->nranks;
    r->collective = "goal";
    r->algorithm = r->program->name;
    r->bytes = 0;
    return CLAB_OK;
}

static int complete_file(struct sim_request *r)
{
    refuse_words(r);
    return r->goal && !r->msccl && !wants_stages(r) ? complete_program(r) : complete_listing(r);
}

// --why and --trace need messages.
static void refuse_to_look_closer(const struct sim_request *r)
{
    if (r->options.engine == CLAB_ENGINE_CLOSED)
        clab_error("sim: --why and --trace need messages, which the closed form does not have: say --engine full");
    else if (strcmp(r->algorithm, in_network) == 0)
        clab_error("sim: --why and --trace need ranks' steps, which in_network does not have: name another --algo");
    else
        return;
    exit(STATUS_USAGE);
}

static int complete_collective(struct sim_request *r)
{
    struct clab_problem *p = &r->problem;
    if (!r->collective)
        ask_for_collective();
    const int number = clab_names_find(&clab_collective_names, "sim", r->collective, strlen(r->collective));
    if (number < 0)
        return CLAB_EINVAL;
    p->collective = (enum clab_collective)number;
    if (strcmp(r->algorithm, "all") && strcmp(r->algorithm, "in_network") && strcmp(r->algorithm, automatic) &&
        !clab_algorithm_find(p->collective, r->algorithm))
        refuse_algorithm(r);
    if (p->root >= p->nranks || (p->root && !clab_collective_rooted(p->collective))) {
        clab_error("sim: --root %d is not a root of %s with %d ranks", p->root, r->collective, p->nranks);
        exit(STATUS_USAGE);
    }
    return CLAB_OK;
}

// Checks of several options together.
static int complete(struct sim_request *r)
{
    struct clab_problem *p = &r->problem;
    if (r->why || r->trace)
        refuse_to_look_closer(r);
    if (r->is_scattered && (r->options.engine == CLAB_ENGINE_CLOSED || r->goal || r->msccl)) {
        clab_error("sim: --order scattered: %s: drop one of them",
                   r->options.engine == CLAB_ENGINE_CLOSED ? "the closed form knows one link for all ranks"
                                                           : "the file says which rank does what");
        exit(STATUS_USAGE);
    }
    given_net_complete(&r->given);
    if (r->goal || r->msccl)
        return complete_file(r);
    p->nranks = p->nranks ? p->nranks : 2;
    CLAB_TRY(complete_collective(r));
    r->options.element_bytes = clab_type_bytes(r->type);
    const size_t element = r->options.element_bytes * (size_t)clab_problem_blocks(p);
    p->count = p->collective == CLAB_BARRIER ? 0 : r->bytes / element;
    if (p->count == 0 && p->collective != CLAB_BARRIER)
        refuse_bytes(r);
    r->bytes = p->count * element;
    return CLAB_OK;
}

// The library's choice. On this machine's own network the library knows how many cores the ranks share; on any other,
// each rank has its own core.
static int choose_automatically(struct sim_request *r)
{
    struct clab_problem problem = r->problem;
    const int cores = r->net->nodes == 1 && r->net->cores_per_node ? r->net->cores_per_node : problem.nranks;
    const struct clab_placement placement = {.crowded = problem.nranks > cores, .cores = cores};
    const struct clab_algorithm *algorithm = clab_select(&problem, r->options.element_bytes, placement);
    if (!algorithm) {
        clab_error("sim: --algo auto: no algorithm of %s supports %d ranks", r->collective, problem.nranks);
        return CLAB_EINVAL;
    }
    r->is_chosen = true;
    r->algorithm = algorithm->name;
    r->lanes = r->lanes ? r->lanes : problem.lanes;
    return CLAB_OK;
}

// ---- answers -------------------------------------------------------------------------------------------------

static struct clab_problem problem_of(const struct sim_request *r, const struct clab_algorithm *algorithm)
{
    struct clab_problem problem = r->problem;
    problem.lanes = r->lanes ? r->lanes : algorithm->default_lanes;
    problem.group = clab_net_group(r->net, problem.nranks);
    return problem;
}

static int answer_one(const struct sim_request *r, const struct clab_algorithm *algorithm, struct sim_answer *answer_p)
{
    const struct clab_problem problem = problem_of(r, algorithm);
    *answer_p = (struct sim_answer){.name = algorithm->name, .lanes = problem.lanes};
    return clab_sim_run(&problem, algorithm, r->net, &r->options, &answer_p->result);
}

static int answer_by_network(const struct sim_request *r, struct sim_answer *answer_p)
{
    *answer_p = (struct sim_answer){.name = in_network, .lanes = 1};
    return clab_sim_in_network(&r->problem, r->net, r->options.element_bytes, &answer_p->result);
}

static int by_seconds(const void *a, const void *b)
{
    double x = ((const struct sim_answer *)a)->result.seconds, y = ((const struct sim_answer *)b)->result.seconds;
    return (x > y) - (x < y);
}

static int answer_program(const struct sim_request *r, struct sim_answer *answer_p)
{
    *answer_p = (struct sim_answer){.name = r->algorithm, .lanes = 1};
    return clab_sim_goal(r->program, r->net, &r->options, &answer_p->result);
}

// All wanted algorithms that support the problem, fastest first.
static int answer_all(const struct sim_request *r, struct sim_answer *answers, int *n_p)
{
    bool all = strcmp(r->algorithm, "all") == 0;
    int n = 0;
    if (r->program) {
        *n_p = 1;
        return answer_program(r, &answers[0]);
    }
    if (r->listing) {
        *n_p = 1;
        return answer_one(r, &r->listing->algorithm, &answers[0]);
    }
    for (const struct clab_algorithm *const *a = clab_algorithms; *a; a++) {
        struct clab_problem problem = r->problem;
        problem.lanes = r->lanes ? r->lanes : (*a)->default_lanes;
        if ((*a)->collective != problem.collective ||
            (all ? !(*a)->supports(&problem) : strcmp((*a)->name, r->algorithm) != 0))
            continue;
        CLAB_TRY(answer_one(r, *a, &answers[n]));
        n++;
    }
    if (all ? r->net->reducer.radix > 0 && clab_in_network_supports(r->problem.collective)
            : strcmp(r->algorithm, in_network) == 0) {
        CLAB_TRY(answer_by_network(r, &answers[n]));
        n++;
    }
    qsort(answers, (size_t)n, sizeof *answers, by_seconds);
    *n_p = n;
    return CLAB_OK;
}

// ---- saying them ----------------------------------------------------------------------------------------------

// --why and --trace, of the first answer.
static int look_closer(const struct sim_request *r, const struct sim_answer *a, struct clab_json *json)
{
    const struct clab_algorithm *algorithm =
        r->listing ? &r->listing->algorithm : clab_algorithm_find(r->problem.collective, a->name);
    if (!r->why && !r->trace)
        return CLAB_OK;
    if (!algorithm) {
        clab_error("sim: --why and --trace need ranks' steps, which %s does not have: name another --algo", a->name);
        return CLAB_EINVAL;
    }
    const struct clab_problem problem = problem_of(r, algorithm);
    const struct sim_why why = {&problem, algorithm, r->net, &r->options, r->type, r->command, r->why, r->trace};
    return sim_why(&why, json);
}

// One algorithm is an object; all are {"algorithms": [...]}.
static int print_json(const struct sim_request *r, const struct sim_answer *answers, int n)
{
    struct clab_json *json, *list;
    CLAB_TRY(clab_json_create(&json));
    if (strcmp(r->algorithm, "all")) {
        sim_fill_json(json, r, &answers[0]);
    } else {
        list = clab_json_add_list(json, "algorithms");
        for (int i = 0; i < n; i++)
            sim_fill_json(clab_json_add_object(list, NULL), r, &answers[i]);
    }
    int err = look_closer(r, &answers[0], json);
    if (!err)
        err = clab_json_write(json, stdout);
    clab_json_destroy(json);
    return err;
}

static int answer(struct sim_request *r)
{
    struct sim_answer answers[64];
    int n;
    CLAB_TRY(answer_all(r, answers, &n));
    if (r->json)
        return print_json(r, answers, n);
    sim_print_question(r);
    if (strcmp(r->algorithm, "all"))
        sim_print_answer(r, &answers[0]);
    else
        sim_print_table(r, answers, n);
    return look_closer(r, &answers[0], NULL);
}

// Where the first word is a subcommand, it runs, with argv[0] "commlab sim NAME".
static bool run_subcommand(int argc, char **argv, int *status_p)
{
    static struct {
        char whole[24];
        int (*run)(int argc, char **argv);
    } all[] = {{"commlab sim sweep", sim_sweep},
               {"commlab sim train", sim_train},
               {"commlab sim links", sim_links},
               {"commlab sim paths", sim_paths}};
    for (size_t i = 0; argc > 1 && i < sizeof all / sizeof *all; i++)
        if (!strcmp(argv[1], strrchr(all[i].whole, ' ') + 1)) {
            argv[1] = all[i].whole;
            *status_p = all[i].run(argc - 1, argv + 1);
            return true;
        }
    return false;
}

static int ask(struct sim_request *r)
{
    CLAB_TRY(complete(r));
    CLAB_TRY(sim_set_delays(r));
    CLAB_TRY(given_net_load(&r->given, &r->net));
    if ((r->why || r->trace) && clab_net_is_loggp(r->net)) {
        clab_error("sim: --why and --trace need stages, which network '%s' prices as single operations: name another --net",
                   r->net->name);
        return CLAB_EINVAL;
    }
    CLAB_TRY(sim_set_order(r));
    if (!strcmp(r->algorithm, automatic))
        CLAB_TRY(choose_automatically(r));
    return answer(r);
}

static int run(int argc, char **argv)
{
    int status;
    if (run_subcommand(argc, argv, &status))
        return status;
    static const struct clab_command_line line = {.options = options,
                                                  .arguments = "COLLECTIVE\nsweep [COLLECTIVE...]\ntrain\nlinks\npaths",
                                                  .about = doc,
                                                  CLAB_ONE(REQUEST, collective, "one collective at a time; `commlab sim sweep` takes several")};
    struct sim_request request = {.algorithm = "all",
                                  .type = CLAB_F32,
                                  .bytes = 1 << 20,
                                  .given = GIVEN_NET_NONE,
                                  .problem = {.lanes = 1}};
    char *command = kit_command_line(argc, argv);
    request.command = command ? command : "commlab sim";
    int err = clab_options_parse(&line, argc, argv, &request);
    if (!err)
        err = ask(&request);
    free(command);
    free(request.delays);
    free(request.members);
    clab_net_free(request.net);
    clab_listing_free(request.listing);
    clab_goal_free(request.program);
    return command_status(err);
}

const struct clab_command cmd_sim = {"sim", "predict the time of a collective on a described network", run};
