// SPDX-License-Identifier: MIT
// Shows what your mine.c of homework h2 does, and proves it, for ranks on hosts of your choice:
//
//     build/labcc -o work/h2/try work/h2/mine.c labs/homework/h2/try.c
//     work/h2/try                  your own cluster, work/h2/network.net
//     work/h2/try 0 1 0 1          four ranks: 0 and 2 on host 0, 1 and 3 on host 1
//
//     work/h2/try --stages         with more than 8 ranks: their stages, too
//
// It prints the stages of every rank, and whether the sum is right. If it is: a drawing of up to 8 ranks, what goes between
// hosts, and the time on the network of network.net, which lies beside this program. That is virtual time, the grader's.

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/err.h"
#include "core/schedule/draw/draw.h"
#include "core/schedule/verify/verify.h"
#include "labs/homework/h2/calls.h"
#include "labs/homework/h2/h2.h"
#include "labs/homework/h2/wire.h"
#include "sim/sim.h"

enum { MOST_RANKS = 16, MOST_HOSTS = 4, MOST_STAGES = 1000, MOST_DRAWN = 8, ELEMENT = 4 }; // MOST_DRAWN: and listed

static struct h2_problem problem = {.lanes = 1, .bytes = 12 << 20};

// What the comments of network.net say of your cluster.
static struct {
    char path[4096];
    bool is_there;
    int nranks, host[MOST_RANKS];
    double reference; // ms; NAN: the file does not say
} own = {.reference = NAN};

// ---- your functions, as the kit calls them -----------------------------------------------------------------------------

static bool supports(const struct clab_problem *p)
{
    return p->nranks == problem.nranks;
}

static int chunks_of(UNUSED const struct clab_problem *p)
{
    return calls_chunks(&problem);
}

static int scratch_of(UNUSED const struct clab_problem *p)
{
    return calls_scratch(&problem);
}

static int width_of(UNUSED const struct clab_problem *p)
{
    return H2_MOST_STEPS;
}

static int stage_of(UNUSED const struct clab_problem *p, int rank, int lane, int s, struct clab_step out[])
{
    static struct clab_step room[CALLS_ROOM];
    const int n = calls_stage(&problem, rank, lane, s, room);
    if (n > 0)
        memcpy(out, room, (size_t)min(n, H2_MOST_STEPS) * sizeof *out);
    return n;
}

static struct clab_cost cost; // what the proof counts

static struct clab_cost cost_of(UNUSED const struct clab_problem *p)
{
    return cost;
}

static const struct clab_algorithm mine = {.name = "mine",
                                           .title = "mine",
                                           .source = "homework h2",
                                           .collective = CLAB_ALLREDUCE,
                                           .default_lanes = 1,
                                           .supports = supports,
                                           .chunks = chunks_of,
                                           .scratch = scratch_of,
                                           .width = width_of,
                                           .stage = stage_of,
                                           .cost = cost_of};

// ---- in words ----------------------------------------------------------------------------------------------------------

static void print_span(struct clab_span span)
{
    printf(span.buffer == CLAB_SCRATCH ? "scratch " : "");
    printf(span.count == 1 ? "chunk %d" : "chunks %d to %d", span.first, span.first + span.count - 1);
}

static void print_step(const struct clab_step *step)
{
    static const char *const words[] = {
        [CLAB_SEND] = "send ", [CLAB_RECV] = "recv ", [CLAB_RECV_REDUCE] = "add ", [CLAB_COPY] = "copy to "};
    if (step->op > CLAB_COPY) {
        printf("no step (operation %d)", step->op);
        return;
    }
    printf("%s", words[step->op]);
    print_span(step->op == CLAB_SEND ? step->src : step->dst);
    if (step->op == CLAB_COPY)
        printf(" from "), print_span(step->src);
    else
        printf(step->op == CLAB_SEND ? " to rank %d" : " from rank %d", step->peer);
}

