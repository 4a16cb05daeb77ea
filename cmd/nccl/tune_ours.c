// SPDX-License-Identifier: MIT
// Times of the kit's own algorithms, measured on any backend (tune.h). Per collective and round, one run of the bench has
// all algorithms, and one has the default choice. The bench prints which algorithm that was.
//
// - The plan is announced first: how many times will be measured, and how long that lasts at most. Then each run is: on a
//   terminal in a line that changes, elsewhere in a line per round.

#include "cmd/nccl/tune.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/bench/options.h"
#include "cmd/kit/child.h"
#include "cmd/kit/progress.h"
#include "core/base/files/csv.h"
#include "core/base/err.h"
#include "core/base/units.h"
#include "core/base/values.h"
#include "core/transport/backend.h"

enum { WORDS = 32, NAMES = 512 };

// ---- words ---------------------------------------------------------------------------------------------------

static const char *collective_word(int function)
{
    return clab_collective_name((enum clab_collective)function);
}

static const char *algorithm_word(int algorithm)
{
    return clab_algorithms[algorithm]->name;
}

// Without a protocol it is not for NCCL (sim/nccl/rows.h).
static void write_row(const struct clab_nccl_row *row, double gain, FILE *out)
{
    fprintf(out, "%s,%zu,%zu,%s,-1,%d,%d,%d,-1,-1", collective_word(row->function), row->first, row->last,
            algorithm_word(row->algorithm), row->channels, row->nodes, row->ranks);
    if (gain > 0)
        fprintf(out, ",%.3f", gain);
    fputc('\n', out);
}

const struct tune_words tune_words_ours = {.library = "commlab",
                                           .collective = collective_word,
                                           .algorithm = algorithm_word,
                                           .heading = clab_nccl_rows_write_heading,
                                           .row = write_row};

// ---- one run -------------------------------------------------------------------------------------------------

// "ring,tree,...": all of a collective's.
static void list_algorithms(enum clab_collective collective, char names[NAMES])
{
    *names = '\0';
    for (int i = 0; clab_algorithms[i]; i++)
        if (clab_algorithms[i]->collective == collective)
            snprintf(names + strlen(names), NAMES - strlen(names), "%s%s", *names ? "," : "", clab_algorithms[i]->name);
}

static int run_bench(const struct tune_ours *ours, int collective, char *algorithms, char *csv, int *status_p)
{
    // A table of choices must not choose now.
    static const struct child_variable variables[] = {{"CLAB_TUNER", NULL, false}, {0}};
    char *words[WORDS] = {"commlab", "bench", (char *)(uintptr_t)collective_word(collective), "--algo", algorithms,
                          "--in-place", "0", "--csv", csv};
    const struct {
        char *flag;
        const char *value;
    } flags[] = {{"--backend", ours->backend}, {"--net", ours->net}, {"--emulate", ours->emulate},
                 {"-n", ours->ranks},          {"-b", ours->first},  {"-e", ours->last},
                 {"-f", ours->factor},         {"--seconds", ours->seconds}};
    int n = 9;
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        if (flags[i].value) {
            words[n++] = flags[i].flag;
            words[n++] = (char *)(uintptr_t)flags[i].value;
        }
    CLAB_TRY(child_run(words, variables, status_p));
    return child_ended_by() ? CLAB_EPEER : CLAB_OK;
}

static int find_algorithm(int collective, const char *name)
{
    for (int i = 0; clab_algorithms[i]; i++)
        if (clab_algorithms[i]->collective == (enum clab_collective)collective && !strcmp(clab_algorithms[i]->name, name))
            return i;
    return TUNE_UNKNOWN; // the backend's own
}

static int take_row(const struct clab_csv *csv, int row, struct tune_time time, struct tune_times *times)
{
    if (!*clab_csv_cell(csv, row, "usec"))
        return CLAB_OK; // a refused time
    if (clab_parse_number(clab_csv_cell(csv, row, "usec"), &time.usec) || time.usec <= 0)
        return clab_csv_refuse(csv, row, "usec", "no time above 0 us");
    if (clab_parse_size(clab_csv_cell(csv, row, "bytes"), &time.bytes))
        return clab_csv_refuse(csv, row, "bytes", "no number of bytes");
    if (clab_parse_int(clab_csv_cell(csv, row, "ranks"), 1, 1 << 24, &time.ranks))
        return clab_csv_refuse(csv, row, "ranks", "no number of ranks");
    time.algorithm = find_algorithm(time.function, clab_csv_cell(csv, row, "algorithm"));
    return time.algorithm == TUNE_UNKNOWN && !time.is_own ? CLAB_OK : tune_times_add(times, time);
}

static int read_times(const char *path, struct tune_time time, struct tune_times *times)
{
    struct clab_csv csv;
    CLAB_TRY(clab_csv_load(path, &csv));
    int err = CLAB_OK;
    for (int row = 0; row < csv.nrows && !err; row++)
        err = take_row(&csv, row, time, times);
    clab_csv_free(&csv);
    return err;
}

// ---- the plan ------------------------------------------------------------------------------------------------

static size_t size_of(const char *text, size_t usual)
{
    size_t bytes = usual;
    if (text)
        (void)clab_parse_size(text, &bytes); // the bench refuses what is no size
    return bytes;
}

