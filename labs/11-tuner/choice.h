// SPDX-License-Identifier: MIT
// choice.h: what the programs of lab 11 share: a table of choices, the times that it is made of, and what is reported.
//
// - A table is text, a row per line: collective_type,min_bytes,max_bytes,algorithm,protocol,channels,nNodes,nRanks
//   (lab.md). `lab_tune` measures each algorithm at each size. The program writes a row for the best, reads the text
//   again as it would a file, and then chooses by it.
// - The first argument of a program is `measured`, a file, or the rows themselves with semicolons between them.
// - What is counted is one call per algorithm and size: the span "ALGORITHM/BYTES", and of the choice "chosen/BYTES".
#pragma once

#include <math.h>
#include <stdint.h>

#include "lab.h"

enum { ROWS = 64, FIELDS = 10, SIZES = 16, TEXT = 16384, NODES = 1 };

static const char *const algorithms[] = {"doubling", "halving_doubling", "ring", "double_tree", "hierarchical"};
enum { ALGORITHMS = sizeof algorithms / sizeof *algorithms };
static const double sample_seconds = 2e-3;

static const char about[] =
    "Measures each algorithm of an allreduce at each size, makes a table of the best, and lets the table choose.\n"
    "Reports the seconds per call of the choice and of the best, and the regret: the one divided by the other.\n\n"
    "  TABLE              measured, a file, or rows with ; between them (measured)\n"
    "  BYTES...           sizes of the buffer, multiples of 4 (8 4K 64K 512K 4M)\n";
static const char usage[] = "give a table (measured, a file, or rows) and BYTES, multiples of 4, as in measured 8 64K";

struct row {
    size_t first, last; // bytes, both included
    char algorithm[24];
    int nodes, ranks; // -1: any
};

struct table {
    struct row rows[ROWS];
    int n;
};

// What was measured: seconds of each algorithm at each size, the same on all ranks.
struct lab {
    struct clab_comm *comm;
    const char *given; // the first argument
    size_t sizes[SIZES];
    int nsizes;
    double seconds[SIZES][ALGORITHMS];
    char text[TEXT]; // the table
    struct table table;
};

// The program's own: a row as text; a line's fields into the table; the algorithm for a call, or "auto".
static void write_row(char *text, size_t room, size_t first, const char *last, const char *algorithm, int ranks);
static void take_row(struct table *table, int line, char *fields[], int n);
static const char *choose(const struct table *table, size_t bytes, int ranks);

// ---- calls ---------------------------------------------------------------------------------------------------

struct call {
    struct clab_comm *comm;
    struct lab_data data;
};

static inline void sum(void *context)
{
    const struct call *call = context;
    must(clab_allreduce(call->comm, call->data.in, call->data.out, call->data.count, CLAB_F32, CLAB_SUM));
}

// Seconds per call. In virtual time one call tells; ranks do not leave a barrier together, so it begins with the last one.
static inline double seconds_of(struct call *call)
{
    double samples[LAB_SAMPLES], ends[2];
    if (!clab_time_is_exact())
        return lab_median(samples, lab_sample(call->comm, sample_seconds, clab_samples(3), sum, call, samples));
    must(clab_barrier(call->comm));
    ends[0] = clab_seconds();
    sum(call);
    ends[1] = clab_seconds();
    lab_slowest(call->comm, ends, 2);
    return ends[1] - ends[0];
}

// Seconds per call by an algorithm: one call that is checked and counted under `name`, then many that are timed.
//   out: *checksum_p, the same for every algorithm
static inline double time_of(const struct lab *lab, const char *name, const char *algorithm, int lanes, size_t bytes,
                             double *checksum_p)
{
    struct call call = {lab->comm, lab_data_make(clab_comm_job(lab->comm), bytes)};
    must(clab_comm_set_algorithm(lab->comm, CLAB_ALLREDUCE, algorithm, lanes));
    lab_data_poison(&call.data);
    must(clab_barrier(lab->comm));
    lab_span_begin(call.data.job, "%s/%zu", name, bytes);
    sum(&call);
    clab_span_end(call.data.job);
    *checksum_p = lab_data_check(&call.data, name);
    const double seconds = seconds_of(&call);
    lab_data_free(&call.data);
    return seconds;
}

static inline int best_at(const struct lab *lab, int size)
{
    int best = 0;
    for (int a = 1; a < ALGORITHMS; a++)
        best = lab->seconds[size][a] < lab->seconds[size][best] ? a : best;
    return best;
}

// ---- the table -----------------------------------------------------------------------------------------------

