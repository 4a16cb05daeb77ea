// SPDX-License-Identifier: MIT
// The measurement: a fit, then every size once and, minutes later, once more (accuracy.h).
//
// - A size is a bench of its own, a child of ours, so that algorithms which compete are measured within seconds of each
//   other. Fit and benches are the subcommands that users run. Most of its rows disturbed: it is measured once more.
// - Where a round is behind the last one of the same row, both saw the machine as it was: their distance is the noise.

#include "accuracy.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "base/units.h"
#include "child.h"
#include "net.h"

enum { LACKING = 3, WORDS = 40, FIRST = 8 };

// ---- progress ------------------------------------------------------------------------------------------------

static void show(const char *what, double share)
{
    if (isatty(STDERR_FILENO))
        fprintf(stderr, "\r\033[K%3.0f %%: %s", 100 * share, what);
}

static void clear(void)
{
    if (isatty(STDERR_FILENO))
        fprintf(stderr, "\r\033[K");
}

// ---- children ------------------------------------------------------------------------------------------------

// Our own subcommand with `words`, of which the second is its name.
static int run(char *const words[])
{
    int status;
    CLAB_TRY(child_run(words, &status));
    if (child_ended_by())
        return CLAB_EPEER;
    if (WIFEXITED(status) && WEXITSTATUS(status) == LACKING)
        return CLAB_EUNSUPPORTED; // as it has said
    if (!status)
        return CLAB_OK;
    clear();
    clab_error("accuracy: commlab %s fails", words[1]);
    return CLAB_EPEER;
}

static int run_fit(const struct accuracy_plan *plan, const char *net)
{
    char *const words[] = {"commlab",   "fit", "--backend", (char *)(uintptr_t)plan->backend,
                           "--seconds", "60s", "-o",        (char *)(uintptr_t)net,
                           NULL};
    show("commlab fit", 0);
    return run(words);
}

// A barrier has no size, and is measured with the first.
static int run_bench(const struct accuracy_plan *plan, const char *net, size_t bytes, const char *csv)
{
    char size[32], ranks[16], seconds[32], *words[WORDS];
    int n = 0;
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

// The rows of one size; *disturbed_p: most of them were, by something else that ran.
static int measure_once(const struct accuracy_plan *plan, const char *net, size_t bytes, int round,
                        struct accuracy_rows *rows, bool *disturbed_p)
{
    char csv[4096];
    if (snprintf(csv, sizeof csv, "%s/%s-%d-%zu.csv", plan->folder, plan->backend, round + 1, bytes) >= (int)sizeof csv)
        return CLAB_EINVAL;
    const int first = rows->n;
    int disturbed = 0;
    CLAB_TRY(run_bench(plan, net, bytes, csv));
    CLAB_TRY(accuracy_rows_add(rows, csv, round));
    for (int i = first; i < rows->n; i++)
        disturbed += accuracy_is_unsteady(&rows->all[i]);
    *disturbed_p = 2 * disturbed > rows->n - first;
    return CLAB_OK;
}

// Once more if it was disturbed, however that turns out.
static int measure_size(const struct accuracy_plan *plan, const char *net, size_t bytes, int round,
                        struct accuracy_rows *rows)
{
    const int first = rows->n;
    bool disturbed;
    CLAB_TRY(measure_once(plan, net, bytes, round, rows, &disturbed));
    if (!disturbed)
        return CLAB_OK;
    rows->n = first;
    return measure_once(plan, net, bytes, round, rows, &disturbed);
}

static int measure(const struct accuracy_plan *plan, const char *net, struct accuracy_rows *rows)
{
    char text[CLAB_TEXT], what[64];
    int nsizes = 0, done = 0;
    for (size_t bytes = FIRST; bytes <= plan->last; bytes *= 2)
        nsizes++;
    for (int round = 0; round < ACCURACY_ROUNDS; round++)
        for (size_t bytes = FIRST; bytes <= plan->last; bytes *= 2, done++) {
            snprintf(what, sizeof what, "round %d of %d, %s", round + 1, ACCURACY_ROUNDS, clab_size_text(bytes, text));
            show(what, (double)(done + 1) / (nsizes * ACCURACY_ROUNDS + 1));
            CLAB_TRY(measure_size(plan, net, bytes, round, rows));
        }
    return CLAB_OK;
}

static int sweep(const struct accuracy_plan *plan, struct accuracy_rows *rows, struct clab_net **net_p)
{
    char own[4096];
    snprintf(own, sizeof own, "%s/machine-%s.net", plan->folder, plan->backend);
    if (!plan->net)
        CLAB_TRY(run_fit(plan, own));
    const char *net = plan->net ? plan->net : own;
    CLAB_TRY(measure(plan, net, rows));
    return clab_net_load(net, net_p);
}

int accuracy_sweep(const struct accuracy_plan *plan, struct accuracy_rows *rows_p, struct clab_net **net_p)
{
    struct accuracy_rows rows = {0};
    child_watch();
    const int err = sweep(plan, &rows, net_p), ended_by = child_unwatch();
    clear();
    if (err)
        accuracy_rows_free(&rows);
    else
        *rows_p = rows;
    if (ended_by)
        raise(ended_by);
    return err;
}
