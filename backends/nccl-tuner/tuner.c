// SPDX-License-Identifier: MIT
// A tuner that NCCL loads, libnccl-tuner-commlab.so: it chooses by a table that was measured (sim/nccl/rows.h).
//
//   NCCL_TUNER_PLUGIN=$PWD/build/backends/libnccl-tuner-commlab.so NCCL_TUNER_CONFIG_FILE=$PWD/tune.csv
//
// - The table is CLAB_TUNER's, else NCCL_TUNER_CONFIG_FILE's. Without a file, with a malformed one, or without a row
//   that fits, NCCL chooses itself.
// - A row whose choice NCCL can not take here is skipped, for the next one that fits.
// - Each communicator has a context of its own. After init it is only read, except for the marks of logged choices.
// - It logs its choice and the reason to NCCL's log, once per collective and power of two of bytes. If it can not use
//   the file, it also logs that to stderr, since NCCL's log may be off and the user has asked for the file.
// - It links nothing of NCCL or CUDA, so that it is built everywhere; only the two tables at the end are exported.

#include "backends/nccl-tuner/api.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/variables.h"
#include "sim/nccl/nccl.h"
#include "sim/nccl/rows.h"

enum { LINE = 768, PAIR = 48 };
#define NAME "commlab"

struct context {
    nccl_logger log; // or NULL
    size_t ranks, nodes;
    char *path;                                      // copied; NULL: there is no table
    struct clab_nccl_rows rows;                      // those for our ranks and nodes
    atomic_uint_least64_t logged[CLAB_NCCL_FUNCTIONS]; // a bit per power of two
};

// The table of costs as NCCL has it.
struct costs {
    float *us;
    int algorithms, protocols;
};

struct pair {
    int algorithm, protocol; // algorithm -1: none
};

// ---- the log -------------------------------------------------------------------------------------------------

#define LOG(context, level, subsystems, ...)                                              \
    do {                                                                                  \
        if ((context)->log)                                                               \
            (context)->log(level, subsystems, __FILE__, __LINE__, NAME ": " __VA_ARGS__); \
    } while (0)

// Whether NCCL shows warnings: not unless NCCL_DEBUG asks for them, or for more.
static bool shows_warnings(void)
{
    static const char *const levels[] = {"WARN", "INFO", "ABORT", "TRACE"};
    const char *asked = getenv("NCCL_DEBUG");
    for (size_t i = 0; asked && i < sizeof levels / sizeof *levels; i++)
        if (!strcasecmp(asked, levels[i]))
            return true;
    return false;
}

static void complain(const struct context *c, const char *what)
{
    if (c->log && shows_warnings())
        LOG(c, NCCL_LOG_WARN, NCCL_SUBSYS_ALL, "%s", what);
    else
        fprintf(stderr, "commlab: warning: tuner: %s\n", what);
}

static const char *pair_text(struct pair pair, char out[PAIR])
{
    if (pair.algorithm < 0)
        return "nothing";
    if (pair.algorithm < CLAB_NCCL_ALGORITHMS && pair.protocol < CLAB_NCCL_PROTOCOLS)
        snprintf(out, PAIR, "%s %s", clab_nccl_algorithm_word(pair.algorithm), clab_nccl_protocol_word(pair.protocol));
    else
        snprintf(out, PAIR, "algorithm %d protocol %d", pair.algorithm, pair.protocol);
    return out;
}

// ---- what NCCL offers ----------------------------------------------------------------------------------------

static float *cost_of(const struct costs *costs, struct pair pair)
{
    return &costs->us[(size_t)pair.algorithm * (size_t)costs->protocols + (size_t)pair.protocol];
}

static bool is_available(const struct costs *costs, struct pair pair)
{
    return pair.algorithm < costs->algorithms && pair.protocol < costs->protocols && *cost_of(costs, pair) >= 0;
}

