// SPDX-License-Identifier: MIT
// From samples to profiles.
//
// A hypervisor moves a virtual machine's cores (cmd/probe/placement.h). We sort samples of shared memory by placement.
// If a task has samples during which no neighbour slowed a core, only these count. We scale them to one speed. If every
// probe ran in two placements, there are two profiles, and the first names the second. A wire has one profile, of samples
// at one pace of the cores (session.h).

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/base/machine/called.h"
#include "core/base/log.h"
#include "core/base/files/output.h"
#include "core/base/stats.h"
#include "core/base/units.h"
#include "cmd/fit/session.h"
#include "cmd/probe/placement.h"

enum {
    RANKS = 2,
    RANKS_PER_NODE = 1024,
    FAR = 6
}; // FAR: the latency probe may take this many times as long in another placement

// The samples of one placement of the cores.
struct placement {
    struct clab_placement_sample probed; // while the cores were at their fastest; zeros: no placement sample
    int nrounds;                         // samples that nearly every task has
    int ntasks;
    int lacking; // tasks without a sample here: we take interrupted ones, or those of another placement
    struct clab_sample
        *samples; // (nrounds, ntasks): medians of those that have more; those that have fewer repeat theirs
    struct clab_fit fit;
    double noise; // 0: not known, of too few rounds
};

// ---- samples -------------------------------------------------------------------------------------------------

static bool is_of(const struct fit_record *record, const struct clab_placements *all, int which, int i)
{
    return clab_fit_placement_of(all, record->all_probed[i].fresh) == which;
}

static double factor_of(double mark, double placement)
{
    return mark > placement ? mark / placement : mark > 0 ? placement / mark : INFINITY;
}

// The task's sample that is nearest to the placement.
static int nearest_of(const struct fit_record *record, double mark, int task)
{
    int nearest = task;
    for (int k = task; k < record->nrounds * record->ntasks; k += record->ntasks)
        if (factor_of(record->all_probed[k].fresh, mark) < factor_of(record->all_probed[nearest].fresh, mark))
            nearest = k;
    return nearest;
}

// The samples of a task that count in one placement: those with the cores at their fastest, if there are any.
enum counts { THE_NEAREST, ALL_THERE, THE_FASTEST };

static enum counts counts_of(const struct fit_record *record, const struct clab_placements *all, int which,
                             double least, int task)
{
    enum counts counts = THE_NEAREST;
    for (int k = task; k < record->nrounds * record->ntasks; k += record->ntasks)
        if (is_of(record, all, which, k)) {
            if (probe_is_calm(record->all_probed[k].call, least))
                return THE_FASTEST;
            counts = ALL_THERE;
        }
    return counts;
}

static bool is_taken(const struct fit_record *record, const struct clab_placements *all, int which, double least,
                     int task, int i)
{
    switch (counts_of(record, all, which, least, task)) {
    case THE_NEAREST: return i == nearest_of(record, all->mark[which], task);
    case ALL_THERE: return is_of(record, all, which, i);
    case THE_FASTEST: return is_of(record, all, which, i) && probe_is_calm(record->all_probed[i].call, least);
    }
    return false;
}

// A placement with its cores at their fastest: the median of the latency probe, and the time of a call.
static int look_of(const struct fit_record *record, const struct clab_placements *all, int which,
                   struct clab_placement_sample *probed_p)
{
    const int n = record->nrounds * record->ntasks;
    double least;
    CLAB_TRY(fit_fastest_calls(record, all, which, &least));
    double *room = malloc((size_t)n * sizeof *room);
    int calm = 0;
    if (!room)
        return CLAB_ENOMEM;
    for (int i = 0; i < n; i++)
        if (is_of(record, all, which, i) && probe_is_calm(record->all_probed[i].call, least))
            room[calm++] = record->all_probed[i].line;
    *probed_p = (struct clab_placement_sample){clab_quantile(room, calm, 0.5), all->mark[which], least};
    free(room);
    return CLAB_OK;
}

// How many times as long as usual something took. If that is beyond `most`, which is more than placements differ by, or
// not known, the placement sample itself was disturbed.
static double factor_seen(double seen, double usual, double most)
{
    const double factor = seen / usual;
    return factor <= most && factor * most >= 1 ? factor : 1;
}

