// SPDX-License-Identifier: MIT
// The verifier against mutants: algorithms that are each wrong in one way, to be rejected for that reason and no other.
// - A mutant is a sound algorithm with a stage function of its own, or a field changed.
// - Every flaw that the verifier knows is provoked at least once.

#include "tests/fixtures/capture.h"

#include "core/base/err.h"
#include "core/schedule/build.h"
#include "core/schedule/verify/verify.h"

struct mutant {
    const char *name;
    enum clab_flaw flaw; // expected
    enum clab_collective collective;
    const char *base; // the algorithm that it was
    int nranks, root, lanes;
    int (*stage)(const struct clab_problem *, int, int, int, struct clab_step[]); // NULL: the base's
    void (*change)(struct clab_algorithm *);                                      // NULL: nothing
};

static const struct clab_algorithm *base; // of the mutant at hand

static int original(const struct clab_problem *problem, int rank, int lane, int s, struct clab_step out[])
{
    return base->stage(problem, rank, lane, s, out);
}

// ---- wrong peers ---------------------------------------------------------------------------------------------

STAGE(peer_beyond)
{
    int n = original(problem, rank, lane, s, out);
    if (rank == 2 && s == 1)
        out[0].peer = P;
    return n;
}

STAGE(peer_negative)
{
    int n = original(problem, rank, lane, s, out);
    if (rank == 2 && s == 1)
        out[1].peer = -1;
    return n;
}

STAGE(peer_self)
{
    int n = original(problem, rank, lane, s, out);
    if (rank == 2 && s == 1)
        out[0].peer = rank;
    return n;
}

STAGE(peer_wrong) // of a shift: rank 2 hears rank 1, as it should, and ends
{
    int n = original(problem, rank, lane, s, out);
    if (rank == 0 && s == 0)
        out[0].peer = 2;
    return n;
}

STAGE(from_the_wrong_side) // a shift backwards: right for two ranks only
{
    int n = original(problem, rank, lane, s, out);
    if (n == 2) {
        out[0].peer = mod(rank - 1, P);
        out[1].peer = mod(rank + 1, P);
    }
    return n;
}

// ---- wrong chunks --------------------------------------------------------------------------------------------

STAGE(chunk_off_by_one) // in an allreduce, chunk i would land where chunk i-1 is
{
    int n = original(problem, rank, lane, s, out);
    if (rank == 1 && s == 0)
        out[0].src.first = mod(out[0].src.first + 1, P);
    return n;
}

STAGE(block_sent_again) // of a ring allgather: the same block twice
{
    int n = original(problem, rank, lane, s, out);
    if (rank == 1 && s == 1)
        out[0].src.first = rank;
    return n;
}

STAGE(block_of_another) // of a pairwise reduce-scatter
{
    int n = original(problem, rank, lane, s, out);
    if (rank == 0 && s == 0)
        out[0].src.first = mod(out[0].src.first + 1, P);
    return n;
}

STAGE(block_not_there_yet) // of a ring allgather: what comes only in the next stage
{
    int n = original(problem, rank, lane, s, out);
    if (rank == 1 && s == 0)
        out[0].src.first = mod(rank - 1, P);
    return n;
}

STAGE(scratch_never_written)
{
    int n = original(problem, rank, lane, s, out);
    if (rank == 1 && s == 0)
        out[0].src.buffer = CLAB_SCRATCH;
    return n;
}

STAGE(span_beyond)
{
    int n = original(problem, rank, lane, s, out);
    if (rank == P - 1 && s == 0)
        out[1].dst.first = P;
    return n;
}

STAGE(span_empty)
{
    int n = original(problem, rank, lane, s, out);
    if (rank == 0 && s == 0)
        out[0].src.count = 0;
    return n;
}

STAGE(span_of_input)
{
    int n = original(problem, rank, lane, s, out);
    if (rank == 0 && s == 1)
        out[1].dst.buffer = CLAB_INPUT;
    return n;
}

STAGE(message_longer) // before the last stage rank 0 has blocks 0, 2 and 3
{
    int n = original(problem, rank, lane, s, out);
    if (rank == 0 && s == P - 2)
        out[0].src = chunks(2, 2);
    return n;
}

STAGE(messages_swapped) // of Bruck's allgather: the two spans of a range that wraps around
{
    int n = original(problem, rank, lane, s, out);
    if (rank == P - 1 && s == 1) {
        struct clab_step first = out[0];
        out[0] = out[1];
        out[1] = first;
    }
    return n;
}

// ---- wrong stages --------------------------------------------------------------------------------------------

