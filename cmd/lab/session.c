// SPDX-License-Identifier: MIT
// One lab: runs its before and after in pairs, and sets what was predicted beside what was measured.
//
// - The order of events: read lab.conf, load the network, probe, predict, measure in pairs, check, print, write, draw.
// - Pairs are interleaved, and every other one runs after first, so that a machine that warms up or slows down favours
//   neither.
// - What can go wrong without measuring is looked at first: an unknown lab, an output that can not be written.

#include "cmd/lab/lab.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/machine/machine.h"
#include "core/base/files/output.h"
#include "core/base/stats.h"
#include "core/base/variables.h"
#include "core/job/job.h"
#include "cmd/kit/kit.h"
#include "cmd/lab/yours.h"
#include "cmd/probe/placement.h"
#include "cmd/kit/progress.h"
#include "sim/net/net.h"

enum { PROBES = 3 }; // runs of each probe, of which the median counts

struct session {
    struct lab_request request;
    struct lab_conf conf;
    struct lab_context context;
    struct clab_machine machine; // as it was before we began
    struct lab_setting setting;
    struct lab_results probe, results;
    struct lab_nets nets, before_nets; // before_nets: where before's network is another
    bool has_usual_wire;               // the emulated wire is lab.conf's
    const char *plain_why;             // why the effect is small here, without that wire; NULL: nothing to say
    const char *root, *build;          // folders of the kit, and of what was built
    char *log, *csv, *figure;
    struct lab_yours yours; // what the student predicted
};

// ---- before measuring ----------------------------------------------------------------------------------------

// In build/plots, or beside the results if these go elsewhere.
static int name_figure(struct session *s)
{
    char file[4096 + 256], *made;
    CLAB_TRY(kit_made(&made));
    const int used = s->request.results ? snprintf(file, 4096, "%s", s->request.results)
                                        : snprintf(file, 4096, "%s/plots", made);
    free(made);
    if (used >= 4096)
        return CLAB_EINVAL;
    snprintf(file + used, sizeof file - (size_t)used, "/%.32s-%.32s-%.128s-%d", s->conf.id, s->setting.backend,
             s->nets.name, s->conf.ranks);
    return kit_figure_path(file, &s->figure);
}

static int name_files(struct session *s)
{
    char folder[PATH_MAX + 16], home[PATH_MAX], *made;
    CLAB_TRY(kit_home(s->root, home));
    CLAB_TRY(kit_made(&made));
    snprintf(folder, sizeof folder, "%s/labs/%s", made, s->conf.folder);
    free(made);
    CLAB_TRY(kit_make_folder(folder));
    if (asprintf(&s->log, "%s/run.log", folder) < 0)
        return CLAB_ENOMEM;
    if (s->request.results)
        snprintf(folder, sizeof folder, "%s", s->request.results);
    else
        snprintf(folder, sizeof folder, "%s/results", home);
    CLAB_TRY(kit_make_folder(folder));
    CLAB_TRY(name_figure(s));
    if (asprintf(&s->csv, "%s/%s-%s-%s-%d.csv", folder, s->conf.id, s->setting.backend, s->nets.name, s->conf.ranks) < 0)
        return CLAB_ENOMEM;
    return clab_output_announce(s->csv);
}

// With an exact clock many ranks share this machine's memory, of which a program by hand wants P buffers a rank.
static void leave_out_what_is_too_large(struct session *s)
{
    static const double most = 2.0 * (1 << 30);
    struct lab_words *sizes = &s->conf.sizes;
    const double pairs = (double)s->conf.ranks * s->conf.ranks;
    const int before = sizes->count;
    while (sizes->count > 1 && pairs * atof(sizes->words[sizes->count - 1]) > most)
        free(sizes->words[--sizes->count]);
    if (sizes->count < before)
        printf("# %d ranks by %d buffers each: sizes above %s B are left out; --sizes asks for them\n", s->conf.ranks,
               s->conf.ranks, sizes->words[sizes->count - 1]);
}

