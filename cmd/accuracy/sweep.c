// SPDX-License-Identifier: MIT
// The measurement: a fit, then every size once and, minutes later, once more (accuracy.h).
//
// - A size is a bench of its own, a child of ours, so that algorithms which compete are measured within seconds of each
//   other. Fit and benches are the subcommands that users run.
// - A size of which a quarter of the rows was slowed by others is measured once more, when all others of the round have
//   been: what disturbs it comes and goes. Which of both counts is decided by what was seen beside, not by the time.
// - Where a round is behind the last one of the same row, both saw the machine as it was: their distance is the noise.

#include "cmd/accuracy/accuracy.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "core/base/log.h"
#include "core/base/units.h"
#include "cmd/kit/child.h"
#include "cmd/kit/progress.h"
#include "core/base/err.h"
#include "core/base/variables.h"
#include "sim/net/net.h"
#include "sim/sim.h"

enum { LACKING = 3, WORDS = 40, FIRST = 8, SIZES_AT_MOST = 60 }; // sizes: powers of two from FIRST on

// ---- children ------------------------------------------------------------------------------------------------

// Our own subcommand with `words`, of which the second is its name.
static int run(char *const words[])
{
    int status;
    CLAB_TRY(child_run(words, NULL, &status));
    if (child_ended_by())
        return CLAB_EPEER;
    if (WIFEXITED(status) && WEXITSTATUS(status) == LACKING)
        return CLAB_EUNSUPPORTED; // as it has said
    if (!status)
        return CLAB_OK;
    kit_progress_clear();
    clab_error("accuracy: commlab %s fails", words[1]);
    return CLAB_EPEER;
}

static int run_fit(const struct accuracy_plan *plan, const char *net)
{
    char *const words[] = {"commlab",   "fit", "--backend", (char *)(uintptr_t)plan->backend,
                           "--seconds", "60s", "-o",        (char *)(uintptr_t)net,
                           NULL};
    kit_progress("  0 %%: commlab fit");
    return run(words);
}

// A barrier has no size, and is measured with the first.
static int run_bench(const struct accuracy_plan *plan, const char *net, size_t bytes, const char *csv)
{
    char size[32], ranks[16], seconds[32], *words[WORDS];
    int n = 0;
    clab_variable_set(CLAB_VARIABLE_PACKETS, "off"); // as in the fit
    snprintf(size, sizeof size, "%zu", bytes);
    snprintf(ranks, sizeof ranks, "%d", plan->nranks);
    snprintf(seconds, sizeof seconds, "%gs", plan->seconds);
    words[n++] = "commlab";
    words[n++] = "bench";
    for (int c = 0; c < CLAB_COLLECTIVE_COUNT; c++)
        if (bench_has_data((enum clab_collective)c) || bytes == FIRST)
            words[n++] = (char *)(uintptr_t)clab_collective_name((enum clab_collective)c);
    const char *const more[] = {"--algo",      "all", "-c",    "0",  "-n", ranks,       "--backend",
                                plan->backend, "-b",  size,    "-e", size, "--seconds", seconds,
                                "--net",       net,   "--csv", csv,  NULL};
    memcpy(words + n, more, sizeof more);
    return run(words);
}

// ---- rounds --------------------------------------------------------------------------------------------------

// What predicts: the file, and what it says.
struct predictor {
    const char *path;
    struct clab_net *net;
};

// The rows of one size, in one pass of a round.
static int measure_once(const struct accuracy_plan *plan, const char *net, size_t bytes, int round, int pass,
                        struct accuracy_rows *rows)
{
    char csv[4096];
    const char *again = pass ? "-again" : "";
    if (snprintf(csv, sizeof csv, "%s/%s-%d%s-%zu.csv", plan->folder, plan->backend, round + 1, again, bytes) >=
        (int)sizeof csv)
        return CLAB_EINVAL;
    CLAB_TRY(run_bench(plan, net, bytes, csv));
    return accuracy_rows_add(rows, csv, round);
}

// Whether a quarter of the rows from `first` on were slowed by something else that ran.
static bool is_worth_another(const struct accuracy_rows *rows, int first, const struct clab_net *net)
{
    int slowed = 0;
    for (int i = first; i < rows->n; i++)
        slowed += accuracy_is_slowed(&rows->all[i], net);
    return 4 * slowed > rows->n - first;
}

// Once more; of each row the better of both counts.
static int measure_again(const struct accuracy_plan *plan, const struct predictor *p, size_t bytes, int round,
                         struct accuracy_rows *rows)
{
    struct accuracy_rows more = {0};
    const int err = measure_once(plan, p->path, bytes, round, 1, &more);
    for (int i = 0; i < more.n && !err; i++) {
        struct accuracy_row *row = accuracy_same(rows, &more.all[i]);
        if (row && accuracy_is_better(&more.all[i], row, p->net))
            *row = more.all[i];
    }
    accuracy_rows_free(&more);
    return err;
}

static int count_sizes(const struct accuracy_plan *plan)
{
    int n = 0;
    while (n < SIZES_AT_MOST && (size_t)FIRST << n <= plan->last)
        n++;
    return n;
}

// share: of the round, that is behind us
static void show_size(int round, double share, size_t bytes, const char *again)
{
    char text[CLAB_TEXT];
    kit_progress("%3.0f %%: round %d of %d, %s%s", 100 * (round + share) / ACCURACY_ROUNDS, round + 1, ACCURACY_ROUNDS,
                 clab_size_text(bytes, text), again);
}

// Either pass is taken for half of the round, though the second may have little to do.
static int measure_round(const struct accuracy_plan *plan, const struct predictor *p, int round,
                         struct accuracy_rows *rows)
{
    const int n = count_sizes(plan);
    bool again[SIZES_AT_MOST];
    for (int i = 0; i < n; i++) {
        const size_t bytes = (size_t)FIRST << i;
        const int first = rows->n;
        show_size(round, 0.5 * i / n, bytes, "");
        CLAB_TRY(measure_once(plan, p->path, bytes, round, 0, rows));
        again[i] = is_worth_another(rows, first, p->net);
    }
    for (int i = 0; i < n; i++)
        if (again[i]) {
            show_size(round, 0.5 + 0.5 * i / n, (size_t)FIRST << i, " again");
            CLAB_TRY(measure_again(plan, p, (size_t)FIRST << i, round, rows));
        }
    return CLAB_OK;
}

static int sweep(const struct accuracy_plan *plan, struct accuracy_rows *rows, struct clab_net **net_p)
{
    char own[4096];
    snprintf(own, sizeof own, "%s/machine-%s.net", plan->folder, plan->backend);
    if (!plan->net)
        CLAB_TRY(run_fit(plan, own));
    struct predictor p = {.path = plan->net ? plan->net : own};
    CLAB_TRY(clab_net_load(p.path, &p.net));
    int err = CLAB_OK;
    for (int round = 0; round < ACCURACY_ROUNDS && !err; round++)
        err = measure_round(plan, &p, round, rows);
    if (err)
        clab_net_free(p.net);
    else
        *net_p = p.net;
    return err;
}

int accuracy_sweep(const struct accuracy_plan *plan, struct accuracy_rows *rows_p, struct clab_net **net_p)
{
    struct accuracy_rows rows = {0};
    child_watch();
    const int err = sweep(plan, &rows, net_p), ended_by = child_unwatch();
    kit_progress_clear();
    if (err)
        accuracy_rows_free(&rows);
    else
        *rows_p = rows;
    if (ended_by)
        raise(ended_by);
    return err;
}
