// SPDX-License-Identifier: MIT
// The flight recorder: what is kept, what is made of it, and when it is reported. Waits long.

#include "tests/fixtures/comm_fixture.h"

#include "core/flight/dump.h"
#include "core/flight/find.h"

enum { NRANKS = 4 };

// ---- a host that is not there --------------------------------------------------------------------------------

static char *flights; // (NRANKS, CLAB_FLIGHT_BYTES)

static int make_flights(void **state)
{
    flights = calloc(NRANKS, CLAB_FLIGHT_BYTES);
    for (int rank = 0; rank < NRANKS; rank++)
        clab_flight_at(flights, rank)->rank = rank;
    return !flights;
}

static int free_flights(void **state)
{
    free(flights);
    return 0;
}

// Rank `rank` begins a sum of `count` floats on communicator `comm`.
static struct clab_flight_op *begin_sum(int rank, uint64_t comm, unsigned number, uint64_t count)
{
    struct clab_flight *flight = clab_flight_at(flights, rank);
    struct clab_flight_op *op = clab_flight_next(flight);
    op->comm = comm;
    op->sequence = number;
    op->count = count;
    op->what = CLAB_ALLREDUCE;
    op->type = CLAB_F32;
    op->op = CLAB_SUM;
    op->root = 0;
    op->lanes = 1;
    op->algorithm = 3;
    op->begun = 100;
    clab_flight_begin(flight, op);
    return op;
}

static struct clab_flight_op *begin_message(int rank, uint64_t comm, int what, int peer)
{
    struct clab_flight_op *op = begin_sum(rank, comm, 0, 8);
    op->what = (uint8_t)what;
    op->root = (int16_t)peer;
    return op;
}

static void wait_for(struct clab_flight_op *op, int peer, int stage, double since)
{
    clab_flight_wait(op, peer, stage, since);
    clab_flight_end(op, CLAB_FLIGHT_FAILED);
}

// All ranks have ended sum 0, and are in sum 1, in a ring.
static void wait_in_a_ring(void)
{
    for (int rank = 0; rank < NRANKS; rank++) {
        clab_flight_end(begin_sum(rank, 7, 0, 64), CLAB_FLIGHT_DONE);
        wait_for(begin_sum(rank, 7, 1, 64), (rank + NRANKS - 1) % NRANKS, 2, 110);
    }
}

static struct clab_flight_place places[NRANKS];

static void look(void)
{
    for (int rank = 0; rank < NRANKS; rank++) {
        places[rank] = clab_flight_find(clab_flight_at(flights, rank), 7);
        places[rank].presence = CLAB_PRESENT;
    }
}

// At 115 s.
static const char *diagnosis(void)
{
    static char text[512];
    clab_flight_diagnosis(places, NRANKS, 115, text, sizeof text);
    return text;
}

static const char *where(int rank)
{
    static char text[512];
    clab_flight_where(&places[rank], 115, text, sizeof text);
    return text;
}

// ---- what is kept --------------------------------------------------------------------------------------------

static void test_the_last_operations_are_kept(void **state)
{
    struct clab_flight *flight = clab_flight_at(flights, 0);
    struct clab_flight_op op;
    assert_int_equal(clab_flight_last(flight), 0);
    for (unsigned i = 1; i <= 1000; i++) {
        clab_flight_end(begin_sum(0, 7, i, i), CLAB_FLIGHT_DONE);
        assert_int_equal(clab_flight_last(flight), i);
        assert_true(clab_flight_read(flight, i, &op));
        assert_int_equal(op.count, i);
        assert_false(clab_flight_read(flight, i + 1, &op));
        if (i > CLAB_FLIGHT_OPS)
            assert_false(clab_flight_read(flight, i - CLAB_FLIGHT_OPS, &op));
        assert_true(clab_flight_read(flight, clab_flight_first(i), &op));
        assert_int_equal(op.count, i < CLAB_FLIGHT_OPS ? 1 : i + 1 - CLAB_FLIGHT_OPS);
    }
    clab_flight_next(flight)->count = 77; // is being written
    assert_int_equal(clab_flight_last(flight), 1000);
    assert_false(clab_flight_read(flight, 1001, &op));
    assert_false(clab_flight_read(flight, 1001 - CLAB_FLIGHT_OPS, &op));
}

