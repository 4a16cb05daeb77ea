// SPDX-License-Identifier: MIT
// Progress beside computation: what has been started goes on while a rank makes no call, by a thread that leaves the
// core to it, changes no result, dies with the job, and is not there where nobody needs it.

#include "tests/fixtures/comm_fixture.h"

#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "core/comm/comm.h"
#include "core/comm/progress.h"
#include "tests/fixtures/needs.h"

enum { ROUNDS = 60, BUCKETS = 5, BUCKET = 6000 };

static void use(const char *progress, const char *backend)
{
    setenv("CLAB_PROGRESS", progress, 1);
    setenv("CLAB_BACKEND", backend, 1);
}

static int use_shm(void **state)
{
    use("thread", "shm");
    unsetenv("CLAB_EMULATE");
    return forget(state);
}

static int threads_of_this_process(void)
{
    DIR *tasks = opendir("/proc/self/task");
    int n = 0;
    for (struct dirent *task; tasks && (task = readdir(tasks));)
        n += *task->d_name != '.';
    if (tasks)
        closedir(tasks);
    return n;
}

// ---- it goes on ----------------------------------------------------------------------------------------------

// Rank 0 starts a sum and then makes no call until rank 1, who needs its second stage, has its result: that never
// happens, unless somebody else sees to it.
static int wait_at_1(struct clab_comm *comm, int rank)
{
    struct clab_work *work;
    int err;
    clab_comm_set_algorithm(comm, CLAB_ALLREDUCE, "ring", 1);
    for (int i = 0; i < LARGE; i++)
        in[i] = (float)(rank + 1);
    if (rank == 1) {
        err = ring_sum(comm, LARGE);
        told->signals[1] = 1;
    } else {
        CLAB_TRY(clab_allreduce_start(comm, in, out, LARGE, CLAB_F32, CLAB_SUM, &work));
        const double limit = *getenv("CLAB_PROGRESS") == 'm' ? 0.3 : TIME_LIMIT;
        for (const double start = clab_now(); told->signals[1] == 0 && clab_now() - start < limit;)
            ;
        told->signals[0] = told->signals[1]; // whether rank 1 had its sum before rank 0 called again
        err = clab_work_wait(work);
    }
    for (int i = 0; i < LARGE && !err; i++)
        err = out[i] == 3 ? CLAB_OK : CLAB_EWRONG;
    return err;
}

static void test_a_sum_goes_on_while_a_rank_computes(void **state)
{
    const char *text = run_all(2, just_act, wait_at_1, "20s", 0);
    assert_all_answer(CLAB_OK, 0, 2, -1, clab_now(), text);
    assert_int_equal(told->signals[0], 1);
}

static void test_without_a_thread_it_waits_for_the_next_call(void **state)
{
    use("manual", "shm");
    const char *text = run_all(2, just_act, wait_at_1, "20s", 0);
    assert_all_answer(CLAB_OK, 0, 2, -1, clab_now(), text);
    assert_int_equal(told->signals[0], 0);
}

static void test_it_goes_on_over_other_wires_too(void **state)
{
    const char *backend = *state;
    use_shm(NULL);
    if (!strcmp(backend, "emulate")) {
        needs_inih();
        setenv("CLAB_EMULATE", "10gbe", 1);
        setenv("CLAB_PROGRESS", "auto", 1); // the choice for a wire that leaves the cores free
    } else {
        needs_libfabric();
        use("thread", backend);
    }
    const char *text = run_all(2, just_act, wait_at_1, "20s", 0);
    assert_all_answer(CLAB_OK, 0, 2, -1, clab_now(), text);
    assert_int_equal(told->signals[0], 1);
}

// ---- it changes no result ------------------------------------------------------------------------------------