STAGE(last_stage_twice) // a ring's last stage brings what is there already
{
    return original(problem, rank, lane, s <= 2 * (P - 1) - 1 ? s : s - 1, out);
}

STAGE(last_stage_missing)
{
    return s == P - 2 ? CLAB_DONE : original(problem, rank, lane, s, out);
}

STAGE(without_end)
{
    return max(0, original(problem, rank, lane, s, out));
}

STAGE(distance_repeated) // of recursive doubling: the same partner again
{
    return original(problem, rank, lane, s == 2 ? 1 : s, out);
}

STAGE(send_then_receive) // works as long as messages are buffered
{
    struct clab_step both[2];
    if (s > 1)
        return CLAB_DONE;
    original(problem, rank, lane, 0, both);
    out[0] = both[s];
    return 1;
}

STAGE(message_too_many) // the root of a scatter greets the last rank
{
    int n = original(problem, rank, lane, s, out);
    if (rank == problem->root && s == 0)
        out[n++] = send(P - 1, chunk(P - 1));
    return n;
}

STAGE(message_redundant) // one block more, that its receiver has
{
    if (s < P - 1)
        return original(problem, rank, lane, s, out);
    if (s > P - 1 || rank > 1)
        return CLAB_DONE;
    out[0] = rank == 0 ? send(1, chunk(0)) : recv(0, chunk(0));
    return 1;
}

STAGE(written_twice) // of a star: both at once, into the same chunk
{
    if (rank != 0)
        return original(problem, rank, lane, s, out);
    if (s == 0) {
        out[0] = recv_reduce(1, chunk(0));
        out[1] = recv_reduce(2, chunk(0));
        return 2;
    }
    return original(problem, rank, lane, s + 1, out);
}

STAGE(copied_over) // a copy to what the same stage sends
{
    if (s < P - 1)
        return original(problem, rank, lane, s, out);
    if (s > P - 1)
        return CLAB_DONE;
    out[0] = send(mod(rank + 1, P), scratch(0, 1));
    out[1] = recv(mod(rank - 1, P), chunk(0));
    out[2] = copy(scratch(0, 1), chunk(0));
    return 3;
}

STAGE(copy_of_other_length)
{
    int n = original(problem, rank, lane, s, out);
    if (s == 0 && n == 1)
        out[0].src.count = 2;
    return n;
}

STAGE(reduction_unknown)
{
    int n = original(problem, rank, lane, s, out);
    if (rank == 0 && s == 0)
        out[1].op = CLAB_RECV_REDUCE;
    return n;
}

STAGE(operation_unknown)
{
    int n = original(problem, rank, lane, s, out);
    if (rank == 0 && s == 0)
        out[0].op = (enum clab_step_op)9;
    return n;
}

STAGE(other_root)
{
    struct clab_problem other = *problem;
    other.root = mod(problem->root + 1, P);
    return original(&other, rank, lane, s, out);
}

STAGE(second_lane_silent)
{
    return lane == 1 ? CLAB_DONE : original(problem, rank, lane, s, out);
}

// ---- wrong fields --------------------------------------------------------------------------------------------

static int zero(UNUSED const struct clab_problem *problem)
{
    return 0;
}

static int negative(UNUSED const struct clab_problem *problem)
{
    return -1;
}

static void declare_width_of_one(struct clab_algorithm *algorithm)
{
    algorithm->width = one;
}

static void declare_no_chunks(struct clab_algorithm *algorithm)
{
    algorithm->chunks = zero;
}

static void declare_negative_scratch(struct clab_algorithm *algorithm)
{
    algorithm->scratch = negative;
}

static void declare_no_width(struct clab_algorithm *algorithm)
{
    algorithm->width = zero;
}

// ---- all of them ---------------------------------------------------------------------------------------------

