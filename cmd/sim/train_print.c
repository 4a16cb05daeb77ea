// SPDX-License-Identifier: MIT
// Answers of `commlab sim train`: one step in words with its buckets, several as a table; CSV and JSON.

#include "cmd/sim/train.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/files/json.h"
#include "core/base/files/table.h"
#include "core/base/units.h"

enum { MANY_BUCKETS = 24 };

// ---- what follows from a row ---------------------------------------------------------------------------------

// The hidden part of the communication; NaN if there is none.
static double hidden(const struct clab_train_result *s)
{
    return s->communication > 0 ? fmax(0, 1 - s->exposed / s->communication) : NAN;
}

static double efficiency(const struct clab_train_result *s)
{
    return s->alone / s->median;
}

static double samples_per_second(const struct train_request *r, const struct train_row *row)
{
    return (double)r->batch * r->train.accumulate * row->nranks / row->result.median;
}

// How long a bucket's communication is exposed, in s.
static double exposed(const struct clab_train_result *s, const struct clab_train_time *t)
{
    return fmax(0, t->end - fmax(t->begin, s->computation));
}

// "ring", or "ring/doubling" of different buckets
static void algorithms_of(const struct clab_train_result *s, char *text, size_t room)
{
    *text = '\0';
    for (int i = 0; i < s->nbuckets; i++) {
        const char *name = s->buckets[i].algorithm;
        const size_t used = strlen(text);
        bool is_new = name != NULL;
        for (int j = 0; j < i && is_new; j++)
            is_new = !s->buckets[j].algorithm || strcmp(s->buckets[j].algorithm, name);
        if (is_new)
            snprintf(text + used, room - used, "%s%s", used ? "/" : "", name);
    }
}

static struct clab_cell milliseconds(double seconds)
{
    return clab_cell_real(1e3 * seconds);
}

// ---- the question --------------------------------------------------------------------------------------------

static void print_question(const struct train_request *r)
{
    const struct clab_model *m = r->model;
    char time[CLAB_TEXT], rate[CLAB_TEXT];
    printf("# %s (%s): %.4g M parameters; %d %s%s per rank, of %.4g Gflop forward", m->name, m->title,
           1e-6 * (double)clab_model_parameters(m), r->batch, m->sample, r->batch > 1 ? "s" : "",
           1e-9 * clab_model_flop(m));
    printf(r->train.accumulate > 1 ? ", %d times per reduction\n" : "\n", r->train.accumulate);
    if (r->compute > 0)
        printf("# on %s: a forward and backward pass takes %s", r->net->name, clab_seconds_text(r->compute, time));
    else
        printf("# on %s: %s at %.4g %% of the processor's peak", r->net->name, clab_precision_name(r->precision),
               100 * r->efficiency);
    if (r->net->compute.memory > 0)
        printf("; %s at %d B per parameter, memory %s\n", train_optimizer_name(r->optimizer),
               train_optimizer_bytes(r->optimizer), clab_rate_text(1 / r->net->compute.memory, rate));
    else
        printf("; the network does not state the speed of memory: update and compression cost nothing\n");
}

// ---- one row -------------------------------------------------------------------------------------------------

static void print_part(const char *name, double seconds, const char *what)
{
    char text[CLAB_TEXT];
    printf("  %-14s %12s  %s\n", name, clab_seconds_text(seconds, text), what);
}

static void print_distribution(const struct train_request *r, const struct clab_train_result *s)
{
    char mean[CLAB_TEXT], p95[CLAB_TEXT], p99[CLAB_TEXT], most[CLAB_TEXT];
    if (r->train.steps > 1)
        printf("  of %d steps: mean %s, p95 %s, p99 %s, most %s; below, the one nearest to the median\n",
               r->train.steps, clab_seconds_text(s->mean, mean), clab_seconds_text(s->p95, p95),
               clab_seconds_text(s->p99, p99), clab_seconds_text(s->most, most));
}

// The exposed buckets: all that end after the backward pass.
static void print_exposed(const struct clab_train_result *s)
{
    const int n = s->nbuckets;
    int first = n;
    while (first > 0 && exposed(s, &s->buckets[first - 1]) > 0)
        first--;
    if (first == n)
        printf("no bucket ends after the backward pass\n");
    else if (first == n - 1)
        printf("bucket %d, the last, ends after the backward pass\n", n);
    else
        printf("buckets %d to %d end after the backward pass\n", first + 1, n);
}