// A row for each size: it holds up to the next size, the last one for all larger ones.
static inline void write_table(struct lab *lab)
{
    size_t used = 0;
    for (int i = 0; i < lab->nsizes; i++) {
        char last[24] = "-1";
        if (i + 1 < lab->nsizes)
            snprintf(last, sizeof last, "%zu", lab->sizes[i + 1] - 1);
        write_row(lab->text + used, TEXT - used, i ? lab->sizes[i] : 0, last, algorithms[best_at(lab, i)],
                  clab_comm_ranks(lab->comm));
        used += strlen(lab->text + used);
        used += (size_t)snprintf(lab->text + used, TEXT - used, "\n");
        must(used < TEXT ? CLAB_OK : CLAB_EINVAL);
    }
}

// Lines that begin with # are remarks, as in NCCL's tables.
static inline void read_table(struct lab *lab)
{
    int line = 0;
    for (char *rest = lab->text, *text; (text = strsep(&rest, "\n;"));) {
        char *fields[FIELDS], *field;
        int n = 0;
        line++;
        if (*text == '#' || !*text)
            continue;
        while ((field = strsep(&text, ",")))
            fields[n < FIELDS ? n++ : FIELDS - 1] = field;
        must(lab->table.n < ROWS ? CLAB_OK : CLAB_EINVAL);
        take_row(&lab->table, line, fields, n);
    }
}

// The rows that were given, out of a file or as they are.
static inline void take_text(struct lab *lab)
{
    FILE *file = strchr(lab->given, ',') ? NULL : fopen(lab->given, "r");
    if (!file && !strchr(lab->given, ',')) {
        if (clab_comm_rank(lab->comm) == 0)
            fprintf(stderr, "%s: there is no such table; %s\n", lab->given, usage);
        clab_comm_destroy(lab->comm);
        exit(2);
    }
    if (file) {
        lab->text[fread(lab->text, 1, TEXT - 1, file)] = '\0';
        fclose(file);
    } else
        snprintf(lab->text, TEXT, "%s", lab->given);
}

static inline size_t last_of(const char *field)
{
    return strcmp(field, "-1") ? strtoull(field, NULL, 10) : SIZE_MAX;
}

// ---- what is reported ----------------------------------------------------------------------------------------

static inline void measure_algorithms(struct lab *lab)
{
    for (int i = 0; i < lab->nsizes; i++)
        for (int a = 0; a < ALGORITHMS; a++)
            lab->seconds[i][a] = time_of(lab, algorithms[a], algorithms[a], 0, lab->sizes[i], &(double){0});
}

// What the choice costs. That it was made is no proof that it ran: which algorithm did, the library says.
static inline double measure_choice(const struct lab *lab, int i)
{
    const char *algorithm = choose(&lab->table, lab->sizes[i], clab_comm_ranks(lab->comm));
    double checksum, seconds = time_of(lab, "chosen", algorithm, 0, lab->sizes[i], &checksum);
    const char *ran = clab_comm_traffic(lab->comm).algorithm;
    if (strcmp(algorithm, "auto") != 0 && strcmp(algorithm, ran) != 0) {
        fprintf(stderr, "%zu bytes: the choice is %s, but what ran is %s\n", lab->sizes[i], algorithm, ran);
        must(CLAB_EWRONG);
    }
    double regret = seconds / fmin(seconds, lab->seconds[i][best_at(lab, i)]);
    double best = fmin(seconds, lab->seconds[i][best_at(lab, i)]);
    lab_report(lab->comm, "s", &seconds, 1, "time/chosen/%zu", lab->sizes[i]);
    lab_report(lab->comm, "s", &best, 1, "time/best/%zu", lab->sizes[i]);
    lab_report(lab->comm, "1", &(double){regret}, 1, "regret/chosen/%zu", lab->sizes[i]);
    lab_report(lab->comm, "1", &checksum, 1, "checksum/sum/%zu", lab->sizes[i]);
    return log(regret);
}

// One setting: the lanes of a pair of trees, which is how many pieces travel one behind the other.
static inline void measure_lanes(const struct lab *lab)
{
    const size_t bytes = lab->sizes[lab->nsizes - 1];
    for (int lanes = 2; lanes <= 16; lanes *= 2) {
        char name[24];
        snprintf(name, sizeof name, "lanes%d", lanes);
        double seconds = time_of(lab, name, "double_tree", lanes, bytes, &(double){0});
        lab_report(lab->comm, "s", &seconds, 1, "time/lanes/%d", lanes);
    }
}

static inline void measure_all(struct lab *lab)
{
    double logs = 0;
    measure_algorithms(lab);
    if (!strcmp(lab->given, "measured"))
        write_table(lab);
    else
        take_text(lab);
    read_table(lab);
    for (int i = 0; i < lab->nsizes; i++)
        logs += measure_choice(lab, i);
    lab_report(lab->comm, "1", &(double){exp(logs / lab->nsizes)}, 1, "regret/chosen/all");
    lab_report(lab->comm, "1", &(double){lab->table.n}, 1, "rows/kept/table");
    measure_lanes(lab);
}
