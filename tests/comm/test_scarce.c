// SPDX-License-Identifier: MIT
// When memory runs out: whichever allocation of one rank fails, its call answers CLAB_ENOMEM, or does without; the
// others hear of it within a second; nobody crashes, nothing is lost, and the job can make the next communicator.
// - The linker sends each allocation of the library by this file (--wrap in the Makefile). Those of other libraries
//   succeed.

#include "tests/fixtures/comm_fixture.h"

#include <errno.h>
#include <math.h>
#include <sched.h>

#include "tests/fixtures/full.h"
#include "tests/fixtures/needs.h"

enum { NRANKS = 3, VALUES = 3000 };

// ---- allocations ---------------------------------------------------------------------------------------------

static struct {
    bool is_armed, lasts; // lasts: those after it fail, too
    long seen, fails;     // since it was armed; the number of the one that fails
    long live;            // allocated and not freed, ever
} scarce;

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t n, size_t bytes);
void *__real_realloc(void *memory, size_t bytes);
void *__real_aligned_alloc(size_t alignment, size_t bytes);
void __real_free(void *memory);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t n, size_t bytes);
void *__wrap_realloc(void *memory, size_t bytes);
void *__wrap_aligned_alloc(size_t alignment, size_t bytes);
void __wrap_free(void *memory);

static bool is_refused(void)
{
    if (!scarce.is_armed || ++scarce.seen < scarce.fails || (scarce.seen > scarce.fails && !scarce.lasts))
        return false;
    errno = ENOMEM;
    return true;
}

static void *counted(void *memory)
{
    scarce.live += memory != NULL;
    return memory;
}

void *__wrap_malloc(size_t bytes)
{
    return is_refused() ? NULL : counted(__real_malloc(bytes));
}

void *__wrap_calloc(size_t n, size_t bytes)
{
    return is_refused() ? NULL : counted(__real_calloc(n, bytes));
}

void *__wrap_realloc(void *memory, size_t bytes)
{
    if (!memory)
        return __wrap_malloc(bytes);
    return is_refused() ? NULL : __real_realloc(memory, bytes);
}

void *__wrap_aligned_alloc(size_t alignment, size_t bytes)
{
    return is_refused() ? NULL : counted(__real_aligned_alloc(alignment, bytes));
}

void __wrap_free(void *memory)
{
    scarce.live -= memory != NULL;
    __real_free(memory);
}

static void arm(long fails, bool lasts)
{
    scarce.is_armed = true;
    scarce.lasts = lasts;
    scarce.fails = fails;
    scarce.seen = 0;
}

// Whether one has failed.
static bool disarm(void)
{
    scarce.is_armed = false;
    return scarce.seen >= scarce.fails;
}

// ---- calls ---------------------------------------------------------------------------------------------------

static float from[NRANKS * VALUES], to[NRANKS * VALUES];

// *made_p: a new communicator, or NULL.
typedef int (*call_fn)(struct clab_comm *comm, struct clab_comm **made_p);

static int create(struct clab_comm *comm, struct clab_comm **made_p)
{
    return clab_comm_create(job, made_p);
}

static int split(struct clab_comm *comm, struct clab_comm **made_p)
{
    return clab_comm_split(comm, 0, -clab_comm_rank(comm), made_p);
}

static int shrink(struct clab_comm *comm, struct clab_comm **made_p)
{
    return clab_comm_shrink(comm, made_p);
}

static int allreduce(struct clab_comm *comm, struct clab_comm **made_p)
{
    return clab_allreduce(comm, from, to, VALUES, CLAB_F32, CLAB_SUM);
}

static int broadcast(struct clab_comm *comm, struct clab_comm **made_p)
{
    return clab_broadcast(comm, from, to, VALUES, CLAB_F32, 1);
}

static int reduce(struct clab_comm *comm, struct clab_comm **made_p)
{
    return clab_reduce(comm, from, to, VALUES, CLAB_F32, CLAB_SUM, 1);
}

static int allgather(struct clab_comm *comm, struct clab_comm **made_p)
{
    return clab_allgather(comm, from, to, VALUES, CLAB_F32);
}

static int reduce_scatter(struct clab_comm *comm, struct clab_comm **made_p)
{
    return clab_reduce_scatter(comm, from, to, VALUES, CLAB_F32, CLAB_SUM);
}

static int alltoall(struct clab_comm *comm, struct clab_comm **made_p)
{
    return clab_alltoall(comm, from, to, VALUES, CLAB_F32);
}

static int gather(struct clab_comm *comm, struct clab_comm **made_p)
{
    return clab_gather(comm, from, to, VALUES, CLAB_F32, 1);
}

static int scatter(struct clab_comm *comm, struct clab_comm **made_p)
{
    return clab_scatter(comm, from, to, VALUES, CLAB_F32, 1);
}

