// SPDX-License-Identifier: MIT
// The conformance suite: what every backend must do, run on each that is built in, or named, with 1 to 8 ranks.
// - Each job is one of copies of this process; its exit status says how many checks failed. Takes long.
// - What is checked is in tests/conformance: collectives, messages, works and communicators.
// - CLAB_CONFORMANCE=all has every count in every place, adds 1 MiB and 3 elements of every type and operation, and
//   large counts for more ranks: some minutes a backend.
// - Unless CLAB_TEST_FULL is set, shm and ofi have fewer numbers of ranks.
// - CLAB_CONFORMANCE_SECONDS=N begins nothing more after N seconds of a job, and says what it has left out.

#include "tests/fixtures/capture.h"

#include <fcntl.h>
#include <sys/mman.h>

#include "core/transport/backend.h"
#include "tests/conformance/conformance.h"
#include "core/comm/job.h"
#include "core/job/job.h"
#include "core/transport/plugin.h"

enum { MAX_RANKS = 8, NOT_OPENED = 255, UNSUPPORTED = 254, MANY = 253 };
static struct shared *shared;

static bool wants_all(void)
{
    const char *text = getenv("CLAB_CONFORMANCE");
    return text && !strcmp(text, "all");
}

static int open_job(struct clab_job **job_p)
{
    char name[] = "conformance", *argv[] = {name, NULL};
    int argc = 1;
    return clab_job_open(&argc, argv, job_p);
}

static int run_rank(size_t large)
{
    struct sweep s = {.seed = 1, .shared = shared, .deadline = conform_deadline(), .all = wants_all()};
    const size_t bytes = 2 * MAX_RANKS * (large + 8) * sizeof(double) + 4 * GUARD;
    void *memory;
    if (open_job(&s.job) || clab_comm_create(s.job, &s.comm) || clab_alloc(s.job, bytes, &memory))
        return NOT_OPENED;
    s.n = clab_job_ranks(s.job);
    s.rank = clab_job_rank(s.job);
    s.memory[0] = memory;
    s.memory[1] = malloc(bytes);
    s.seen = malloc(bytes);
    s.expected = malloc(bytes);
    conform_choices(&s, large); // first what takes little time, and shows much
    conform_messages(&s);
    conform_communicators(&s);
    conform_types(&s);
    conform_algorithms(&s, large);
    clab_comm_destroy(s.comm);
    free(s.memory[1]);
    free(s.seen);
    free(s.expected);
    clab_free(s.job, memory);
    clab_job_close(s.job);
    return s.failed > MANY ? MANY : s.failed;
}

// Whether this machine has what the backend needs.
static int try_rank(void)
{
    struct clab_job *job;
    const int err = open_job(&job);
    if (!err)
        clab_job_close(job);
    return err == CLAB_EUNSUPPORTED ? UNSUPPORTED : 0;
}

struct conforming {
    const char *backend;
    int nranks;
    const char *variable, *value, *but; // an environment variable that is set for the job, or NULL; and what that means
    char name[96];
};

static int run_job(const struct conforming *c, bool only_try)
{
    struct clab_launch launch = {.nranks = c->nranks, .backend = c->backend, .pin = true, .grace = CLAB_GRACE_DEFAULT};
    int rank, status = 0;
    fflush(NULL);
    *shared = (struct shared){0};
    assert_int_equal(clab_launch_ranks(&launch, &rank, &status), CLAB_OK);
    if (rank >= 0) {
        crash_as_others_do();
        _exit(only_try ? try_rank() : run_rank(c->nranks <= 3 || wants_all() ? (1 << 20) / 4 + 3 : 40003));
    }
    return status;
}

// Why the backend can not run here is the first line that is written.
static void skip_if_unsupported(const struct conforming *c)
{
    const struct capture err = capture_begin(STDERR_FILENO);
    const int status = run_job(c, true);
    const char *text = capture_end(err);
    if (status != UNSUPPORTED)
        return;
    print_message("skip: %.*s\n", (int)strcspn(text, "\n"), text);
    skip();
}

static void test_conforms(void **state)
{
    const struct conforming *c = *state;
    if (c->variable)
        setenv(c->variable, c->value, 1);
    skip_if_unsupported(c);
    const int status = run_job(c, false);
    if (c->variable)
        unsetenv(c->variable);
    assert_int_equal(status, 0);
}