static int print_step(const struct train_request *r, const struct train_row *row)
{
    const struct clab_train_result *s = &row->result;
    char step[CLAB_TEXT], text[CLAB_TEXT], what[96];
    printf("%d rank%s, %d bucket%s of %s, overlap %s, compress %s: a step takes %s\n", row->nranks,
           row->nranks > 1 ? "s" : "", row->plan.nbuckets, row->plan.nbuckets > 1 ? "s" : "",
           clab_size_text(row->cap, text), clab_train_overlap_name(row->overlap), row->coding->name,
           clab_seconds_text(s->median, step));
    print_distribution(r, s);
    snprintf(what, sizeof what, "of the slowest rank; undisturbed %s", clab_seconds_text(s->undisturbed, text));
    print_part("computation", s->computation, s->computation > s->undisturbed ? what : "forward and backward");
    print_part("exposed", s->exposed, "communication that nothing hides");
    print_part("update", s->update, "of the parameters");
    printf("communication %s in all", clab_seconds_text(s->communication, text));
    if (s->communication > 0)
        printf(", %.1f %% of it hidden", 100 * hidden(s));
    printf(", %s sent per rank\n", clab_size_text(s->sent, text));
    printf("scaling efficiency %.1f %%, %.5g %ss/s\n", 100 * efficiency(s), samples_per_second(r, row), r->model->sample);
    if (s->communication > 0)
        print_exposed(s);
    printf("clocks: %s\n", s->how);
    return CLAB_OK;
}

static const struct clab_column bucket_columns[] = {
    {"bucket", NULL, NULL, CLAB_KIND_INTEGER, 6, 0, NULL},   {"size", NULL, NULL, CLAB_KIND_TEXT, 9, 0, NULL},
    {"ready", NULL, "ms", CLAB_KIND_REAL, 8, 3, NULL},       {"begin", NULL, "ms", CLAB_KIND_REAL, 8, 3, NULL},
    {"end", NULL, "ms", CLAB_KIND_REAL, 9, 3, NULL},         {"exposed", NULL, "ms", CLAB_KIND_REAL, 8, 3, NULL},
    {"algorithm", NULL, NULL, CLAB_KIND_TEXT, -16, 0, NULL}, {"layers", NULL, NULL, CLAB_KIND_TEXT, -1, 0, NULL},
};

static int add_bucket(const struct train_request *r, const struct train_row *row, int i, struct clab_table *table)
{
    const struct clab_train_time *t = &row->result.buckets[i];
    const char *first = r->model->layers[row->plan.buckets[i].first_layer].name;
    const char *last = r->model->layers[row->plan.buckets[i].last_layer].name;
    char size[CLAB_TEXT], layers[2 * CLAB_MODEL_NAME + 8];
    snprintf(layers, sizeof layers, strcmp(first, last) ? "%s .. %s" : "%s", first, last);
    return clab_table_add_row(table, (const struct clab_cell[]){
                                         clab_cell_integer(i + 1),
                                         clab_cell_text(clab_size_text(row->plan.buckets[i].bytes, size)),
                                         milliseconds(t->ready),
                                         milliseconds(t->begin),
                                         milliseconds(t->end),
                                         milliseconds(exposed(&row->result, t)),
                                         clab_cell_text(t->algorithm),
                                         clab_cell_text(layers),
                                     });
}

// All buckets, or the last ones, which are exposed.
static int print_buckets(const struct train_request *r, const struct train_row *row)
{
    const int n = row->plan.nbuckets, first = n > MANY_BUCKETS && !r->timeline ? n - MANY_BUCKETS : 0;
    struct clab_table table;
    int err = CLAB_OK;
    clab_table_init(&table, bucket_columns, sizeof bucket_columns / sizeof *bucket_columns);
    for (int i = first; i < n && !err; i++)
        err = add_bucket(r, row, i, &table);
    if (!err) {
        clab_table_print(&table, stdout);
        if (first)
            printf("# the last %d of %d buckets; --timeline prints all\n", MANY_BUCKETS, n);
    }
    clab_table_free(&table);
    return err;
}

// ---- many rows -----------------------------------------------------------------------------------------------

static const struct clab_column columns[] = {
    {"ranks", NULL, NULL, CLAB_KIND_INTEGER, 6, 0, NULL},
    {"buckets", NULL, NULL, CLAB_KIND_TEXT, 9, 0, NULL},
    {"overlap", NULL, NULL, CLAB_KIND_TEXT, -7, 0, NULL},
    {"compress", NULL, NULL, CLAB_KIND_TEXT, -11, 0, NULL},
    {"step", "median", "ms", CLAB_KIND_REAL, 9, 3, "step"},
    {"p95", NULL, "ms", CLAB_KIND_REAL, 8, 3, "step"},
    {"p99", NULL, "ms", CLAB_KIND_REAL, 8, 3, "step"},
    {"computation", "computes", "ms", CLAB_KIND_REAL, 9, 3, NULL},
    {"communication", "all", "ms", CLAB_KIND_REAL, 9, 3, "communication"},
    {"exposed", NULL, "ms", CLAB_KIND_REAL, 9, 3, "communication"},
    {"hidden", NULL, "%", CLAB_KIND_REAL, 6, 1, "communication"},
    {"sent", NULL, "/rank", CLAB_KIND_TEXT, 9, 0, "communication"},
    {"efficiency", "scales", "%", CLAB_KIND_REAL, 6, 1, NULL},
};