static void test_operations_are_called_by_their_names(void **state)
{
    char text[CLAB_FLIGHT_TEXT];
    struct clab_flight_op *op = begin_sum(0, 7, 0, 64);
    assert_string_equal(clab_flight_text(op, text), "allreduce (ring) of 64 float sum");
    op->lanes = 2;
    assert_string_equal(clab_flight_text(op, text), "allreduce (ring, 2 lanes) of 64 float sum");
    op->what = CLAB_BROADCAST;
    op->algorithm = CLAB_FLIGHT_NATIVE;
    op->lanes = 1;
    op->root = 3;
    assert_string_equal(clab_flight_text(op, text), "broadcast (native) of 64 float, root 3");
    op->what = CLAB_FLIGHT_RECEIVE;
    assert_string_equal(clab_flight_text(op, text), "receive of 64 float from rank 3");
    op->type = op->op = op->algorithm = 200; // whatever lies there, it is text
    for (op->what = 0; op->what < 20; op->what++)
        clab_flight_text(op, text);
}

// ---- who is missing where ------------------------------------------------------------------------------------

static void test_who_has_not_called_is_named(void **state)
{
    wait_in_a_ring();
    memset(clab_flight_at(flights, 3), 0, CLAB_FLIGHT_BYTES);
    clab_flight_end(begin_sum(3, 7, 0, 64), CLAB_FLIGHT_DONE);
    look();
    places[3].rank = 3;
    assert_string_equal(diagnosis(),
                        "rank 3 has not called number 1: its last is number 0, allreduce (ring) of 64 float "
                        "sum, begun 15 s ago; ranks 0-2 wait in number 1");
    assert_string_equal(where(0), "in number 1, allreduce (ring) of 64 float sum: stage 2, has waited 5 s for rank 3");
    assert_string_equal(where(3), "after number 0, allreduce (ring) of 64 float sum, begun 15 s ago");
    begin_message(3, 7, CLAB_FLIGHT_RECEIVE, 0);
    look();
    places[3].rank = 3;
    assert_text_has(diagnosis(), "begun 15 s ago; it is in receive of 8 float from rank 0; ranks 0-2 wait in number 1");
    places[3].presence = CLAB_LOST;
    assert_text_has(diagnosis(), "rank 3 has ended: its last is number 0");
    assert_text_has(where(3), "has ended after number 0");
    places[3].presence = CLAB_LEFT;
    assert_text_has(diagnosis(), "rank 3 has left the job: its last is number 0");
    places[3].presence = CLAB_PRESENT;
    places[3].is_stopped = true;
    assert_text_has(diagnosis(), "rank 3 is stopped: its last is number 0");
}

static void test_who_is_in_another_number_is_named(void **state)
{
    wait_in_a_ring();
    wait_for(begin_sum(0, 7, 2, 64), 3, 0, 112);
    wait_for(begin_sum(2, 7, 2, 64), 1, 0, 113);
    look();
    assert_string_equal(diagnosis(),
                        "rank 1 is still in number 1, allreduce (ring) of 64 float sum: stage 2, has waited "
                        "5 s for rank 0; ranks 0, 2 wait in number 2");
}