// Sample `i`, scaled to the speed of `probed`: calls by the time of calls, messages and memory by the latency probe.
static double at_pace(const struct fit_session *s, const struct fit_record *record, int i,
                      struct clab_placement_sample probed)
{
    const struct clab_sample *sample = &record->samples[i];
    const struct clab_placement_sample seen = record->all_probed[i];
    const double core = factor_seen(seen.call, probed.call, 2), way = factor_seen(seen.line, probed.line, 2);
    const int messages = sample->probe == CLAB_PROBE_LANES ? CLAB_FIT_LANES : 1; // with a call behind them
    const double call = fmin(seen.call / messages, sample->seconds);
    if (sample->level)
        return sample->seconds / clab_net_pace(way, sample->level, s->machine.l2_bytes);
    switch (sample->probe) {
    case CLAB_PROBE_CALL:
    case CLAB_PROBE_STAGES:
    case CLAB_PROBE_LANED: return sample->seconds / core;
    case CLAB_PROBE_ANSWER:
    case CLAB_PROBE_LANES:
    case CLAB_PROBE_STREAM:
    case CLAB_PROBE_REDUCE:
    case CLAB_PROBE_EXCHANGE: return call / core + (sample->seconds - call) / way;
    default: return sample->seconds / way;
    }
}

// How many times longer sample `i`, of another placement, took than it would take there. That is better than no sample:
// messages wait for cache lines, and fresh data in a cache comes as cache lines.
static double way_of(const struct fit_session *s, const struct fit_record *record, int i,
                     struct clab_placement_sample probed)
{
    const struct clab_sample *sample = &record->samples[i];
    if (!sample->level)
        return factor_seen(record->all_probed[i].line, probed.line, FAR);
    const bool comes = sample->touch == CLAB_FRESH && sample->level <= s->machine.l3_bytes;
    return comes ? factor_seen(record->all_probed[i].fresh, probed.fresh, FAR) : 1;
}

// What is known of one task in a placement.
struct task_samples {
    double *seconds; // (n)
    int n;
    bool is_there; // else it is of another placement
};

static void find_placed(const struct fit_session *s, const struct fit_record *record, const struct clab_placements *all,
                        int which, struct clab_placement_sample probed, int task, struct task_samples *found)
{
    for (int i = task; i < record->ntasks * record->nrounds; i += record->ntasks)
        if (is_taken(record, all, which, probed.call, task, i)) {
            const bool is_there = is_of(record, all, which, i);
            found->is_there |= is_there;
            found->seconds[found->n++] =
                is_there ? at_pace(s, record, i, probed) : record->samples[i].seconds / way_of(s, record, i, probed);
        }
}

// On a wire: the samples at one pace of the cores; if there are none, all.
static void find_at_pace(const struct fit_record *record, struct fit_pace pace, int task, struct task_samples *found)
{
    found->is_there = true;
    for (int all = 0; all < 2 && found->n == 0; all++)
        for (int i = task; i < record->ntasks * record->nrounds; i += record->ntasks)
            if (fit_pace_has(&pace, record, i) || (all && record->samples[i].seconds > 0))
                found->seconds[found->n++] = record->samples[i].seconds;
}

// What nine tasks of ten have: the number of rounds.
static int common_rounds(const struct task_samples *tasks, int ntasks, double *room)
{
    for (int i = 0; i < ntasks; i++)
        room[i] = tasks[i].is_there ? tasks[i].n : 1;
    return (int)clab_quantile(room, ntasks, 0.1);
}

// The median of each nrounds-th sample from `round` on.
static double round_of(const struct task_samples *task, int round, int nrounds, double *room)
{
    int n = 0;
    for (int i = round % task->n; i < task->n; i += nrounds)
        room[n++] = task->seconds[i];
    return clab_quantile(room, n, 0.5);
}

