// SPDX-License-Identifier: MIT
// MSCCL's XML written and read: what comes back is the same schedule, proved, in the same text and at the same price to
// the bit; without the stages that the file names it is still a sound one, by its dependences alone, and gives the
// right result. What is written follows the rules of both parsers of MSCCL.

#include "tests/fixtures/capture.h"

#include "tests/fixtures/msccl_rules.h"
#include "tests/fixtures/needs.h"
#include "tests/fixtures/run_listing.h"
#include "core/base/err.h"
#include "sim/net/net.h"
#include "core/schedule/formats/msccl.h"
#include "core/schedule/verify/verify.h"
#include "sim/sim.h"

// Freed by the caller; NULL: it can not be written.
static char *text_for(const struct clab_problem *problem, const struct clab_algorithm *algorithm,
                      enum clab_msccl_reader reader)
{
    char *text;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    int err = clab_msccl_write(problem, algorithm, reader, out);
    assert_int_equal(fclose(out), 0);
    if (err) {
        assert_int_equal(err, CLAB_EUNSUPPORTED);
        free(text);
        return NULL;
    }
    return text;
}

static char *text_of(const struct clab_problem *problem, const struct clab_algorithm *algorithm)
{
    return text_for(problem, algorithm, CLAB_MSCCL_MICROSOFT);
}

static int read_text(const char *text, struct clab_listing **listing_p)
{
    FILE *in = fmemopen((void *)text, strlen(text), "r");
    assert_non_null(in);
    int err = clab_msccl_read(in, "a.xml", listing_p);
    fclose(in);
    return err;
}

static double seconds_of(const struct clab_problem *problem, const struct clab_algorithm *algorithm,
                         const struct clab_net *net, enum clab_sim_engine engine)
{
    const struct clab_sim_options options = {.engine = engine, .element_bytes = 4};
    struct clab_sim_result result;
    assert_int_equal(clab_sim_run(problem, algorithm, net, &options, &result), CLAB_OK);
    return result.seconds;
}

// Rename the attributes that only the kit reads.
static void strip(char *text)
{
    for (char *at = text; (at = strstr(at, " stage=\"")); at++)
        memcpy(at, " eta", 4);
    for (char *at = text; (at = strstr(at, " lanes=\"")); at++)
        memcpy(at, " enal", 5);
}

// ---- there and back ------------------------------------------------------------------------------------------

static void check_rules(const struct clab_problem *problem, const struct clab_algorithm *algorithm, const char *text)
{
    char *azure = text_for(problem, algorithm, CLAB_MSCCL_AZURE);
    for (int is_azure = 0; is_azure < 2; is_azure++) {
        const char *broken = rules_broken(is_azure ? azure : text, is_azure);
        if (*broken)
            fail_msg("%s %s, %d ranks, %d lanes, for %s: %s", clab_collective_name(problem->collective),
                     algorithm->name, problem->nranks, problem->lanes, is_azure ? "Azure" : "Microsoft", broken);
    }
    free(azure);
}

struct counts {
    int written, refused;
};

static void check(const struct clab_problem *problem, const struct clab_algorithm *algorithm,
                  const struct clab_net *net, enum clab_sim_engine engine, struct counts *counts)
{
    struct clab_listing *listing, *bare;
    char *text = text_of(problem, algorithm);
    counts->refused += !text;
    counts->written += !!text;
    if (!text)
        return;
    assert_int_equal(read_text(text, &listing), CLAB_OK);
    struct clab_problem again = listing->problem;
    again.count = problem->count;
    double computed = seconds_of(problem, algorithm, net, engine),
           read = seconds_of(&again, &listing->algorithm, net, engine);
    if (computed != read)
        fail_msg("%s %s, %d ranks, root %d, %d lanes, count %zu: %.17g s, and read %.17g s",
                 clab_collective_name(problem->collective), algorithm->name, problem->nranks, problem->root,
                 problem->lanes, problem->count, computed, read);
    char *text_again = text_of(&again, &listing->algorithm);
    assert_string_equal(text, text_again);
    clab_listing_free(listing);
    free(text_again);
    check_rules(problem, algorithm, text);
    strip(text);
    if (read_text(text, &bare) != CLAB_OK) // proved there
        fail_msg("%s %s, %d ranks, %d lanes: its dependences are not enough", clab_collective_name(problem->collective),
                 algorithm->name, problem->nranks, problem->lanes);
    assert_true(bare->even || bare->nsteps == 0);
    if (problem->nranks <= 8) {
        assert_int_equal(listing_run(bare, 2, false), 0);
        assert_true(clab_problem_has_input(&bare->problem) || listing_run(bare, 3, true) == 0);
    }
    clab_listing_free(bare);
    free(text);
}

