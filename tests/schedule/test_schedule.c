// SPDX-License-Identifier: MIT
// Algorithms on real numbers: an interpreter that shares nothing with the verifier but schedule.h runs every algorithm
// on arrays of random integers, and the results are compared with sums and copies made directly.
// - P from 1 to 17, every root, counts 0, 1, P-1, P and odd ones, own lanes, one and three.
// - The interpreter buffers messages and is slow and simple; deadlocks are the verifier's subject.

#include "tests/fixtures/capture.h"

#include "core/base/err.h"
#include "core/schedule/schedule.h"

enum { MAX_P = 17, MAX_COUNT = 3 * MAX_P + 2, MAX_BLOCKS = 2 * MAX_P, MAX_LANES = 8, MAX_WIDTH = 2 * MAX_P };

// ---- numbers -------------------------------------------------------------------------------------------------

// Input element i of `block` of rank: a scrambled number, the same whenever it is asked for.
static int64_t input_value(int rank, int block, size_t i)
{
    uint64_t x = (uint64_t)rank * 1000003 + (uint64_t)block * 10007 + i * 101 + 12345;
    x = (x ^ x >> 31) * UINT64_C(0x9e3779b97f4a7c15);
    return (int64_t)(x >> 40);
}

static const int64_t garbage = INT64_C(-999999999999);

// What must be in element i of `block` of the result at `rank`; false if nothing must.
static bool result_value(const struct clab_problem *p, int rank, int block, size_t i, int64_t *value_p)
{
    int64_t sum = 0;
    for (int r = 0; r < p->nranks; r++)
        sum += input_value(r, p->collective == CLAB_REDUCE_SCATTER ? block : 0, i);
    switch (p->collective) {
    case CLAB_ALLREDUCE: *value_p = sum; return true;
    case CLAB_REDUCE: *value_p = sum; return rank == p->root;
    case CLAB_REDUCE_SCATTER: *value_p = sum; return block == rank;
    case CLAB_BROADCAST: *value_p = input_value(p->root, 0, i); return true;
    case CLAB_ALLGATHER: *value_p = input_value(block, 0, i); return true;
    case CLAB_GATHER: *value_p = input_value(block, 0, i); return rank == p->root;
    case CLAB_SCATTER: *value_p = input_value(p->root, block, i); return block == rank;
    case CLAB_ALLTOALL: *value_p = input_value(block, rank, i); return true;
    case CLAB_SENDRECV: *value_p = input_value((rank + p->nranks - 1) % p->nranks, 0, i); return true;
    default: return false;
    }
}

// Which element of the input a rank has at element i of `block` of CLAB_DATA before the collective.
static int64_t entry_value(const struct clab_problem *p, int rank, int block, size_t i)
{
    switch (p->collective) {
    case CLAB_BROADCAST: return rank == p->root ? input_value(rank, 0, i) : garbage;
    case CLAB_ALLGATHER:
    case CLAB_GATHER: return block == rank ? input_value(rank, 0, i) : garbage;
    case CLAB_SCATTER: return rank == p->root ? input_value(rank, block, i) : garbage;
    case CLAB_ALLTOALL: return garbage;
    default: return input_value(rank, block, i);
    }
}

// ---- the interpreter -----------------------------------------------------------------------------------------

struct letter {
    struct letter *next;
    size_t count;
    int64_t values[];
};

struct machine {
    struct clab_problem problem;
    const struct clab_algorithm *algorithm;
    int chunks;
    int64_t memory[MAX_P][CLAB_BUFFER_COUNT][MAX_BLOCKS * MAX_COUNT];
    struct letter *mail[MAX_LANES][MAX_P][MAX_P]; // from, to; first to last
    int stage[MAX_LANES][MAX_P];
    bool sent[MAX_LANES][MAX_P], done[MAX_LANES][MAX_P]; // the stage's messages; the whole lane
    struct letter *copies[MAX_LANES][MAX_P][MAX_WIDTH];  // what the stage's copies read on entry
};

static size_t span_elements(const struct machine *m, int lane, struct clab_span span)
{
    size_t n = 0, start;
    for (int c = span.first; c < span.first + span.count; c++)
        n += clab_problem_elements(&m->problem, m->chunks, lane, c, &start);
    return n;
}

static struct letter *read_span(struct machine *m, int lane, int rank, struct clab_span span)
{
    struct letter *letter = malloc(sizeof *letter + span_elements(m, lane, span) * sizeof *letter->values);
    assert_non_null(letter);
    letter->next = NULL;
    letter->count = 0;
    for (int c = span.first; c < span.first + span.count; c++) {
        size_t start, n = clab_problem_elements(&m->problem, m->chunks, lane, c, &start);
        memcpy(letter->values + letter->count, m->memory[rank][span.buffer] + start, n * sizeof *letter->values);
        letter->count += n;
    }
    return letter;
}