static int count_sizes(const struct tune_ours *ours)
{
    const struct clab_backend *backend = clab_backend_find(ours->backend);
    int ranks = 2, n = 0;
    size_t factor = 4, first = size_of(ours->first, 8);
    if (ours->ranks)
        (void)clab_parse_int(ours->ranks, 1, CLAB_MAX_RANKS, &ranks);
    if (ours->factor)
        factor = size_of(ours->factor, factor);
    const size_t last = size_of(ours->last, bench_last_size(backend, ranks, first));
    for (size_t bytes = first; first && factor > 1 && bytes <= last && n < 64; bytes *= factor)
        n++;
    return n;
}

static int count_algorithms(enum clab_collective collective)
{
    int n = 0;
    for (int i = 0; clab_algorithms[i]; i++)
        n += clab_algorithms[i]->collective == collective;
    return n;
}

// Those of one round: a barrier has one size.
static long count_round(const struct tune_ours *ours)
{
    long n = 0;
    for (int c = 0; c < CLAB_COLLECTIVE_COUNT; c++)
        if (ours->collectives[c])
            n += (count_algorithms((enum clab_collective)c) + 1L) * (c == CLAB_BARRIER ? 1 : count_sizes(ours));
    return n;
}

static int count_collectives(const struct tune_ours *ours)
{
    int n = 0;
    for (int c = 0; c < CLAB_COLLECTIVE_COUNT; c++)
        n += ours->collectives[c];
    return n;
}

// With warming up and checks a measurement takes longer than its time, and each run of the bench starts ranks.
static double estimate(const struct tune_ours *ours, double each)
{
    static const double more = 1.4, start = 0.5; // s, on two cores
    return more * each * (double)(count_round(ours) * ours->rounds) + start * 2 * count_collectives(ours) * ours->rounds;
}

static void print_plan(const struct tune_ours *ours)
{
    const struct clab_backend *backend = clab_backend_find(ours->backend);
    double each = 0.3; // s, as the bench's
    char about[CLAB_TEXT], one[CLAB_TEXT];
    if (ours->seconds)
        (void)clab_take_bare_seconds("--seconds", ours->seconds, BENCH_MOST_SECONDS, &each); // it has been read once
    printf("# plan: %d round%s of each algorithm and the default at each size: %ld measurements at most, ", ours->rounds,
           ours->rounds == 1 ? "" : "s", count_round(ours) * ours->rounds);
    if (backend && backend->time->is_exact)
        printf("in virtual time\n");
    else
        printf("of %s; about %s\n", clab_seconds_text(each, one), clab_minutes_text(estimate(ours, each), about));
    fflush(stdout);
}

static void tell_round(const struct tune_ours *ours, int round)
{
    if (!isatty(STDERR_FILENO) && ours->rounds > 1)
        fprintf(stderr, "commlab tune: round %d of %d\n", round + 1, ours->rounds);
}

// ---- all of them ---------------------------------------------------------------------------------------------

static int measure(const struct tune_ours *ours, struct tune_time time, const char *folder, struct tune_times *times,
                   int *status_p)
{
    char csv[PATH_MAX + 8], names[NAMES] = "auto";
    snprintf(csv, sizeof csv, "%s/a.csv", folder);
    if (!time.is_own)
        list_algorithms((enum clab_collective)time.function, names);
    kit_progress("round %d of %d: %s by %s", time.round + 1, ours->rounds, collective_word(time.function),
                 time.is_own ? "the default choice" : "each algorithm");
    const int err = run_bench(ours, time.function, names, csv, status_p);
    kit_progress_clear();
    CLAB_TRY(err);
    const int read = *status_p ? CLAB_OK : read_times(csv, time, times);
    unlink(csv);
    return read;
}

static int measure_all(const struct tune_ours *ours, const char *folder, struct tune_times *times, int *status_p)
{
    print_plan(ours);
    for (int round = 0; round < ours->rounds && !*status_p; round++) {
        tell_round(ours, round);
        for (int c = 0; c < CLAB_COLLECTIVE_COUNT; c++)
            for (int own = 0; own < 2 && ours->collectives[c] && !*status_p; own++)
                CLAB_TRY(measure(ours,
                                 (struct tune_time){.function = c,
                                                    .nodes = CLAB_NCCL_ANY,
                                                    .protocol = CLAB_NCCL_ANY,
                                                    .channels = CLAB_NCCL_ANY,
                                                    .is_own = own,
                                                    .round = round},
                                 folder, times, status_p));
    }
    return CLAB_OK;
}

// Where the default is one of the algorithms, both were measured, and their times differ by noise alone. Each gets the
// times of the other, so that a table does not gain from that.
static int share(struct tune_times *times)
{
    const int n = times->n;
    for (int i = 0; i < n; i++)
        for (int k = 0; k < n; k++) {
            const struct tune_time a = times->all[i];
            struct tune_time b = times->all[k];
            if (a.is_own == b.is_own || a.algorithm != b.algorithm || a.function != b.function || a.bytes != b.bytes ||
                a.round != b.round)
                continue;
            b.is_own = a.is_own;
            CLAB_TRY(tune_times_add(times, b));
        }
    return CLAB_OK;
}

int tune_ours_measure(const struct tune_ours *ours, struct tune_times *times, int *status_p)
{
    char folder[PATH_MAX];
    int status = 0;
    child_watch();
    int err = child_folder_make(folder);
    if (!err) {
        err = measure_all(ours, folder, times, &status);
        child_folder_remove(folder);
    }
    if (!err && !status)
        err = share(times);
    const int signo = child_unwatch();
    if (signo)
        raise(signo);
    *status_p = WIFEXITED(status) ? WEXITSTATUS(status) : status ? 1 : 0;
    return err;
}