static int barrier(struct clab_comm *comm, struct clab_comm **made_p)
{
    return clab_barrier(comm);
}

static int watch(struct clab_comm *comm, struct clab_comm **made_p)
{
    double late[NRANKS];
    return clab_monitored_barrier(comm, 20, late);
}

static int pass_on(struct clab_comm *comm, struct clab_comm **made_p)
{
    const int rank = clab_comm_rank(comm), n = clab_comm_ranks(comm);
    struct clab_work *sent;
    CLAB_TRY(clab_send_start(comm, from, VALUES, CLAB_F32, (rank + 1) % n, &sent));
    const int err = clab_recv(comm, to, VALUES, CLAB_F32, (rank + n - 1) % n);
    const int waited = clab_work_wait(sent);
    // With a core to spare, the send may fail before the receive begins, which then finds the communicator ended.
    return err && err != CLAB_EPOISONED ? err : waited ? waited : err;
}

static const struct {
    const char *name;
    call_fn call;
    bool over_ofi; // where communicators take long to make, and the others allocate in the same places
} calls[] = {{"create", create, true},
             {"split", split, true},
             {"shrink", shrink, true},
             {"allreduce", allreduce, true},
             {"broadcast", broadcast, false},
             {"reduce", reduce, false},
             {"allgather", allgather, false},
             {"reduce_scatter", reduce_scatter, false},
             {"alltoall", alltoall, true},
             {"gather", gather, false},
             {"scatter", scatter, false},
             {"barrier", barrier, false},
             {"monitored barrier", watch, false},
             {"send and receive", pass_on, true}};
enum { NCALLS = sizeof calls / sizeof *calls };

// ---- the sweep -----------------------------------------------------------------------------------------------

// What ranks say of one try.
static struct said {
    _Atomic int came; // to any of their meetings, ever
    int err[NRANKS];
    bool hit[NRANKS];
    double seconds[NRANKS];
} * said;
static int meetings; // of this rank

// Beside the communicator, which may have failed.
static bool meet(void)
{
    const int wanted = clab_job_ranks(job) * ++meetings;
    said->came++;
    for (const double start = clab_now(); said->came < wanted; sched_yield())
        if (clab_now() - start > TIME_LIMIT)
            return false;
    return true;
}

static bool is_over_ofi(void)
{
    return !strcmp(clab_job_backend(job), "ofi");
}

// Memory that waited for the others has been freed now.
static long live_now(void)
{
    void *memory;
    must(clab_alloc(job, 1, &memory));
    clab_free(job, memory);
    return scarce.live;
}

struct attempt {
    const char *name;
    call_fn call;
    int victim;
    bool lasts;
    long fails;
};

static int make_one(const struct attempt *a, int rank)
{
    struct clab_comm *comm = NULL, *made = NULL;
    const int err = clab_comm_create(job, &comm);
    if (err)
        return err;
    if (!meet())
        return CLAB_ETIMEOUT;
    if (rank == a->victim)
        arm(a->fails, a->lasts);
    const double start = clab_now();
    said->err[rank] = a->call(comm, &made);
    said->seconds[rank] = clab_now() - start;
    said->hit[rank] = rank == a->victim && disarm();
    if (said->err[rank] && made)
        fprintf(stderr, "WRONG: %s fails, and has an output\n", a->name);
    if (said->err[rank] && a->call != create && a->call != split && a->call != shrink &&
        clab_barrier(comm) != CLAB_EPOISONED)
        fprintf(stderr, "WRONG: after %s has failed, the communicator goes on\n", a->name);
    meet();
    clab_comm_destroy(made);
    clab_comm_destroy(comm);
    return meet() ? CLAB_OK : CLAB_ETIMEOUT;
}

static bool is_right(const struct attempt *a)
{
    const int err = said->err[a->victim];
    bool right = err == CLAB_OK || (err == CLAB_ENOMEM && said->hit[a->victim]);
    for (int r = 0; r < NRANKS; r++)
        right &= said->seconds[r] < BOUND && (said->err[r] == CLAB_OK || said->err[r] == err);
    for (int r = 0; r < NRANKS && !right; r++)
        fprintf(stderr, "WRONG: %s, allocation %ld%s of rank %d fails: rank %d answers %s after %g s\n", a->name,
                a->fails, a->lasts ? " and later ones" : "", a->victim, r, clab_strerror(said->err[r]),
                said->seconds[r]);
    return right;
}