static void test_who_is_dead_is_named_before_who_is_behind_for_it(void **state)
{
    wait_in_a_ring();
    wait_for(begin_sum(0, 7, 2, 64), 3, 0, 112);
    wait_for(begin_sum(2, 7, 2, 64), 1, 0, 113);
    look();
    places[3].presence = CLAB_LOST; // as far behind as rank 1
    assert_text_has(diagnosis(), "rank 3 has ended in number 1, allreduce (ring) of 64 float sum: stage 2, has waited");
    assert_text_has(diagnosis(), "; ranks 0, 2 wait in number 2");
    places[3].presence = CLAB_PRESENT;
    places[0].presence = CLAB_LOST; // ahead of it
    assert_text_has(diagnosis(), "rank 0 has ended in number 2, allreduce (ring) of 64 float sum: stage 0, has waited");
    assert_text_has(diagnosis(), "; rank 2 waits in number 2");
}

static void test_who_never_called_is_named(void **state)
{
    wait_for(begin_sum(1, 7, 0, 64), 0, 0, 112);
    look();
    assert_string_equal(diagnosis(), "rank 0 has not called number 0: it has called none; rank 1 waits in number 0");
    assert_string_equal(where(0), "before its first call");
}

static void test_who_is_silent_in_the_same_number_is_named(void **state)
{
    wait_in_a_ring();
    look();
    assert_string_equal(diagnosis(), "all are in number 1 (allreduce (ring) of 64 float sum), and wait: rank 0 for 3, "
                                     "rank 1 for 0, rank 2 for 1, rank 3 for 2");
    places[2].presence = CLAB_LOST;
    assert_string_equal(diagnosis(), "rank 2 has ended in number 1 (allreduce (ring) of 64 float sum): stage 2, has "
                                     "waited 5 s for rank 1");
    places[2].presence = CLAB_PRESENT;
    places[2].last.state = CLAB_FLIGHT_BEGUN;
    assert_string_equal(diagnosis(), "rank 2 does not answer in number 1 (allreduce (ring) of 64 float sum)");
    places[2].last.state = CLAB_FLIGHT_FAILED;
    places[2].last.waits_for = 9;
    assert_text_has(diagnosis(), "rank 2 for 9 (of another host)");
}

static void test_who_disagrees_is_named(void **state)
{
    wait_in_a_ring();
    look();
    places[2].last.count = 65;
    assert_string_equal(diagnosis(),
                        "ranks disagree on number 1: rank 0 calls allreduce (ring) of 64 float sum, rank 2 "
                        "calls allreduce (ring) of 65 float sum");
}

static void test_who_waits_for_a_message_is_named(void **state)
{
    clab_flight_end(begin_sum(0, 7, 0, 64), CLAB_FLIGHT_DONE);
    wait_for(begin_message(1, 7, CLAB_FLIGHT_SEND, 3), 3, -1, 112);
    wait_for(begin_message(2, 7, CLAB_FLIGHT_RECEIVE, 0), 0, -1, 111);
    look();
    assert_string_equal(diagnosis(), "rank 2 is in receive of 8 float from rank 0: has waited 4 s for rank 0");
}

static void test_a_diagnosis_is_cut_where_there_is_no_room(void **state)
{
    char text[64], *wall = text + 40;
    wait_in_a_ring();
    look();
    for (size_t room = 1; room < 40; room++) {
        memset(text, '#', sizeof text);
        clab_flight_diagnosis(places, NRANKS, 115, text, room);
        assert_int_equal(strlen(text), room - 1);
        assert_int_equal(*wall, '#');
    }
}

// ---- when it is reported -------------------------------------------------------------------------------------

static int skip_at_1(struct clab_comm *comm, int rank)
{
    CLAB_TRY(ring_sum(comm, COUNT));
    if (rank == 1)
        stay_away(2);
    return ring_sum(comm, COUNT);
}

static int sigkill_at_1(struct clab_comm *comm, int rank)
{
    CLAB_TRY(ring_sum(comm, COUNT));
    struct clab_work *work;
    told->ready++;
    stay_away(3); // until all have ended it
    if (rank == 1) {
        stay_away(5); // and the others are in the next
        raise(SIGKILL);
    }
    CLAB_TRY(clab_allreduce_start(comm, in, out, COUNT, CLAB_F32, CLAB_SUM, &work));
    told->ready++;
    return clab_work_wait(work);
}