static int find_backend(const struct session *s, const struct clab_backend **backend_p)
{
    const char *name;
    CLAB_TRY(lab_request_backend(&s->request, &s->conf, &name));
    if (!(*backend_p = clab_backend_find(name)))
        return s->request.backend ? CLAB_EINVAL : CLAB_EUNSUPPORTED; // it has been said what there is
    if (!(*backend_p)->time->is_exact || !s->request.emulate)
        return CLAB_OK;
    clab_error("lab: --emulate %s: the backend sim has a network of its own; say --net %s instead", s->request.emulate,
               s->request.emulate);
    return CLAB_EINVAL;
}

// What before runs on. Its network is loaded first, since what is loaded last is simulated unless a program is told.
static int prepare_before(struct session *s, const struct clab_backend *backend)
{
    struct lab_request request = s->request;
    CLAB_TRY(lab_request_before(&s->conf, backend->name, &s->context.before_backend));
    if (!clab_backend_find(s->context.before_backend))
        return CLAB_EUNSUPPORTED; // it has been said why
    if (s->conf.before_net) {
        request.net = backend->time->is_exact ? s->conf.before_net : NULL;
        request.emulate = backend->time->is_exact ? NULL : s->conf.before_net;
        CLAB_TRY(lab_nets_load(&request, backend, &s->before_nets));
        clab_variable_set(CLAB_VARIABLE_NET, NULL); // that one is before's alone
        s->context.before_net = s->before_nets.net;
    }
    return lab_nets_load(&s->request, backend, &s->nets);
}

static void name_run(char out[PREDICTION_WHERE], const char *text)
{
    snprintf(out, PREDICTION_WHERE, "%s", text ? text : "");
}

// The student's predictions of this very run.
static int find_yours(struct session *s, const struct clab_backend *backend)
{
    struct lab_yours_run run = {.run.ranks = s->conf.ranks,
                                .is_swept = !s->request.no_sweep,
                                .is_other = lab_request_is_other(&s->request)};
    name_run(run.run.backend, backend->name);
    name_run(run.run.net, s->request.net ? s->request.net : backend->time->net(NULL));
    name_run(run.run.emulate, s->request.emulate);
    return lab_yours_open(s->root, &s->conf, &run, &s->yours);
}

static int prepare(struct session *s, const char *folder)
{
    struct lab_conf *conf = &s->conf;
    struct lab_context *context = &s->context;
    const struct clab_backend *backend;
    CLAB_TRY(lab_conf_load(s->root, folder, conf));
    CLAB_TRY(find_backend(s, &backend));
    CLAB_TRY(lab_conf_use(conf, backend->name));
    s->has_usual_wire = lab_request_usual_wire(&s->request, conf, backend);
    s->plain_why = strcmp(backend->name, "shm") || s->request.emulate ? NULL : conf->plain_why; // of shared memory
    CLAB_TRY(s->request.emulate ? lab_conf_use(conf, "emulate") : CLAB_OK);
    CLAB_TRY(lab_request_apply(&s->request, conf));
    context->is_exact = backend->time->is_exact;
    lab_request_usual_net(&s->request, conf, backend);
    context->is_delayed = s->request.emulate;
    context->has_nap = backend->nap;
    if (context->is_exact)
        conf->pairs = conf->sweep_pairs = 1; // one is as another, however many are asked for
    if (context->is_exact && !s->request.sizes && conf->model->has_buffer_per_peer)
        leave_out_what_is_too_large(s);
    CLAB_TRY(find_yours(s, backend)); // before the networks are loaded, which sets CLAB_NET
    CLAB_TRY(prepare_before(s, backend));
    s->setting = (struct lab_setting){
        s->build, backend->name, s->request.emulate, context->before_backend, backend->time->is_exact, conf, NULL};
    CLAB_TRY(name_files(s));
    s->setting.log = s->log;
    context->conf = conf;
    context->net = s->nets.net;
    context->machine = s->nets.machine;
    context->probe = &s->probe;
    context->ranks = conf->ranks;
    context->cores = clab_cores();
    clab_machine_read(&s->machine);
    unlink(s->log);
    return lab_yours_lock(&s->yours);
}

// ---- measuring -----------------------------------------------------------------------------------------------