static void write_span(struct machine *m, int lane, int rank, struct clab_span span, bool adds, struct letter *letter)
{
    size_t at = 0;
    assert_int_equal(letter->count, span_elements(m, lane, span));
    for (int c = span.first; c < span.first + span.count; c++) {
        size_t start, n = clab_problem_elements(&m->problem, m->chunks, lane, c, &start);
        int64_t *to = m->memory[rank][span.buffer] + start;
        for (size_t i = 0; i < n; i++)
            to[i] = adds ? to[i] + letter->values[at + i] : letter->values[at + i];
        at += n;
    }
    free(letter);
}

static void enter_stage(struct machine *m, int lane, int rank, const struct clab_step *steps, int n)
{
    for (int i = 0; i < n; i++) {
        if (steps[i].op == CLAB_COPY)
            m->copies[lane][rank][i] = read_span(m, lane, rank, steps[i].src);
        if (steps[i].op != CLAB_SEND)
            continue;
        struct letter **end = &m->mail[lane][rank][steps[i].peer];
        while (*end)
            end = &(*end)->next;
        *end = read_span(m, lane, rank, steps[i].src);
    }
    m->sent[lane][rank] = true;
}

static bool has_mail(const struct machine *m, int lane, int rank, const struct clab_step *steps, int n)
{
    for (int i = 0; i < n; i++) {
        const struct letter *letter = m->mail[lane][steps[i].peer][rank];
        if (steps[i].op == CLAB_SEND || steps[i].op == CLAB_COPY)
            continue;
        for (int j = 0; j < i && letter; j++) // those before it have it first
            if (steps[j].peer == steps[i].peer && (steps[j].op == CLAB_RECV || steps[j].op == CLAB_RECV_REDUCE))
                letter = letter->next;
        if (!letter)
            return false;
    }
    return true;
}

static void leave_stage(struct machine *m, int lane, int rank, const struct clab_step *steps, int n)
{
    for (int i = 0; i < n; i++) {
        if (steps[i].op == CLAB_COPY) {
            write_span(m, lane, rank, steps[i].dst, false, m->copies[lane][rank][i]);
        } else if (steps[i].op != CLAB_SEND) {
            struct letter **first = &m->mail[lane][steps[i].peer][rank], *letter = *first;
            *first = letter->next;
            write_span(m, lane, rank, steps[i].dst, steps[i].op == CLAB_RECV_REDUCE, letter);
        }
    }
    m->sent[lane][rank] = false;
    m->stage[lane][rank]++;
}

// Whether anything happened.
static bool advance(struct machine *m, int lane, int rank)
{
    struct clab_step steps[MAX_WIDTH];
    if (m->done[lane][rank])
        return false;
    assert_true(m->algorithm->width(&m->problem) <= MAX_WIDTH);
    int n = m->algorithm->stage(&m->problem, rank, lane, m->stage[lane][rank], steps);
    if (n == CLAB_DONE)
        return m->done[lane][rank] = true;
    bool news = !m->sent[lane][rank];
    if (news)
        enter_stage(m, lane, rank, steps, n);
    if (!has_mail(m, lane, rank, steps, n))
        return news;
    leave_stage(m, lane, rank, steps, n);
    return true;
}

static void set_up(struct machine *m)
{
    const struct clab_problem *p = &m->problem;
    int blocks = p->collective == CLAB_ALLTOALL || p->collective == CLAB_ALLGATHER ||
                         p->collective == CLAB_REDUCE_SCATTER || p->collective == CLAB_GATHER ||
                         p->collective == CLAB_SCATTER
                     ? p->nranks
                     : 1;
    assert_true(m->algorithm->scratch(p) <= MAX_BLOCKS && p->lanes <= MAX_LANES);
    m->chunks = m->algorithm->chunks(p);
    memset(m->stage, 0, sizeof m->stage);
    memset(m->done, 0, sizeof m->done);
    for (int rank = 0; rank < p->nranks; rank++) {
        for (size_t i = 0; i < (size_t)m->algorithm->scratch(p) * p->count; i++)
            m->memory[rank][CLAB_SCRATCH][i] = garbage;
        for (int block = 0; block < blocks; block++)
            for (size_t i = 0; i < p->count; i++) {
                m->memory[rank][CLAB_DATA][(size_t)block * p->count + i] = entry_value(p, rank, block, i);
                m->memory[rank][CLAB_INPUT][(size_t)block * p->count + i] = input_value(rank, block, i);
            }
    }
}

