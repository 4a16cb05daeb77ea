// SPDX-License-Identifier: MIT
// The fields of a training report (run.h): from the runs' quantities to one row each, with interval and prediction, or
// with the reason why it was not measured.
//
// - A quantity of a run is the slowest rank's. Its interval is that of the median over runs; of a ratio it is that of
//   the ratios, run by run, so that both parts are of the same moment.
// - Communication overhead: the part of a step in which a rank only communicates. Communication efficiency: the rest.
// - Compute utilisation: a step that communicates nothing by a step, all ranks at once: how much of the time a rank
//   computes. (How good it computes is another question: ./commlab device.)
// - Scaling efficiency: N ranks with the batch of one each, against one rank: its step by theirs.

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/report/training/format.h"
#include "cmd/report/training/run.h"
#include "core/base/err.h"
#include "core/base/files/output.h"
#include "core/base/stats.h"
#include "core/base/files/table.h"
#include "core/base/text.h"
#include "core/base/units.h"

enum { MOST_FIELDS = 48, HOW = 400, MOST_LISTED = 12 };

struct field {
    const char *group, *name, *unit;
    char text[96]; // a value that is no number; "": it is one
    double value, low, high, predicted;
    bool is_not; // measured: `how` says why
    char how[HOW];
};

struct fields {
    const struct training *training;
    const struct training_prediction *prediction;
    const char *group;
    struct field fields[MOST_FIELDS];
    int n;
};

// ---- adding a field ------------------------------------------------------------------------------------------

static struct field *add(struct fields *f, const char *name, const char *unit)
{
    struct field *field = &f->fields[f->n++];
    *field = (struct field){.group = f->group, .name = name, .unit = unit, .value = NAN, .low = NAN, .high = NAN,
                            .predicted = NAN};
    return field;
}

__attribute__((format(printf, 2, 3))) static void set_how(struct field *field, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    vsnprintf(field->how, HOW, format, values);
    va_end(values);
}

static void set_not(struct field *field, const char *because)
{
    field->is_not = true;
    set_how(field, "not measured, because %s", because);
}

static void add_text(struct fields *f, const char *name, const char *value, const char *how)
{
    struct field *field = add(f, name, "");
    snprintf(field->text, sizeof field->text, "%s", value);
    set_how(field, "%s", how);
}

static void add_count(struct fields *f, const char *name, double value, const char *unit, const char *how)
{
    struct field *field = add(f, name, unit);
    field->value = value;
    set_how(field, "%s", how);
}

// ---- from runs to values -------------------------------------------------------------------------------------

static const struct lab_series *series(const struct fields *f, int ranks, const char *quantity)
{
    return lab_results_find(&f->training->results, LAB_AFTER, ranks, quantity);
}

static void summarize(struct field *field, const double samples[], int n)
{
    struct clab_summary summary;
    if (n < 1 || clab_summarize(samples, n, &summary)) {
        set_not(field, "the run did not report it");
        return;
    }
    field->value = summary.median;
    field->low = n > 1 ? summary.low : NAN;
    field->high = n > 1 ? summary.high : NAN;
}

// What the runs of all ranks report under that name.
static struct field *add_quantity(struct fields *f, const char *name, const char *quantity, double predicted)
{
    const struct lab_series *s = series(f, f->training->ranks, quantity);
    struct field *field = add(f, name, s ? s->unit : "s");
    summarize(field, s ? s->samples : NULL, s ? s->n : 0);
    field->predicted = predicted;
    return field;
}

// A number of two quantities of the same run.
typedef double combine(const struct fields *f, double a, double b);

static struct field *add_combined(struct fields *f, const char *name, const char *unit, combine *call, const char *a,
                                  int ranks_a, const char *b, int ranks_b, double predicted)
{
    const struct lab_series *x = series(f, ranks_a, a), *y = series(f, ranks_b, b);
    struct field *field = add(f, name, unit);
    const int n = x && y ? (x->n < y->n ? x->n : y->n) : 0;
    double *values = calloc((size_t)n + 1, sizeof *values);
    for (int i = 0; values && i < n; i++)
        values[i] = call(f, x->samples[i], y->samples[i]);
    summarize(field, values, values ? n : 0);
    field->predicted = predicted;
    free(values);
    return field;
}

