// SPDX-License-Identifier: MIT
// The engine prices the local copies of the program that runs: for every algorithm, rank, lane and stage, as many
// bytes as the compiled program's moves have.

#include "core/program/program.h"
#include "sim/engine/record.h"
#include "tests/fixtures/sim_run.h"

enum { MOST_RANKS = 9, STAGES_OF_ALL = 2 * MOST_RANKS + 2 };

static double copied[MOST_RANKS][3][STAGES_OF_ALL]; // bytes by rank, lane and stage: the engine's less the program's

// A copied byte takes a second, and nothing else takes any.
static struct clab_net *copies_only(void)
{
    struct clab_net *net = flat(0, 0, 0);
    net->nlevels = 1;
    net->levels[0] = (struct clab_level){.bytes = 1, .copy = {1, 1}};
    return net;
}

static void add_engine(const struct clab_record *record)
{
    for (int i = 0; i < record->nitems; i++) {
        const struct clab_record_item *item = &record->items[i];
        assert_int_equal(item->did, CLAB_DID_COPY);
        assert_in_range(item->stage, 0, STAGES_OF_ALL - 1);
        copied[item->rank][item->lane][item->stage] += item->end - item->begin;
    }
}

static double bytes_of(const struct clab_program *program, int first, int n)
{
    double bytes = 0;
    for (int i = first; i < first + n; i++) {
        assert_int_equal(program->moves[i].op, CLAB_COPY);
        bytes += (double)program->moves[i].count;
    }
    return bytes;
}

// What nothing waits for is copied in the first stage, what goes home behind the last.
static void take_program(const struct clab_program *program)
{
    for (int lane = 0; lane < program->problem.lanes; lane++) {
        const struct clab_lane *plan = &program->lanes[lane];
        double *stages = copied[program->rank][lane];
        for (int i = 0; i < plan->nstages; i++) {
            const struct clab_stage *stage = &program->stages[plan->first_stage + i];
            stages[i] -= bytes_of(program, stage->first, stage->before);
            stages[i] -= bytes_of(program, stage->first + stage->before + stage->transfers, stage->after);
        }
        stages[0] -= bytes_of(program, plan->aside, plan->naside);
        stages[plan->nstages] -= bytes_of(program, plan->finish, plan->nfinish);
    }
}

static void compare(const struct clab_problem *problem, const struct clab_algorithm *algorithm, bool in_place)
{
    for (int rank = 0; rank < problem->nranks; rank++)
        for (int lane = 0; lane < problem->lanes; lane++)
            for (int stage = 0; stage < STAGES_OF_ALL; stage++)
                if (copied[rank][lane][stage] != 0)
                    fail_msg("%s %s%s, %zu elements, %d lanes, rank %d of %d, lane %d, stage %d: %g bytes are priced "
                             "beyond what the program copies",
                             clab_collective_name(problem->collective), algorithm->name, in_place ? " in place" : "",
                             problem->count, problem->lanes, rank, problem->nranks, lane, stage,
                             copied[rank][lane][stage]);
}

static void check(const struct clab_problem *problem, const struct clab_algorithm *algorithm,
                  const struct clab_net *net, bool in_place)
{
    struct clab_record record = {0};
    memset(copied, 0, sizeof copied);
    run(problem, algorithm, net,
        (struct clab_sim_options){.engine = CLAB_ENGINE_FULL, .in_place = in_place, .record = &record});
    add_engine(&record);
    clab_record_free(&record);
    for (int rank = 0; rank < problem->nranks; rank++) {
        struct clab_program *program;
        assert_int_equal(clab_program_compile(problem, algorithm, rank, in_place, &program), CLAB_OK);
        take_program(program);
        clab_program_free(program);
    }
    compare(problem, algorithm, in_place);
}

static void test_copies_are_those_of_the_program(void **state)
{
    static const size_t counts[] = {1, 2, 7, 1000};
    struct clab_net *net = copies_only();
    for (const struct clab_algorithm *const *a = clab_algorithms; *a; a++)
        for (int i = 0; i < MOST_RANKS * 3 * 4 * 2; i++) {
            const struct clab_problem problem = {.collective = (*a)->collective,
                                                 .nranks = 1 + i % MOST_RANKS,
                                                 .lanes = 1 + i / MOST_RANKS % 3,
                                                 .count = counts[i / MOST_RANKS / 3 % 4]};
            if ((*a)->supports(&problem))
                check(&problem, *a, net, i / MOST_RANKS / 3 / 4);
        }
    clab_net_free(net);
}

static double seconds(enum clab_collective collective, const char *algorithm, int nranks, bool in_place)
{
    struct clab_net *net = copies_only();
    const struct clab_problem problem = {.collective = collective, .nranks = nranks, .lanes = 1, .count = 100};
    const double s = seconds_of(algorithm, problem, net,
                                (struct clab_sim_options){.engine = CLAB_ENGINE_FULL, .in_place = in_place});
    clab_net_free(net);
    return s;
}

static void test_copies_take_their_time(void **state)
{
    // Rank 2 of 4 receives two blocks in one piece, passes one on, and copies its own to `out`.
    assert_true(seconds(CLAB_SCATTER, "binomial", 4, false) == 100);
    assert_true(seconds(CLAB_SCATTER, "flat", 4, true) == 0);
    // Of one exchange the sum lands beside `out`, and is copied there; of two, the second lands there.
    assert_true(seconds(CLAB_ALLREDUCE, "doubling", 3, true) == 100);
    assert_true(seconds(CLAB_ALLREDUCE, "doubling", 4, true) == 0);
    // Half of the blocks are received with the rank's own among them, which lies in `out` where the others do not.
    assert_true(seconds(CLAB_REDUCE_SCATTER, "halving", 2, true) == 0);
    assert_true(seconds(CLAB_REDUCE_SCATTER, "halving", 4, true) == 200);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_copies_are_those_of_the_program),
        cmocka_unit_test(test_copies_take_their_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