static void check_result(const struct machine *m, int rank, int block)
{
    for (size_t i = 0; i < m->problem.count; i++) {
        int64_t wanted = 0, got = m->memory[rank][CLAB_DATA][(size_t)block * m->problem.count + i];
        if (result_value(&m->problem, rank, block, i, &wanted) && got != wanted)
            fail_msg("%s %s: P %d, root %d, lanes %d, count %zu: rank %d, block %d, element %zu is %lld, not %lld",
                     clab_collective_name(m->problem.collective), m->algorithm->name, m->problem.nranks,
                     m->problem.root, m->problem.lanes, m->problem.count, rank, block, i, (long long)got,
                     (long long)wanted);
    }
}

static void check_all(const struct machine *m)
{
    int nranks = m->problem.nranks;
    for (int rank = 0; rank < nranks; rank++) {
        for (int lane = 0; lane < m->problem.lanes; lane++) {
            assert_true(m->done[lane][rank]);
            for (int to = 0; to < nranks; to++)
                assert_null(m->mail[lane][rank][to]);
        }
        for (int block = 0; block < clab_problem_blocks(&m->problem); block++)
            check_result(m, rank, block);
    }
}

static void run_and_check(struct machine *m)
{
    bool news = true;
    set_up(m);
    while (news) {
        news = false;
        for (int lane = 0; lane < m->problem.lanes; lane++)
            for (int rank = 0; rank < m->problem.nranks; rank++)
                while (advance(m, lane, rank))
                    news = true;
    }
    check_all(m);
}

// ---- every algorithm -----------------------------------------------------------------------------------------

static void run_counts(struct machine *m, int nranks, int root, int lanes, int group)
{
    const size_t P = (size_t)nranks, counts[] = {0, 1, P - 1, P, 2 * P + 1, 3 * P + 2};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        m->problem = (struct clab_problem){m->algorithm->collective, nranks, root, lanes, group, counts[i], NULL};
        if (m->problem.collective == CLAB_BARRIER)
            m->problem.count = 0;
        if (m->algorithm->supports(&m->problem))
            run_and_check(m);
    }
}

static void test_algorithm(void **state)
{
    static struct machine machine;
    machine.algorithm = *state;
    const int lanes[] = {machine.algorithm->default_lanes, 1, 3};
    for (int nranks = 1; nranks <= MAX_P; nranks++)
        for (int root = 0; root < (clab_collective_rooted(machine.algorithm->collective) ? nranks : 1); root++)
            for (int i = 0; i < 3; i++)
                run_counts(&machine, nranks, root, lanes[i], 0);
}

static void test_two_levels_are_right_for_any_node_size(void **state)
{
    static const char *const names[] = {"hierarchical", "leaders"};
    static struct machine machine;
    for (int i = 0; i < 2; i++) {
        machine.algorithm = clab_algorithm_find(CLAB_ALLREDUCE, names[i]);
        for (int nranks = 1; nranks <= MAX_P; nranks++)
            for (int group = 1; group <= nranks + 1; group++)
                run_counts(&machine, nranks, 0, 1, group);
    }
}

static int children(const struct clab_problem *problem, const struct clab_algorithm *algorithm, int rank, int lane)
{
    struct clab_step steps[MAX_WIDTH];
    int n, heard = 0;
    for (int s = 0; (n = algorithm->stage(problem, rank, lane, s, steps)) != CLAB_DONE; s++)
        for (int i = 0; i < n; i++)
            heard += steps[i].op == CLAB_RECV_REDUCE;
    return heard;
}

// Who has children in one tree is a leaf of the other; if P is odd, all but one rank.
static void test_double_tree_shares_the_work(void **state)
{
    const struct clab_algorithm *algorithm = clab_algorithm_find(CLAB_ALLREDUCE, "double_tree");
    for (int nranks = 2; nranks <= 100; nranks++) {
        const struct clab_problem problem = {CLAB_ALLREDUCE, nranks, 0, 2, 0, 0, NULL};
        int busy_in_both = 0;
        for (int rank = 0; rank < nranks; rank++) {
            int first = children(&problem, algorithm, rank, 0), second = children(&problem, algorithm, rank, 1);
            assert_true(first <= 2 && second <= 2);
            busy_in_both += first > 0 && second > 0;
        }
        assert_true(busy_in_both <= nranks % 2);
    }
}

// ---- problems and parts --------------------------------------------------------------------------------------

