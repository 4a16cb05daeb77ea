// SPDX-License-Identifier: MIT
// Ranks that disagree on what they call: found, and said at all ranks.

#include "tests/fixtures/comm_fixture.h"

#include <fcntl.h>

#include "core/transport/plugin.h"

static int sum_different_counts(struct clab_comm *comm, int rank)
{
    return ring_sum(comm, rank == 1 ? 2 * COUNT : COUNT);
}

static int sum_different_large_counts(struct clab_comm *comm, int rank)
{
    return ring_sum(comm, rank == 1 ? LARGE / 2 : LARGE);
}

static int sum_different_types(struct clab_comm *comm, int rank)
{
    clab_comm_set_algorithm(comm, CLAB_ALLREDUCE, "ring", 1);
    return clab_allreduce(comm, in, out, COUNT, rank == 1 ? CLAB_I32 : CLAB_F32, CLAB_SUM);
}

static int combine_by_different_operations(struct clab_comm *comm, int rank)
{
    clab_comm_set_algorithm(comm, CLAB_ALLREDUCE, "ring", 1);
    return clab_allreduce(comm, in, out, COUNT, CLAB_F32, rank == 1 ? CLAB_MAX : CLAB_SUM);
}

// Messages of COUNT / 2 elements to the one other rank, in both.
static int call_different_collectives(struct clab_comm *comm, int rank)
{
    return rank == 1 ? clab_alltoall(comm, in, out, COUNT / 2, CLAB_F32) : ring_sum(comm, COUNT);
}

static int use_different_algorithms(struct clab_comm *comm, int rank)
{
    clab_comm_set_algorithm(comm, CLAB_ALLREDUCE, rank == 1 ? "doubling" : "ring", 1);
    return clab_allreduce(comm, in, out, COUNT, CLAB_F32, CLAB_SUM);
}

static int use_different_lanes(struct clab_comm *comm, int rank)
{
    clab_comm_set_algorithm(comm, CLAB_ALLREDUCE, "ring", rank == 1 ? 2 : 1);
    return clab_allreduce(comm, in, out, COUNT, CLAB_F32, CLAB_SUM);
}

static int name_different_roots(struct clab_comm *comm, int rank)
{
    return clab_broadcast(comm, in, out, COUNT, CLAB_F32, rank == 1);
}

static int send_another_count(struct clab_comm *comm, int rank)
{
    return rank == 1 ? clab_send(comm, in, COUNT, CLAB_F32, 0) : clab_recv(comm, out, COUNT / 2, CLAB_F32, 1);
}

static int send_another_type(struct clab_comm *comm, int rank)
{
    return rank == 1 ? clab_send(comm, in, COUNT, CLAB_F32, 0) : clab_recv(comm, out, COUNT, CLAB_I32, 1);
}

// No message between two ranks is expected by both as the same.
static int call_what_has_no_message_in_common(struct clab_comm *comm, int rank)
{
    clab_comm_set_algorithm(comm, CLAB_ALLREDUCE, "star", 1);
    clab_comm_set_algorithm(comm, CLAB_BROADCAST, "flat", 1);
    return rank == 1 ? clab_broadcast(comm, in, out, 8, CLAB_F32, 0)
                     : clab_allreduce(comm, in, out, COUNT, CLAB_F32, CLAB_SUM);
}

// Rank 2 has its message, and everybody's is sent: messages alone let them go on.
static int send_from_different_roots(struct clab_comm *comm, int rank)
{
    clab_comm_set_algorithm(comm, CLAB_BROADCAST, "flat", 1);
    return clab_broadcast(comm, in, out, COUNT, CLAB_F32, rank == 1);
}

static int call_in_another_order(struct clab_comm *comm, int rank)
{
    clab_comm_set_algorithm(comm, CLAB_BROADCAST, "flat", 1);
    if (rank == 1)
        CLAB_TRY(ring_sum(comm, COUNT));
    CLAB_TRY(clab_broadcast(comm, in, out, COUNT, CLAB_F32, 2));
    return rank == 1 ? CLAB_OK : ring_sum(comm, COUNT);
}