// Sums of many sizes on two communicators, waited for in another order, with work and calls of other kinds between.
static int mix(struct clab_comm *comm, int rank)
{
    static int data[2][BUCKETS][BUCKET];
    const int n = clab_comm_ranks(comm);
    struct clab_comm *other, *comms[2] = {comm};
    unsigned random = 1; // the same at all ranks: what they call is
    CLAB_TRY(clab_comm_split(comm, 0, -rank, &other));
    comms[1] = other;
    for (int round = 0; round < ROUNDS; round++) {
        struct clab_work *works[2][BUCKETS];
        size_t counts[BUCKETS];
        for (int b = 0; b < BUCKETS; b++) {
            random = random * 1103515245 + 12345;
            counts[b] = 1 + (random >> 8) % BUCKET;
            for (int c = 0; c < 2; c++) {
                for (size_t i = 0; i < counts[b]; i++)
                    data[c][b][i] = (rank + 1) * (int)(i + (size_t)b) + c;
                CLAB_TRY(clab_allreduce_start(comms[c], data[c][b], data[c][b], counts[b], CLAB_I32, CLAB_SUM,
                                              &works[c][b]));
            }
            for (const double start = clab_now(); clab_now() - start < 1e-6 * (double)((random >> 12) % 200);)
                ;
        }
        if (round % 8 == 0)
            CLAB_TRY(clab_barrier(other));
        for (int b = BUCKETS - 1; b >= 0; b--)
            for (int c = 0; c < 2; c++) {
                CLAB_TRY(clab_work_wait(works[c][b]));
                for (size_t i = 0; i < counts[b]; i++)
                    if (data[c][b][i] != n * (n + 1) / 2 * (int)(i + (size_t)b) + n * c)
                        return CLAB_EWRONG;
            }
    }
    clab_comm_destroy(other);
    return CLAB_OK;
}

static void test_sums_are_right_beside_work(void **state)
{
    const char *backend = *state;
    if (!strcmp(backend, "ofi"))
        needs_libfabric();
    use_shm(NULL);
    use("thread", backend);
    for (int n = 2; n <= 4; n++) {
        forget(NULL);
        const char *text = run_all(n, just_act, mix, "20s", 0);
        assert_all_answer(CLAB_OK, 0, n, -1, clab_now(), text);
    }
}

// Sums of memory that the fabric is told of while they are under way, beside registrations of the program's own: both
// keep the same list.
static int register_beside_sums(struct clab_comm *comm, int rank)
{
    enum { TIMES = 20, PER_SUM = 50, BYTES = 1 << 16 };
    char *memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < TIMES; i++) {
        struct clab_registration *registration;
        struct clab_work *work;
        CLAB_TRY(clab_allreduce_start(comm, in, out, LARGE, CLAB_F32, CLAB_SUM, &work));
        for (int j = 0; j < PER_SUM; j++) {
            CLAB_TRY(clab_register(job, memory, BYTES, &registration));
            clab_unregister(job, registration);
        }
        CLAB_TRY(clab_work_wait(work));
    }
    munmap(memory, BYTES);
    return CLAB_OK;
}

static void test_memory_is_registered_beside_work(void **state)
{
    needs_libfabric();
    use("thread", "ofi");
    setenv("CLAB_OFI_REGISTER", "1", 1);
    const char *text = run_all(2, just_act, register_beside_sums, "20s", 0);
    unsetenv("CLAB_OFI_REGISTER");
    assert_all_answer(CLAB_OK, 0, 2, -1, clab_now(), text);
}

// ---- faults --------------------------------------------------------------------------------------------------

// Rank 1 is killed in the midst of what the others' threads work on; they compute on, and ask later.
static int die_beside_work(struct clab_comm *comm, int rank)
{
    struct clab_work *work;
    clab_comm_set_algorithm(comm, CLAB_ALLREDUCE, "ring", 1);
    if (rank == 1) { // which has sent nothing, so that nobody can have a result
        stay_away(2);
        told->moment = clab_now();
        raise(SIGKILL);
    }
    CLAB_TRY(clab_allreduce_start(comm, in, out, LARGE, CLAB_F32, CLAB_SUM, &work));
    told->ready++;
    for (const double start = clab_now(); clab_now() - start < 0.05;)
        ;
    return clab_work_wait(work);
}