static int fill(const struct fit_record *record, const struct task_samples *tasks, double *room, struct placement *p)
{
    p->ntasks = record->ntasks;
    p->nrounds = common_rounds(tasks, p->ntasks, room);
    p->samples = malloc((size_t)(p->ntasks * p->nrounds) * sizeof *p->samples);
    if (!p->samples)
        return CLAB_ENOMEM;
    for (int task = 0; task < p->ntasks; task++) {
        p->lacking += !tasks[task].is_there;
        for (int i = 0; i < p->nrounds; i++) {
            p->samples[i * p->ntasks + task] = record->samples[task];
            p->samples[i * p->ntasks + task].seconds = round_of(&tasks[task], i, p->nrounds, room);
        }
    }
    return CLAB_OK;
}

// all: NULL on a wire
static int take_placed(const struct fit_session *s, const struct fit_record *record, const struct clab_placements *all,
                       int which, struct placement *p)
{
    const int n = record->ntasks, rounds = record->nrounds;
    struct task_samples *tasks = calloc((size_t)n, sizeof *tasks);
    double *room = malloc((size_t)(n * rounds + n + rounds) * sizeof *room), *rest = room + n * rounds;
    struct fit_pace pace = {0};
    int err = tasks && room ? CLAB_OK : CLAB_ENOMEM;
    if (!err)
        err = all ? look_of(record, all, which, &p->probed) : fit_pace_find(record, &pace);
    for (int task = 0; task < n && !err; task++) {
        tasks[task].seconds = room + task * rounds;
        if (all)
            find_placed(s, record, all, which, p->probed, task, &tasks[task]);
        else
            find_at_pace(record, pace, task, &tasks[task]);
    }
    if (!err)
        err = fill(record, tasks, rest, p);
    free(room);
    free(tasks);
    return err;
}

static int find_placements(const struct fit_record *record, struct clab_placements *all_p)
{
    const int n = record->nrounds * record->ntasks;
    double *marks = malloc((size_t)n * sizeof *marks);
    if (!marks)
        return CLAB_ENOMEM;
    int found = 0;
    for (int i = 0; i < n; i++)
        if (record->all_probed[i].fresh > 0)
            marks[found++] = record->all_probed[i].fresh;
    const int err = clab_fit_placements(marks, found, all_p);
    free(marks);
    if (!found)
        clab_error("fit: this machine was too busy to measure: all probes were interrupted, and no profile is written. "
                   "Close other programs, and run ./commlab fit again (at most one minute with --seconds 60s)");
    return err;
}

static int take_samples(const struct fit_session *s, const struct fit_record *record, struct placement placements[],
                        int *n_p)
{
    struct clab_placements all;
    *n_p = 1;
    if (!s->backend->protocols.memory)
        return take_placed(s, record, NULL, 0, &placements[0]);
    CLAB_TRY(find_placements(record, &all));
    *n_p = all.n;
    for (int i = 0; i < all.n; i++)
        CLAB_TRY(take_placed(s, record, &all, i, &placements[i]));
    return CLAB_OK;
}

// ---- the fit -------------------------------------------------------------------------------------------------

static int estimate(const struct fit_session *s, int ntasks, struct placement *p)
{
    struct clab_fit_link link = {.protocols = &s->backend->protocols, .across = s->across};
    struct clab_net *nets = calloc((size_t)p->nrounds, sizeof *nets);
    double *seconds = calloc((size_t)(p->nrounds * ntasks), sizeof *seconds);
    int err = nets && seconds ? CLAB_OK : CLAB_ENOMEM;
    if (!err && !link.protocols->memory)
        err = clab_fit_port(p->samples, p->nrounds * ntasks, &link.port);
    for (int i = 0; i < p->nrounds && !err; i++)
        err = clab_fit_round(p->samples + i * ntasks, ntasks, &link, &nets[i]);
    for (int i = 0; i < p->nrounds * ntasks && !err; i++)
        seconds[i] = p->samples[i].seconds;
    if (!err)
        err = clab_fit_combine(nets, p->nrounds, &p->fit);
    if (!err && p->nrounds >= FIT_FEW_ROUNDS)
        err = clab_fit_noise(seconds, p->nrounds, ntasks, &p->noise);
    free(seconds);
    free(nets);
    return err;
}

// ---- the profile ---------------------------------------------------------------------------------------------

static const char *where(const struct fit_session *s)
{
    return s->backend->protocols.memory ? "shared memory" : s->across ? "between hosts" : "within a host";
}

