// SPDX-License-Identifier: MIT
// The profiler as NCCL calls it: loaded, found by its symbols, told of collectives when they are enqueued and of
// channels later, by the clock of a GPU that is hours ahead. What it writes is read by what `commlab trace` reads with.
//
// - The structs are written from NCCL's documentation once more, so that they check the plugin's.
// - Each case is NCCL in a process of its own, since the plugin has one file a process.

#include "tests/fixtures/capture.h"

#include <dlfcn.h>
#include <libgen.h>
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <sys/wait.h>
#include <time.h>

#include "core/base/err.h"
#include "tests/fixtures/needs.h"
#include "cmd/trace/file.h"

enum { COLL = 1 << 1, P2P = 1 << 2, PROXY = 1 << 3, KERNEL = 1 << 6, GROUP = 1, GROUP_API = 1 << 8, KERNEL_STOP = 22 };
#define GPU_AHEAD 7200000000000ull // ns

#define BODY                           \
    void *parentObj;                   \
    int rank;                          \
    union {                            \
        struct {                       \
            uint64_t seqNumber;        \
            const char *func;          \
            void const *sendBuff;      \
            void *recvBuff;            \
            size_t count;              \
            int root;                  \
            const char *datatype;      \
            uint8_t nChannels, nWarps; \
            const char *algo, *proto;  \
            void *parentGroup;         \
        } coll;                        \
        struct {                       \
            const char *func;          \
            void *buff;                \
            const char *datatype;      \
            size_t count;              \
            int peer;                  \
            uint8_t nChannels;         \
        } p2p;                         \
        struct {                       \
            uint8_t channelId;         \
            uint64_t pTimer;           \
        } kernelCh;                    \
    }
typedef struct {
    uint64_t type;
    BODY;
} event5_t;
typedef struct {
    uint8_t type;
    BODY;
} event4_t;
typedef void (*logger_t)(int, unsigned long, const char *, int, const char *, ...);
typedef struct {
    const char *name;
    int (*init)(void **, uint64_t, int *, const char *, int, int, int, logger_t);
    int (*start)(void *, void **, event5_t *);
    int (*stop)(void *);
    int (*record)(void *, int, uint64_t *);
    int (*finalize)(void *);
} profiler5_t;
typedef struct {
    const char *name;
    int (*init)(void **, int *, const char *, uint64_t, int, int, int, logger_t);
    int (*start)(void *, void **, event4_t *);
    int (*stop)(void *);
    int (*record)(void *, int, uint64_t *);
    int (*finalize)(void *);
} profiler4_t;

static const profiler5_t *v5;
static const profiler4_t *v4;
static int version = 5;

static int load_plugin(void **state)
{
    char program[PATH_MAX] = "", path[2 * PATH_MAX];
    if (readlink("/proc/self/exe", program, sizeof program - 1) < 0)
        return -1;
    snprintf(path, sizeof path, "%s/../backends/libnccl-profiler-commlab.so", dirname(program));
    void *plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!plugin)
        fprintf(stderr, "%s\n", dlerror());
    else if ((v5 = dlsym(plugin, "ncclProfiler_v5")) && (v4 = dlsym(plugin, "ncclProfiler_v4")))
        return folder_make(state);
    return -1;
}

// ---- NCCL ----------------------------------------------------------------------------------------------------

static void *begin(uint64_t communicator, int ranks, int rank, int *mask_p)
{
    void *context = NULL;
    const int err = version == 5 ? v5->init(&context, communicator, mask_p, "a \"name\"", 1, ranks, rank, NULL)
                                 : v4->init(&context, mask_p, NULL, communicator, 1, ranks, rank, NULL);
    if (err)
        abort();
    return context;
}

static void end(void *context)
{
    if ((version == 5 ? v5->finalize : v4->finalize)(context))
        abort();
}