static struct pair own_choice(const struct costs *costs)
{
    struct pair best = {-1, -1};
    for (int a = 0; a < costs->algorithms; a++)
        for (int p = 0; p < costs->protocols; p++) {
            const struct pair pair = {a, p};
            if (is_available(costs, pair) && (best.algorithm < 0 || *cost_of(costs, pair) < *cost_of(costs, best)))
                best = pair;
        }
    return best;
}

// ---- choosing ------------------------------------------------------------------------------------------------

// Each row that fits is tried; *passed_p is the first whose choice is not to be had.
static const struct clab_nccl_row *find(const struct context *c, int function, size_t bytes, int ops, int registered,
                                        const struct costs *costs, const struct clab_nccl_row **passed_p)
{
    *passed_p = NULL;
    for (int i = 0; i < c->rows.n; i++) {
        const struct clab_nccl_row *row = &c->rows.rows[i];
        if (!clab_nccl_row_fits(row, function, bytes, ops, registered))
            continue;
        if (is_available(costs, (struct pair){row->algorithm, row->protocol}))
            return row;
        if (!*passed_p)
            *passed_p = row;
    }
    return NULL;
}

// NCCL bounds the channels of a row by those it has, but not where the network reduces: there they stay its own.
static int channels_of(const struct context *c, const struct clab_nccl_row *row)
{
    const bool in_network = row->algorithm == CLAB_NCCL_COLLNET_DIRECT || row->algorithm == CLAB_NCCL_COLLNET_CHAIN ||
                            (row->algorithm == CLAB_NCCL_NVLS && c->nodes > 1);
    return in_network || row->channels < 0 ? 0 : row->channels;
}

static int log2_of(size_t bytes)
{
    int log = 0;
    while (bytes >>= 1)
        log++;
    return log;
}

// Whether it is the first time for this collective and size.
static bool is_first(struct context *c, int function, size_t bytes)
{
    const uint_least64_t bit = (uint_least64_t)1 << log2_of(bytes);
    return !(atomic_load_explicit(&c->logged[function], memory_order_relaxed) & bit) &&
           !(atomic_fetch_or_explicit(&c->logged[function], bit, memory_order_relaxed) & bit);
}

static void explain(struct context *c, int function, size_t bytes, const struct clab_nccl_row *row,
                    const struct clab_nccl_row *passed, const struct costs *costs)
{
    char ours[PAIR], other[PAIR], nccls[PAIR], why[LINE] = "", channels[32] = "";
    const struct pair own = own_choice(costs);
    if (passed)
        snprintf(why, sizeof why, "line %d wants %s, which NCCL has not got here; ", passed->line,
                 pair_text((struct pair){passed->algorithm, passed->protocol}, other));
    if (row && channels_of(c, row))
        snprintf(channels, sizeof channels, " on %d channels", channels_of(c, row));
    if (row)
        LOG(c, NCCL_LOG_INFO, NCCL_SUBSYS_TUNING, "%s of %zu bytes: %s%s%s by line %d of %s; NCCL's own is %s",
            clab_nccl_function_word(function), bytes, why,
            pair_text((struct pair){row->algorithm, row->protocol}, ours), channels, row->line, c->path,
            pair_text(own, nccls));
    else
        LOG(c, NCCL_LOG_INFO, NCCL_SUBSYS_TUNING, "%s of %zu bytes: %sNCCL's own, %s: no %srow of %s fits",
            clab_nccl_function_word(function), bytes, why, pair_text(own, nccls), passed ? "other " : "", c->path);
}

static int choose(void *context, unsigned function, size_t bytes, int ops, float **costs, int algorithms, int protocols,
                  int registered, int *channels_p)
{
    struct context *c = context;
    const struct costs table = {(float *)(void *)costs, algorithms, protocols};
    const struct clab_nccl_row *passed;
    if (!c || !c->path || !costs || algorithms <= 0 || protocols <= 0 || function >= CLAB_NCCL_FUNCTIONS)
        return NCCL_OK;
    const struct clab_nccl_row *row = find(c, (int)function, bytes, ops, registered, &table, &passed);
    if (is_first(c, (int)function, bytes))
        explain(c, (int)function, bytes, row, passed, &table);
    if (!row)
        return NCCL_OK;
    *cost_of(&table, (struct pair){row->algorithm, row->protocol}) = 0; // less than any time of NCCL's
    if (channels_p && channels_of(c, row))
        *channels_p = channels_of(c, row);
    return NCCL_OK;
}