static double part(const struct fields *f, double a, double b)
{
    (void)f;
    return 100 * a / b;
}

static double rest(const struct fields *f, double a, double b)
{
    return 100 - part(f, a, b);
}

static double hidden(const struct fields *f, double exposed, double buckets)
{
    return fmax(0, rest(f, exposed, buckets));
}

static double rate_of(const struct fields *f, double bytes, double seconds)
{
    (void)f;
    return bytes / seconds;
}

static double samples_per_second(const struct fields *f, double step, double unused)
{
    (void)unused;
    return (double)f->training->ranks * f->training->rows * f->training->repeat / step;
}

// ---- the link ------------------------------------------------------------------------------------------------

// Seconds per byte of a large message over the link: of the named network, or of this machine's profile. NAN: neither is
// there, and each run's own message counts.
static double link_cost(const struct fields *f)
{
    const struct training *t = f->training;
    const struct lab_series *bytes = series(f, t->ranks, "message_bytes");
    if (!t->context.net || !bytes)
        return NAN;
    const double big = lab_series_median(bytes);
    return lab_predict_message(t->context.net, 0, t->ranks - 1, (size_t)big) / big;
}

static double own_cost(const struct fields *f, int run)
{
    const struct lab_series *message = series(f, f->training->ranks, "message");
    const struct lab_series *bytes = series(f, f->training->ranks, "message_bytes");
    return message && bytes && run < message->n && run < bytes->n ? message->samples[run] / bytes->samples[run] : NAN;
}

static const char *link_name(const struct training *t)
{
    return !t->context.net                                  ? "its own message of the same run"
           : t->context.is_exact || t->context.is_delayed ? t->nets.name
                                                            : "this machine's profile";
}

// Each run: the bytes that its busiest rank sends per step, at the rate of the link, by the time of the step. How much of
// the step the link is in use.
static void add_utilisation(struct fields *f)
{
    const struct training *t = f->training;
    const struct lab_series *sent = series(f, t->ranks, "sent"), *step = series(f, t->ranks, "step");
    const double cost = link_cost(f);
    struct field *field = add(f, "network_utilization", "%");
    char runs[200];
    struct clab_text text = clab_text_begin(runs, sizeof runs);
    const int n = sent && step ? (sent->n < step->n ? sent->n : step->n) : 0;
    double *values = calloc((size_t)n + 1, sizeof *values);
    for (int i = 0; values && i < n; i++) {
        values[i] = 100 * sent->samples[i] * (isnan(cost) ? own_cost(f, i) : cost) / step->samples[i];
        if (i < MOST_LISTED)
            clab_text_add(&text, "%s%.3g", i ? ", " : "", values[i]);
    }
    if (n > MOST_LISTED)
        clab_text_add(&text, " and %d more", n - MOST_LISTED);
    if (values && n > 0 && sent->samples[0] > 0)
        summarize(field, values, n);
    free(values);
    if (isnan(field->value))
        set_not(field, "the library's own collectives do not say how many bytes they send");
    else
        set_how(field, "of each run, its bytes per step and rank at the rate of %s, by its step; by run: %s %%", link_name(t),
                runs);
}

// ---- groups --------------------------------------------------------------------------------------------------

// In virtual time the network says how many ranks a node has.
static int count_nodes(const struct training *t)
{
    const int each = t->context.is_exact ? t->nets.net->ranks_per_node : 0;
    return each > 0 ? (t->ranks + each - 1) / each : 1;
}

static size_t model_bytes(const struct training *t)
{
    return clab_mlp_count(&t->shape) * sizeof(float);
}