// What lies in the padding of v4's is anything.
static void *start(void *context, event5_t event)
{
    event4_t old;
    void *handle = (void *)-1;
    memset(&old, 0xff, sizeof old);
    old.type = (uint8_t)event.type;
    old.parentObj = event.parentObj;
    old.rank = event.rank;
    memcpy(&old.coll, &event.coll, sizeof old.coll);
    if (version == 5 ? v5->start(context, &handle, &event) : v4->start(context, &handle, &old))
        abort();
    return handle;
}

static void *collective(void *context, const char *name)
{
    event5_t event = {.type = COLL};
    event.coll.seqNumber = 5;
    event.coll.func = name;
    event.coll.count = 1024;
    event.coll.datatype = "ncclFloat32";
    event.coll.nChannels = 2;
    event.coll.algo = "RING";
    event.coll.proto = "SIMPLE";
    void *handle = start(context, event);
    v5->stop(handle);
    return handle;
}

static uint64_t gpu_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec + GPU_AHEAD;
}

// A channel that ran [from, to) by the GPU's clock.
static void channel(void *context, void *call, int number, uint64_t from, uint64_t to)
{
    event5_t event = {.type = KERNEL, .parentObj = call};
    event.kernelCh.channelId = (uint8_t)number;
    event.kernelCh.pTimer = from;
    void *handle = start(context, event);
    v5->record(handle, KERNEL_STOP, &to);
    v5->stop(handle);
}

// ---- a process -----------------------------------------------------------------------------------------------