static int add_row(const struct train_row *row, struct clab_table *table)
{
    const struct clab_train_result *s = &row->result;
    char cap[CLAB_TEXT], sent[CLAB_TEXT];
    return clab_table_add_row(table, (const struct clab_cell[]){
                                         clab_cell_integer(row->nranks),
                                         clab_cell_text(clab_size_text(row->cap, cap)),
                                         clab_cell_text(clab_train_overlap_name(row->overlap)),
                                         clab_cell_text(row->coding->name),
                                         milliseconds(s->median),
                                         milliseconds(s->p95),
                                         milliseconds(s->p99),
                                         milliseconds(s->computation),
                                         milliseconds(s->communication),
                                         milliseconds(s->exposed),
                                         clab_cell_real(100 * hidden(s)),
                                         clab_cell_text(clab_size_text(s->sent, sent)),
                                         clab_cell_real(100 * efficiency(s)),
                                     });
}

// The clocks that the simulator used: once, or per number of ranks if they differ.
static void print_clocks(const struct train_rows *rows)
{
    for (int i = 0; i < rows->n; i++) {
        const char *how = rows->rows[i].result.how;
        bool is_new = true;
        int low = rows->rows[i].nranks, high = low;
        for (int j = 0; j < rows->n; j++) {
            if (strcmp(rows->rows[j].result.how, how))
                continue;
            is_new = is_new && j >= i;
            low = rows->rows[j].nranks < low ? rows->rows[j].nranks : low;
            high = rows->rows[j].nranks > high ? rows->rows[j].nranks : high;
        }
        if (is_new)
            printf("# clocks, %d to %d ranks: %s\n", low, high, how);
    }
}

static int print_table(const struct train_rows *rows)
{
    struct clab_table table;
    int err = CLAB_OK;
    clab_table_init(&table, columns, sizeof columns / sizeof *columns);
    for (int i = 0; i < rows->n && !err; i++)
        err = add_row(&rows->rows[i], &table);
    if (!err) {
        clab_table_print(&table, stdout);
        print_clocks(rows);
    }
    clab_table_free(&table);
    return err;
}

int train_print(const struct train_request *request, const struct train_rows *rows)
{
    print_question(request);
    if (rows->n > 1)
        return print_table(rows);
    CLAB_TRY(print_step(request, rows->rows));
    return print_buckets(request, rows->rows);
}

// ---- files ---------------------------------------------------------------------------------------------------

static const struct clab_column files[] = {
    CLAB_COLUMN(TEXT, "model"), CLAB_COLUMN(TEXT, "net"), CLAB_COLUMN(INTEGER, "ranks"), CLAB_COLUMN(INTEGER, "batch"),
    CLAB_COLUMN(INTEGER, "accumulate"), CLAB_COLUMN(INTEGER, "bucket_bytes"), CLAB_COLUMN(INTEGER, "buckets"),
    CLAB_COLUMN(TEXT, "overlap"), CLAB_COLUMN(TEXT, "compress"), CLAB_COLUMN(TEXT, "algorithm"),
    CLAB_COLUMN(REAL, "seconds"), CLAB_COLUMN(REAL, "mean"), CLAB_COLUMN(REAL, "p95"), CLAB_COLUMN(REAL, "p99"),
    CLAB_COLUMN(REAL, "computation"), CLAB_COLUMN(REAL, "communication"), CLAB_COLUMN(REAL, "exposed"),
    CLAB_COLUMN(REAL, "update"), CLAB_COLUMN(REAL, "hidden_pct"), CLAB_COLUMN(REAL, "efficiency_pct"),
    CLAB_COLUMN(REAL, "samples_per_s"), CLAB_COLUMN(INTEGER, "bytes_sent"), CLAB_COLUMN(TEXT, "clocks"),
};

enum { NFILES = sizeof files / sizeof *files };

static const char *clocks_of(const struct clab_train_result *s)
{
    return s->exact ? "own" : strncmp(s->how, "a bound", 7) ? "together" : "bound";
}