static void test_parts_tile_the_whole(void **state)
{
    for (size_t n = 0; n < 40; n++)
        for (int k = 1; k < 20; k++) {
            size_t end = 0;
            for (int i = 0; i < k; i++) {
                assert_int_equal(clab_part_start(n, k, i), end);
                assert_true(clab_part_size(n, k, i) - n / (size_t)k <= 1);
                end += clab_part_size(n, k, i);
            }
            assert_int_equal(end, n);
        }
    assert_int_equal(clab_part_start(10, 4, 2), 6); // 3 3 2 2
    assert_int_equal(clab_part_size(10, 4, 2), 2);
}

static void test_chunks_of_all_lanes_tile_the_buffer(void **state)
{
    for (size_t count = 0; count < 23; count++)
        for (int lanes = 1; lanes < 5; lanes++)
            for (int chunks = 1; chunks < 6; chunks++) {
                const struct clab_problem problem = {CLAB_ALLGATHER, 3, 0, lanes, 0, count, NULL};
                char covered[3 * 23] = {0};
                for (int lane = 0; lane < lanes; lane++)
                    for (int chunk = 0; chunk < 3 * chunks; chunk++) {
                        size_t start, n = clab_problem_elements(&problem, chunks, lane, chunk, &start);
                        assert_true(n == 0 || start / count == (size_t)(chunk / chunks));
                        for (size_t i = start; i < start + n; i++)
                            covered[i]++;
                    }
                for (size_t i = 0; i < 3 * count; i++)
                    assert_int_equal(covered[i], 1);
            }
}

// Blocks in CLAB_DATA on entry, wanted at the end, and places in `in` and `out`, at rank 1 of three with root 1 and
// root 2.
static void test_collectives_hold_and_want_what_they_should(void **state)
{
    static const struct row {
        enum clab_collective collective;
        int root, blocks;
        const char *holds, *wants, *in, *out; // a character a block; '-' is none
    } rows[] = {
        {CLAB_ALLREDUCE, 0, 1, "1", "1", "0", "0"},
        {CLAB_BROADCAST, 1, 1, "1", "1", "0", "0"},
        {CLAB_BROADCAST, 2, 1, "0", "1", "-", "0"},
        {CLAB_REDUCE, 1, 1, "1", "1", "0", "0"},
        {CLAB_REDUCE, 2, 1, "1", "0", "0", "-"},
        {CLAB_ALLGATHER, 0, 3, "010", "111", "-0-", "012"},
        {CLAB_REDUCE_SCATTER, 0, 3, "111", "010", "012", "-0-"},
        {CLAB_ALLTOALL, 0, 3, "000", "111", "012", "012"},
        {CLAB_GATHER, 1, 3, "010", "111", "-0-", "012"},
        {CLAB_GATHER, 2, 3, "010", "000", "-0-", "---"},
        {CLAB_SCATTER, 1, 3, "111", "010", "012", "-0-"},
        {CLAB_SCATTER, 2, 3, "000", "010", "---", "-0-"},
        {CLAB_BARRIER, 0, 1, "1", "1", "0", "0"},
        {CLAB_SENDRECV, 0, 1, "1", "1", "0", "0"},
    };
    for (const struct row *row = rows; row < rows + sizeof rows / sizeof *rows; row++) {
        const struct clab_problem problem = {row->collective, 3, row->root, 1, 0, 4, NULL};
        int in = 0, out = 0;
        assert_int_equal(clab_problem_blocks(&problem), row->blocks);
        for (int block = 0; block < row->blocks; block++) {
            in += row->in[block] != '-';
            out += row->out[block] != '-';
            assert_int_equal(clab_problem_holds(&problem, 1, block), row->holds[block] == '1');
            assert_int_equal(clab_problem_wants(&problem, 1, block), row->wants[block] == '1');
            assert_int_equal(clab_problem_in_block(&problem, 1, block),
                             row->in[block] == '-' ? -1 : row->in[block] - '0');
            assert_int_equal(clab_problem_out_block(&problem, 1, block),
                             row->out[block] == '-' ? -1 : row->out[block] - '0');
        }
        assert_int_equal(clab_problem_in_blocks(&problem, 1), in);
        assert_int_equal(clab_problem_out_blocks(&problem, 1), out);
    }
}

static void test_names_are_parsed_back(void **state)
{
    enum clab_collective parsed;
    for (int i = 0; i < CLAB_COLLECTIVE_COUNT; i++) {
        assert_int_equal(clab_collective_parse(clab_collective_name((enum clab_collective)i), &parsed), CLAB_OK);
        assert_int_equal(parsed, i);
    }
    assert_int_equal(clab_collective_parse("reduce_scatter", &parsed), CLAB_OK);
    assert_int_equal(parsed, CLAB_REDUCE_SCATTER);
    parsed = CLAB_GATHER;
    assert_int_equal(clab_collective_parse("Allreduce", &parsed), CLAB_ENOENT);
    assert_int_equal(clab_collective_parse("", &parsed), CLAB_ENOENT);
    assert_int_equal(parsed, CLAB_GATHER);
}