// Over a delayed wire the cores' placement does not matter. A library that starts its ranks itself would start us
// anew.
static bool wants_latency(const struct session *s, const char *backend)
{
    return !s->context.is_exact && !s->context.is_delayed && !clab_backend_find(backend)->launcher;
}

static int measure_program(struct session *s, enum lab_program program, int ranks, const struct lab_words *iterations)
{
    const char *backend = program == LAB_BEFORE ? s->setting.before_backend : s->setting.backend;
    if (wants_latency(s, backend))
        CLAB_TRY(lab_latency_probe(backend, program, ranks, &s->probe));
    return lab_run(&s->setting, program, ranks, iterations, &s->results);
}

static int measure_pairs(struct session *s, int ranks, const struct lab_words *iterations, int pairs)
{
    for (int i = 0; i < pairs; i++) {
        const enum lab_program first = i % 2 ? LAB_AFTER : LAB_BEFORE;
        kit_progress("lab %s: %d ranks, pair %d of %d", s->conf.id, ranks, i + 1, pairs);
        CLAB_TRY(measure_program(s, first, ranks, iterations));
        CLAB_TRY(measure_program(s, !first, ranks, iterations));
    }
    kit_progress_clear();
    return CLAB_OK;
}

static int measure(struct session *s)
{
    const struct lab_conf *conf = &s->conf;
    const int times = s->context.is_exact ? 1 : PROBES, probes = times * conf->probe_ranks.count;
    for (int i = 0; i < probes; i++) {
        kit_progress("lab %s: short runs for the prediction, %d of %d", conf->id, i + 1, probes);
        for (int program = LAB_BEFORE; program <= LAB_AFTER; program++)
            if (lab_conf_probes(conf, program))
                CLAB_TRY(lab_run(&s->setting, program, atoi(conf->probe_ranks.words[i / times]),
                                 &conf->probe_iterations, &s->probe));
    }
    CLAB_TRY(measure_pairs(s, conf->ranks, &conf->iterations, conf->pairs));
    for (int i = 0; i < conf->sweep.count && !s->request.no_sweep; i++)
        if (atoi(conf->sweep.words[i]) != conf->ranks)
            CLAB_TRY(measure_pairs(s, atoi(conf->sweep.words[i]), &conf->sweep_iterations, conf->sweep_pairs));
    return lab_check_equal(conf, &s->results);
}

// ---- after measuring -----------------------------------------------------------------------------------------

// The least seconds a byte: each rank writes its result once, at the fastest copy that the network's cores know.
static double limit_seconds_per_byte(const struct lab_context *context)
{
    double least = INFINITY;
    for (int i = 0; context->net && i < context->net->nlevels; i++)
        least = fmin(least, context->net->levels[i].copy[CLAB_ALONE]);
    return least * fmax(1, (double)context->ranks / context->cores);
}

// Where the cores were, whether they stayed there, and whether the profile knows that placement.
static int describe_placement(const struct session *s, struct clab_manifest *m)
{
    const struct lab_series *latency = lab_results_find(&s->probe, LAB_AFTER, s->conf.ranks, "latency");
    struct clab_summary summary;
    if (!latency)
        return CLAB_OK; // over a delayed wire
    CLAB_TRY(clab_summarize(latency->samples, latency->n, &summary));
    CLAB_TRY(clab_manifest_add(m, "line", "%.3g ns between two cores, %.3g to %.3g ns meanwhile", 1e9 * summary.median,
                               1e9 * summary.min, 1e9 * summary.max));
    if (!probe_is_same(clab_quantile(latency->samples, latency->n, 0.25),
                       clab_quantile(latency->samples, latency->n, 0.75)))
        return clab_manifest_add(m, "warning", "the measurement was disturbed: the hypervisor moved this VM's CPUs during the run, so run "
                                 "again");
    const double known =
        s->nets.net ? clab_net_placed(s->nets.net, (struct clab_placement_sample){.line = summary.median})->probed.line
                    : 0;
    if (known > 0 && !probe_is_same(summary.median, known))
        return clab_manifest_add(m, "warning",
                                 "the latency between the cores is %.3g ns, and was %.3g ns when the profile was "
                                 "measured: predictions are off; `commlab fit` measures the profile anew",
                                 1e9 * summary.median, 1e9 * known);
    return CLAB_OK;
}

