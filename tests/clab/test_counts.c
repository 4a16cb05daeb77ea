// SPDX-License-Identifier: MIT
// What the library counts for each rank (core/clab/counts.h), against numbers worked out by hand: by clab_job_counts in
// the program, and by the file of CLAB_COUNTS after it.

#include "tests/fixtures/capture.h"
#include "tests/fixtures/needs.h"

#include <math.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/err.h"
#include "core/clab/counts.h"

enum { RANKS = 3, COUNT = 12, PAIR = 5 };
static char path[] = "/tmp/commlab-counts-XXXXXX";

// ---- what the ranks do ---------------------------------------------------------------------------------------

// Sums 12 floats around a ring of three: each rank sends 2 (P - 1) = 4 messages of 4 floats.
static void sum(struct clab_job *job, struct clab_comm *comm)
{
    float data[COUNT] = {0};
    clab_span_begin(job, "ring");
    must(clab_allreduce(comm, data, data, COUNT, CLAB_F32, CLAB_SUM));
    clab_span_end(job);
}

// Rank 0 sends 5 floats to rank 1, within a span in which all meet.
static void pass(struct clab_job *job, struct clab_comm *comm)
{
    float data[PAIR] = {0};
    clab_span_begin(job, "meet, and pass"); // a comma would end the cell of a CSV file
    clab_span_begin(job, "pass");
    if (clab_job_rank(job) == 0)
        must(clab_send(comm, data, PAIR, CLAB_F32, 1));
    if (clab_job_rank(job) == 1)
        must(clab_recv(comm, data, PAIR, CLAB_F32, 0));
    clab_span_end(job);
    must(clab_barrier(comm));
    clab_span_end(job);
}

static void ask_too_much(struct clab_job *job)
{
    void *memory;
    must(clab_alloc(job, (size_t)1 << 60, &memory) == CLAB_ENOMEM ? CLAB_OK : CLAB_EWRONG);
}

static void check_poison(struct clab_job *job)
{
    unsigned char *memory;
    must(clab_alloc(job, 64, (void **)&memory));
    for (int i = 0; i < 64; i++)
        must(memory[i] == 0xff ? CLAB_OK : CLAB_EWRONG);
    clab_free(job, memory);
}

// The second one begins before the first is waited for.
static void start_two(struct clab_comm *comm)
{
    struct clab_work *works[2];
    float values[2] = {0}, gathered[2][RANKS];
    for (int i = 0; i < 2; i++)
        must(clab_allgather_start(comm, &values[i], gathered[i], 1, CLAB_F32, &works[i]));
    for (int i = 0; i < 2; i++)
        must(clab_work_wait(works[i]));
}

static void be_rank(char *backend)
{
    char name[] = "test", flag[] = "--backend", ranks[] = "-n3", *argv[] = {name, flag, backend, ranks, NULL};
    int argc = 4;
    struct clab_job *job;
    struct clab_comm *comm;
    double late[RANKS];
    must(clab_job_open(&argc, argv, &job));
    must(clab_comm_create(job, &comm));
    must(clab_comm_set_algorithm(comm, CLAB_ALLREDUCE, "ring", 1));
    sum(job, comm);
    pass(job, comm);
    start_two(comm);
    must(clab_monitored_barrier(comm, 10, late));
    must(clab_compute(job, CLAB_FP32, 0, 1e9));
    ask_too_much(job);
    check_poison(job);
    const struct clab_counts counts = clab_job_counts(job);
    must(counts.communicators == 1 && counts.communicators_destroyed == 0 && counts.collectives[CLAB_ALLREDUCE] == 1 ? CLAB_OK : CLAB_EWRONG);
    clab_comm_destroy(comm);
    must(clab_job_close(job));
    _exit(EXIT_SUCCESS);
}

// Sums that are under way while the communicator is split count as others do, and the split does not.
static void be_splitter(char *backend)
{
    enum { SUMS = 3, FLOATS = RANKS * 5000 };
    char name[] = "test", flag[] = "--backend", ranks[] = "-n3", *argv[] = {name, flag, backend, ranks, NULL};
    static float in[FLOATS], out[SUMS][FLOATS];
    int argc = 4;
    struct clab_job *job;
    struct clab_comm *comm, *part;
    struct clab_work *works[SUMS];
    must(clab_job_open(&argc, argv, &job));
    must(clab_comm_create(job, &comm));
    must(clab_comm_set_algorithm(comm, CLAB_ALLREDUCE, "ring", 1));
    clab_span_begin(job, "sums and a split");
    for (int i = 0; i < SUMS; i++)
        must(clab_allreduce_start(comm, in, out[i], FLOATS, CLAB_F32, CLAB_SUM, &works[i]));
    must(clab_comm_split(comm, 0, 0, &part));
    for (int i = 0; i < SUMS; i++)
        must(clab_work_wait(works[i]));
    clab_span_end(job);
    must(clab_job_close(job));
    _exit(EXIT_SUCCESS);
}

// ---- what the file says --------------------------------------------------------------------------------------

static struct clab_count_row *rows;
static int nrows;

