// SPDX-License-Identifier: MIT
// What a choice costs (tune.h). Its regret at a size is its time / the least time of any algorithm in the same round: 1 is
// the best. In all: the geometric mean over sizes. The interval is that over rounds.

#include "cmd/nccl/tune.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/stats.h"
#include "core/base/files/table.h"
#include "core/base/units.h"

enum who { OWN, NCCL, TABLE, WHO };

// Times of one collective and size, and what each of the three choices costs in each round.
struct cell {
    const struct tune_time *times;
    int n, rounds;
    int algorithm[WHO];  // of round 0; TUNE_UNKNOWN: none
    double *regret[WHO]; // (rounds); NAN: not known
};

static double least_of(const struct cell *cell, int round, bool is_own, int algorithm)
{
    double least = INFINITY;
    for (int i = 0; i < cell->n; i++) {
        const struct tune_time *t = &cell->times[i];
        if (t->round == round && t->is_own == is_own && (algorithm < 0 || t->algorithm == algorithm) && t->usec < least)
            least = t->usec;
    }
    return least;
}

// By the rounds other than `round`, unless it is the only one. TUNE_UNKNOWN: the default is as good.
static int choose_without(const struct cell *cell, int round, double margin)
{
    double best = INFINITY, own = INFINITY;
    int algorithm = TUNE_UNKNOWN;
    for (int i = 0; i < cell->n; i++) {
        const struct tune_time *t = &cell->times[i];
        if (t->round == round && cell->rounds > 1)
            continue;
        if (t->is_own)
            own = fmin(own, t->usec);
        else if (t->usec < best) {
            best = t->usec;
            algorithm = t->algorithm;
        }
    }
    return own <= best * margin ? TUNE_UNKNOWN : algorithm;
}

// What the kit has of NCCL's algorithms: its tree is a pair of trees.
static int like_ours(enum clab_collective collective, enum clab_nccl_algorithm algorithm)
{
    const char *name = algorithm == CLAB_NCCL_RING ? "ring" : algorithm == CLAB_NCCL_TREE ? "double_tree" : "";
    for (int i = 0; clab_algorithms[i]; i++)
        if (clab_algorithms[i]->collective == collective && !strcmp(clab_algorithms[i]->name, name))
            return i;
    return TUNE_UNKNOWN;
}

static int by_model(const struct nccl_given *given, enum clab_collective collective, size_t bytes, int *algorithm_p)
{
    struct nccl_believed b;
    enum clab_nccl_algorithm algorithm;
    enum clab_nccl_protocol protocol;
    *algorithm_p = TUNE_UNKNOWN;
    if (!given || clab_nccl_function_find(clab_collective_name(collective)) < 0)
        return CLAB_OK;
    CLAB_TRY(nccl_given_costs(given, collective, &b));
    if (clab_nccl_choose(b.tables, &b.machine, collective, &b.costs, bytes, &algorithm, &protocol) == CLAB_OK)
        *algorithm_p = like_ours(collective, algorithm);
    return CLAB_OK;
}

static int fill(struct cell *cell, double margin, const struct nccl_given *given)
{
    CLAB_TRY(by_model(given, (enum clab_collective)cell->times->function, cell->times->bytes, &cell->algorithm[NCCL]));
    for (int round = 0; round < cell->rounds; round++) {
        const double own = least_of(cell, round, true, TUNE_UNKNOWN);
        const double best = fmin(own, least_of(cell, round, false, TUNE_UNKNOWN));
        const int table = choose_without(cell, round, margin);
        const double time[WHO] = {
            own, cell->algorithm[NCCL] < 0 ? NAN : least_of(cell, round, false, cell->algorithm[NCCL]),
            table < 0 ? own : least_of(cell, round, false, table)};
        for (int who = 0; who < WHO; who++)
            cell->regret[who][round] = isfinite(time[who]) ? time[who] / best : NAN;
        if (round == 0)
            cell->algorithm[TABLE] = table;
    }
    for (int i = 0; i < cell->n; i++)
        if (cell->times[i].is_own)
            cell->algorithm[OWN] = cell->times[i].algorithm;
    return CLAB_OK;
}

// ---- the screen ----------------------------------------------------------------------------------------------

static const struct clab_column columns[] = {
    {"collective", NULL, NULL, CLAB_KIND_TEXT, -13, 0, NULL}, {"ranks", NULL, NULL, CLAB_KIND_INTEGER, 5, 0, NULL},
    {"bytes", NULL, NULL, CLAB_KIND_TEXT, 8, 0, NULL},        {"own", "default", NULL, CLAB_KIND_TEXT, -16, 0, NULL},
    {"own_regret", "regret", "x", CLAB_KIND_TEXT, 13, 0, NULL}, {"nccl", "NCCL's model", NULL, CLAB_KIND_TEXT, -12, 0, NULL},
    {"nccl_regret", "regret", "x", CLAB_KIND_TEXT, 13, 0, NULL}, {"table", "table", NULL, CLAB_KIND_TEXT, -16, 0, NULL},
    {"table_regret", "regret", "x", CLAB_KIND_TEXT, 13, 0, NULL},
};