static bool is_swept(const struct session *s)
{
    bool others = false;
    for (int i = 0; i < s->conf.sweep.count; i++)
        others |= atoi(s->conf.sweep.words[i]) != s->conf.ranks;
    return others && !s->request.no_sweep;
}

// Of few pairs low..high is their range, which covers with less than 95 % (base/stats.h).
static int describe_pairs(const struct session *s, struct clab_manifest *m)
{
    const int pairs = s->conf.pairs, swept = is_swept(s) ? s->conf.sweep_pairs : CLAB_INTERVAL_SAMPLES;
    if (is_swept(s))
        CLAB_TRY(clab_manifest_add(m, "sweep_pairs", "%d", swept));
    if (pairs == 1)
        return clab_manifest_add(m, "warning", "1 pair: single values, not 95 %% intervals");
    if (pairs < CLAB_INTERVAL_SAMPLES)
        return clab_manifest_add(m, "warning", "%d pairs: ranges, not 95 %% intervals", pairs);
    if (swept < CLAB_INTERVAL_SAMPLES)
        return clab_manifest_add(m, "warning", "%d pair%s at other numbers of ranks: %s there, not 95 %% intervals",
                                 swept, swept > 1 ? "s" : "", swept > 1 ? "ranges" : "single values");
    return CLAB_OK;
}

static int describe(const struct session *s, struct clab_manifest *m)
{
    const struct lab_conf *conf = &s->conf;
    const double limit = limit_seconds_per_byte(&s->context);
    CLAB_TRY(clab_manifest_add(m, "lab", "%s: %s", conf->id, conf->title));
    CLAB_TRY(clab_manifest_add(m, "command", "%s", s->request.command));
    if (s->context.is_exact) { // nothing that differs from one run to the next
        CLAB_TRY(clab_manifest_add(m, "machine", "none: virtual time, the same on every machine"));
        CLAB_TRY(clab_manifest_add(m, "time", "virtual, of the network"));
        CLAB_TRY(clab_machine_describe_build(m));
    } else {
        CLAB_TRY(clab_machine_describe(m));
    }
    CLAB_TRY(clab_manifest_add(m, "pairs", "%d", conf->pairs));
    for (int i = 0; i < conf->sizes.count; i++)
        CLAB_TRY(clab_manifest_add(m, "bytes", "%s", conf->sizes.words[i]));
    for (int i = 0; i < conf->options.count; i++)
        CLAB_TRY(clab_manifest_add(m, "option", "%s", conf->options.words[i]));
    CLAB_TRY(clab_manifest_add(m, "net", "%s", s->nets.name));
    if (s->context.is_delayed)
        CLAB_TRY(clab_manifest_add(m, "emulate", "%s", s->nets.name));
    if (s->plain_why)
        CLAB_TRY(clab_manifest_add(m, "plain", "%s", s->plain_why));
    if (s->context.is_exact)
        return CLAB_OK;
    CLAB_TRY(describe_pairs(s, m));
    CLAB_TRY(describe_placement(s, m));
    if (isfinite(limit))
        CLAB_TRY(clab_manifest_add(m, "limit_seconds_per_byte", "%.4g", limit));
    if (!s->nets.net && !conf->before_backends.count) // else probes predict
        CLAB_TRY(clab_manifest_add(m, "warning", "times are not predicted: %s", s->nets.why));
    if (s->context.is_delayed && !s->nets.machine)
        CLAB_TRY(clab_manifest_add(m, "warning", "predicted by the wire alone: %s", s->nets.why));
    return clab_machine_warn(&s->machine, conf->ranks, m);
}

// A line each: in the manifest there is "; " between them.
static void print_warnings(const char *warnings)
{
    for (const char *end; warnings; warnings = end ? end + 2 : NULL) {
        end = strstr(warnings, "; ");
        printf("# warning: %.*s\n", (int)(end ? end - warnings : (long)strlen(warnings)), warnings);
    }
}

