// SPDX-License-Identifier: MIT
// What the verifier counts, and what it allows: stated costs are exact to the last field, empty stages cost nothing,
// and ranks may be more than the bits of a word.

#include "tests/fixtures/capture.h"

#include "core/base/err.h"
#include "core/schedule/build.h"
#include "core/schedule/verify/verify.h"

static struct clab_verifier *verifier;
static const struct clab_algorithm *base; // of the mutant at hand

static int create_verifier(void **state)
{
    return clab_verifier_create(&verifier);
}

static int free_verifier(void **state)
{
    clab_verifier_free(verifier);
    return 0;
}

// ---- costs ---------------------------------------------------------------------------------------------------

static size_t wrong_field; // of struct clab_cost, all of whose fields are long
static long wrong_by;

static struct clab_cost cost_wrongly(const struct clab_problem *problem)
{
    struct clab_cost cost = base->cost(problem);
    *(long *)(void *)((char *)&cost + wrong_field * sizeof(long)) += wrong_by;
    return cost;
}

static void test_cost_off_by_one_in_any_field_is_rejected(void **state)
{
    const struct clab_problem problem = {CLAB_ALLREDUCE, 5, 0, 2, 0, 0, NULL};
    struct clab_verify_result result;
    base = clab_algorithm_find(CLAB_ALLREDUCE, "halving_doubling");
    struct clab_algorithm mutated = *base;
    mutated.cost = cost_wrongly;
    for (wrong_field = 0; wrong_field < sizeof(struct clab_cost) / sizeof(long); wrong_field++)
        for (wrong_by = -1; wrong_by <= 1; wrong_by++) {
            int err = clab_verify(verifier, &problem, &mutated, &result);
            assert_int_equal(err, wrong_by ? CLAB_EWRONG : CLAB_OK);
            assert_int_equal(result.flaw, wrong_by ? CLAB_FLAW_COST : CLAB_SOUND);
        }
}

// Counted by hand: a ring of four, and a chain of three lanes.
static void test_found_costs_are_those_of_the_textbook(void **state)
{
    const struct clab_problem ring = {CLAB_ALLREDUCE, 4, 0, 1, 0, 0, NULL};
    const struct clab_problem chain = {CLAB_BROADCAST, 5, 3, 3, 0, 0, NULL};
    struct clab_verify_result v;
    assert_int_equal(clab_verify(verifier, &ring, clab_algorithm_find(CLAB_ALLREDUCE, "ring"), &v), CLAB_OK);
    assert_int_equal(v.found.rounds, 6);
    assert_int_equal(v.found.serial, 6);
    assert_int_equal(v.found.reduced, 3);
    assert_int_equal(v.found.sent_max, 6);
    assert_int_equal(v.found.sent_total, 24);
    assert_int_equal(v.stages, 6);
    assert_int_equal(clab_verify(verifier, &chain, clab_algorithm_find(CLAB_BROADCAST, "chain"), &v), CLAB_OK);
    assert_int_equal(v.found.rounds, 4);
    assert_int_equal(v.found.messages_max, 3);
    assert_int_equal(v.found.sent_total, 12);
    assert_int_equal(v.found.reduced, 0);
}

// ---- rules that allow ----------------------------------------------------------------------------------------

STAGE(with_pauses)
{
    return s % 3 ? 0 : base->stage(problem, rank, lane, s / 3, out);
}

static void test_empty_stages_are_sound(void **state)
{
    const struct clab_problem problem = {CLAB_ALLREDUCE, 7, 0, 1, 0, 0, NULL};
    struct clab_verify_result result;
    base = clab_algorithm_find(CLAB_ALLREDUCE, "ring");
    struct clab_algorithm mutated = *base;
    mutated.stage = with_pauses;
    assert_int_equal(clab_verify(verifier, &problem, &mutated, &result), CLAB_OK);
    assert_int_equal(result.stages, 12);
}

STAGE(distance_repeated) // of recursive doubling: the same partner again
{
    return base->stage(problem, rank, lane, s == 2 ? 1 : s, out);
}

static void test_sets_of_more_than_a_word_work(void **state)
{
    const int ranks[] = {63, 64, 65, 130};
    for (size_t i = 0; i < sizeof ranks / sizeof *ranks; i++)
        for (const struct clab_algorithm *const *a = clab_algorithms; *a; a++) {
            const struct clab_problem problem = {(*a)->collective, ranks[i], 0, (*a)->default_lanes, 0, 0, NULL};
            struct clab_verify_result result;
            if (clab_verify(verifier, &problem, *a, &result) != CLAB_OK)
                fail_msg("%s %s: %s", clab_collective_name((*a)->collective), (*a)->name, result.text);
        }
    const struct clab_problem problem = {CLAB_ALLREDUCE, 130, 0, 1, 0, 0, NULL};
    struct clab_verify_result result;
    base = clab_algorithm_find(CLAB_ALLREDUCE, "doubling");
    struct clab_algorithm mutated = *base;
    mutated.stage = distance_repeated;
    assert_int_equal(clab_verify(verifier, &problem, &mutated, &result), CLAB_EWRONG);
    assert_int_equal(result.flaw, CLAB_FLAW_DOUBLE_COUNT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cost_off_by_one_in_any_field_is_rejected),
        cmocka_unit_test(test_found_costs_are_those_of_the_textbook),
        cmocka_unit_test(test_empty_stages_are_sound),
        cmocka_unit_test(test_sets_of_more_than_a_word_work),
    };
    return cmocka_run_group_tests(tests, create_verifier, free_verifier);
}
