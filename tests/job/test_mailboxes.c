// SPDX-License-Identifier: MIT
// What becomes of a rank's mailboxes when others leave a round without reading them. One thread per rank. Runs late.

#include "tests/fixtures/capture.h"

#include "core/job/pages/control.h"

#include <pthread.h>
#include <sys/mman.h>
#include <time.h>

#include "core/base/clock.h"
#include "core/base/err.h"

enum { MAX_SLOTS = 3, CORES = 2 };

struct worker {
    struct clab_control *control;
    struct clab_rank_slot slot;
    int (*body)(struct worker *);
    _Atomic int *step; // that all workers of a test share
    int err;
};

static struct clab_control *control_new(int nranks)
{
    const size_t bytes = clab_control_bytes(nranks);
    struct clab_control *control = aligned_alloc(4096, bytes);
    assert_non_null(control);
    memset(control, 0, bytes);
    clab_control_init(control, nranks, CORES, 0);
    return control;
}

static void *run_worker(void *argument)
{
    struct worker *worker = argument;
    worker->err = worker->body(worker);
    return NULL;
}

// Rank i does bodies[i], each wait of which may last `timeout` seconds; all must answer CLAB_OK.
static void run_workers(int nranks, double timeout, int (*const bodies[])(struct worker *))
{
    struct clab_control *control = control_new(nranks);
    struct worker workers[MAX_SLOTS] = {0};
    pthread_t threads[MAX_SLOTS];
    _Atomic int step = 0;
    for (int rank = 0; rank < nranks; rank++) {
        workers[rank] = (struct worker){.control = control, .body = bodies[rank], .step = &step};
        assert_int_equal(clab_slot_take(control, rank, timeout, &workers[rank].slot), CLAB_OK);
    }
    for (int rank = 0; rank < nranks; rank++)
        assert_int_equal(pthread_create(&threads[rank], NULL, run_worker, &workers[rank]), 0);
    for (int rank = 0; rank < nranks; rank++)
        pthread_join(threads[rank], NULL);
    for (int rank = 0; rank < nranks; rank++)
        clab_slot_leave(&workers[rank].slot);
    for (int rank = 0; rank < nranks; rank++)
        if (workers[rank].err)
            fail_msg("rank %d: %s", rank, clab_strerror(workers[rank].err));
    free(control);
}

static void await(const _Atomic int *step, int wanted)
{
    for (const double start = clab_now(); *step < wanted && clab_now() - start < 20;)
        usleep(100);
}

// A fence of all, or of the `n` in `ranks`. Every rank gives its number.
static int pass_fence(struct worker *worker, uint64_t key, const int *ranks, int n)
{
    int mine = worker->slot.rank, all[MAX_SLOTS] = {-1, -1, -1};
    const struct clab_fence fence = {.ranks = ranks, .n = n, .key = key, .quiet = true};
    CLAB_TRY(clab_slot_exchange(&worker->slot, fence, &mine, sizeof mine, all));
    for (int i = 0; i < (ranks ? n : (int)worker->control->nranks); i++)
        if (all[i] != (ranks ? ranks[i] : i))
            return CLAB_EWRONG;
    return CLAB_OK;
}

// Later fences, enough to write each mailbox twice.
static int fence_later(struct worker *worker)
{
    for (uint64_t key = 2; key < 6; key++)
        CLAB_TRY(pass_fence(worker, key, NULL, 0));
    return CLAB_OK;
}

// ---- who gives up --------------------------------------------------------------------------------------------

// Rank 1 has all that it needs of the round by now.
static int give_up_when_the_other_is_done(void *of, bool *busy_p)
{
    struct worker *worker = of;
    *busy_p = true;
    await(worker->step, 1);
    return CLAB_EPOISONED;
}

static int give_up_and_fence_again(struct worker *worker)
{
    worker->slot.progress.meanwhile = give_up_when_the_other_is_done;
    worker->slot.progress.of = worker;
    const int err = pass_fence(worker, 1, NULL, 0);
    worker->slot.progress.meanwhile = NULL;
    return err == CLAB_EPOISONED ? fence_later(worker) : CLAB_EWRONG;
}

// It posts when rank 0 has looked for it in vain: when nobody wakes who would look again.
static int complete_and_fence_again(struct worker *worker)
{
    usleep(100 * 1000);
    CLAB_TRY(pass_fence(worker, 1, NULL, 0));
    *worker->step = 1;
    return fence_later(worker);
}

static void test_who_gives_up_does_not_block_who_has_completed(void **state)
{
    run_workers(2, 5, (int (*const[])(struct worker *)){give_up_and_fence_again, complete_and_fence_again});
}

// ---- who is silent -------------------------------------------------------------------------------------------

static const int others[] = {0, 2};

// It has posted, and does not go on until the others have met without it. As a process that was stopped.
static int stay_silent(void *of, bool *busy_p)
{
    struct worker *worker = of;
    *busy_p = true;
    await(worker->step, 2);
    return CLAB_EPOISONED;
}

