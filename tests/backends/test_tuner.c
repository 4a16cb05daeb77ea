// SPDX-License-Identifier: MIT
// What the tuner answers NCCL (tuner_call.h): every row of a table, what is not to be had, and whatever it is asked
// with.

#include "tests/fixtures/tuner_call.h"

// ---- right answers -------------------------------------------------------------------------------------------

struct row {
    int function, algorithm, protocol, channels, nodes, ranks;
    size_t first, last;
};
enum { ROWS = 600 };
static struct row rows[ROWS];

static unsigned draw(unsigned *seed, unsigned below)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (*seed >> 8) % below;
}

// Rows that overlap, so that their order counts.
static void write_rows(void)
{
    static const char *const functions[] = {"broadcast", "reduce", "allgather", "reducescatter", "allreduce"};
    static const char *const algorithms[] = {"tree",      "ring", "collnet_direct", "collnet_chain", "nvls",
                                             "nvls_tree", "pat"};
    static const char *const protocols[] = {"ll", "ll128", "simple"};
    static const int topologies[][2] = {{1, 8}, {2, 16}, {4, 32}, {-1, 8}, {-1, -1}};
    unsigned seed = 7;
    FILE *file = fopen(folder_path("many.csv"), "w");
    assert_non_null(file);
    fputs("# collective_type,min_bytes,...\n\n", file);
    for (int i = 0; i < ROWS; i++) {
        const int *topology = topologies[draw(&seed, COUNT(topologies))], channels = (int)draw(&seed, 33) - 1;
        const size_t first = (size_t)draw(&seed, 1000) << draw(&seed, 20);
        rows[i] = (struct row){(int)draw(&seed, FUNCTIONS),
                               (int)draw(&seed, ALGORITHMS),
                               (int)draw(&seed, PROTOCOLS),
                               channels,
                               topology[0],
                               topology[1],
                               first,
                               first + draw(&seed, 1 << 16)};
        const struct row *r = &rows[i];
        fprintf(file, "%s,%zu,%zu,%s,%s,%d,%d,%d,-1,-1,1.%03u\n", functions[r->function], r->first, r->last,
                algorithms[r->algorithm], protocols[r->protocol], r->channels, r->nodes, r->ranks, draw(&seed, 1000));
    }
    fclose(file);
}

static struct answer expected(int nodes, int ranks, int function, size_t bytes, unsigned gone)
{
    for (int i = 0; i < ROWS; i++) {
        const struct row *r = &rows[i];
        const bool in_network =
            r->algorithm == COLLNET_DIRECT || r->algorithm == COLLNET_CHAIN || (r->algorithm == NVLS && nodes > 1);
        if (r->function == function && bytes >= r->first && bytes <= r->last && (r->nodes == -1 || r->nodes == nodes) &&
            (r->ranks == -1 || r->ranks == ranks) && !(gone >> (PROTOCOLS * r->algorithm + r->protocol) & 1))
            return (struct answer){r->algorithm, r->protocol, in_network || r->channels < 0 ? 0 : r->channels};
    }
    if (!(gone >> 5 & 1))
        return (struct answer){RING, SIMPLE, 0};
    for (int i = ALGORITHMS * PROTOCOLS - 1; i >= 0; i--)
        if (!(gone >> i & 1))
            return (struct answer){i / PROTOCOLS, i % PROTOCOLS, 0};
    return (struct answer){-1, -1, 0};
}

static void check_rows(int version)
{
    static const int topologies[][2] = {{1, 8}, {2, 16}, {4, 32}, {3, 24}};
    unsigned seed = 1;
    use(folder_path("many.csv"));
    for (size_t t = 0; t < COUNT(topologies); t++) {
        const int nodes = topologies[t][0], ranks = topologies[t][1];
        void *context = begin(version, (size_t)ranks, (size_t)nodes, take_log);
        for (int i = 0; i < 4 * ROWS; i++) {
            const struct row *r = &rows[i / 4];
            const size_t sizes[] = {r->first - (r->first > 0), r->first, r->last, r->last + 1};
            const unsigned gone = i % 3 ? draw(&seed, 1 << 21) & draw(&seed, 1 << 21) : 0;
            const struct answer e = expected(nodes, ranks, r->function, sizes[i % 4], gone);
            assert_answer(ask(context, r->function, sizes[i % 4], gone), e.algorithm, e.protocol, e.channels);
        }
        end(version, context);
        clear_log();
    }
}