static const struct mutant mutants[] = {
    {"peer_out_of_range", CLAB_FLAW_PEER, CLAB_ALLREDUCE, "ring", 5, 0, 1, peer_beyond, NULL},
    {"peer_negative", CLAB_FLAW_PEER, CLAB_ALLREDUCE, "ring", 5, 0, 1, peer_negative, NULL},
    {"peer_is_the_rank_itself", CLAB_FLAW_PEER, CLAB_ALLREDUCE, "ring", 5, 0, 1, peer_self, NULL},
    {"peer_wrong", CLAB_FLAW_UNMATCHED, CLAB_SENDRECV, "shift", 5, 0, 1, peer_wrong, NULL},
    {"from_the_wrong_side", CLAB_FLAW_WRONG_CHUNK, CLAB_SENDRECV, "shift", 3, 0, 1, from_the_wrong_side, NULL},
    {"chunk_off_by_one", CLAB_FLAW_SIZE, CLAB_ALLREDUCE, "ring", 4, 0, 1, chunk_off_by_one, NULL},
    {"block_sent_again", CLAB_FLAW_WRONG_CHUNK, CLAB_ALLGATHER, "ring", 4, 0, 1, block_sent_again, NULL},
    {"block_of_another", CLAB_FLAW_MIXED, CLAB_REDUCE_SCATTER, "pairwise", 4, 0, 1, block_of_another, NULL},
    {"block_not_there_yet", CLAB_FLAW_UNDEFINED, CLAB_ALLGATHER, "ring", 4, 0, 1, block_not_there_yet, NULL},
    {"scratch_never_written", CLAB_FLAW_UNDEFINED, CLAB_ALLREDUCE, "naive", 4, 0, 1, scratch_never_written, NULL},
    {"span_out_of_range", CLAB_FLAW_SPAN, CLAB_ALLGATHER, "ring", 4, 0, 1, span_beyond, NULL},
    {"span_empty", CLAB_FLAW_SPAN, CLAB_ALLGATHER, "ring", 4, 0, 1, span_empty, NULL},
    {"input_written", CLAB_FLAW_SPAN, CLAB_ALLTOALL, "pairwise", 4, 0, 1, span_of_input, NULL},
    {"message_longer_than_expected", CLAB_FLAW_LENGTH, CLAB_ALLGATHER, "ring", 4, 0, 1, message_longer, NULL},
    {"copy_of_another_length", CLAB_FLAW_LENGTH, CLAB_ALLTOALL, "pairwise", 2, 0, 1, copy_of_other_length, NULL},
    {"messages_swapped", CLAB_FLAW_WRONG_CHUNK, CLAB_ALLGATHER, "bruck", 6, 0, 1, messages_swapped, NULL},
    {"redundant_stage", CLAB_FLAW_COST, CLAB_ALLREDUCE, "ring", 4, 0, 1, last_stage_twice, NULL},
    {"redundant_message", CLAB_FLAW_COST, CLAB_ALLGATHER, "ring", 4, 0, 1, message_redundant, NULL},
    {"missing_chunk", CLAB_FLAW_MISSING_CHUNK, CLAB_ALLGATHER, "ring", 4, 0, 1, last_stage_missing, NULL},
    {"missing_contributor", CLAB_FLAW_MISSING_CONTRIBUTOR, CLAB_REDUCE_SCATTER, "ring", 4, 0, 1, last_stage_missing,
     NULL},
    {"silent_lane", CLAB_FLAW_MISSING_CONTRIBUTOR, CLAB_ALLREDUCE, "ring", 4, 0, 3, second_lane_silent, NULL},
    {"stages_without_end", CLAB_FLAW_ENDLESS, CLAB_ALLREDUCE, "tree", 4, 0, 1, without_end, NULL},
    {"double_count", CLAB_FLAW_DOUBLE_COUNT, CLAB_ALLREDUCE, "doubling", 4, 0, 1, distance_repeated, NULL},
    {"deadlock_of_two", CLAB_FLAW_DEADLOCK, CLAB_SENDRECV, "shift", 2, 0, 1, send_then_receive, NULL},
    {"deadlock_of_five", CLAB_FLAW_DEADLOCK, CLAB_SENDRECV, "shift", 5, 0, 1, send_then_receive, NULL},
    {"message_never_matched", CLAB_FLAW_UNMATCHED, CLAB_SCATTER, "flat", 4, 1, 1, message_too_many, NULL},
    {"chunk_written_twice", CLAB_FLAW_OVERLAP, CLAB_ALLREDUCE, "star", 3, 0, 1, written_twice, NULL},
    {"copy_to_what_is_sent", CLAB_FLAW_OVERLAP, CLAB_ALLREDUCE, "naive", 4, 0, 1, copied_over, NULL},
    {"reduction_in_an_allgather", CLAB_FLAW_STEP, CLAB_ALLGATHER, "ring", 4, 0, 1, reduction_unknown, NULL},
    {"operation_unknown", CLAB_FLAW_STEP, CLAB_ALLGATHER, "ring", 4, 0, 1, operation_unknown, NULL},
    {"wrong_root_of_broadcast", CLAB_FLAW_UNDEFINED, CLAB_BROADCAST, "binomial", 4, 2, 1, other_root, NULL},
    {"wrong_root_of_reduce", CLAB_FLAW_MISSING_CONTRIBUTOR, CLAB_REDUCE, "binomial", 4, 2, 1, other_root, NULL},
    {"wrong_root_of_gather", CLAB_FLAW_MISSING_CHUNK, CLAB_GATHER, "binomial", 4, 2, 1, other_root, NULL},
    {"too_wide", CLAB_FLAW_WIDTH, CLAB_ALLREDUCE, "ring", 4, 0, 1, NULL, declare_width_of_one},
    {"no_chunks", CLAB_FLAW_SHAPE, CLAB_ALLREDUCE, "ring", 4, 0, 1, NULL, declare_no_chunks},
    {"negative_scratch", CLAB_FLAW_SHAPE, CLAB_ALLREDUCE, "ring", 4, 0, 1, NULL, declare_negative_scratch},
    {"no_width", CLAB_FLAW_SHAPE, CLAB_ALLREDUCE, "ring", 4, 0, 1, NULL, declare_no_width},
};