// A stage without steps is left out. Returns how many steps it has.
static int print_stage(int rank, int lane, int s, const struct clab_step *steps, int n)
{
    if (n == 0)
        return 0;
    printf("rank %d (host %d), ", rank, problem.host[rank]);
    printf(problem.lanes > 1 ? "lane %d, " : "", lane);
    printf("stage %d:", s);
    for (int i = 0; i < n; i++)
        printf(i ? "; " : " "), print_step(&steps[i]);
    printf("\n");
    return n;
}

static int print_program(int rank, int lane)
{
    static struct clab_step out[CALLS_ROOM];
    int steps = 0;
    for (int s = 0, n; (n = calls_stage(&problem, rank, lane, s, out)) != CLAB_DONE; s++)
        steps += print_stage(rank, lane, s, out, n);
    return steps;
}

static void print_rank(int rank)
{
    int steps = 0;
    for (int lane = 0; lane < problem.lanes; lane++)
        steps += print_program(rank, lane);
    if (!steps)
        printf("rank %d (host %d): no steps\n", rank, problem.host[rank]);
}

static void print_programs(void)
{
    for (int rank = 0; rank < problem.nranks; rank++)
        print_rank(rank);
}

// ---- what stage() returns ----------------------------------------------------------------------------------------------

// What the grader refuses before it proves anything.
static bool check_shape(void)
{
    const int chunks = calls_chunks(&problem), scratch = calls_scratch(&problem);
    if (wire_is_shape(problem.lanes, chunks, scratch))
        return true;
    printf("Wrong: " WIRE_SHAPE_FORMAT "\n", problem.lanes, chunks, scratch);
    return false;
}

static bool check_steps(int rank, int s, const struct clab_step *steps, int n)
{
    for (int i = 0; i < n; i++)
        if (calls_is_unfilled(&steps[i])) {
            printf(
                "Wrong: rank %d, stage %d: step %d was not filled in: fill out[0], out[1], ... without a gap, and return how "
                "many they are\n",
                rank, s, i);
            return false;
        }
    return true;
}

// A stage: whether it is one. *is_last_p: behind the last one.
static bool check_stage(int rank, int lane, int s, bool *is_last_p)
{
    static struct clab_step out[CALLS_ROOM];
    int n;
    if (!calls_stage_twice(&problem, rank, lane, s, out, &n)) {
        printf(
            "Wrong: rank %d, stage %d: two calls of stage() with the same arguments gave different steps, first %d of them. It "
            "must depend on its arguments alone: is there a static or global variable?\n",
            rank, s, n);
        return false;
    }
    *is_last_p = n == CLAB_DONE;
    if (*is_last_p || (n >= 0 && n <= H2_MOST_STEPS))
        return check_steps(rank, s, out, n);
    printf("Wrong: rank %d, stage %d: stage() returned %d; return the number of steps, 0 to %d, or CLAB_DONE\n", rank,
           s, n, H2_MOST_STEPS);
    return false;
}

static bool check_program(int rank, int lane)
{
    bool is_last = false;
    for (int s = 0; s < MOST_STAGES; s++)
        if (!check_stage(rank, lane, s, &is_last) || is_last)
            return is_last;
    printf("Wrong: rank %d: stage() has not returned CLAB_DONE after %d stages\n", rank, MOST_STAGES);
    return false;
}

static bool check_programs(void)
{
    for (int rank = 0; rank < problem.nranks; rank++)
        for (int lane = 0; lane < problem.lanes; lane++)
            if (!check_program(rank, lane))
                return false;
    return true;
}

// ---- the proof ---------------------------------------------------------------------------------------------------------

// Where stages are not listed, those of the rank that the proof names are.
static void say_wrong(const struct clab_verify_result *result, bool is_listed)
{
    printf("\nWrong: %s: %s\n", clab_flaw_text(result->flaw), result->text);
    if (!is_listed && result->rank >= 0)
        printf("\nWhat that rank does:\n"), print_rank(result->rank);
    printf("\n./commlab grade h2 work/h2 names the mistake that this often is.\n");
}