// A core reads each byte that it copies, and writes it.
static double memory_of(const struct clab_net *net)
{
    return net->levels[net->nlevels - 1].copy[CLAB_ALONE] / 2;
}

static void describe_core(const struct fit_session *s, struct clab_fit *fit)
{
    struct clab_net *const parts[] = {&fit->median, &fit->low, &fit->high};
    for (int i = 0; i < 3; i++) {
        parts[i]->compute.present = s->flops > 0;
        parts[i]->compute.flops[CLAB_FP32] = s->flops;
        parts[i]->compute.memory = memory_of(parts[i]);
        parts[i]->switch_cost = s->switch_cost;
        parts[i]->arming = s->arming;
    }
}

static void describe(const struct fit_session *s, struct placement *p, struct clab_net *net)
{
    time_t now = time(NULL);
    struct tm date;
    gmtime_r(&now, &date);
    strftime(net->date, sizeof net->date, "%Y-%m-%dT%H:%M:%SZ", &date);
    snprintf(net->machine, sizeof net->machine, "%.80s, %d cores, %.32s", s->machine.cpu, s->machine.cores,
             s->machine.kernel);
    snprintf(net->title, sizeof net->title, "this machine, %s %s, by %d round%s of probes", s->backend->name, where(s),
             p->nrounds, p->nrounds == 1 ? "" : "s");
    net->ranks_per_node = s->across ? 1 : RANKS_PER_NODE;
    net->cores_per_node = s->machine.cores;
    net->first_cache = s->machine.l1d_bytes;
    net->core_cache = s->machine.l2_bytes;
    net->shared_cache = s->machine.l3_bytes;
    net->noise = p->noise;
    if (p->probed.line > 0) // else a wire's is of its probes
        net->probed = p->fit.low.probed = p->fit.high.probed = p->probed;
}

// No alpha and beta: those of the profile are of other messages than the card's, with which people compute.
static void say(const struct placement *p, const char *path)
{
    char text[CLAB_TEXT], line[CLAB_TEXT + 32] = "", noise[CLAB_TEXT] = "not known";
    const struct clab_net *net = &p->fit.median;
    if (net->probed.line > 0)
        snprintf(line, sizeof line, "the shortest message takes %s; ", clab_seconds_text(net->probed.line, text));
    if (p->noise > 0)
        snprintf(noise, sizeof noise, "%.1f %%", 100 * p->noise);
    printf("%s: %s%d round%s of probes, noise floor %s\n", path, line, p->nrounds, p->nrounds == 1 ? "" : "s", noise);
}

static int write_placement(const struct fit_session *s, struct placement *p, const char *path)
{
    struct clab_manifest manifest = {0};
    char lacking[96] = "";
    if (p->lacking)
        snprintf(lacking, sizeof lacking, "%d of %d probes were interrupted or moved each time: their times may be off",
                 p->lacking, p->ntasks);
    CLAB_TRY(clab_machine_warn(&s->machine, s->across ? 1 : RANKS, &manifest));
    const char *warning = clab_manifest_get(&manifest, "warning");
    const char *const remarks[] = {
        "SPDX-License-Identifier: MIT",
        "Written by `commlab fit`: medians over rounds of probes; behind each the interval of its median.",
        warning || p->lacking ? "Measured while there was reason to doubt it:" : NULL,
        warning      ? warning
        : p->lacking ? lacking
                     : NULL,
        warning && p->lacking ? lacking : NULL,
        NULL};
    int err = clab_fit_write(&p->fit, remarks, path);
    if (!err && warning)
        clab_warn("fit: %s", warning);
    if (!err && p->lacking)
        clab_warn("fit: %s: %s; run nothing else, or say --seconds 60s", path, lacking);
    if (!err && p->nrounds < FIT_FEW_ROUNDS)
        clab_warn(
            "fit: %s has too few rounds of probes (%d) to know their noise: run nothing else, or say --seconds 60s",
            path, p->nrounds);
    if (!err)
        say(p, path);
    clab_manifest_free(&manifest);
    return err;
}