static void test_every_row_of_a_table_is_answered_as_it_says(void **state)
{
    write_rows();
    check_rows(5);
    check_rows(4);
}

static void test_rows_are_for_their_nodes_ranks_and_sizes(void **state)
{
    use(table_of("allreduce,100,200,tree,ll,4,2,16\nallreduce,0,-1,nvls,simple,-1,1,-1\n"));
    void *context = begin(5, 16, 2, take_log);
    assert_answer(ask(context, ALLREDUCE, 99, 0), RING, SIMPLE, 0);
    assert_answer(ask(context, ALLREDUCE, 100, 0), TREE, LL, 4);
    assert_answer(ask(context, ALLREDUCE, 200, 0), TREE, LL, 4);
    assert_answer(ask(context, ALLREDUCE, 201, 0), RING, SIMPLE, 0);
    assert_answer(ask(context, BROADCAST, 150, 0), RING, SIMPLE, 0);
    end(5, context);
    context = begin(4, 16, 1, take_log);
    assert_answer(ask(context, ALLREDUCE, 150, 0), NVLS, SIMPLE, 0);
    assert_answer(ask(context, ALLREDUCE, SIZE_MAX, 0), NVLS, SIMPLE, 0);
    end(4, context);
    clear_log();
}

// Groups and registered buffers.
static void test_rows_are_for_their_groups_and_buffers(void **state)
{
    static const int calls[][3] = {{1, 0, RING}, {2, 0, TREE}, {2, 1, PAT}};
    use(table_of("allgather,0,-1,tree,ll,-1,-1,-1,2,0\nallgather,0,-1,pat,ll,-1,-1,-1,-1,1\n"));
    void *context = begin(5, 8, 1, take_log);
    for (size_t i = 0; i < COUNT(calls); i++) {
        float costs[ALGORITHMS][PROTOCOLS] = {0};
        int channels = 0, zeros = 0, at = RING;
        for (int k = 0; k < ALGORITHMS * PROTOCOLS; k++)
            costs[k / PROTOCOLS][k % PROTOCOLS] = 5;
        assert_int_equal(v5->get(context, ALLGATHER, 64, calls[i][0], (float **)costs, ALGORITHMS, PROTOCOLS,
                                 calls[i][1], &channels),
                         0);
        for (int a = 0; a < ALGORITHMS; a++)
            if (costs[a][LL] == 0) {
                at = a;
                zeros++;
            }
        assert_int_equal(at, calls[i][2]);
        assert_int_equal(zeros, calls[i][2] != RING);
    }
    end(5, context);
    clear_log();
}

// A log of 64 lines of code must not be as long as a training.
static void test_what_is_chosen_is_said_once_for_a_size(void **state)
{
    use(table_of("allreduce,0,1023,tree,ll,-1,-1,-1\nallreduce,1024,-1,ring,ll128,2,-1,-1\n"));
    clear_log();
    void *context = begin(5, 8, 1, take_log);
    assert_text_has(logged, "commlab: 2 of 2 rows of ");
    assert_text_has(logged, " for 8 ranks on 1 node\n");
    clear_log();
    for (int i = 0; i < 100; i++)
        assert_answer(ask(context, ALLREDUCE, 512, 0), TREE, LL, 0);
    assert_one_line_with(logged, "allreduce of 512 bytes: tree ll by line 1 of ");
    assert_text_has(logged, "NCCL's own is ring simple");
    ask(context, ALLREDUCE, 4096, 0);
    ask(context, ALLREDUCE, 5000, 0);
    assert_int_equal(nlogged, 2);
    assert_text_has(logged, "ring ll128 on 2 channels by line 2");
    ask(context, REDUCE, 4096, 0);
    assert_text_has(logged, "reduce of 4096 bytes: NCCL's own, ring simple: no row of ");
    assert_int_equal(nwarned, 0);
    end(5, context);
    clear_log();
}