// The case in a process of its own, with a folder for its files.
static void run(void (*body)(void), int with_version)
{
    fflush(NULL);
    const pid_t pid = fork();
    int status;
    assert_true(pid >= 0);
    if (pid == 0) {
        crash_as_others_do();
        version = with_version;
        setenv("CLAB_NCCL_TRACE", folder_path("t.json"), 1);
        body();
        exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static struct trace_process *sum_up(const char *name, int *n_p)
{
    struct trace_file *file;
    struct trace_process *processes;
    assert_int_equal(trace_file_load(folder_path(name), &file), CLAB_OK);
    assert_int_equal(trace_file_sum_up(file, &processes, n_p), CLAB_OK);
    trace_file_free(file);
    return processes;
}

static void assert_seconds(double seconds, double expected)
{
    if (!(fabs(seconds - expected) < 1e-12))
        fail_msg("%.12g s, not %.12g s", seconds, expected);
}

// ---- calls ---------------------------------------------------------------------------------------------------

// Two channels of 100 us, one 10 us after the other; a second call 50 us later.
static void two_calls(void)
{
    int mask = 0;
    void *context = begin(1, 4, 3, &mask);
    const uint64_t from = gpu_now();
    void *first = collective(context, "AllReduce"), *second = collective(context, "AllGather");
    channel(context, first, 0, from, from + 100000);
    channel(context, first, 7, from + 10000, from + 110000);
    channel(context, second, 0, from + 160000, from + 161000);
    if (mask != (COLL | P2P | KERNEL))
        abort();
    end(context);
}

static void test_calls_last_as_long_as_their_channels(void **state)
{
    needs_jansson();
    for (int v = 4; v <= 5; v++) {
        int n;
        run(two_calls, v);
        assert_int_equal(folder_entries(0), 1);
        struct trace_process *p = sum_up("t-3.json", &n);
        assert_int_equal(n, 1);
        assert_string_equal(p->name, "rank 3 (measured)");
        assert_int_equal(p->calls, 2);
        assert_int_equal(p->stages, 3); // rows of channels
        assert_seconds(p->seconds, 161e-6);
        assert_seconds(p->communication, 111e-6);
        assert_seconds(p->exposed, 111e-6);
        free(p);
        const char *text = file_text(folder_path("t-3.json"));
        assert_text_has(text, "\"name\":\"AllReduce (RING SIMPLE)\",\"ts\":0.000,\"dur\":110.000,");
        assert_text_has(text, "\"name\":\"AllGather (RING SIMPLE)\",\"ts\":160.000,\"dur\":1.000,");
        assert_text_has(text, "\"count\":1024,\"type\":\"ncclFloat32\",\"rank\":3,\"ranks\":4");
        assert_text_has(text, "{\"name\":\"channel 7\"}");
        folder_entries(1);
    }
}

static void messages_and_others(void)
{
    int mask;
    void *context = begin(1, 4, 0, &mask);
    event5_t event = {.type = P2P};
    event.p2p.func = "Send";
    event.p2p.datatype = "ncclInt8";
    event.p2p.count = 3;
    event.p2p.peer = 2;
    void *send = start(context, event);
    v5->stop(send);
    collective(context, "All\"Reduce\\");
    channel(context, send, 1, gpu_now(), gpu_now() + 5000);
    for (int type = GROUP; type <= GROUP_API; type <<= 1) // what was not asked for
        if (type != COLL && type != P2P && type != KERNEL && start(context, (event5_t){.type = (uint64_t)type}))
            abort();
    end(context);
}

static void test_messages_name_their_peer_and_unseen_calls_say_so(void **state)
{
    needs_jansson();
    int n;
    run(messages_and_others, 5);
    struct trace_process *p = sum_up("t-0.json", &n);
    assert_int_equal(p->calls, 2);
    assert_int_equal(p->stages, 1);
    free(p);
    const char *text = file_text(folder_path("t-0.json"));
    assert_text_has(text, "\"name\":\"Send 2\"");
    assert_text_has(text, "\"name\":\"All?Reduce? (RING SIMPLE)\"");
    assert_text_has(text, "\"time\":\"of enqueueing: the GPU told nothing\"");
    folder_entries(1);
}

// ---- bounds --------------------------------------------------------------------------------------------------

enum { MANY = 40000, KEPT = 1 << 14 };

static void many_calls(void)
{
    int mask;
    void *context = begin(1, 2, 0, &mask), *first = NULL;
    uint64_t at = gpu_now();
    for (int i = 0; i < MANY; i++, at += 4000) {
        void *call = collective(context, "Broadcast");
        first = first ? first : call;
        for (int c = 0; c < 4; c++)
            channel(context, call, c, at, at + 3000);
    }
    v5->stop(first); // long overwritten
    channel(context, first, 4, at, at + 3000);
    end(context);
}

static void test_the_last_calls_are_kept_in_bounded_memory(void **state)
{
    needs_jansson();
    struct trace_file *file;
    struct trace_process *p;
    int n;
    run(many_calls, 5);
    assert_int_equal(trace_file_load(folder_path("t-0.json"), &file), CLAB_OK);
    assert_text_has(trace_file_about(file, 0, "overwritten"),
                    "23616 calls and 28929 channel events, the first ones");
    assert_int_equal(trace_file_sum_up(file, &p, &n), CLAB_OK);
    assert_int_equal(p->calls, KEPT);
    assert_int_equal(p->stages, 1 << 17);
    free(p);
    trace_file_free(file);
    folder_entries(1);
}

static void nonsense(void)
{
    int mask = 7;
    void *context = begin(1, 2, 0, &mask), *handle = &mask;
    uint64_t late = 5;
    event5_t event = {.type = COLL};
    v5->init(NULL, 1, &mask, NULL, 1, 2, 0, NULL);
    v4->init(NULL, NULL, NULL, 1, 1, 2, 0, NULL);
    v5->start(NULL, &handle, &event);
    if (handle)
        abort();
    v5->start(context, NULL, &event);
    v5->start(context, &handle, NULL);
    v5->start(context, &handle, &event); // without any name
    v5->record(handle, KERNEL_STOP, &late);
    v5->stop(NULL);
    v5->record(NULL, KERNEL_STOP, &late);
    for (uintptr_t number = 1; number < 100; number++) { // of things that never were
        v5->stop((void *)(number << 20 | number));
        v5->record((void *)(number << 20 | number), (int)number, &late);
    }
    channel(context, (void *)(uintptr_t)-1, 200, gpu_now(), gpu_now() + 5); // no such channel
    channel(context, handle, 1, gpu_now(), 5);                              // it ends before it begins
    channel(context, handle, 1, 0, 5);
    v5->finalize(NULL);
    end(context);
}

static void test_nothing_that_it_is_called_with_crashes_it(void **state)
{
    needs_jansson();
    int n;
    run(nonsense, 5);
    struct trace_process *p = sum_up("t-0.json", &n);
    assert_int_equal(p->calls, 1);
    assert_int_equal(p->stages, 0);
    free(p);
    folder_entries(1);
}

// ---- when, and where -----------------------------------------------------------------------------------------

static void not_asked(void)
{
    int mask = 7;
    unsetenv("CLAB_NCCL_TRACE");
    void *context = begin(1, 2, 0, &mask);
    if (mask || context || start(context, (event5_t){.type = COLL}))
        abort();
    end(context);
}

static void test_nothing_is_kept_unless_it_is_asked_for(void **state)
{
    run(not_asked, 5);
    run(not_asked, 4);
    assert_int_equal(folder_entries(0), 0);
}

// As most programs do: communicators are left to the end of the process. Children of fork write nothing.
static void without_finalize(void)
{
    static void *volatile context; // kept, as NCCL's communicator does
    int mask, status;
    context = begin(1, 2, 1, &mask);
    collective(context, "Reduce");
    const pid_t pid = fork();
    if (pid == 0)
        exit(0);
    waitpid(pid, &status, 0);
    if (status || access(folder_path("t-1.json"), F_OK) == 0)
        abort();
}

static void test_the_file_is_written_at_the_end_of_a_process(void **state)
{
    needs_jansson();
    int n;
    run(without_finalize, 5);
    struct trace_process *p = sum_up("t-1.json", &n);
    assert_int_equal(p->calls, 1);
    free(p);
    folder_entries(1);
}

static void *work(void *context)
{
    for (int i = 0; i < 500; i++) {
        void *call = collective(context, "AllReduce");
        channel(context, call, i % 3, gpu_now(), gpu_now() + 100);
    }
    return NULL;
}

// Four ranks in one process, then a communicator of some of them; then all once more.
static void several(void)
{
    void *contexts[4], *half;
    pthread_t threads[4];
    int mask;
    for (int round = 0; round < 2; round++) {
        for (int r = 0; r < 4; r++)
            contexts[r] = begin(10 + (uint64_t)round, 4, r, &mask);
        half = begin(20, 2, 1, &mask);
        for (int r = 0; r < 4; r++)
            if (pthread_create(&threads[r], NULL, work, contexts[r]))
                abort();
        collective(half, "Broadcast");
        for (int r = 0; r < 4; r++)
            pthread_join(threads[r], NULL);
        for (int r = 0; r < 4; r++)
            end(contexts[r]);
        end(half);
    }
}

static void test_ranks_and_threads_of_a_process_share_a_file(void **state)
{
    needs_jansson();
    int n;
    run(several, 5);
    assert_int_equal(folder_entries(0), 1);
    struct trace_process *p = sum_up("t-0.json", &n);
    assert_int_equal(n, 4);
    for (int r = 0; r < 4; r++)
        assert_int_equal(p[r].calls, 1000 + (r == 0 ? 2 : 0));
    free(p);
    folder_entries(1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_calls_last_as_long_as_their_channels),
        cmocka_unit_test(test_messages_name_their_peer_and_unseen_calls_say_so),
        cmocka_unit_test(test_the_last_calls_are_kept_in_bounded_memory),
        cmocka_unit_test(test_nothing_that_it_is_called_with_crashes_it),
        cmocka_unit_test(test_nothing_is_kept_unless_it_is_asked_for),
        cmocka_unit_test(test_the_file_is_written_at_the_end_of_a_process),
        cmocka_unit_test(test_ranks_and_threads_of_a_process_share_a_file),
    };
    return cmocka_run_group_tests(tests, load_plugin, folder_remove);
}
