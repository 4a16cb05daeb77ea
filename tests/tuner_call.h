// SPDX-License-Identifier: MIT
// The tuner as NCCL calls it: loaded, found by its symbols, and given `float costs[7][3]` on the stack cast to float
// **, between guards. The structs here are written from NCCL's documentation once more, so that they check the
// plugin's.
#pragma once

#include "capture.h"

#include <dlfcn.h>
#include <libgen.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

enum { ALGORITHMS = 7, PROTOCOLS = 3, FUNCTIONS = 5, GUARD = 64, CONSTANTS = 144 };
enum { BROADCAST, REDUCE, ALLGATHER, REDUCESCATTER, ALLREDUCE };
enum { TREE, RING, COLLNET_DIRECT, COLLNET_CHAIN, NVLS, NVLS_TREE, PAT };
enum { LL, LL128, SIMPLE };

typedef enum { LOG_NONE, LOG_VERSION, LOG_WARN, LOG_INFO, LOG_ABORT, LOG_TRACE } level_t;
typedef void (*logger_t)(level_t, unsigned long, const char *, int, const char *, ...);
typedef struct {
    const char *name;
    int (*init)(void **, uint64_t, size_t, size_t, logger_t, int (*)[3], double (*)[CONSTANTS]);
    int (*get)(void *, int, size_t, int, float **, int, int, int, int *);
    int (*finalize)(void *);
} tuner5_t;
typedef struct {
    const char *name;
    int (*init)(size_t, size_t, logger_t, void **);
    int (*get)(void *, int, size_t, int, float **, int, int, int, int *);
    int (*destroy)(void *);
} tuner4_t;

static const tuner5_t *v5;
static const tuner4_t *v4;

static inline int load_plugin(void **state)
{
    char program[PATH_MAX] = "", path[2 * PATH_MAX];
    if (readlink("/proc/self/exe", program, sizeof program - 1) < 0)
        return -1;
    snprintf(path, sizeof path, "%s/../backends/libnccl-tuner-commlab.so", dirname(program));
    void *plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!plugin)
        fprintf(stderr, "%s\n", dlerror());
    else if ((v5 = dlsym(plugin, "ncclTunerPlugin_v5")) && (v4 = dlsym(plugin, "ncclTunerPlugin_v4")))
        return folder_make(state);
    return -1;
}

// ---- NCCL's log ----------------------------------------------------------------------------------------------

static char logged[1 << 16];
static int nlogged, nwarned;
static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;

static inline void take_log(level_t level, unsigned long about, const char *file, int line, const char *format, ...)
{
    va_list args;
    pthread_mutex_lock(&log_lock);
    const size_t used = strlen(logged);
    va_start(args, format);
    vsnprintf(logged + used, sizeof logged - used, format, args);
    va_end(args);
    strncat(logged, "\n", sizeof logged - strlen(logged) - 1);
    nlogged++;
    nwarned += level == LOG_WARN;
    if (!about || !file || line <= 0)
        nwarned += 1000;
    pthread_mutex_unlock(&log_lock);
}

static inline void clear_log(void)
{
    logged[0] = '\0';
    nlogged = nwarned = 0;
}

// ---- communicators -------------------------------------------------------------------------------------------

static inline const char *table_of(const char *text)
{
    const char *path = folder_path("tune.csv");
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    return path;
}

static inline void use(const char *path)
{
    unsetenv("CLAB_TUNER");
    setenv("NCCL_DEBUG", "INFO", 1);
    if (path)
        setenv("NCCL_TUNER_CONFIG_FILE", path, 1);
    else
        unsetenv("NCCL_TUNER_CONFIG_FILE");
}

// By v5 or v4; what v5 is handed beside must stay as it is.
static inline void *begin(int version, size_t ranks, size_t nodes, logger_t log)
{
    double constants[CONSTANTS], before[CONSTANTS];
    int domains[3] = {1, 8, 8};
    void *context = NULL;
    for (int i = 0; i < CONSTANTS; i++)
        constants[i] = before[i] = i + .5;
    assert_int_equal(version == 5 ? v5->init(&context, 0xdeadbeef, ranks, nodes, log, &domains, &constants)
                                  : v4->init(ranks, nodes, log, &context),
                     0);
    assert_memory_equal(constants, before, sizeof constants);
    assert_non_null(context);
    return context;
}

static inline void end(int version, void *context)
{
    assert_int_equal((version == 5 ? v5->finalize : v4->destroy)(context), 0);
}

struct answer {
    int algorithm, protocol, channels;
};

// As NCCL 2.28 does: the table on the stack, then the first least time that is not negative. `gone` has a bit for each
// entry that is not to be had. The own choice is ring simple, or else the last one there is.
static inline struct answer ask(void *context, int function, size_t bytes, unsigned gone)
{
    struct {
        unsigned char before[GUARD];
        float costs[ALGORITHMS][PROTOCOLS];
        unsigned char after[GUARD];
    } stack;
    float costs[ALGORITHMS][PROTOCOLS];
    struct answer answer = {-1, -1, 0};
    float least = 3600000000.0f;
    int changed = 0;
    memset(&stack, 0xa5, sizeof stack);
    for (int i = 0; i < ALGORITHMS * PROTOCOLS; i++)
        stack.costs[i / PROTOCOLS][i % PROTOCOLS] = gone >> i & 1 ? -1 : (float)(i == 5 ? 10 : 100 - i);
    memcpy(costs, stack.costs, sizeof costs);
    assert_int_equal(
        v5->get(context, function, bytes, 1, (float **)stack.costs, ALGORITHMS, PROTOCOLS, 0, &answer.channels), 0);
    for (int i = 0; i < GUARD; i++)
        assert_true(stack.before[i] == 0xa5 && stack.after[i] == 0xa5);
    for (int a = 0; a < ALGORITHMS; a++)
        for (int p = 0; p < PROTOCOLS; p++) {
            const float cost = stack.costs[a][p];
            changed += cost != costs[a][p];
            assert_true(costs[a][p] >= 0 || cost == costs[a][p]); // what is not to be had stays so
            if (cost >= 0 && cost < least) {
                answer.algorithm = a;
                answer.protocol = p;
                least = cost;
            }
        }
    assert_in_range(changed, 0, 1);
    return answer;
}

static inline void assert_answer(struct answer answer, int algorithm, int protocol, int channels)
{
    if (answer.algorithm != algorithm || answer.protocol != protocol || answer.channels != channels)
        fail_msg("algorithm %d, protocol %d, channels %d, not %d, %d, %d; logged: %s", answer.algorithm,
                 answer.protocol, answer.channels, algorithm, protocol, channels, logged);
}