static void test_what_nccl_has_not_got_falls_back_and_says_so(void **state)
{
    const unsigned no_tree_ll = 1u << LL, no_ring_ll = 1u << (PROTOCOLS * RING + LL);
    use(table_of("allreduce,0,-1,tree,ll,-1,-1,-1\nallreduce,0,-1,ring,ll,-1,-1,-1\n"));
    void *context = begin(5, 8, 1, take_log);
    clear_log();
    assert_answer(ask(context, ALLREDUCE, 8, no_tree_ll), RING, LL, 0);
    assert_one_line_with(logged, "line 1 wants tree ll, which NCCL has not got here; ring ll by line 2");
    clear_log();
    assert_answer(ask(context, ALLREDUCE, 1 << 20, no_tree_ll | no_ring_ll), RING, SIMPLE, 0);
    assert_one_line_with(logged,
                         "line 1 wants tree ll, which NCCL has not got here; NCCL's own, ring simple: no other row");
    assert_answer(ask(context, ALLREDUCE, 1, (1u << 21) - 1), -1, -1, 0); // nothing at all is to be had
    end(5, context);
    clear_log();
}

// ---- what NCCL might do one day ------------------------------------------------------------------------------

static void test_nothing_that_it_is_called_with_crashes_it(void **state)
{
    float costs[ALGORITHMS][PROTOCOLS] = {{1}};
    int channels = 0;
    use(table_of("allreduce,0,-1,pat,simple,7,-1,-1\n"));
    void *context = begin(5, 8, 1, NULL);
    assert_int_equal(v5->init(NULL, 0, 8, 1, NULL, NULL, NULL), 0);
    assert_int_equal(v4->init(8, 1, NULL, NULL), 0);
    assert_int_equal(v5->get(NULL, ALLREDUCE, 8, 1, (float **)costs, ALGORITHMS, PROTOCOLS, 0, &channels), 0);
    assert_int_equal(v5->get(context, ALLREDUCE, 8, 1, NULL, ALGORITHMS, PROTOCOLS, 0, &channels), 0);
    assert_int_equal(v5->get(context, ALLREDUCE, 8, 1, (float **)costs, 0, PROTOCOLS, 0, &channels), 0);
    assert_int_equal(v5->get(context, ALLREDUCE, 8, 1, (float **)costs, -1, -1, 0, &channels), 0);
    for (int function = -1; function < 40; function++)
        if (function != ALLREDUCE)
            assert_int_equal(v5->get(context, function, 8, 1, (float **)costs, ALGORITHMS, PROTOCOLS, 0, &channels), 0);
    assert_int_equal(channels, 0);
    assert_true(costs[0][0] == 1 && costs[PAT][SIMPLE] == 0);
    costs[PAT][SIMPLE] = 3;
    assert_int_equal(v5->get(context, ALLREDUCE, 0, 1, (float **)costs, ALGORITHMS, PROTOCOLS, 0, NULL), 0);
    assert_true(costs[PAT][SIMPLE] == 0);
    assert_int_equal(v5->finalize(NULL), 0);
    end(5, context);
}

// The table of a version with other numbers is read by the numbers that it gives.
static void check_bounds(void *context, int algorithms, int protocols)
{
    const size_t n = (size_t)algorithms * (size_t)protocols, at = (size_t)(NVLS_TREE * protocols + LL128);
    const bool is_in = NVLS_TREE < algorithms && LL128 < protocols;
    float *costs = malloc(n * sizeof *costs); // the sanitizer watches both ends
    int channels = 0;
    assert_non_null(costs);
    for (size_t i = 0; i < n; i++)
        costs[i] = 9;
    assert_int_equal(v5->get(context, ALLREDUCE, 64, 1, (float **)(void *)costs, algorithms, protocols, 0, &channels),
                     0);
    for (size_t i = 0; i < n; i++)
        assert_true(costs[i] == (is_in && i == at ? 0 : 9));
    assert_int_equal(channels, is_in ? 3 : 0);
    free(costs);
}