// How many reports there are.
static int reports(const char *text)
{
    return occurrences(text, "commlab: flight: ") - occurrences(text, "commlab: flight:   rank ");
}

static void test_a_failure_is_reported_once_with_all_ranks(void **state)
{
    const char *text = run_all(3, fail_once, skip_at_1, "1s", 0);
    assert_int_equal(reports(text), 1);
    assert_text_has(text, "commlab: flight: rank 1 has not called number 2: its last is number 1, allreduce (ring) of "
                          "64 float sum, begun ");
    assert_text_has(text, " ago; ranks 0, 2 wait in number 2\n"
                          "commlab: flight:   rank 0: in number 2, allreduce (ring) of 64 float sum: stage ");
    assert_int_equal(occurrences(text, "commlab: flight:   rank "), 3);
    for (int rank = 0; rank < 3; rank++)
        assert_int_equal(told->values[rank], CLAB_ETIMEOUT);
}

static void test_a_death_is_reported_once(void **state)
{
    const char *text = run_all(3, fail_once, sigkill_at_1, "20s", 128 + SIGKILL);
    assert_int_equal(reports(text), 1);
    assert_text_has(text, "commlab: flight: rank 1 has ended: its last is number 1, allreduce (ring) of 64 float sum");
    assert_text_has(text, "; ranks 0, 2 wait in number 2\n");
}

// Both in the same collective, of which none can say a word.
static int all_are_killed(struct clab_comm *comm, int rank)
{
    struct clab_work *work;
    clab_comm_set_algorithm(comm, CLAB_ALLREDUCE, "ring", 1);
    CLAB_TRY(clab_allreduce_start(comm, in, out, LARGE, CLAB_F32, CLAB_SUM, &work));
    told->ready++;
    stay_away(3);
    raise(SIGKILL);
    return 0;
}

static void test_the_launcher_reports_when_nobody_can(void **state)
{
    const char *text = run_all(3, fail_once, all_are_killed, "20s", 128 + SIGKILL);
    assert_int_equal(reports(text), 1);
    assert_text_has(text, " has ended in number 1 (allreduce (ring) of 262144 float sum)");
    assert_text_has(text, "commlab: flight:   rank 2: has ended in number 1");
}

static int exit_at_1(struct clab_comm *comm, int rank)
{
    if (rank == 1)
        _exit(3);
    usleep(100 * 1000);
    return 0;
}

// Nobody waits for it, or for anything.
static void test_who_just_ends_is_not_reported(void **state)
{
    const char *text = run_all(3, just_act, exit_at_1, "20s", 3);
    assert_int_equal(reports(text), 0);
    assert_one_line_with(text, "exited with status 3");
}

static int interrupt(struct clab_comm *comm, int rank)
{
    signal(SIGTERM, SIG_DFL);
    if (rank == 0) {
        told->seconds[0] = clab_now();
        return ring_sum(comm, COUNT);
    }
    if (rank == 1) {
        usleep((unsigned)(told->moment * 1e6));
        kill(getppid(), SIGTERM); // as the launcher passes it on
    }
    return wait_for_ever(rank);
}

static void test_who_interrupts_a_long_wait_is_told_for_what(void **state)
{
    told->moment = 2;
    const char *text = run_all(3, just_act, interrupt, "20s", 128 + SIGTERM);
    assert_int_equal(reports(text), 1);
    assert_text_has(text, " has waited ");
    const double waited = atof(strstr(text, " has waited ") + strlen(" has waited ")); // s
    assert_true(waited >= 1 && waited < clab_now() - told->seconds[0] + 0.1);          // it is rounded
    told->moment = 0.2;
    text = run_all(3, just_act, interrupt, "20s", 128 + SIGTERM);
    if (clab_now() - told->seconds[0] < 1)
        assert_string_equal(text, "");
}