static void add_setting(struct fields *f)
{
    const struct training *t = f->training;
    char text[96];
    f->group = "distributed_training_analysis";
    add_count(f, "number_of_ranks", t->ranks, "1",
              t->context.is_exact   ? "in virtual time"
              : t->backend->bounces ? "GPUs, one per rank"
                                    : "processes; no GPU computes");
    if (!t->context.is_exact)
        add_count(f, "cores", t->cores, "1",
                  t->ranks > t->cores ? "more ranks than cores: they take turns" : "that the ranks may use");
    add_count(f, "number_of_nodes", count_nodes(t), "1",
              t->context.is_exact    ? "of the described network"
              : t->request->emulate ? "one host; the emulated wire lies between any two ranks"
                                     : "all ranks are on this host");
    add_text(f, "communication_backend", t->backend->name, t->context.is_exact ? "virtual time of a described network" : "");
    if (t->request->emulate)
        add_text(f, "emulated_network", t->nets.name, "messages take as long as on it");
    snprintf(text, sizeof text, "%d layers of %d x %d and %d, float32", TRAINING_LAYERS, t->width, t->width, t->width);
    add_count(f, "model_size", (double)clab_mlp_count(&t->shape), "parameters", text);
    add_count(f, "gradients", (double)model_bytes(t), "B", "per step and rank");
    add_count(f, "batch", (double)t->rows * t->repeat, "samples", "per rank and step");
}

static void add_performance(struct fields *f)
{
    const struct training_prediction *p = f->prediction;
    f->group = "communication_performance";
    set_how(add_quantity(f, "all_reduce_time", "allreduce", p->allreduce), "all gradients in one call, ranks do nothing else");
    set_how(add_quantity(f, "broadcast_time", "broadcast", p->broadcast), "all parameters from rank 0");
    set_how(add_quantity(f, "barrier_time", "barrier", p->barrier), "no data");
    set_how(add_combined(f, "communication_efficiency", "%", rest, "exposed", f->training->ranks, "step",
                         f->training->ranks, 100 - 100 * p->exposed / p->step),
            "the part of a step in which a rank does not wait for communication");
    set_how(add_combined(f, "communication_hidden", "%", hidden, "exposed", f->training->ranks, "buckets",
                         f->training->ranks, fmax(0, 100 - 100 * p->exposed / p->buckets)),
            "of the buckets' time alone, what the backward pass covers");
}

static void add_nodes(struct fields *f)
{
    const struct training *t = f->training;
    const struct training_prediction *p = f->prediction;
    const char *one_host = t->context.is_exact ? "all ranks are in one node of the network"
                                               : "all ranks are on one host; --emulate 1gbe puts a network between them";
    const bool has_wire = t->request->emulate || count_nodes(t) > 1;
    const struct lab_series *bytes = series(f, t->ranks, "message_bytes");
    const double big = bytes ? lab_series_median(bytes) : NAN;
    char size[CLAB_TEXT];
    f->group = "multi_node_performance";
    if (has_wire) {
        set_how(add_quantity(f, "node_to_node_latency", "latency", p->latency), "half a round trip of 8 B, rank 0 and the last");
        set_how(add_combined(f, "inter_node_bandwidth", "B/s", rate_of, "message_bytes", t->ranks, "message", t->ranks,
                             big / p->message),
                "one message of %s, half a round trip", clab_size_text((size_t)(big > 0 ? big : 0), size));
    } else {
        set_not(add(f, "node_to_node_latency", "s"), one_host);
        set_not(add(f, "inter_node_bandwidth", "B/s"), one_host);
        set_how(add_quantity(f, "rank_to_rank_latency", "latency", p->latency), "half a round trip of 8 B, rank 0 and the last");
        set_how(add_combined(f, "rank_to_rank_bandwidth", "B/s", rate_of, "message_bytes", t->ranks, "message", t->ranks,
                             big / p->message),
                "one message of %s, half a round trip", clab_size_text((size_t)(big > 0 ? big : 0), size));
    }
    add_utilisation(f);
    set_how(add_combined(f, "communication_overhead", "%", part, "exposed", t->ranks, "step", t->ranks,
                         100 * p->exposed / p->step),
            "the part of a step in which a rank only communicates");
}

