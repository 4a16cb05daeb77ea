// SPDX-License-Identifier: MIT
// Shows what your mine.c of homework h2 does, and proves it, for ranks on hosts of your choice:
//
//     build/labcc -o work/h2/try work/h2/mine.c labs/homework/h2/try.c
//     work/h2/try 0 1 0 1          four ranks: 0 and 2 on host 0, 1 and 3 on host 1
//
// It prints the stages of every rank, whether the sum is right, and, if it is, a drawing of up to 8 ranks.

#include <stdio.h>
#include <stdlib.h>

#include "core/schedule/draw/draw.h"
#include "core/schedule/verify/verify.h"
#include "labs/homework/h2/h2.h"

enum { MOST_RANKS = 16, MOST_HOSTS = 4, MOST_STAGES = 1000, MOST_DRAWN = 8 };

static struct h2_problem problem = {.lanes = 1, .bytes = 12 << 20};

// ---- your functions, as the kit calls them -----------------------------------------------------------------------------

static bool supports(const struct clab_problem *p)
{
    return p->nranks == problem.nranks;
}

static int chunks_of(UNUSED const struct clab_problem *p)
{
    return H2_MINE.chunks(&problem);
}

static int scratch_of(UNUSED const struct clab_problem *p)
{
    return H2_MINE.scratch(&problem);
}

static int width_of(UNUSED const struct clab_problem *p)
{
    return H2_MOST_STEPS;
}

static int stage_of(UNUSED const struct clab_problem *p, int rank, int lane, int s, struct clab_step out[])
{
    return H2_MINE.stage(&problem, rank, lane, s, out);
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

// False: it has no end.
static bool print_program(int rank, int lane)
{
    for (int s = 0; s < MOST_STAGES; s++) {
        struct clab_step out[H2_MOST_STEPS] = {0};
        const int n = H2_MINE.stage(&problem, rank, lane, s, out);
        if (n == CLAB_DONE)
            return true;
        if (n < 0 || n > H2_MOST_STEPS) {
            printf("rank %d, stage %d: stage() returned %d; return the number of steps, 0 to %d, or CLAB_DONE\n", rank, s, n,
                   H2_MOST_STEPS);
            return false;
        }
        printf("rank %d (host %d), ", rank, problem.host[rank]);
        printf(problem.lanes > 1 ? "lane %d, " : "", lane);
        printf("stage %d:%s", s, n ? "" : " nothing");
        for (int i = 0; i < n; i++)
            printf(i ? "; " : " "), print_step(&out[i]);
        printf("\n");
    }
    printf("rank %d: stage() has not returned CLAB_DONE after %d stages\n", rank, MOST_STAGES);
    return false;
}

static bool print_programs(void)
{
    for (int rank = 0; rank < problem.nranks; rank++)
        for (int lane = 0; lane < problem.lanes; lane++)
            if (!print_program(rank, lane))
                return false;
    return true;
}

// ---- the proof ---------------------------------------------------------------------------------------------------------

static bool prove(const struct clab_problem *p)
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
        printf("\nWrong: %s: %s\n", clab_flaw_text(result.flaw), result.text);
    return is_right;
}

static void draw(const struct clab_problem *p)
{
    struct clab_trace trace;
    if (p->nranks > MOST_DRAWN) {
        printf("More than %d ranks make a drawing that nobody can read, so there is none.\n", MOST_DRAWN);
        return;
    }
    if (clab_trace_record(p, &mine, &trace))
        return;
    clab_draw_text(&trace, stdout);
    clab_trace_free(&trace);
}

static int run(void)
{
    const struct clab_problem p = {
        .collective = CLAB_ALLREDUCE, .nranks = problem.nranks, .lanes = problem.lanes, .count = problem.bytes / 4};
    if (!print_programs() || !prove(&p))
        return EXIT_FAILURE;
    draw(&p);
    return EXIT_SUCCESS;
}

// The hosts of the command line: each is a digit, and all from 0 to the largest have a rank.
static bool take_hosts(int n, char **words, int host[])
{
    int ranks[MOST_HOSTS] = {0};
    if (n < 1 || n > MOST_RANKS)
        return false;
    for (int i = 0; i < n; i++) {
        host[i] = words[i][0] - '0';
        if (host[i] < 0 || host[i] >= MOST_HOSTS || words[i][1])
            return false;
        ranks[host[i]]++;
        problem.nhosts = max(problem.nhosts, host[i] + 1);
    }
    for (int i = 0; i < problem.nhosts; i++)
        if (ranks[i] == 0)
            return false;
    problem.nranks = n;
    problem.host = host;
    return true;
}

int main(int argc, char **argv)
{
    int host[MOST_RANKS];
    if (!take_hosts(argc - 1, argv + 1, host)) {
        fprintf(stderr, "usage: try HOST...: the host of each of 1 to 16 ranks. Hosts are 0 to 3 at most, and each has a rank, "
                        "as in: try 0 1 0 1\n");
        return 2;
    }
    problem.lanes = H2_MINE.lanes(&problem);
    return run();
}