static struct CMUnitTest test_of(struct conforming *c)
{
    snprintf(c->name, sizeof c->name, "%s_conforms_with_%d_ranks%s", c->backend, c->nranks, c->but ? c->but : "");
    return (struct CMUnitTest){.name = c->name, .test_func = test_conforms, .initial_state = c};
}

// What may differ from machine to machine.
static const struct conforming variants[] = {
#ifdef HAVE_LIBFABRIC
    {"ofi", 3, "CLAB_OFI_REGISTER", "1", "_whose_memory_is_registered", ""},
    {"ofi", 3, "CLAB_PROVIDER", "tcp;ofi_rxm", "_by_another_provider", ""},
#endif
};

enum { NVARIANTS = sizeof variants / sizeof *variants, MAX_BACKENDS = 16 };
enum { MAX_TESTS = MAX_BACKENDS * MAX_RANKS + NVARIANTS };
static struct conforming jobs[MAX_TESTS];

// The schedules of each number of ranks are shm's to run. Others have fewer numbers: one, powers of two, odd and even
// ones.
// - ofi has another way to move messages, not other schedules.
// - sim has another executor, far (far.c) other buffers.
// - gloo and mpi move messages by a library, whose waits take the cores from more ranks.
// - nccl is a slow double here; a GPU's is measured. Eight ranks of it are test_nccl_fake.sh's, by the bench.
static int left_out;
static bool is_wanted(const char *backend, int nranks)
{
    static const struct {
        const char *backend;
        unsigned ranks, quick; // bit r: r ranks
    } all[] = {{"shm", 0x1fe, 0x2c}, {"ofi", 0x5e, 0x08}, {"sim", 0x12e, 0x108}, {"far", 0x12e, 0x28},
               {"gloo", 0x1e, 0x08}, {"mpi", 0x1e, 0x08}, {"nccl", 0x1e, 0x1e}};
    const bool is_full = getenv("CLAB_TEST_FULL");
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (!strcmp(backend, all[i].backend)) {
            const bool is_one = all[i].ranks >> nranks & 1, is_taken = is_full || all[i].quick >> nranks & 1;
            left_out += is_one && !is_taken;
            return is_one && is_taken;
        }
    return true;
}

static int add_backend(const char *backend, int n)
{
    for (int nranks = 1; nranks <= MAX_RANKS && n < MAX_TESTS - NVARIANTS; nranks++)
        if (is_wanted(backend, nranks))
            jobs[n++] = (struct conforming){.backend = strdup(backend), .nranks = nranks};
    return n;
}

// "shm", or with so many ranks alone: "shm:2".
static int add_named(const char *word, int n)
{
    const char *colon = strchr(word, ':');
    const int nranks = colon ? atoi(colon + 1) : 0;
    if (nranks < 1 || nranks > MAX_RANKS || n >= MAX_TESTS - NVARIANTS)
        return add_backend(word, n);
    jobs[n++] = (struct conforming){.backend = strndup(word, (size_t)(colon - word)), .nranks = nranks};
    return n;
}

// A rank of a job that another launcher has started; all of them share `file`, which is empty at first.
static int be_rank(const char *file, size_t large)
{
    const int fd = open(file, O_RDWR);
    if (fd < 0 || ftruncate(fd, sizeof *shared) != 0)
        return NOT_OPENED;
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    return shared == MAP_FAILED ? NOT_OPENED : run_rank(large);
}

// Of the backends that are named (nccl, or nccl:2: with two ranks), or else of all that are built in: plugins have
// their own tests. Or, by `--rank FILE COUNT`, as a rank, with COUNT for a large count.
int main(int argc, char **argv)
{
    static struct CMUnitTest tests[MAX_TESTS];
    int n = 0;
    if (argc == 4 && !strcmp(argv[1], "--rank"))
        return be_rank(argv[2], (size_t)atoll(argv[3]));
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return 1;
    for (int i = 1; i < argc; i++)
        n = add_named(argv[i], n);
    for (int i = 0; argc == 1 && clab_backend_name(i); i++)
        if (!clab_plugin_exists(clab_backend_name(i)))
            n = add_backend(clab_backend_name(i), n);
    for (int i = 0; argc == 1 && i < NVARIANTS; i++)
        if (getenv("CLAB_TEST_FULL"))
            jobs[n++] = variants[i];
        else
            left_out++;
    if (left_out > 0)
        print_message("left out: %d\n", left_out);
    for (int i = 0; i < n; i++)
        tests[i] = test_of(&jobs[i]);
    return _cmocka_run_group_tests("conformance", tests, (size_t)n, NULL, NULL);
}