static void add_synchronisation(struct fields *f)
{
    const int ranks = f->training->ranks;
    f->group = "synchronization_analysis";
    set_how(add_quantity(f, "barrier_synchronization", "barrier", f->prediction->barrier),
            "one barrier, without data");
    set_how(add_quantity(f, "collective_operations", "buckets", f->prediction->buckets),
            "all buckets of a step one after another, alone");
    set_how(add_quantity(f, "process_coordination", "skew", NAN), "how much later the last rank has computed than the first");
    set_how(add_quantity(f, "communicator_setup", "setup", NAN), "once per run: finding the others, and connecting");
    set_how(add_combined(f, "synchronization_efficiency", "%", rest, "skew", ranks, "step", ranks, NAN),
            "the part of a step in which no rank waits for a slower one");
}

static void add_backends(struct fields *f)
{
    const struct training *t = f->training;
    double best = 0, own = NAN;
    f->group = "communication_backend_comparison";
    for (int i = 0; i < TRAINING_RIVALS; i++) {
        const struct training_rival *r = &t->rivals[i];
        struct field *field = add(f, r->title, "B/s");
        field->value = r->rate, field->low = r->low, field->high = r->high;
        field->is_not = *r->why;
        set_how(field, "%s", *r->why ? r->why : "bus bandwidth of an allreduce of the gradients, by its fastest algorithm");
        best = r->rate > best ? r->rate : best;
        own = strcmp(r->name, t->backend->name) ? own : r->rate;
    }
    struct field *efficiency = add(f, "backend_efficiency", "%");
    efficiency->value = 100 * own / best;
    if (isnan(efficiency->value))
        set_not(efficiency, "no backend of the table was");
    else
        set_how(efficiency, "the bandwidth of %s by the best of these", t->backend->name);
}

static void add_training(struct fields *f)
{
    const struct training *t = f->training;
    const struct training_prediction *p = f->prediction;
    const double samples = (double)t->ranks * t->rows * t->repeat;
    f->group = "distributed_training_performance";
    set_how(add_combined(f, "training_throughput", "samples/s", samples_per_second, "step", t->ranks, "step", t->ranks,
                         samples / p->step),
            "of all ranks together");
    set_how(add_quantity(f, "step_time", "step", p->step), "forward, backward, averages, update");
    set_how(add_quantity(f, "exposed_communication", "exposed", p->exposed), "of that, nothing hides it");
    set_how(add_combined(f, "communication_overhead", "%", part, "exposed", t->ranks, "step", t->ranks,
                         100 * p->exposed / p->step),
            "the exposed communication, by the step");
    set_how(add_combined(f, "compute_utilization", "%", part, "compute", t->ranks, "step", t->ranks, 100 * p->alone / p->step),
            "a step without communication, by a step");
    set_how(add_combined(f, "scaling_efficiency", "%", part, "compute", 1, "step", t->ranks, 100 * p->alone / p->step),
            "one rank's step by that of %d ranks, each with a batch as large", t->ranks);
    set_how(add_quantity(f, "loss", "loss", NAN), "after the first steps; replicas are equal, bit for bit");
}

// ---- files ---------------------------------------------------------------------------------------------------

static int add_row(struct clab_table *table, const struct field *field)
{
    char value[64];
    snprintf(value, sizeof value, "%.12g", field->value);
    const bool has_value = !field->is_not && (*field->text || isfinite(field->value));
    const struct clab_cell cells[] = {
        clab_cell_text(field->group),
        clab_cell_text(field->name),
        has_value ? clab_cell_text(*field->text ? field->text : value) : clab_cell_none(),
        clab_cell_text(field->unit),
        has_value ? clab_cell_real(field->low) : clab_cell_none(),
        has_value ? clab_cell_real(field->high) : clab_cell_none(),
        clab_cell_real(field->predicted),
        clab_cell_text(field->how),
    };
    return clab_table_add_row(table, cells);
}