static void run(char *backend, void (*be)(char *backend))
{
    int status;
    assert_int_equal(truncate(path, 0), 0);
    const pid_t pid = fork();
    if (pid == 0) {
        setenv("CLAB_COUNTS", path, 1);
        setenv("CLAB_POISON", "1", 1);
        be(backend);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(clab_counts_read(path, &rows, &nrows), CLAB_OK);
}

static const struct clab_count_row *find(int rank, const char *span)
{
    for (int i = 0; i < nrows; i++)
        if (rows[i].rank == rank && !strcmp(rows[i].span, span))
            return &rows[i];
    fail_msg("rank %d has no span '%s'", rank, span);
    return NULL;
}

static void assert_ring(int rank)
{
    const struct clab_counts *c = &find(rank, "ring")->counts;
    assert_int_equal(c->collectives[CLAB_ALLREDUCE], 1);
    assert_int_equal(c->messages, 2 * (RANKS - 1));
    assert_int_equal(c->bytes_sent, 2 * (RANKS - 1) * COUNT / RANKS * sizeof(float));
    assert_int_equal(c->bytes_received, c->bytes_sent);
    assert_int_equal(c->sends + c->receives + c->communicators + c->collectives[CLAB_BARRIER], 0);
}

static void assert_pass(int rank)
{
    const struct clab_counts *inner = &find(rank, "pass")->counts, *outer = &find(rank, "meet_ and pass")->counts;
    assert_int_equal(inner->sends, rank == 0);
    assert_int_equal(inner->receives, rank == 1);
    assert_int_equal(inner->bytes_sent, rank == 0 ? PAIR * sizeof(float) : 0);
    assert_int_equal(inner->bytes_received, rank == 1 ? PAIR * sizeof(float) : 0);
    assert_int_equal(inner->collectives[CLAB_BARRIER], 0);
    assert_int_equal(outer->collectives[CLAB_BARRIER], 1);
    assert_int_equal(outer->sends, inner->sends);
    assert_true(find(rank, "pass")->at >= find(rank, "meet_ and pass")->at);
}

static void assert_job(int rank, const char *backend, bool is_exact)
{
    const struct clab_count_row *job = find(rank, "job");
    assert_string_equal(job->backend, backend);
    assert_int_equal(job->counts.communicators, 1);
    assert_int_equal(job->counts.communicators_destroyed, 1);
    assert_int_equal(job->counts.monitored_barriers, 1);
    assert_int_equal(job->counts.failed_allocations, 1);
    assert_int_equal(job->counts.collectives[CLAB_ALLREDUCE], 1);
    assert_int_equal(job->counts.collectives[CLAB_ALLGATHER], 2);
    assert_int_equal(job->counts.collectives_queued, 1);
    assert_true(job->counts.started > 3); // collectives and messages, the library's own too
    assert_int_equal(job->counts.waited_for, job->counts.started);
    assert_true(is_exact ? job->counts.computed > 0 : job->counts.computed == 0);
    assert_true(job->counts.seconds >= job->counts.computed);
}

static void assert_rows(char *backend, bool is_exact)
{
    run(backend, be_rank);
    assert_int_equal(nrows, 4 * RANKS);
    for (int rank = 0; rank < RANKS; rank++) {
        assert_ring(rank);
        assert_pass(rank);
        assert_job(rank, backend, is_exact);
    }
    free(rows);
}

static void test_counts_of_real_time_are_those_of_the_schedule(void **state)
{
    static char backend[] = "shm";
    assert_rows(backend, false);
}

static void test_counts_of_virtual_time_are_the_same_and_computing_is_known(void **state)
{
    static char backend[] = "sim";
    needs_inih();
    assert_rows(backend, true);
}

static void assert_sums(int rank)
{
    const struct clab_counts *c = &find(rank, "sums and a split")->counts;
    assert_int_equal(c->collectives[CLAB_ALLREDUCE], 3);
    assert_int_equal(c->messages, 3 * 2 * (RANKS - 1));
    assert_int_equal(c->bytes_received, c->bytes_sent);
    assert_int_equal(c->collectives[CLAB_ALLGATHER], 0);
    assert_int_equal(c->collectives_queued, 2);
    assert_int_equal(c->started, 3);
    assert_int_equal(c->waited_for, 3);
    assert_int_equal(c->communicators, 1);
}

static void test_what_is_under_way_counts_while_a_communicator_is_split(void **state)
{
    static char backends[][4] = {"shm", "sim"};
    needs_inih();
    for (int i = 0; i < 2; i++) {
        run(backends[i], be_splitter);
        for (int rank = 0; rank < RANKS; rank++)
            assert_sums(rank);
        free(rows);
    }
}

static void test_rows_that_no_library_wrote_are_refused_in_a_line(void **state)
{
    FILE *file = fopen(path, "w");
    fprintf(file, "rank,span,at,allreduce\n0,job,0,all passed\n");
    fclose(file);
    const struct capture err = capture_begin(STDERR_FILENO);
    const int got = clab_counts_read(path, &rows, &nrows);
    const char *text = capture_end(err);
    assert_int_equal(got, CLAB_EPARSE);
    assert_non_null(strstr(text, path));
    assert_int_equal(strchr(text, '\n')[1], 0); // one line
}

static int make_file(void **state)
{
    const int fd = mkstemp(path);
    return fd < 0 ? -1 : close(fd);
}

static int remove_file(void **state)
{
    return unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counts_of_real_time_are_those_of_the_schedule),
        cmocka_unit_test(test_counts_of_virtual_time_are_the_same_and_computing_is_known),
        cmocka_unit_test(test_what_is_under_way_counts_while_a_communicator_is_split),
        cmocka_unit_test(test_rows_that_no_library_wrote_are_refused_in_a_line),
    };
    return cmocka_run_group_tests(tests, make_file, remove_file);
}