// `algorithms` is room for names.
static void fill(const struct train_request *r, const struct train_row *row, char algorithms[128],
                 struct clab_cell cells[NFILES])
{
    const struct clab_train_result *s = &row->result;
    algorithms_of(s, algorithms, 128);
    const struct clab_cell all[NFILES] = {
        clab_cell_text(r->model->name),
        clab_cell_text(r->net->name),
        clab_cell_integer(row->nranks),
        clab_cell_integer(r->batch),
        clab_cell_integer(r->train.accumulate),
        clab_cell_integer((long long)row->cap),
        clab_cell_integer(row->plan.nbuckets),
        clab_cell_text(clab_train_overlap_name(row->overlap)),
        clab_cell_text(row->coding->name),
        clab_cell_text(*algorithms ? algorithms : NULL),
        clab_cell_real(s->median),
        clab_cell_real(s->mean),
        clab_cell_real(s->p95),
        clab_cell_real(s->p99),
        clab_cell_real(s->computation),
        clab_cell_real(s->communication),
        clab_cell_real(s->exposed),
        clab_cell_real(s->update),
        clab_cell_real(100 * hidden(s)),
        clab_cell_real(100 * efficiency(s)),
        clab_cell_real(samples_per_second(r, row)),
        clab_cell_integer((long long)s->sent),
        clab_cell_text(clocks_of(s)),
    };
    memcpy(cells, all, sizeof all);
}

static int add_manifest(const struct train_request *r, struct clab_manifest *m)
{
    CLAB_TRY(clab_manifest_add(m, "command", "%s", r->command));
    CLAB_TRY(clab_manifest_add(m, "model", "%s: %s", r->model->name, r->model->title));
    CLAB_TRY(clab_manifest_add(m, "network", "%s: %s", r->net->name, r->net->title));
    CLAB_TRY(clab_manifest_add(m, "jitter", "%s, %d steps", r->jitter ? r->jitter : "none", r->train.steps));
    return clab_manifest_add(m, "sample", "%s", r->model->sample);
}

int train_write_csv(const struct train_request *request, const struct train_rows *rows, const char *path)
{
    struct clab_table table;
    struct clab_manifest manifest = {0};
    int err = add_manifest(request, &manifest);
    clab_table_init(&table, files, NFILES);
    for (int i = 0; i < rows->n && !err; i++) {
        char algorithms[128];
        struct clab_cell cells[NFILES];
        fill(request, &rows->rows[i], algorithms, cells);
        err = clab_table_add_row(&table, cells);
    }
    if (!err)
        err = clab_table_write_csv(&table, &manifest, path);
    clab_table_free(&table);
    clab_manifest_free(&manifest);
    return err;
}

// ---- JSON ----------------------------------------------------------------------------------------------------

static void add_json_bucket(const struct train_row *row, int i, struct clab_json *json)
{
    const struct clab_train_time *t = &row->result.buckets[i];
    clab_json_add(json, "bytes", clab_cell_integer((long long)row->plan.buckets[i].bytes));
    clab_json_add(json, "ready", clab_cell_real(t->ready));
    clab_json_add(json, "begin", clab_cell_real(t->begin));
    clab_json_add(json, "end", clab_cell_real(t->end));
    clab_json_add(json, "encode", clab_cell_real(t->encode));
    clab_json_add(json, "decode", clab_cell_real(t->decode));
    clab_json_add(json, "exposed", clab_cell_real(exposed(&row->result, t)));
    clab_json_add(json, "algorithm", clab_cell_text(t->algorithm));
    clab_json_add(json, "bytes_sent", clab_cell_integer((long long)t->sent));
}

static void add_json_row(const struct train_request *r, const struct train_row *row, struct clab_json *json)
{
    char algorithms[128];
    struct clab_cell cells[NFILES];
    fill(r, row, algorithms, cells);
    for (int c = 0; c < NFILES; c++)
        clab_json_add(json, files[c].name, cells[c]);
    struct clab_json *list = clab_json_add_list(json, "timeline");
    for (int i = 0; i < row->plan.nbuckets; i++)
        add_json_bucket(row, i, clab_json_add_object(list, NULL));
}

int train_print_json(const struct train_request *request, const struct train_rows *rows)
{
    struct clab_json *json;
    CLAB_TRY(clab_json_create(&json));
    clab_json_add(json, "command", clab_cell_text(request->command));
    struct clab_json *list = clab_json_add_list(json, "steps");
    for (int i = 0; i < rows->n; i++)
        add_json_row(request, &rows->rows[i], clab_json_add_object(list, NULL));
    const int err = clab_json_write(json, stdout);
    clab_json_destroy(json);
    return err;
}