static int write_csv(const struct fields *f, const char *path)
{
    static const struct clab_column columns[] = {
        CLAB_COLUMN(TEXT, "group"), CLAB_COLUMN(TEXT, "field"), CLAB_COLUMN(TEXT, "value"), CLAB_COLUMN(TEXT, "unit"),
        CLAB_COLUMN(REAL, "low"), CLAB_COLUMN(REAL, "high"), CLAB_COLUMN(REAL, "predicted"), CLAB_COLUMN(TEXT, "how"),
    };
    const struct training *t = f->training;
    struct clab_table table;
    struct clab_manifest m = {0};
    clab_table_init(&table, columns, sizeof columns / sizeof *columns);
    int err = clab_manifest_add(&m, "command", "%s", t->request->command ? t->request->command : "commlab report");
    err = err ? err : clab_manifest_add(&m, "pairs", "%d, by 1 rank and by %d", t->pairs, t->ranks);
    if (f->prediction->why)
        err = err ? err : clab_manifest_add(&m, "not predicted", "%s", f->prediction->why);
    if (!t->context.is_exact) {
        err = err ? err : clab_machine_describe_as(&t->machine, &m);
        err = err ? err : clab_machine_warn(&t->machine, t->ranks, &m);
    }
    for (int i = 0; i < f->n && !err; i++)
        err = add_row(&table, &f->fields[i]);
    if (!err)
        err = clab_table_write_csv(&table, &m, path);
    clab_manifest_free(&m);
    clab_table_free(&table);
    return err;
}

static void print_field(FILE *out, const struct field *field)
{
    char name[TRAINING_TEXT], value[TRAINING_TEXT], number[64];
    training_name_text(field->name, name);
    if (field->is_not) {
        fprintf(out, "  %-36s %s\n", name, field->how);
        return;
    }
    snprintf(number, sizeof number, "%.12g", field->value);
    training_value_text(*field->text ? field->text : number, field->unit, value);
    fprintf(out, "  %-36s %s", name, value);
    if (isfinite(field->low) && isfinite(field->high)) {
        char low[TRAINING_TEXT], high[TRAINING_TEXT];
        snprintf(number, sizeof number, "%.12g", field->low);
        training_value_text(number, field->unit, low);
        snprintf(number, sizeof number, "%.12g", field->high);
        training_value_text(number, field->unit, high);
        fprintf(out, " (%s to %s)", low, high);
    }
    if (isfinite(field->predicted) && field->predicted != field->value) {
        snprintf(number, sizeof number, "%.12g", field->predicted);
        training_value_text(number, field->unit, value);
        fprintf(out, "; predicted %s", value);
    }
    fprintf(out, "%s%s\n", *field->how ? ": " : "", field->how);
}

static void print(FILE *out, const struct fields *f)
{
    const struct training *t = f->training;
    fprintf(out, "A training run: %d ranks over %s. ", t->ranks, t->backend->name);
    if (t->context.is_exact)
        fputs("Virtual time: each run gives the same.\n", out);
    else
        fprintf(out, "In brackets is the %s of %d runs.\n",
                t->pairs < CLAB_INTERVAL_SAMPLES ? "range" : "95 % interval", t->pairs);
    if (f->prediction->why)
        fprintf(out, "Nothing of communication is predicted: %s.\n", f->prediction->why);
    for (int i = 0; i < f->n; i++) {
        char name[TRAINING_TEXT];
        if (!i || strcmp(f->fields[i].group, f->fields[i - 1].group)) {
            training_name_text(f->fields[i].group, name);
            fprintf(out, "\n%s\n", name);
        }
        print_field(out, &f->fields[i]);
    }
}

int training_fields_write(const struct training *t, const struct training_prediction *prediction, const char *csv,
                          const char *text)
{
    struct fields f = {.training = t, .prediction = prediction};
    struct clab_output output;
    add_setting(&f);
    add_performance(&f);
    add_nodes(&f);
    add_synchronisation(&f);
    add_backends(&f);
    add_training(&f);
    CLAB_TRY(write_csv(&f, csv));
    print(stdout, &f);
    CLAB_TRY(clab_output_open(text, &output));
    print(output.file, &f);
    return clab_output_close(&output);
}