// "1.23", or of several rounds "1.23 1.20-1.31".
static const char *regret_text(const double *regret, int rounds, char out[CLAB_TEXT])
{
    struct clab_summary s;
    if (isnan(regret[0]) || clab_summarize(regret, rounds, &s))
        return "-";
    if (rounds == 1)
        snprintf(out, CLAB_TEXT, "%.2f", s.median);
    else
        snprintf(out, CLAB_TEXT, "%.2f %.2f-%.2f", s.median, s.low, s.high);
    return out;
}

static const char *name_of(const struct cell *cell, enum who who)
{
    if (cell->algorithm[who] >= 0)
        return clab_algorithms[cell->algorithm[who]]->name;
    return who == TABLE ? "(default)" : who == OWN ? "native" : "-";
}

static int add(struct clab_table *table, const struct cell *cell, const char *bytes)
{
    char texts[WHO][CLAB_TEXT];
    const struct clab_cell cells[] = {
        clab_cell_text(clab_collective_name((enum clab_collective)cell->times->function)),
        clab_cell_integer(cell->times->ranks),
        clab_cell_text(bytes),
        clab_cell_text(cell->n ? name_of(cell, OWN) : ""),
        clab_cell_text(regret_text(cell->regret[OWN], cell->rounds, texts[OWN])),
        clab_cell_text(cell->n ? name_of(cell, NCCL) : ""),
        clab_cell_text(regret_text(cell->regret[NCCL], cell->rounds, texts[NCCL])),
        clab_cell_text(cell->n ? name_of(cell, TABLE) : ""),
        clab_cell_text(regret_text(cell->regret[TABLE], cell->rounds, texts[TABLE])),
    };
    return clab_table_add_row(table, cells);
}

// One collective's times, which are sorted by size: a row for each size, and one for all of them.
static int add_collective(struct clab_table *table, const struct tune_time *times, int n, int rounds, double *room,
                          double margin, const struct nccl_given *given)
{
    struct cell all = {.times = times, .rounds = rounds, .regret = {room, room + rounds, room + 2 * rounds}};
    int sizes = 0;
    memset(room, 0, (size_t)(WHO * rounds) * sizeof *room);
    for (int i = 0, alike; i < n; i += alike, sizes++) {
        char bytes[CLAB_TEXT];
        double *const own = room + WHO * rounds;
        for (alike = 1; i + alike < n && times[i + alike].bytes == times[i].bytes;)
            alike++;
        struct cell cell = {.times = &times[i], .n = alike, .rounds = rounds};
        for (int who = 0; who < WHO; who++)
            cell.regret[who] = own + who * rounds;
        CLAB_TRY(fill(&cell, margin, given));
        for (int who = 0; who < WHO; who++)
            for (int round = 0; round < rounds; round++)
                all.regret[who][round] += log(cell.regret[who][round]);
        CLAB_TRY(add(table, &cell, clab_size_text(times[i].bytes, bytes)));
    }
    for (int i = 0; i < WHO * rounds; i++)
        room[i] = exp(room[i] / sizes);
    return add(table, &all, "all");
}

static int add_all(struct clab_table *table, const struct tune_times *times, int rounds, double margin,
                   const struct nccl_given *given)
{
    double *room = malloc((size_t)(2 * WHO * rounds) * sizeof *room);
    int err = room ? CLAB_OK : CLAB_ENOMEM;
    for (int i = 0, alike; i < times->n && !err; i += alike) {
        for (alike = 1; i + alike < times->n && times->all[i + alike].function == times->all[i].function;)
            alike++;
        err = add_collective(table, &times->all[i], alike, rounds, room, margin, given);
    }
    free(room);
    return err;
}

int tune_regret_print(const struct tune_times *times, struct tune_rule rule, const struct nccl_given *given)
{
    struct clab_table table;
    int rounds = 1;
    for (int i = 0; i < times->n; i++)
        rounds = times->all[i].round >= rounds ? times->all[i].round + 1 : rounds;
    clab_table_init(&table, columns, sizeof columns / sizeof *columns);
    const int err = add_all(&table, times, rounds, rule.margin, given);
    if (!err)
        clab_table_print(&table, stdout);
    clab_table_free(&table);
    return err;
}