static bool prove(const struct clab_problem *p, bool is_listed)
{
    struct clab_verifier *verifier;
    struct clab_verify_result result = {0};
    if (clab_verifier_create(&verifier))
        return false;
    clab_verify(verifier, p, &mine, &result);
    cost = result.found;
    clab_verifier_free(verifier);
    const bool is_right = result.flaw == CLAB_SOUND || result.flaw == CLAB_FLAW_COST;
    if (is_right)
        printf("\nRight: every rank gets the sum.\n\n");
    else
        say_wrong(&result, is_listed);
    return is_right;
}

static void draw(const struct clab_problem *p)
{
    struct clab_trace trace;
    if (p->nranks > MOST_DRAWN) {
        printf(
            "More than %d ranks make a drawing that nobody can read, so there is none. try --stages prints their stages.\n",
            MOST_DRAWN);
        return;
    }
    if (clab_trace_record(p, &mine, &trace))
        return;
    clab_draw_text(&trace, stdout);
    clab_trace_free(&trace);
}

// ---- what goes between hosts -------------------------------------------------------------------------------------------

struct traffic {
    int messages;
    size_t bytes;
};

static void count_program(const struct clab_problem *p, int rank, int lane, struct traffic hosts[])
{
    static struct clab_step out[CALLS_ROOM];
    for (int s = 0, n; (n = calls_stage(&problem, rank, lane, s, out)) != CLAB_DONE; s++)
        for (int i = 0; i < n; i++)
            if (out[i].op == CLAB_SEND && problem.host[out[i].peer] != problem.host[rank]) {
                hosts[problem.host[rank]].messages++;
                hosts[problem.host[rank]].bytes +=
                    ELEMENT * clab_span_elements(p, calls_chunks(&problem), lane, out[i].src);
            }
}

static void print_traffic(const struct clab_problem *p)
{
    struct traffic hosts[MOST_HOSTS] = {{0}};
    for (int rank = 0; rank < problem.nranks; rank++)
        for (int lane = 0; lane < problem.lanes; lane++)
            count_program(p, rank, lane, hosts);
    printf("\nSent to other hosts, of an array of %.4g MiB:\n", (double)problem.bytes / (1 << 20));
    for (int host = 0; host < problem.nhosts; host++)
        printf("  host %d: %3d message%s, %.4g MiB, %.2f times the array\n", host, hosts[host].messages,
               hosts[host].messages == 1 ? "" : "s", (double)hosts[host].bytes / (1 << 20),
               (double)hosts[host].bytes / (double)problem.bytes);
}

// ---- time --------------------------------------------------------------------------------------------------------------

// Which of the network's ranks each of yours is: those of its host, one after another. False: there is no room for them.
static bool choose_members(const struct clab_net *net, int members[])
{
    int used[MOST_HOSTS] = {0};
    for (int rank = 0; rank < problem.nranks; rank++) {
        const int host = problem.host[rank];
        if (host >= net->nodes || used[host] >= net->ranks_per_node)
            return false;
        members[rank] = host * net->ranks_per_node + used[host]++;
    }
    return true;
}

static bool is_own(void)
{
    return problem.nranks == own.nranks && !memcmp(problem.host, own.host, sizeof(int) * (size_t)own.nranks);
}

static void price(const struct clab_problem *p, const struct clab_net *net)
{
    int members[MOST_RANKS];
    const struct clab_sim_options options = {.element_bytes = ELEMENT, .members = members};
    struct clab_sim_result result;
    if (!choose_members(net, members))
        printf("\nNo time: the network of %s has %d hosts, with at most %d ranks on each.\n", own.path, net->nodes,
               net->ranks_per_node);
    else if (clab_sim_run(p, &mine, net, &options, &result) == CLAB_OK)
        printf("\nTime on the network of %s, in virtual time: %.2f ms\n", own.path, 1e3 * result.seconds);
    if (is_own() && !isnan(own.reference))
        printf("The reference, your teacher's solution, takes %.2f ms on your cluster.\n", own.reference);
}