// Each allocation of the call fails once. The first try is without: what is kept for the job is there then.
static int sweep(struct attempt a, int rank)
{
    long live = 0;
    bool ends = false;
    for (a.fails = 0; !ends; a.fails++) {
        struct attempt this = a;
        this.victim = a.fails ? a.victim : -1;
        const int err = make_one(&this, rank);
        if (err) {
            fprintf(stderr, "WRONG: %s, after allocation %ld: no communicator any more: %s\n", a.name, a.fails,
                    clab_strerror(err));
            return err;
        }
        if (this.victim < 0) {
            live = live_now();
            continue;
        }
        if (!is_right(&this))
            return CLAB_EWRONG;
        // ofi keeps a closed endpoint until its peers have sent BYE: after a failure, perhaps to the job's end.
        if (!is_over_ofi() && live_now() != live) {
            fprintf(stderr, "WRONG: %s, allocation %ld of rank %d fails: rank %d loses %ld blocks\n", a.name, a.fails,
                    a.victim, rank, scarce.live - live);
            return CLAB_EWRONG;
        }
        ends = !said->hit[a.victim];
        meet();
    }
    return CLAB_OK;
}

static int sweep_all(struct clab_comm *comm, int rank)
{
    for (int c = 0; c < NCALLS; c++)
        for (int victim = 0; victim < 2 && (calls[c].over_ofi || !is_over_ofi()); victim++)
            for (int lasts = 0; lasts < 2; lasts++) {
                const struct attempt a = {
                    .name = calls[c].name, .call = calls[c].call, .victim = victim, .lasts = lasts};
                CLAB_TRY(sweep(a, rank));
            }
    return CLAB_OK;
}

static int split_once(struct clab_comm *comm)
{
    struct clab_comm *half;
    CLAB_TRY(split(comm, &half));
    const int err = clab_barrier(half);
    clab_comm_destroy(half);
    return err;
}

// Splits that fail at one rank once all have agreed on them, when the other has its memory and waits; the parent goes
// on.
static int split_in_vain(struct clab_comm *comm, int rank)
{
    enum { VICTIM = 1, AGREED = 2 }; // allocations before the communicator's own
    const int times = IS_SLOW ? 3000 : 20000;
    struct clab_comm *half = NULL;
    CLAB_TRY(split_once(comm)); // what later ones use again is there now
    meet();
    const long live = live_now();
    for (int i = 0; i < times; i++) {
        if (rank == VICTIM)
            arm(AGREED + 1, false);
        const int err = split(comm, &half);
        disarm();
        if (err == CLAB_ENOMEM && meet())
            continue;
        told->signals[rank] = i;
        return err ? err : CLAB_EWRONG;
    }
    told->signals[rank] = times;
    return live_now() > live ? CLAB_EWRONG : split_once(comm);
}

static void test_splits_that_fail_take_no_memory(void **state)
{
    setenv("CLAB_BACKEND", *state, 1);
    said->came = 0;
    run_all(2, just_act, split_in_vain, "20s", 0);
    unsetenv("CLAB_BACKEND");
    for (int rank = 0; rank < 2; rank++)
        if (told->values[rank])
            fail_msg("rank %d: %s after %d splits", rank, clab_strerror(told->values[rank]), told->signals[rank]);
}

static int share_said(void **state)
{
    said = mmap(NULL, sizeof *said, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return said == MAP_FAILED || share_told(state);
}

static void test_each_allocation_may_fail(void **state)
{
    setenv("CLAB_BACKEND", *state, 1);
    setenv("CLAB_FLIGHT", "0", 1); // a report's memory is the C library's, which no count sees
    if (!strcmp(*state, "sim"))
        needs_inih();
    if (!strcmp(*state, "ofi"))
        needs_libfabric();
    said->came = 0;
    const char *text = run_all(NRANKS, just_act, sweep_all, "20s", 0);
    unsetenv("CLAB_BACKEND");
    unsetenv("CLAB_FLIGHT");
    const char *wrong = strstr(text, "WRONG: ");
    if (wrong)
        fail_msg("%.*s", 2000, wrong);
    assert_all_answer(CLAB_OK, 0, NRANKS, -1, clab_now(), text);
}

int main(void)
{
    static char shm[] = "shm", ofi[] = "ofi", sim[] = "sim";
    const struct CMUnitTest tests[] = {
        {"test_each_allocation_may_fail_over_shm", test_each_allocation_may_fail, forget, NULL, shm},
        {"test_each_allocation_may_fail_in_virtual_time", test_each_allocation_may_fail, forget, NULL, sim},
        {"test_splits_that_fail_take_no_memory", test_splits_that_fail_take_no_memory, forget, NULL, shm},
        {"test_each_allocation_may_fail_over_ofi", test_each_allocation_may_fail, forget, NULL, ofi},
    };
    const size_t n = sizeof tests / sizeof *tests, tried = is_full() ? n : n - 1; // to connect takes longer than the rest
    leave_out((int)(n - tried));
    return _cmocka_run_group_tests("tests", tests, tried, share_said, NULL);
}