static void test_a_death_beside_work_is_told_to_who_waits(void **state)
{
    const char *text = run_all(3, fail_once, die_beside_work, "20s", 128 + SIGKILL);
    assert_all_answer(CLAB_EPEER, 0, 3, 1, told->moment + 0.05, text);
}

static int leave_under_way(struct clab_comm *comm, int rank)
{
    struct clab_work *work;
    return rank == 0 ? clab_recv_start(comm, out, COUNT, CLAB_F32, 1, &work) : CLAB_OK;
}

static void test_what_is_under_way_holds_no_close(void **state)
{
    const double start = clab_now();
    const char *text = run_all(2, just_act, leave_under_way, "20s", 0);
    assert_all_answer(CLAB_OK, 0, 2, -1, clab_now(), text);
    assert_true(clab_now() - start < 2);
}

static int exit_under_way(struct clab_comm *comm, int rank)
{
    CLAB_TRY(leave_under_way(comm, rank));
    fclose(stdout); // the test's report is its parent's
    exit(7);
}

static void test_who_exits_without_a_close_ends(void **state)
{
    run_all(2, just_act, exit_under_way, "20s", 7);
}

// ---- what it costs -------------------------------------------------------------------------------------------

static int count_threads(struct clab_comm *comm, int rank)
{
    struct clab_work *work;
    for (int i = 0; i < 100; i++)
        CLAB_TRY(ring_sum(comm, COUNT));
    const int before = threads_of_this_process();
    if (rank == 1)
        stay_away(1); // so that the sum is under way at rank 0
    CLAB_TRY(clab_allreduce_start(comm, in, out, LARGE, CLAB_F32, CLAB_SUM, &work));
    told->signals[2 * rank] = before;
    told->signals[2 * rank + 1] = threads_of_this_process();
    told->ready++;
    return clab_work_wait(work);
}

static void test_who_only_waits_has_no_thread(void **state)
{
    use("manual", "shm");
    run_all(2, just_act, count_threads, "20s", 0);
    const int none = told->signals[0]; // a sanitizer may have threads of its own
    assert_int_equal(told->signals[1], none);
    use("thread", "shm");
    forget(NULL);
    run_all(2, just_act, count_threads, "20s", 0);
    assert_int_equal(told->signals[0], none);
    assert_true(told->signals[1] > none);
}

// This process's threads that are not scheduled by `policy`.
static int threads_of_other_policy(int policy)
{
    DIR *tasks = opendir("/proc/self/task");
    int n = 0;
    for (struct dirent *task; tasks && (task = readdir(tasks));)
        n += *task->d_name != '.' && sched_getscheduler(atoi(task->d_name)) != policy;
    if (tasks)
        closedir(tasks);
    return n;
}

static int sum_as_a_batch(struct clab_comm *comm, int rank)
{
    if (sched_setscheduler(0, SCHED_BATCH, &(struct sched_param){0}))
        return CLAB_ESYS;
    const int others = threads_of_other_policy(SCHED_BATCH); // a sanitizer's
    CLAB_TRY(wait_at_1(comm, rank)); // the thread has worked: it has long said how it is to be scheduled
    told->cores[rank] = threads_of_other_policy(SCHED_BATCH) - others;
    return CLAB_OK;
}

static void test_the_thread_keeps_the_policy_of_its_program(void **state)
{
    const char *text = run_all(2, just_act, sum_as_a_batch, "20s", 0);
    assert_all_answer(CLAB_OK, 0, 2, -1, clab_now(), text);
    assert_int_equal(told->signals[0], 1);
    assert_int_equal(told->cores[0], 0);
}

// No address space has room for a thread's stack.
static int sum_without_a_thread(struct clab_comm *comm, int rank)
{
    struct clab_work *work;
    pthread_attr_t attributes;
    if (rank == 1)
        stay_away(1); // so that the sum is under way at rank 0
    pthread_attr_init(&attributes);
    if (pthread_attr_setstacksize(&attributes, (size_t)1 << 50) || pthread_setattr_default_np(&attributes))
        return CLAB_ESYS;
    CLAB_TRY(clab_allreduce_start(comm, in, out, LARGE, CLAB_F32, CLAB_SUM, &work));
    told->signals[rank] = *clab_job_progress(job, NULL);
    told->ready++;
    return clab_work_wait(work);
}