static int post_and_stay_silent(struct worker *worker)
{
    worker->slot.progress.meanwhile = stay_silent;
    worker->slot.progress.of = worker;
    return pass_fence(worker, 1, NULL, 0) == CLAB_EPOISONED ? CLAB_OK : CLAB_EWRONG;
}

static int fence_without_the_silent(struct worker *worker)
{
    usleep(100 * 1000);
    int err = pass_fence(worker, 1, NULL, 0);
    if (!err)
        err = pass_fence(worker, 2, NULL, 0) == CLAB_ETIMEOUT ? CLAB_OK : CLAB_EWRONG;
    for (uint64_t key = 3; !err && key < 7; key++)
        err = pass_fence(worker, key, others, 2);
    ++*worker->step;
    return err;
}

static void test_who_is_silent_does_not_block_those_who_go_on_without_it(void **state)
{
    run_workers(
        3, 3,
        (int (*const[])(struct worker *)){fence_without_the_silent, post_and_stay_silent, fence_without_the_silent});
}

// ---- a mailbox that is written while another reads it ------------------------------------------------------------
//
// Rank 1 reads into memory whose second half is not there yet. The fault in the midst of the copy waits until rank 0
// has failed and has written the same mailbox again.

enum { OLD = 1, BETWEEN, NEW }; // fences; the mailbox of the first is that of the last
enum { READING = 1, WRITTEN, READ };

static struct {
    char *page; // that is not there
    size_t bytes;
    _Atomic int *step;
} absent;

static void on_fault(int signo)
{
    *absent.step = READING;
    await(absent.step, WRITTEN);
    if (mprotect(absent.page, absent.bytes, PROT_READ | PROT_WRITE) != 0)
        _exit(1);
}

// Room for two blobs, the first of which lies half in the absent page.
static char *room_new(struct worker *worker)
{
    absent.bytes = (size_t)sysconf(_SC_PAGESIZE);
    absent.step = worker->step;
    char *room = mmap(NULL, 4 * absent.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(room != MAP_FAILED && absent.bytes >= CONTROL_BLOB_BYTES);
    absent.page = room + absent.bytes;
    return absent.page - CONTROL_BLOB_BYTES / 2;
}

static int fill_and_exchange(struct worker *worker, int number, char *all)
{
    char mine[CONTROL_BLOB_BYTES];
    const struct clab_fence fence = {.key = (uint64_t)number, .quiet = true};
    memset(mine, number, sizeof mine);
    return clab_slot_exchange(&worker->slot, fence, mine, sizeof mine, all);
}

static int give_up_while_it_is_read(void *of, bool *busy_p)
{
    struct worker *worker = of;
    *busy_p = true;
    await(worker->step, READING);
    return CLAB_EPOISONED;
}

static int stay_until_it_was_read(void *of, bool *busy_p)
{
    struct worker *worker = of;
    *busy_p = true;
    *worker->step = WRITTEN;
    await(worker->step, READ);
    return CLAB_EPOISONED;
}

static int fail_and_write_again(struct worker *worker)
{
    char all[2 * CONTROL_BLOB_BYTES];
    worker->slot.progress.of = worker;
    for (int number = OLD; number <= NEW; number++) {
        worker->slot.progress.meanwhile = number == NEW ? stay_until_it_was_read : give_up_while_it_is_read;
        if (fill_and_exchange(worker, number, all) != CLAB_EPOISONED)
            return CLAB_EWRONG;
    }
    return CLAB_OK;
}

static int give_up_after_the_fault(void *of, bool *busy_p)
{
    struct worker *worker = of;
    *busy_p = true;
    return *worker->step < WRITTEN ? CLAB_OK : CLAB_EPOISONED;
}

static int read_what_is_written(struct worker *worker)
{
    char *all = room_new(worker);
    const struct sigaction handler = {.sa_handler = on_fault};
    struct sigaction before;
    usleep(100 * 1000); // rank 0 has posted
    worker->slot.progress.meanwhile = give_up_after_the_fault;
    worker->slot.progress.of = worker;
    sigaction(SIGSEGV, &handler, &before);
    mprotect(absent.page, absent.bytes, PROT_NONE);
    const int err = fill_and_exchange(worker, OLD, all);
    sigaction(SIGSEGV, &before, NULL);
    const bool was_written = *worker->step == WRITTEN;
    *worker->step = READ;
    munmap(absent.page - absent.bytes, 4 * absent.bytes);
    return was_written && err == CLAB_EPOISONED ? CLAB_OK : CLAB_EWRONG;
}

static void test_what_is_read_is_of_one_post(void **state)
{
    run_workers(2, 5, (int (*const[])(struct worker *)){fail_and_write_again, read_what_is_written});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_who_gives_up_does_not_block_who_has_completed),
        cmocka_unit_test(test_who_is_silent_does_not_block_those_who_go_on_without_it),
        cmocka_unit_test(test_what_is_read_is_of_one_post),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