// One has made two of the others' three calls, which are alike.
static int skip_one_of_two_roots(struct clab_comm *comm, int rank)
{
    for (int i = 0; i < 3; i++)
        if (rank != 1 || i != 1)
            CLAB_TRY(clab_broadcast(comm, in, out, COUNT, CLAB_F32, i == 1 ? 0 : 2));
    return ring_sum(comm, COUNT);
}

// ---- a library's own -----------------------------------------------------------------------------------------
// Which takes what it is told: the bytes are as many, or are not.

static int sum_another_type(struct clab_comm *comm, int rank)
{
    return clab_allreduce(comm, in, out, COUNT, rank == 1 ? CLAB_I32 : CLAB_F32, CLAB_SUM);
}

static int sum_by_another_operation(struct clab_comm *comm, int rank)
{
    return clab_allreduce(comm, in, out, COUNT, CLAB_F32, rank == 1 ? CLAB_MAX : CLAB_SUM);
}

// The library is told to sum in both cases.
static int average_at_one(struct clab_comm *comm, int rank)
{
    return clab_allreduce(comm, in, out, COUNT, CLAB_F32, rank == 1 ? CLAB_AVG : CLAB_SUM);
}

static int sum_another_count(struct clab_comm *comm, int rank)
{
    return clab_allreduce(comm, in, out, rank == 1 ? 2 * COUNT : COUNT, CLAB_F32, CLAB_SUM);
}

static int sum_another_large_count(struct clab_comm *comm, int rank)
{
    return clab_allreduce(comm, in, out, rank == 1 ? LARGE / 2 : LARGE, CLAB_F32, CLAB_SUM);
}

static int broadcast_another_type(struct clab_comm *comm, int rank)
{
    return clab_broadcast(comm, in, out, COUNT, rank == 1 ? CLAB_I32 : CLAB_F32, 0);
}

static int broadcast_from_two_roots(struct clab_comm *comm, int rank)
{
    return clab_broadcast(comm, in, out, COUNT, CLAB_F32, rank == 1);
}

static int gather_where_one_reduces(struct clab_comm *comm, int rank)
{
    return rank == 1 ? clab_reduce(comm, in, out, COUNT, CLAB_F32, CLAB_SUM, 0)
                     : clab_gather(comm, in, out, COUNT, CLAB_F32, 0);
}

// A schedule where the others call the library.
static int sum_by_a_schedule_at_one(struct clab_comm *comm, int rank)
{
    return rank == 1 ? ring_sum(comm, COUNT) : clab_allreduce(comm, in, out, COUNT, CLAB_F32, CLAB_SUM);
}

// Two that agree stand between two others that agree: no rank's neighbours are all of one mind, and the tree of a
// broadcast leads from the one pair to the other.
static int broadcast_in_two_camps(struct clab_comm *comm, int rank)
{
    return clab_broadcast(comm, in, out, COUNT, rank < 2 ? CLAB_F32 : CLAB_I32, 1);
}

static const struct own {
    const char *name;
    act_fn act;
    int nranks;
} owns[] = {{"sum_another_type", sum_another_type, 3},
            {"sum_by_another_operation", sum_by_another_operation, 3},
            {"average_at_one", average_at_one, 3},
            {"sum_another_count", sum_another_count, 3},
            {"sum_another_large_count", sum_another_large_count, 3},
            {"broadcast_another_type", broadcast_another_type, 3},
            {"broadcast_from_two_roots", broadcast_from_two_roots, 3},
            {"gather_where_one_reduces", gather_where_one_reduces, 3},
            {"sum_by_a_schedule_at_one", sum_by_a_schedule_at_one, 3},
            {"broadcast_in_two_camps", broadcast_in_two_camps, 4}};
enum { OWNS = sizeof owns / sizeof *owns };

static void test_what_a_library_is_told_is_compared(void **state)
{
    const struct own *own = *state;
    if (!clab_plugin_exists("gloo")) {
        print_message("skip: built without gloo\n");
        skip();
    }
    setenv("CLAB_BACKEND", "gloo", 1);
    const char *text = run_all(own->nranks, fail_once, own->act, "20s", 0);
    unsetenv("CLAB_BACKEND");
    assert_all_answer(CLAB_EMISMATCH, 0, own->nranks, -1, first_answer(own->nranks), text);
}