// ---- a communicator ------------------------------------------------------------------------------------------

static void keep_ours(struct context *c)
{
    int n = 0;
    for (int i = 0; i < c->rows.n; i++)
        if (clab_nccl_row_is_for(&c->rows.rows[i], c->nodes, c->ranks))
            c->rows.rows[n++] = c->rows.rows[i];
    c->rows.n = n;
}

static void load(struct context *c, const char *path)
{
    char why[CLAB_NCCL_WHY], text[LINE];
    if (clab_nccl_rows_load(path, &c->rows, why)) {
        snprintf(text, sizeof text, "%s; NCCL goes on with its own choices. `commlab tune -o FILE` writes a table",
                 why);
        complain(c, text);
        return;
    }
    const int all = c->rows.n;
    keep_ours(c);
    if (c->rows.short_rows) {
        snprintf(
            text, sizeof text,
            "%.200s: %d row%s of six fields: not for how many nodes and ranks, so taken for any. NCCL's example tuner "
            "drops such rows silently; add nNodes,nRanks, or -1,-1",
            path, c->rows.short_rows, c->rows.short_rows == 1 ? "" : "s");
        complain(c, text);
    }
    if ((c->path = strdup(path)))
        LOG(c, NCCL_LOG_INFO, NCCL_SUBSYS_INIT | NCCL_SUBSYS_TUNING,
            "%d of %d row%s of %s (%08x) for %zu rank%s on %zu node%s", c->rows.n, all, all == 1 ? "" : "s", path,
            c->rows.fingerprint, c->ranks, c->ranks == 1 ? "" : "s", c->nodes, c->nodes == 1 ? "" : "s");
}

static int init(void **context_p, size_t ranks, size_t nodes, nccl_logger log)
{
    struct context *c = context_p ? calloc(1, sizeof *c) : NULL;
    const char *ours = clab_variable_given(CLAB_VARIABLE_TUNER);
    const char *path = ours ? ours : getenv("NCCL_TUNER_CONFIG_FILE");
    if (context_p)
        *context_p = c;
    if (!c)
        return NCCL_OK; // choose then leaves all as it is
    *c = (struct context){.log = log, .ranks = ranks, .nodes = nodes};
    if (path && *path)
        load(c, path);
    else
        LOG(c, NCCL_LOG_INFO, NCCL_SUBSYS_INIT | NCCL_SUBSYS_TUNING,
            "no table, so NCCL chooses: set NCCL_TUNER_CONFIG_FILE to what `commlab tune -o FILE` has written");
    return NCCL_OK;
}

static int init_v5(void **context_p, uint64_t communicator, size_t ranks, size_t nodes, nccl_logger log,
                   struct nccl_domains *domains, struct nccl_constants *constants)
{
    (void)communicator, (void)domains, (void)constants;
    return init(context_p, ranks, nodes, log);
}

static int init_v4(size_t ranks, size_t nodes, nccl_logger log, void **context_p)
{
    return init(context_p, ranks, nodes, log);
}

static int finish(void *context)
{
    struct context *c = context;
    if (!c)
        return NCCL_OK;
    clab_nccl_rows_free(&c->rows);
    free(c->path);
    free(c);
    return NCCL_OK;
}

__attribute__((visibility("default"))) extern const struct nccl_tuner_v5 ncclTunerPlugin_v5;
__attribute__((visibility("default"))) extern const struct nccl_tuner_v4 ncclTunerPlugin_v4;
const struct nccl_tuner_v5 ncclTunerPlugin_v5 = {NAME, init_v5, choose, finish};
const struct nccl_tuner_v4 ncclTunerPlugin_v4 = {NAME, init_v4, choose, finish};