static void test_a_table_of_any_shape_is_kept_within(void **state)
{
    use(table_of("allreduce,0,-1,nvls_tree,ll128,3,-1,-1\n"));
    void *context = begin(5, 8, 1, take_log);
    for (int algorithms = 1; algorithms <= 12; algorithms++)
        for (int protocols = 1; protocols <= 5; protocols++)
            check_bounds(context, algorithms, protocols);
    end(5, context);
    clear_log();
}

// ---- several communicators -----------------------------------------------------------------------------------

static void test_communicators_have_tables_of_their_own(void **state)
{
    use(table_of("allreduce,0,-1,tree,ll,-1,1,8\n"));
    void *first = begin(5, 8, 1, take_log);
    use(table_of("allreduce,0,-1,pat,ll,-1,2,16\n"));
    void *second = begin(4, 16, 2, take_log), *third = begin(5, 8, 1, take_log);
    assert_answer(ask(first, ALLREDUCE, 8, 0), TREE, LL, 0);
    assert_answer(ask(second, ALLREDUCE, 8, 0), PAT, LL, 0);
    assert_answer(ask(third, ALLREDUCE, 8, 0), RING, SIMPLE, 0);
    end(5, first);
    assert_answer(ask(second, ALLREDUCE, 8, 0), PAT, LL, 0);
    end(4, second);
    end(5, third);
    clear_log();
}

static void *shared;
static atomic_int nwrong;

static void *work(void *unused)
{
    void *own = NULL;
    v5->init(&own, 1, 8, 1, take_log, NULL, NULL);
    for (int i = 0; i < 2000; i++) {
        float costs[2][ALGORITHMS][PROTOCOLS];
        int channels = 0;
        for (int k = 0; k < 2 * ALGORITHMS * PROTOCOLS; k++)
            (&costs[0][0][0])[k] = 1;
        v5->get(own, ALLREDUCE, (size_t)i, 1, (float **)costs[0], ALGORITHMS, PROTOCOLS, 0, &channels);
        v5->get(shared, ALLREDUCE, (size_t)i, 1, (float **)costs[1], ALGORITHMS, PROTOCOLS, 0, &channels);
        nwrong += costs[0][TREE][LL] != 0 || costs[1][TREE][LL] != 0;
    }
    v5->finalize(own);
    return NULL;
}

static void test_threads_may_ask_at_once(void **state)
{
    pthread_t threads[4];
    use(table_of("allreduce,0,-1,tree,ll,-1,-1,-1\n"));
    clear_log();
    shared = begin(5, 8, 1, take_log);
    for (size_t i = 0; i < COUNT(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, work, NULL), 0);
    for (size_t i = 0; i < COUNT(threads); i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(nwrong, 0);
    // Sizes 0 to 1999 are of 11 powers of two: for each of five communicators a line each, and one at the start.
    assert_int_equal(nlogged, 5 * (11 + 1));
    end(5, shared);
    clear_log();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_row_of_a_table_is_answered_as_it_says),
        cmocka_unit_test(test_rows_are_for_their_nodes_ranks_and_sizes),
        cmocka_unit_test(test_rows_are_for_their_groups_and_buffers),
        cmocka_unit_test(test_what_is_chosen_is_said_once_for_a_size),
        cmocka_unit_test(test_what_nccl_has_not_got_falls_back_and_says_so),
        cmocka_unit_test(test_nothing_that_it_is_called_with_crashes_it),
        cmocka_unit_test(test_a_table_of_any_shape_is_kept_within),
        cmocka_unit_test(test_communicators_have_tables_of_their_own),
        cmocka_unit_test(test_threads_may_ask_at_once),
    };
    return cmocka_run_group_tests(tests, load_plugin, folder_remove);
}