// A rank that MPI's launcher has started calls what `name` says; all share `file`, which is empty at first. Rank 0
// writes what all have answered. An MPI whose call has failed may end all ranks with the first: so they wait here.
static int be_rank(const char *file, const char *name)
{
    const int fd = open(file, O_RDWR);
    const struct own *own = owns;
    struct clab_comm *comm;
    int disagree = 0;
    if (fd < 0 || ftruncate(fd, sizeof *told) != 0)
        return NOT_JOINED;
    told = mmap(NULL, sizeof *told, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    while (own < owns + OWNS && strcmp(own->name, name) != 0)
        own++;
    if (told == MAP_FAILED || own == owns + OWNS || join(&comm))
        return NOT_JOINED;
    const int rank = clab_job_rank(job), n = clab_job_ranks(job);
    tell_answer(rank, own->act(comm, rank));
    stay_away(n);
    for (int r = 0; r < n; r++)
        disagree += told->values[r] == CLAB_EMISMATCH;
    if (rank == 0)
        printf("%d of %d answer: %s\n", disagree, n, clab_strerror(CLAB_EMISMATCH));
    fflush(stdout);
    clab_comm_destroy(comm);
    clab_job_close(job);
    return 0;
}

static void list_names(void)
{
    for (int i = 0; i < OWNS; i++)
        printf("%s %d\n", owns[i].name, owns[i].nranks);
}

// ---- tests ---------------------------------------------------------------------------------------------------

static void test_disagreement_is_found(void **state)
{
    const char *text = run_all(2, fail_once, (act_fn)*state, "20s", 0);
    assert_all_answer(CLAB_EMISMATCH, 0, 2, -1, first_answer(2), text);
}

static void test_disagreement_is_found_by_three(void **state)
{
    const char *text = run_all(3, fail_once, (act_fn)*state, "20s", 0);
    assert_all_answer(CLAB_EMISMATCH, 0, 3, -1, first_answer(3), text);
}

static void test_a_check_finds_it_before_anything_is_sent(void **state)
{
    setenv("CLAB_CHECK", "1", 1);
    const char *text = run_all(3, fail_once, (act_fn)*state, "20s", 0);
    unsetenv("CLAB_CHECK");
    assert_all_answer(CLAB_EMISMATCH, 0, 3, -1, first_answer(3), text);
    assert_text_has(text, " calls ");
}

static void test_who_calls_what_is_said(void **state)
{
    for (int check = 0; check < 2; check++) {
        forget(NULL);
        setenv("CLAB_CHECK", check ? "1" : "0", 1);
        const char *text = run_all(2, fail_once, call_what_has_no_message_in_common, "20s", 0);
        unsetenv("CLAB_CHECK");
        if (!strstr(text, ": rank 1 calls broadcast (flat) of 8 float, root 0, number 1: ranks disagree on") &&
            !strstr(text, ": rank 0 calls allreduce (star) of 64 float sum, number 1: ranks disagree on"))
            fail_msg("nobody says it: %s", text);
        assert_int_equal(occurrences(text, " has found that rank "), 1);
        assert_text_has(text, "flight: ranks disagree on number 1: rank 0 calls allreduce (star) of 64 float sum, rank "
                              "1 calls broadcast (flat) of 8 float, root 0\n");
    }
}

static void test_who_sends_what_is_said(void **state)
{
    assert_text_has(run_all(2, fail_once, send_another_count, "20s", 0),
                    "rank 0: receive of 32 float from rank 1: rank 1 calls send of 64 float to rank 0: ranks disagree");
}

// Works of two communicators, begun crosswise, and waited for backwards.
static int agree(struct clab_comm *comm, int rank)
{
    struct clab_comm *comms[2] = {comm};
    struct clab_work *works[40];
    float ones[40], sums[40];
    CLAB_TRY(clab_comm_create(job, &comms[1]));
    for (int i = 0; i < 40; i++) {
        const int at = rank % 2 ? i ^ 1 : i;
        ones[at] = (float)at;
        CLAB_TRY(clab_allreduce_start(comms[at % 2], &ones[at], &sums[at], 1, CLAB_F32, CLAB_SUM, &works[at]));
    }
    for (int i = 39; i >= 0; i--)
        CLAB_TRY(clab_work_wait(works[i]));
    for (int i = 0; i < 40; i++)
        if (sums[i] != (float)(i * clab_comm_ranks(comm)))
            return CLAB_EWRONG;
    clab_comm_destroy(comms[1]);
    return CLAB_OK;
}

static void test_who_agrees_is_not_disturbed_by_checks(void **state)
{
    setenv("CLAB_CHECK", "1", 1);
    for (int nranks = 1; nranks <= 4; nranks++) {
        forget(NULL);
        const char *text = run_all(nranks, just_act, agree, "20s", 0);
        assert_all_answer(CLAB_OK, 0, nranks, -1, clab_now(), text);
        assert_string_equal(text, "");
    }
    unsetenv("CLAB_CHECK");
}

// Or by `--names` the calls of a library's own, with a number of ranks each, and by `--rank FILE NAME` a rank of one.
int main(int argc, char **argv)
{
    if (argc == 2 && !strcmp(argv[1], "--names")) {
        list_names();
        return 0;
    }
    if (argc == 4 && !strcmp(argv[1], "--rank"))
        return be_rank(argv[2], argv[3]);
    struct CMUnitTest tests[] = {
        [OWNS] = fresh_test_of(test_disagreement_is_found, sum_different_counts),
        fresh_test_of(test_disagreement_is_found_by_three, sum_different_counts),
        fresh_test_of(test_disagreement_is_found, sum_different_large_counts),
        fresh_test_of(test_disagreement_is_found_by_three, sum_different_large_counts),
        fresh_test_of(test_disagreement_is_found, sum_different_types),
        fresh_test_of(test_disagreement_is_found_by_three, sum_different_types),
        fresh_test_of(test_disagreement_is_found, combine_by_different_operations),
        fresh_test_of(test_disagreement_is_found, call_different_collectives),
        fresh_test_of(test_disagreement_is_found, use_different_algorithms),
        fresh_test_of(test_disagreement_is_found, use_different_lanes),
        fresh_test_of(test_disagreement_is_found, name_different_roots),
        fresh_test_of(test_disagreement_is_found, send_another_count),
        fresh_test_of(test_disagreement_is_found, send_another_type),
        fresh_test_of(test_disagreement_is_found_by_three, call_what_has_no_message_in_common),
        fresh_test_of(test_disagreement_is_found_by_three, call_in_another_order),
        fresh_test_of(test_disagreement_is_found_by_three, skip_one_of_two_roots),
        fresh_test_of(test_a_check_finds_it_before_anything_is_sent, send_from_different_roots),
        fresh_test_of(test_a_check_finds_it_before_anything_is_sent, sum_different_counts),
        fresh_test_of(test_a_check_finds_it_before_anything_is_sent, sum_different_types),
        fresh_test_of(test_a_check_finds_it_before_anything_is_sent, combine_by_different_operations),
        fresh_test_of(test_a_check_finds_it_before_anything_is_sent, use_different_algorithms),
        fresh_test_of(test_a_check_finds_it_before_anything_is_sent, use_different_lanes),
        fresh_test_of(test_a_check_finds_it_before_anything_is_sent, call_in_another_order),
        fresh_test(test_who_calls_what_is_said),
        fresh_test(test_who_sends_what_is_said),
        fresh_test(test_who_agrees_is_not_disturbed_by_checks),
    };
    for (int i = 0; i < OWNS; i++)
        tests[i] = (struct CMUnitTest){owns[i].name, test_what_a_library_is_told_is_compared, forget, NULL,
                                       (void *)(uintptr_t)&owns[i]};
    return cmocka_run_group_tests(tests, share_told, NULL);
}