static void print_time(const struct clab_problem *p)
{
    struct clab_net *net;
    if (!own.is_there) {
        printf("\nNo time: %s is not there. ./commlab start h2 --student ID writes it.\n", own.path);
        return;
    }
    if (clab_net_load(own.path, &net))
        return;
    price(p, net);
    clab_net_free(net);
}

// ---- a run -------------------------------------------------------------------------------------------------------------

static int run(bool wants_stages)
{
    const bool is_listed = wants_stages || problem.nranks <= MOST_DRAWN;
    problem.lanes = calls_lanes(&problem);
    if (!check_shape() || !check_programs())
        return EXIT_FAILURE;
    const struct clab_problem p = {
        .collective = CLAB_ALLREDUCE, .nranks = problem.nranks, .lanes = problem.lanes, .count = problem.bytes / ELEMENT};
    if (is_listed)
        print_programs();
    if (!prove(&p, is_listed))
        return EXIT_FAILURE;
    draw(&p);
    print_traffic(&p);
    print_time(&p);
    return EXIT_SUCCESS;
}

static void read_hosts(const char *text)
{
    int length;
    while (own.nranks < MOST_RANKS && sscanf(text, "%d%n", &own.host[own.nranks], &length) == 1) {
        own.nranks++;
        text += length;
    }
}

// The file lies beside this program.
static void read_own(const char *program)
{
    static const char hosts[] = "# The host of each rank, from rank 0 on:";
    const char *slash = strrchr(program, '/');
    char line[400];
    snprintf(own.path, sizeof own.path, "%.*s/network.net", slash ? (int)(slash - program) : 1, slash ? program : ".");
    FILE *file = fopen(own.path, "r");
    own.is_there = file != NULL;
    while (file && fgets(line, sizeof line, file)) {
        if (!strncmp(line, hosts, strlen(hosts)))
            read_hosts(line + strlen(hosts));
        sscanf(line, "# It adds up arrays of %zu bytes", &problem.bytes);
        sscanf(line, "# the reference, your teacher's solution: %lf ms", &own.reference);
    }
    if (file)
        fclose(file);
}

// The hosts of the command line: each is a digit.
static bool read_words(int n, char **words, int host[])
{
    if (n < 1 || n > MOST_RANKS)
        return false;
    for (int i = 0; i < n; i++) {
        if (words[i][0] && words[i][1])
            return false;
        host[i] = words[i][0] - '0';
    }
    return true;
}

// All hosts from 0 to the largest must have a rank.
static bool take_hosts(int n, const int host[])
{
    int ranks[MOST_HOSTS] = {0};
    problem.nranks = n;
    problem.host = host;
    for (int i = 0; i < n; i++) {
        if (host[i] < 0 || host[i] >= MOST_HOSTS)
            return false;
        ranks[host[i]]++;
        problem.nhosts = max(problem.nhosts, host[i] + 1);
    }
    for (int i = 0; i < problem.nhosts; i++)
        if (ranks[i] == 0)
            return false;
    return true;
}

int main(int argc, char **argv)
{
    int host[MOST_RANKS];
    read_own(argv[0]);
    const bool wants_stages = argc > 1 && !strcmp(argv[1], "--stages");
    argc -= wants_stages, argv += wants_stages;
    const bool is_told = argc > 1;
    if (!is_told && !own.nranks) {
        fprintf(stderr, "%s does not name your ranks' hosts: type ./commlab start h2 --student ID, or name hosts, as in: try 0 1 0 1\n",
                own.path);
        return 2;
    }
    if ((is_told && !read_words(argc - 1, argv + 1, host)) ||
        !take_hosts(is_told ? argc - 1 : own.nranks, is_told ? host : own.host)) {
        fprintf(
            stderr,
            "usage: try [--stages] [HOST...]: the host of each of 1 to 16 ranks; none: your own cluster. Hosts are 0 to 3 at "
            "most, and each has a rank, as in: try 0 1 0 1. --stages: print the stages of more than 8 ranks, too\n");
        return 2;
    }
    calls_watch();
    return run(wants_stages);
}
