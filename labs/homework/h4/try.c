// SPDX-License-Identifier: MIT
// Tries your mine.c on a machine whose network file you have (h4.md):
//
//     build/labcc labs/homework/h4/try.c work/h4/mine.c -o work/h4/try && work/h4/try work/h4/practice.net
//
// It prints your questions with their answers, then what you foresee beside the machine's times.

#include <math.h>
#include <stdio.h>

#include "labs/homework/h4/h4.h"
#include "core/base/err.h"
#include "core/base/units.h"
#include "sim/sim.h"

static const char *const names[] = {[H4_RING] = "ring", [H4_DOUBLING] = "doubling"};

static double ask(const struct clab_net *net, struct h4_question q)
{
    const struct clab_problem problem = {
        .collective = CLAB_ALLREDUCE, .nranks = q.ranks, .lanes = 1, .count = q.bytes / sizeof(float)};
    const struct clab_sim_options options = {.element_bytes = sizeof(float)};
    struct clab_sim_result result;
    const struct clab_algorithm *algorithm = clab_algorithm_find(CLAB_ALLREDUCE, names[q.algorithm]);
    return clab_sim_run(&problem, algorithm, net, &options, &result) == CLAB_OK ? result.seconds : NAN;
}

// How many questions the plan has, all of them possible; 0: it has none, or a wrong one, which a line says.
static int make_plan(struct h4_question questions[H4_QUESTIONS])
{
    static struct h4_question asked[4096];
    const int n = h4_plan(asked);
    if (n < 1 || n > H4_QUESTIONS) {
        fprintf(stderr, "h4_plan returns %d: 1 to %d questions are allowed\n", n, H4_QUESTIONS);
        return 0;
    }
    for (int i = 0; i < n; i++) {
        const struct h4_question q = questions[i] = asked[i];
        if ((q.algorithm != H4_RING && q.algorithm != H4_DOUBLING) || q.ranks < 2 || q.ranks > H4_ASKED_RANKS ||
            q.ranks & (q.ranks - 1) || q.bytes < 4 || q.bytes > H4_ASKED_BYTES || q.bytes % 4) {
            fprintf(stderr, "question %d (algorithm %d, %d ranks, %zu bytes): see h4.h for what you may ask\n", i,
                    (int)q.algorithm, q.ranks, q.bytes);
            return 0;
        }
    }
    return n;
}

static void print(struct h4_question q, double seconds)
{
    char bytes[CLAB_TEXT], time[CLAB_TEXT];
    printf("%-9s %5d %12s %12s", names[q.algorithm], q.ranks, clab_size_text(q.bytes, bytes),
           clab_seconds_text(seconds, time));
}

static void foresee(const struct clab_net *net, const struct h4_answer *answers, int n)
{
    char text[CLAB_TEXT];
    printf("\nalgorithm ranks        bytes         time    you foresee    error\n");
    for (int algorithm = H4_RING; algorithm <= H4_DOUBLING; algorithm++)
        for (int ranks = 4; ranks <= 256; ranks *= 4)
            for (size_t bytes = 24; bytes <= 64 << 20; bytes *= 32) {
                const struct h4_question q = {(enum h4_algorithm)algorithm, ranks, bytes};
                const double right = ask(net, q), mine = h4_foresee(answers, n, q);
                print(q, right);
                printf("   %12s %7.3g%%\n", clab_seconds_text(mine, text),
                       mine > 0 ? 100 * (fmax(mine / right, right / mine) - 1) : INFINITY);
            }
}

int main(int argc, char **argv)
{
    struct h4_question questions[H4_QUESTIONS];
    struct h4_answer answers[H4_QUESTIONS];
    struct clab_net *net;
    if (argc != 2) {
        fprintf(stderr, "Usage: %s NETWORK.net\n", argv[0]);
        return 2;
    }
    const int n = make_plan(questions);
    if (!n || clab_net_load(argv[1], &net) != CLAB_OK)
        return 1;
    printf("algorithm ranks        bytes         time: your questions\n");
    for (int i = 0; i < n; i++) {
        answers[i] = (struct h4_answer){questions[i], ask(net, questions[i])};
        print(answers[i].question, answers[i].seconds);
        printf("\n");
    }
    foresee(net, answers, n);
    clab_net_free(net);
    return 0;
}