static int fail_two_then_one(struct clab_comm *comm, int rank)
{
    struct clab_comm *others[3];
    struct clab_work *works[3];
    for (int i = 0; i < 3; i++)
        CLAB_TRY(clab_comm_create(job, &others[i]));
    const double start = clab_now();
    for (int i = 0; i < 3; i++) {
        if (i == 2) {
            told->seconds[2 + rank] = clab_now() - start;
            usleep(1200 * 1000); // another cause
        }
        CLAB_TRY(clab_allreduce_start(others[i], in, out, rank ? 8 : 9, CLAB_F32, CLAB_SUM, &works[i]));
        clab_work_wait(works[i]);
    }
    for (int i = 0; i < 3; i++)
        clab_comm_destroy(others[i]);
    return clab_barrier(comm);
}

static void test_failures_of_one_cause_are_reported_together(void **state)
{
    const char *text = run_all(2, just_act, fail_two_then_one, "20s", 0);
    assert_int_equal(told->values[0], CLAB_OK);
    const bool in_time =
        told->seconds[2] < 1 && told->seconds[3] < 1; // else the first two may be of two causes as well
    assert_in_range(reports(text), 2, in_time ? 2 : 3);
}

static void test_reports_are_turned_off(void **state)
{
    setenv("CLAB_FLIGHT", "0", 1);
    const char *text = run_all(3, fail_once, skip_at_1, "1s", 0);
    unsetenv("CLAB_FLIGHT");
    assert_int_equal(reports(text), 0);
    assert_int_equal(occurrences(text, "\n"), 3);
}

static void test_the_history_goes_to_a_file(void **state)
{
    folder_make(state);
    setenv("CLAB_FLIGHT", folder_path("flight"), 1);
    const char *text = run_all(3, fail_once, skip_at_1, "1s", 0);
    unsetenv("CLAB_FLIGHT");
    assert_int_equal(reports(text), 1);
    text = file_text(folder_path("flight"));
    folder_remove(state);
    assert_int_equal(occurrences(text, "making a communicator of 3 ranks\n") >= 3, 1);
    assert_int_equal(occurrences(text, ", done: number 0 of communicator "), 3 + 3 * 2); // a barrier; two meetings
    assert_int_equal(occurrences(text, ", done: number 1 of communicator "), 3);
    assert_int_equal(occurrences(text, ", failed: number 2 of communicator "), 2);
}

// ---- all -----------------------------------------------------------------------------------------------------

#define unit(name) cmocka_unit_test_setup_teardown(name, make_flights, free_flights)
int main(void)
{
    const struct CMUnitTest tests[] = {
        unit(test_the_last_operations_are_kept),
        unit(test_operations_are_called_by_their_names),
        unit(test_who_has_not_called_is_named),
        unit(test_who_is_in_another_number_is_named),
        unit(test_who_is_dead_is_named_before_who_is_behind_for_it),
        unit(test_who_never_called_is_named),
        unit(test_who_is_silent_in_the_same_number_is_named),
        unit(test_who_disagrees_is_named),
        unit(test_who_waits_for_a_message_is_named),
        unit(test_a_diagnosis_is_cut_where_there_is_no_room),
        fresh_test(test_a_failure_is_reported_once_with_all_ranks),
        fresh_test(test_a_death_is_reported_once),
        fresh_test(test_the_launcher_reports_when_nobody_can),
        fresh_test(test_who_just_ends_is_not_reported),
        fresh_test(test_who_interrupts_a_long_wait_is_told_for_what),
        fresh_test(test_failures_of_one_cause_are_reported_together),
        fresh_test(test_reports_are_turned_off),
        fresh_test(test_the_history_goes_to_a_file),
    };
    return cmocka_run_group_tests(tests, share_told, NULL);
}