static void test_without_room_for_a_thread_calls_make_progress(void **state)
{
    const char *text = run_all(2, just_act, sum_without_a_thread, "20s", 0);
    assert_all_answer(CLAB_OK, 0, 2, -1, clab_now(), text);
    assert_int_equal(told->signals[0], 'm');
    assert_text_has(text, "no thread can be started (Resource temporarily unavailable): progress is made in calls");
}

static double cpu_seconds(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

// A peer comes late: meanwhile nothing moves.
static int wait_for_who_is_late(struct clab_comm *comm, int rank)
{
    struct clab_work *work;
    if (rank == 1)
        usleep(300000);
    const double start = clab_now(), cpu = cpu_seconds();
    CLAB_TRY(clab_allreduce_start(comm, in, out, LARGE, CLAB_F32, CLAB_SUM, &work));
    if (rank == 0)
        usleep(250000); // as work that leaves the core to whoever wants it
    told->seconds[2 + rank] = (cpu_seconds() - cpu) / (clab_now() - start);
    return clab_work_wait(work);
}

static void test_the_thread_leaves_the_core_while_nothing_moves(void **state)
{
    run_all(2, just_act, wait_for_who_is_late, "20s", 0);
    if (!(told->seconds[2] < 0.15))
        fail_msg("%g %% of a core", 100 * told->seconds[2]);
}

// ---- the choice ----------------------------------------------------------------------------------------------

static int say_choice(struct clab_comm *comm, int rank)
{
    const char *why, *how = clab_job_progress(job, &why);
    told->signals[rank] = *how;
    return why && *why ? CLAB_OK : CLAB_EWRONG;
}

static int choice(const char *progress)
{
    setenv("CLAB_PROGRESS", progress, 1);
    forget(NULL);
    run_all(2, just_act, say_choice, "20s", 0);
    return told->signals[0];
}

static void test_the_choice_is_by_free_cores(void **state)
{
    assert_int_equal(choice("thread"), 't');
    assert_int_equal(choice("manual"), 'm');
    assert_int_equal(choice("auto"), clab_cores() >= 4 ? 't' : 'm');
}

static void test_in_virtual_time_there_is_no_choice(void **state)
{
    needs_inih();
    setenv("CLAB_BACKEND", "sim", 1);
    assert_int_equal(choice("auto"), 'v');
}

static void test_a_choice_that_is_none_is_refused(void **state)
{
    setenv("CLAB_PROGRESS", "fast", 1);
    const char *text = run_all(2, just_act, say_choice, "20s", NOT_JOINED);
    assert_text_has(text, "CLAB_PROGRESS is 'fast': it can be auto, thread or manual");
    setenv("CLAB_PROGRESS", "auto", 1);
    setenv("CLAB_PACKETS", "none", 1);
    text = run_all(2, just_act, say_choice, "20s", NOT_JOINED);
    assert_text_has(text, "CLAB_PACKETS is 'none': it can be auto or off");
    unsetenv("CLAB_PACKETS");
}

// ---- many at once ----------------------------------------------------------------------------------------------

static const struct clab_backend *mover;
static int tested; // transfers, by `test`

static int test_and_count(struct clab_endpoint *endpoint, struct clab_transfer transfers[], int n, bool *done_p)
{
    tested += n;
    return mover->test(endpoint, transfers, n, done_p);
}

// Rank 1 sends when rank 0 has begun to receive all.
static int post_many(struct clab_comm *comm, int rank)
{
    enum { MANY = 300 };
    static struct clab_work *works[MANY];
    static int data[MANY];
    struct clab_backend counting = *(mover = comm->backend);
    counting.test = test_and_count;
    comm->backend = &counting;
    for (int i = 0; rank == 0 && i < MANY; i++)
        CLAB_TRY(clab_recv_start(comm, &data[i], 1, CLAB_I32, 1, &works[i]));
    comm->backend = mover;
    CLAB_TRY(clab_barrier(comm));
    for (int i = 0; rank == 1 && i < MANY; i++)
        CLAB_TRY(clab_send(comm, &i, 1, CLAB_I32, 0));
    for (int i = 0; rank == 0 && i < MANY; i++)
        CLAB_TRY(clab_work_wait(works[i]) || data[i] != i ? CLAB_EWRONG : CLAB_OK);
    return tested > 3 * MANY ? CLAB_EDEADLOCK : CLAB_OK;
}

static void test_a_start_tests_a_few_of_those_under_way(void **state)
{
    use("manual", "shm");
    run_all(2, just_act, post_many, "20s", 0);
    assert_int_equal(told->values[0], CLAB_OK);
}

// Two ranks with two cores each; a backend without a nap takes calls from one thread only.
static void test_without_a_nap_there_is_no_thread(void **state)
{
    struct clab_progress_place place = {.job_ranks = 2, .ranks = 2, .cores = 4, .mover = CLAB_MOVED_BY_CORES};
    const char *why;
    unsetenv("CLAB_PROGRESS");
    assert_int_equal(clab_progress_rule(&place, &why), CLAB_PROGRESS_MANUAL);
    assert_string_equal(why, "the backend's library takes calls from one thread only");
    setenv("CLAB_PROGRESS", "thread", 1);
    assert_int_equal(clab_progress_rule(&place, NULL), CLAB_PROGRESS_MANUAL);
    unsetenv("CLAB_PROGRESS");
    place.has_nap = true;
    assert_int_equal(clab_progress_rule(&place, NULL), CLAB_PROGRESS_THREAD);
    place.cores = 3;
    assert_int_equal(clab_progress_rule(&place, NULL), CLAB_PROGRESS_MANUAL);
}

int main(void)
{
    static char shm[] = "shm", ofi[] = "ofi", emulated[] = "emulate";
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_a_sum_goes_on_while_a_rank_computes, use_shm),
        cmocka_unit_test_setup(test_without_a_thread_it_waits_for_the_next_call, use_shm),
        {"test_it_goes_on_over_libfabric", test_it_goes_on_over_other_wires_too, NULL, NULL, ofi},
        {"test_it_goes_on_over_an_emulated_wire", test_it_goes_on_over_other_wires_too, NULL, NULL, emulated},
        {"test_sums_are_right_beside_work_on_shm", test_sums_are_right_beside_work, NULL, NULL, shm},
        {"test_sums_are_right_beside_work_on_ofi", test_sums_are_right_beside_work, NULL, NULL, ofi},
        cmocka_unit_test_setup(test_memory_is_registered_beside_work, use_shm),
        cmocka_unit_test_setup(test_a_death_beside_work_is_told_to_who_waits, use_shm),
        cmocka_unit_test_setup(test_what_is_under_way_holds_no_close, use_shm),
        cmocka_unit_test_setup(test_who_exits_without_a_close_ends, use_shm),
        cmocka_unit_test_setup(test_who_only_waits_has_no_thread, use_shm),
        cmocka_unit_test_setup(test_the_thread_keeps_the_policy_of_its_program, use_shm),
        cmocka_unit_test_setup(test_without_room_for_a_thread_calls_make_progress, use_shm),
        cmocka_unit_test_setup(test_the_thread_leaves_the_core_while_nothing_moves, use_shm),
        cmocka_unit_test_setup(test_the_choice_is_by_free_cores, use_shm),
        cmocka_unit_test_setup(test_in_virtual_time_there_is_no_choice, use_shm),
        cmocka_unit_test_setup(test_a_choice_that_is_none_is_refused, use_shm),
        cmocka_unit_test_setup(test_a_start_tests_a_few_of_those_under_way, use_shm),
        cmocka_unit_test(test_without_a_nap_there_is_no_thread),
    };
    return cmocka_run_group_tests(tests, share_told, NULL);
}