static void test_bad_problems_are_refused(void **state)
{
    const struct clab_algorithm *ring = clab_algorithm_find(CLAB_ALLREDUCE, "ring");
    const struct clab_problem good = {CLAB_ALLREDUCE, 4, 0, 1, 0, 0, NULL};
    struct clab_problem bad[6] = {good, good, good, good, good, good};
    bad[0].nranks = 0;
    bad[1].root = 4;
    bad[2].root = -1;
    bad[3].lanes = 0;
    bad[4].group = -1;
    bad[5].collective = CLAB_ALLGATHER; // not the ring's
    assert_int_equal(clab_problem_check(&good, ring), CLAB_OK);
    assert_int_equal(clab_problem_check(&good, NULL), CLAB_OK);
    for (int i = 0; i < 6; i++)
        assert_int_equal(clab_problem_check(&bad[i], ring), CLAB_EINVAL);
}

static void test_algorithms_are_complete_and_found_by_name(void **state)
{
    for (const struct clab_algorithm *const *a = clab_algorithms; *a; a++) {
        assert_true(strlen((*a)->name) > 0 && strlen((*a)->title) > 10 && strlen((*a)->source) > 10);
        assert_ptr_equal(clab_algorithm_find((*a)->collective, (*a)->name), *a);
        assert_true((*a)->default_lanes >= 1);
    }
    assert_null(clab_algorithm_find(CLAB_ALLREDUCE, "bruck"));
    assert_null(clab_algorithm_find(CLAB_ALLTOALL, "ring"));
}

static void test_collectives_have_the_algorithms_they_should(void **state)
{
    static const char *const names[CLAB_COLLECTIVE_COUNT][10] = {
        [CLAB_ALLREDUCE] = {"naive", "star", "ring", "tree", "double_tree", "doubling", "halving_doubling",
                            "hierarchical", "leaders"},
        [CLAB_BROADCAST] = {"flat", "chain", "binomial", "scatter_allgather"},
        [CLAB_REDUCE] = {"flat", "binomial", "rs_gather"},
        [CLAB_ALLGATHER] = {"ring", "doubling", "bruck"},
        [CLAB_REDUCE_SCATTER] = {"ring", "halving", "pairwise"},
        [CLAB_ALLTOALL] = {"pairwise", "bruck"},
        [CLAB_GATHER] = {"flat", "binomial"},
        [CLAB_SCATTER] = {"flat", "binomial"},
        [CLAB_BARRIER] = {"central", "dissemination", "tree"},
        [CLAB_SENDRECV] = {"shift"},
    };
    for (int c = 0; c < CLAB_COLLECTIVE_COUNT; c++)
        for (int i = 0; names[c][i]; i++)
            assert_non_null(clab_algorithm_find((enum clab_collective)c, names[c][i]));
}

enum { MAX_ALGORITHMS = 64 };

int main(void)
{
    const struct CMUnitTest others[] = {
        cmocka_unit_test(test_parts_tile_the_whole),
        cmocka_unit_test(test_chunks_of_all_lanes_tile_the_buffer),
        cmocka_unit_test(test_collectives_hold_and_want_what_they_should),
        cmocka_unit_test(test_names_are_parsed_back),
        cmocka_unit_test(test_bad_problems_are_refused),
        cmocka_unit_test(test_algorithms_are_complete_and_found_by_name),
        cmocka_unit_test(test_collectives_have_the_algorithms_they_should),
        cmocka_unit_test(test_double_tree_shares_the_work),
        cmocka_unit_test(test_two_levels_are_right_for_any_node_size),
    };
    static char names[MAX_ALGORITHMS][64];
    struct CMUnitTest each[MAX_ALGORITHMS];
    size_t n = 0;
    for (; clab_algorithms[n] && n < MAX_ALGORITHMS; n++) {
        const struct clab_algorithm *a = clab_algorithms[n];
        snprintf(names[n], sizeof names[n], "test_%s_%s_gives_right_data", clab_collective_name(a->collective),
                 a->name);
        each[n] = (struct CMUnitTest){names[n], test_algorithm, NULL, NULL, (void *)(uintptr_t)a};
    }
    int failed = _cmocka_run_group_tests("algorithms on data", each, n, NULL, NULL);
    return failed + cmocka_run_group_tests_name("problems", others, NULL, NULL);
}