enum { MUTANTS = sizeof mutants / sizeof *mutants };

static struct clab_verifier *verifier;

static int create_verifier(void **state)
{
    return clab_verifier_create(&verifier);
}

static int free_verifier(void **state)
{
    clab_verifier_free(verifier);
    return 0;
}

static struct clab_problem problem_of(const struct mutant *mutant)
{
    return (struct clab_problem){mutant->collective, mutant->nranks, mutant->root, mutant->lanes, 0, 0, NULL};
}

// The mutant is rejected for its reason; what it was made of is sound, by the same verifier, afterwards.
static void test_mutant(void **state)
{
    const struct mutant *mutant = *state;
    const struct clab_problem problem = problem_of(mutant);
    struct clab_verify_result result;
    base = clab_algorithm_find(mutant->collective, mutant->base);
    assert_non_null(base);
    struct clab_algorithm mutated = *base;
    if (mutant->stage)
        mutated.stage = mutant->stage;
    if (mutant->change)
        mutant->change(&mutated);
    assert_int_equal(clab_verify(verifier, &problem, &mutated, &result), CLAB_EWRONG);
    assert_string_equal(clab_flaw_text(result.flaw), clab_flaw_text(mutant->flaw));
    assert_true(strlen(result.text) > 10 && strlen(result.text) < sizeof result.text - 1);
    assert_int_equal(clab_verify(verifier, &problem, base, &result), CLAB_OK);
    assert_int_equal(result.flaw, CLAB_SOUND);
}

static void test_every_flaw_has_a_mutant(void **state)
{
    for (int flaw = CLAB_SOUND + 1; flaw < CLAB_FLAW_COUNT; flaw++) {
        int n = 0;
        for (int i = 0; i < MUTANTS; i++)
            n += (int)mutants[i].flaw == flaw;
        if (n == 0)
            fail_msg("no mutant has the flaw '%s'", clab_flaw_text((enum clab_flaw)flaw));
    }
}

static void test_result_names_rank_lane_stage_and_chunk(void **state)
{
    const struct clab_problem problem = {CLAB_ALLREDUCE, 4, 0, 2, 0, 0, NULL};
    struct clab_verify_result result;
    base = clab_algorithm_find(CLAB_ALLREDUCE, "ring");
    struct clab_algorithm mutated = *base;
    mutated.stage = peer_beyond;
    assert_int_equal(clab_verify(verifier, &problem, &mutated, &result), CLAB_EWRONG);
    assert_int_equal(result.rank, 2);
    assert_int_equal(result.lane, 0);
    assert_int_equal(result.stage, 1);
    assert_string_equal(result.text, "rank 2, lane 0, stage 1: its peer is 4, of 4 ranks");

    mutated.stage = second_lane_silent;
    assert_int_equal(clab_verify(verifier, &problem, &mutated, &result), CLAB_EWRONG);
    assert_int_equal(result.lane, 1);
    assert_int_equal(result.chunk, 0);
    assert_string_equal(result.text, "rank 0, lane 1: ends with chunk 0 without the contribution of rank 1");
}

int main(void)
{
    const struct CMUnitTest others[] = {
        cmocka_unit_test(test_every_flaw_has_a_mutant),
        cmocka_unit_test(test_result_names_rank_lane_stage_and_chunk),
    };
    struct CMUnitTest each[MUTANTS];
    for (int i = 0; i < MUTANTS; i++)
        each[i] = (struct CMUnitTest){mutants[i].name, test_mutant, NULL, NULL, (void *)(uintptr_t)&mutants[i]};
    int failed = cmocka_run_group_tests_name("mutants are rejected", each, create_verifier, free_verifier);
    return failed + cmocka_run_group_tests_name("verifier", others, create_verifier, free_verifier);
}