// Samples that contradict each other. why: the reader's words
static void say_too_busy(const struct fit_session *s, const struct placement *p, const char *why)
{
    char lacking[64] = "its probes contradict each other";
    const bool is_kept = access(s->path, R_OK) == 0;
    if (p->lacking)
        snprintf(lacking, sizeof lacking, "%d of %d probes were interrupted", p->lacking, p->ntasks);
    clab_error(
        "fit: this machine was too busy to measure: %s. Close other programs, and run ./commlab fit again (at most "
        "one minute with --seconds 60s).%s The reason: %s",
        lacking, is_kept ? " The profile that is there stays in use." : "", why);
}

// We check both profiles before we write either file.
static int prepare_placement(const struct fit_session *s, struct placement *p, const char *other, const char *path)
{
    struct clab_log_held held;
    describe(s, p, &p->fit.median);
    describe_core(s, &p->fit);
    snprintf(p->fit.median.other_name, sizeof p->fit.median.other_name, "%s", other);
    clab_log_hold(&held);
    const int err = clab_fit_check(&p->fit, path);
    clab_log_release(&held);
    if (err == CLAB_EINVAL)
        say_too_busy(s, p, held.text);
    return err;
}

// "build/machine.net" -> "build/machine-other.net"
static int other_path(const char *path, char **other_p)
{
    size_t length = strlen(path), stem = length > 4 && strcmp(path + length - 4, ".net") == 0 ? length - 4 : length;
    return asprintf(other_p, "%.*s-other.net", (int)stem, path) < 0 ? CLAB_ENOMEM : CLAB_OK;
}

// We write the other placement first, so that the profile never names a missing file.
static int write_profile(const struct fit_session *s, struct placement placements[], int n)
{
    char *path;
    int other = 1; // the most frequent of the complete ones
    while (other < n && placements[other].lacking)
        other++;
    CLAB_TRY(other_path(s->path, &path));
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    bool two = other < n && strlen(name) < CLAB_NET_NAME;
    int err = prepare_placement(s, &placements[0], two ? name : "", s->path);
    if (!err && two)
        err = prepare_placement(s, &placements[other], "", path);
    if (!err && two)
        err = write_placement(s, &placements[other], path);
    if (!err)
        err = write_placement(s, &placements[0], s->path);
    free(path);
    return err;
}

// ---- the samples themselves ----------------------------------------------------------------------------------

static int write_samples(const char *path, const struct fit_record *record)
{
    struct clab_output output;
    CLAB_TRY(clab_output_open(path, &output));
    fprintf(output.file, "round,probe,bytes,level,touch,load,usec,line_usec,fresh_psB,call_usec\n");
    for (int i = 0; i < record->nrounds * record->ntasks; i++) {
        const struct clab_sample *s = &record->samples[i];
        if (!(s->seconds > 0)) // the round of lacking tasks has no sample of this one
            continue;
        fprintf(output.file, "%d,%s,%zu,%zu,%s,%s,%.6g,%.6g,%.6g,%.6g\n", i / record->ntasks, clab_probe_name(s->probe),
                s->bytes, s->level, s->touch == CLAB_FRESH ? "fresh" : "kept", s->load == CLAB_BOTH ? "both" : "alone",
                1e6 * s->seconds, 1e6 * record->all_probed[i].line, 1e12 * record->all_probed[i].fresh,
                1e6 * record->all_probed[i].call);
    }
    return clab_output_close(&output);
}

static void say_card(const struct fit_session *s)
{
    const bool is_usual = !strcmp(s->backend->name, clab_backend_usual(1));
    clab_say("./commlab card%s%s prints alpha, beta and gamma, with which you predict.\n",
             is_usual ? "" : " --backend ", is_usual ? "" : s->backend->name);
}

int fit_report(const struct fit_session *session, const struct fit_record *record)
{
    struct placement placements[CLAB_FIT_PLACEMENTS] = {0};
    int n = 0, err = session->samples ? write_samples(session->samples, record) : CLAB_OK;
    if (!err)
        err = take_samples(session, record, placements, &n);
    for (int i = 0; i < n && !err; i++)
        err = estimate(session, record->ntasks, &placements[i]);
    if (!err)
        err = write_profile(session, placements, n);
    if (!err)
        say_card(session);
    for (int i = 0; i < CLAB_FIT_PLACEMENTS; i++)
        free(placements[i].samples);
    return err;
}
