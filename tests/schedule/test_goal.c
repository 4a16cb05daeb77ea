// SPDX-License-Identifier: MIT
// GOAL written and read: what comes back is the same schedule, in the same text, at the same price to the bit; and what
// can not be read is refused by its line.

#include "tests/fixtures/capture.h"

#include "core/base/err.h"
#include "tests/fixtures/needs.h"
#include "sim/net/net.h"
#include "core/schedule/formats/goal.h"
#include "core/schedule/verify/trace.h"
#include "sim/sim.h"

static const double second_a_byte = 1e-9; // of a reduction: whole nanoseconds in the file

// Freed by the caller.
static char *text_of(const struct clab_problem *problem, const struct clab_algorithm *algorithm, size_t element_bytes)
{
    char *text;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    assert_int_equal(clab_goal_write(problem, algorithm, element_bytes, second_a_byte, out), CLAB_OK);
    assert_int_equal(fclose(out), 0);
    return text;
}

static int read_text(const char *text, struct clab_listing **listing_p)
{
    FILE *in = fmemopen((void *)text, strlen(text), "r");
    assert_non_null(in);
    struct clab_goal *goal;
    int err = clab_goal_read(in, "a.goal", &goal);
    fclose(in);
    if (err)
        return err;
    err = clab_goal_lower(goal, listing_p);
    clab_goal_free(goal);
    return err;
}

static struct clab_sim_result price(const struct clab_problem *problem, const struct clab_algorithm *algorithm,
                                    const struct clab_net *net, enum clab_sim_engine engine, size_t element_bytes)
{
    const struct clab_sim_options options = {.engine = engine, .element_bytes = element_bytes};
    struct clab_sim_result result;
    assert_int_equal(clab_sim_run(problem, algorithm, net, &options, &result), CLAB_OK);
    return result;
}

// ---- there and back ------------------------------------------------------------------------------------------

static void check(const struct clab_problem *problem, const struct clab_algorithm *algorithm,
                  const struct clab_net *net, enum clab_sim_engine engine)
{
    struct clab_listing *listing;
    char *text = text_of(problem, algorithm, 4);
    assert_int_equal(read_text(text, &listing), CLAB_OK);
    struct clab_sim_result computed = price(problem, algorithm, net, engine, 4),
                           read = price(&listing->problem, &listing->algorithm, net, engine, 1);
    if (computed.seconds != read.seconds)
        fail_msg("%s %s, %d ranks, root %d, %d lanes, count %zu: %.17g s, and read %.17g s",
                 clab_collective_name(problem->collective), algorithm->name, problem->nranks, problem->root,
                 problem->lanes, problem->count, computed.seconds, read.seconds);
    assert_int_equal(computed.messages, read.messages);
    char *again = text_of(&listing->problem, &listing->algorithm, 1);
    assert_string_equal(text, again);
    free(again);
    free(text);
    clab_listing_free(listing);
}

static void check_all(const struct clab_net *net, enum clab_sim_engine engine, int nranks, size_t count)
{
    for (const struct clab_algorithm *const *a = clab_algorithms; *a; a++)
        for (int lanes = 1; lanes <= 3; lanes += nranks > 16 ? 2 : 1) {
            struct clab_problem problem = {
                .collective = (*a)->collective, .nranks = nranks, .lanes = lanes, .count = count};
            if (clab_collective_rooted((*a)->collective))
                problem.root = (nranks - 1) * (lanes - 1) / 2;
            if ((*a)->collective == CLAB_BARRIER)
                problem.count = 0;
            if ((*a)->supports(&problem))
                check(&problem, *a, net, engine);
        }
}

static void test_what_is_read_costs_what_was_written(void **state)
{
    static const int ranks[] = {1, 2, 3, 5, 8, 16, 33, 64};
    struct clab_net *net;
    assert_int_equal(clab_net_create_flat(5e-6, 0.1e-9, second_a_byte, &net), CLAB_OK);
    for (size_t i = 0; i < sizeof ranks / sizeof *ranks && (!IS_SLOW || ranks[i] <= 16); i++) {
        check_all(net, CLAB_ENGINE_FULL, ranks[i], 3 * 64 * 60);
        check_all(net, CLAB_ENGINE_FULL, ranks[i], 1000);
    }
    clab_net_free(net);
}

static void test_protocols_and_shared_links_see_no_difference(void **state)
{
    needs_inih();
    static const char *const names[] = {"dgx-h100", "10gbe", "superpod-h100"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct clab_net *net;
        assert_int_equal(clab_net_load(names[i], &net), CLAB_OK);
        net->gamma = second_a_byte;
        check_all(net, CLAB_ENGINE_EVENTS, 16, 3 * 16 * 500);
        check_all(net, CLAB_ENGINE_FULL, 12, 777);
        clab_net_free(net);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_read_costs_what_was_written),
        cmocka_unit_test(test_protocols_and_shared_links_see_no_difference),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