static struct counts check_all(const struct clab_net *net, enum clab_sim_engine engine, int nranks, size_t count)
{
    struct counts counts = {0};
    for (const struct clab_algorithm *const *a = clab_algorithms; *a; a++)
        for (int lanes = 1; lanes <= 3; lanes += nranks > 16 ? 2 : 1) {
            enum clab_collective c = (*a)->collective;
            struct clab_problem problem = {.collective = c, .nranks = nranks, .lanes = lanes, .count = count};
            if (clab_collective_rooted(c))
                problem.root = (nranks - 1) * (lanes - 1) / 2;
            bool known = c != CLAB_BARRIER && c != CLAB_SENDRECV && c != CLAB_GATHER && c != CLAB_SCATTER;
            if (known && (*a)->supports(&problem))
                check(&problem, *a, net, engine, &counts);
        }
    return counts;
}

static void test_what_is_read_costs_what_was_written(void **state)
{
    needs_expat();
    static const int ranks[] = {1, 2, 3, 5, 8, 16, 33, 64};
    struct clab_net *net;
    struct counts all = {0};
    assert_int_equal(clab_net_create_flat(5e-6, 0.1e-9, 0.03e-9, &net), CLAB_OK);
    for (size_t i = 0; i < sizeof ranks / sizeof *ranks && (!IS_SLOW || ranks[i] <= 16); i++) {
        struct counts counts = check_all(net, CLAB_ENGINE_FULL, ranks[i], ranks[i] > 16 ? 1000 : 1001);
        all.written += counts.written;
        all.refused += counts.refused;
    }
    print_message("%d written and read, %d more than MSCCL takes\n", all.written, all.refused);
    assert_true(all.written > 10 * all.refused);
    clab_net_free(net);
}

// The rules above are worth something: each of these breaks one.
static void test_rules_find_what_breaks_them(void **state)
{
    static const struct clab_problem problem = {.collective = CLAB_REDUCE_SCATTER, .nranks = 4, .lanes = 1};
    static const char *const changes[][2] = {
        {" hasdep=\"1\"", " hasdep=\"0\""}, {" maxBytes=\"13", " maxBytes=\"-1"}, {" chan=\"0\"", " chan=\"9\""},
        {" srcoff=\"3\"", " srcoff=\"4\""}, {" type=\"s\"", " type=\"z\""},   {" send=\"1\"", " send=\"0\""},
    };
    const struct clab_algorithm *halving = clab_algorithm_find(CLAB_REDUCE_SCATTER, "halving");
    char *text = text_for(&problem, halving, CLAB_MSCCL_MICROSOFT);
    assert_string_equal(rules_broken(text, false), "");
    assert_string_equal(rules_broken(text, true), "coll 'reduce_scatter'");
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        char *at = strstr(text, changes[i][0]);
        assert_non_null(at);
        memcpy(at, changes[i][1], strlen(changes[i][1]));
        assert_string_not_equal(rules_broken(text, false), "");
        memcpy(at, changes[i][0], strlen(changes[i][0]));
    }
    free(text);
}

static bool is_written(enum clab_collective collective, const char *name, int nranks, int lanes)
{
    const struct clab_problem problem = {.collective = collective, .nranks = nranks, .lanes = lanes};
    char *text = text_of(&problem, clab_algorithm_find(collective, name));
    free(text);
    return text != NULL;
}

// microsoft/msccl's parser refuses 217 thread blocks, and more than 4095 elements (the file, 33 GPUs, 32 blocks and
// 32 x 128 steps). A wait for block 128 or a later one becomes a wait for block -128 or so, by both parsers.
static void test_refuses_what_the_parsers_do_not_hold(void **state)
{
    assert_true(is_written(CLAB_ALLTOALL, "pairwise", 128, 1));
    assert_false(is_written(CLAB_ALLTOALL, "pairwise", 129, 1));
    assert_true(is_written(CLAB_ALLREDUCE, "ring", 33, 31));
    assert_false(is_written(CLAB_ALLREDUCE, "ring", 33, 32));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_read_costs_what_was_written),
        cmocka_unit_test(test_rules_find_what_breaks_them),
        cmocka_unit_test(test_refuses_what_the_parsers_do_not_hold),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