static void print_heading(const struct session *s, const struct clab_manifest *manifest)
{
    const struct lab_conf *conf = &s->conf;
    const char *warning = clab_manifest_get(manifest, "warning");
    printf("# lab %s: %s\n", conf->id, conf->title);
    if (s->context.is_exact)
        printf("# %d ranks in virtual time on %s, which also predicts\n", conf->ranks, s->nets.name);
    else
        printf("# %d ranks on %d cores, backend %s%s, %d pair%s of runs; predicted by: %s\n", conf->ranks,
               s->context.cores, s->setting.backend, s->context.is_delayed ? " with an emulated wire" : "", conf->pairs,
               conf->pairs == 1 ? "" : "s", s->nets.net || !conf->before_backends.count ? s->nets.name : "short runs of both");
    if (s->has_usual_wire)
        printf("# messages take as long as on the network %s; `--emulate none` measures without that\n", s->nets.name);
    if (s->plain_why)
        printf("# without an emulated wire: %s\n", s->plain_why);
    if (conf->before_net)
        printf("# before: on %s\n", s->before_nets.name);
    else if (strcmp(s->setting.before_backend, s->setting.backend) != 0)
        printf("# before: on backend %s\n", s->setting.before_backend);
    if (conf->not_measured)
        printf("# not measured: %s\n", conf->not_measured);
    print_warnings(warning);
}

// Who moves what is started, where that is what the lab is about.
static int describe_progress(const struct session *s, struct clab_manifest *m)
{
    const char *why;
    const enum clab_progress_kind kind = lab_progress(&s->context, s->conf.ranks, &why);
    if (!lab_conf_quantity(&s->conf, "overlap"))
        return CLAB_OK;
    printf("# progress beside computation: %s (%s)%s\n", clab_progress_name(kind), why,
           kind == CLAB_PROGRESS_MANUAL ? ", so expect little overlap or none" : "");
    return clab_manifest_add(m, "progress", "%s: %s", clab_progress_name(kind), why);
}

static int tell_with(struct session *s, struct clab_manifest *manifest)
{
    CLAB_TRY(describe(s, manifest));
    print_heading(s, manifest);
    CLAB_TRY(describe_progress(s, manifest));
    CLAB_TRY(lab_table_print(&s->context, &s->results));
    CLAB_TRY(lab_yours_print(&s->yours, &s->context, &s->results));
    CLAB_TRY(lab_table_write(&s->context, &s->results, s->setting.backend, s->nets.name, manifest, s->csv));
    CLAB_TRY(lab_yours_write(&s->yours, &s->conf, s->csv));
    printf("# data: %s\n", kit_relative(s->csv));
    return CLAB_OK;
}

static int tell(struct session *s)
{
    struct clab_manifest manifest = {0};
    const int err = tell_with(s, &manifest);
    clab_manifest_free(&manifest);
    return err;
}

static int draw(const struct session *s)
{
    char script[256];
    snprintf(script, sizeof script, "labs/%s/plot.gp", s->conf.folder);
    const int err = kit_plot(s->root, script, s->csv, s->figure);
    if (!err)
        printf("# figure: %s.svg and .png\n", kit_relative(s->figure));
    return err == CLAB_EUNSUPPORTED ? CLAB_OK : err; // no gnuplot: it has been said, and the data is there
}

// ---- all of it -----------------------------------------------------------------------------------------------

static int run_lab(struct session *s, const char *folder)
{
    CLAB_TRY(prepare(s, folder));
    CLAB_TRY(measure(s));
    CLAB_TRY(tell(s));
    return s->request.no_plot ? CLAB_OK : draw(s);
}

static void session_free(struct session *s)
{
    clab_variable_set(CLAB_VARIABLE_NET, NULL); // the text may be conf's
    lab_results_free(&s->probe);
    lab_results_free(&s->results);
    lab_conf_free(&s->conf);
    lab_nets_free(&s->nets);
    lab_nets_free(&s->before_nets);
    lab_yours_free(&s->yours);
    free(s->log);
    free(s->csv);
    free(s->figure);
}

int lab_session(const struct lab_request *request, const char *root, const char *build, const char *folder)
{
    struct session session = {.request = *request, .root = root, .build = build};
    const int err = run_lab(&session, folder);
    session_free(&session);
    return err;
}
