// SPDX-License-Identifier: MIT
// The end of a job with a trace. One after another, the ranks set their clocks by rank 0's, if they are on other hosts,
// and send it their buffers. Rank 0 writes the file.

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/machine/machine.h"
#include "core/base/mix.h"
#include "core/base/units.h"
#include "core/base/variables.h"
#include "core/trace/inside.h"

enum { EXCHANGE_KEY = 0x7461706565, ROUND_TRIPS = 8, PART_BYTES = 1 << 20, TEXT = 160 };

// Rank 0 and another one.
struct pair {
    struct clab_bootstrap *boot;
    int ranks[2];
    uint64_t fences;
};

static struct pair pair_of(const struct clab_trace_job *job, int other)
{
    return (struct pair){.boot = job->boot, .ranks = {0, other}};
}

// Each gives `bytes`, and has both.
static int exchange(struct pair *pair, const void *mine, size_t bytes, void *both)
{
    const struct clab_fence fence = {.ranks = pair->ranks,
                                     .n = 2,
                                     .key = clab_mix(clab_mix(EXCHANGE_KEY, (uint64_t)pair->ranks[1]), ++pair->fences),
                                     .quiet = true};
    return pair->boot->exchange(pair->boot, fence, mine, bytes, both);
}

// ---- clocks --------------------------------------------------------------------------------------------------

struct stamp {
    double node, now;
};

// How far the other's clock is ahead of rank 0's, within *error_p; 0 on one host. Both call this together, and both
// know. An exchange begins when the slower has come, and ends at about the same time for both: the middle of two such
// ends is when the other looked at its clock.
static int compare_clocks(struct pair *pair, bool is_first, double *ahead_p, double *error_p)
{
    struct stamp mine = {pair->boot->node, 0}, both[2];
    double ahead = 0, error = INFINITY;
    CLAB_TRY(exchange(pair, &mine, sizeof mine, both));
    *ahead_p = *error_p = 0;
    if (both[0].node == both[1].node)
        return CLAB_OK;
    for (int i = 0; i < ROUND_TRIPS; i++) {
        const double before = clab_now();
        mine.now = before;
        CLAB_TRY(exchange(pair, &mine, sizeof mine, both));
        const double after = clab_now();
        if (is_first && after - before < 2 * error) {
            error = (after - before) / 2;
            ahead = both[1].now - (before + after) / 2;
        }
    }
    *ahead_p = ahead;
    *error_p = error;
    return CLAB_OK;
}

// ---- handing in ----------------------------------------------------------------------------------------------

struct header {
    uint64_t ncalls, nstages, nspans; // ever
    double from;                      // s: as in struct clab_trace
    double kept;                      // of the time since then, the part in which others had its core; NAN: not known
    uint64_t resent;                  // messages to this rank that a described network has lost
};

static double part_kept(const struct clab_trace *trace)
{
    return (clab_trace_kept(trace) - trace->kept) / (clab_trace_now(trace) - trace->opened);
}

static struct header header_of(const struct clab_trace *trace)
{
    return (struct header){.ncalls = trace->ncalls,
                           .nstages = trace->nstages,
                           .nspans = trace->nspans,
                           .from = trace->from,
                           .kept = part_kept(trace),
                           .resent = trace->domain->backend->time->resent(trace->domain)};
}

static int kept(uint64_t n, int room)
{
    return n < (uint64_t)room ? (int)n : room;
}

// The other's (bytes) to rank 0, in parts.
static int pass(struct pair *pair, bool is_first, void *data, size_t bytes)
{
    char *both = calloc(2, PART_BYTES), *nothing = both;
    int err = both ? CLAB_OK : CLAB_ENOMEM;
    for (size_t done = 0, part; done < bytes && !err; done += part) {
        part = bytes - done < PART_BYTES ? bytes - done : PART_BYTES;
        err = exchange(pair, is_first ? nothing : (char *)data + done, part, both);
        if (!err && is_first)
            memcpy((char *)data + done, both + part, part);
    }
    free(both);
    return err;
}

static int hand_in(const struct clab_trace_job *job, struct clab_trace *trace)
{
    struct pair pair = pair_of(job, job->boot->rank);
    const struct header header = header_of(trace);
    struct header both[2];
    double ahead, error;
    CLAB_TRY(compare_clocks(&pair, false, &ahead, &error));
    CLAB_TRY(exchange(&pair, &header, sizeof header, both));
    CLAB_TRY(pass(&pair, false, trace->calls, (size_t)kept(trace->ncalls, TRACE_CALLS) * sizeof *trace->calls));
    CLAB_TRY(pass(&pair, false, trace->stages, (size_t)kept(trace->nstages, TRACE_STAGES) * sizeof *trace->stages));
    return pass(&pair, false, trace->spans, (size_t)kept(trace->nspans, TRACE_SPANS) * sizeof *trace->spans);
}

// ---- rank 0 --------------------------------------------------------------------------------------------------

struct gathered {
    struct clab_timeline timeline;
    uint64_t ncalls, nstages, nspans; // that all ranks have written, ever
    double from;                      // s: before that, some are overwritten
    double kept;                      // of the time, the part in which others had a rank's core: sum over ranks
    uint64_t resent;                  // by all ranks
    double error;                     // s that clocks may differ, at most
    int missing;                      // ranks that handed nothing in
    char names[64];                   // the first of them
};

static void shift(struct clab_trace *trace, double ahead)
{
    trace->from -= ahead;
    for (int i = 0; i < kept(trace->ncalls, TRACE_CALLS); i++) {
        trace->calls[i].begin -= ahead;
        trace->calls[i].end -= ahead;
    }
    for (int i = 0; i < kept(trace->nstages, TRACE_STAGES); i++) {
        trace->stages[i].begin -= ahead;
        trace->stages[i].end -= ahead;
    }
    for (int i = 0; i < kept(trace->nspans, TRACE_SPANS); i++) {
        trace->spans[i].begin -= ahead;
        trace->spans[i].end -= ahead;
    }
}

static int add(struct gathered *g, const struct clab_trace *trace, const struct header *header)
{
    const int ncalls = kept(trace->ncalls, TRACE_CALLS), nstages = kept(trace->nstages, TRACE_STAGES);
    const int nspans = kept(trace->nspans, TRACE_SPANS);
    g->ncalls += trace->ncalls;
    g->nstages += trace->nstages;
    g->nspans += trace->nspans;
    g->from = fmax(g->from, trace->from);
    g->kept += header->kept;
    g->resent += header->resent;
    CLAB_TRY(clab_timeline_add_calls(&g->timeline, trace->calls, ncalls));
    CLAB_TRY(clab_timeline_add_stages(&g->timeline, trace->stages, nstages));
    return clab_timeline_add_spans(&g->timeline, trace->spans, nspans);
}

// Read rank `other`'s trace into `trace`.
static int take(const struct clab_trace_job *job, int other, struct clab_trace *trace, struct header *header_p,
                double *error_p)
{
    struct pair pair = pair_of(job, other);
    struct header nothing = {0}, both[2];
    double ahead;
    CLAB_TRY(compare_clocks(&pair, true, &ahead, error_p));
    CLAB_TRY(exchange(&pair, &nothing, sizeof nothing, both));
    *header_p = both[1];
    trace->ncalls = both[1].ncalls;
    trace->nstages = both[1].nstages;
    trace->nspans = both[1].nspans;
    trace->from = both[1].from;
    CLAB_TRY(pass(&pair, true, trace->calls, (size_t)kept(trace->ncalls, TRACE_CALLS) * sizeof *trace->calls));
    CLAB_TRY(pass(&pair, true, trace->stages, (size_t)kept(trace->nstages, TRACE_STAGES) * sizeof *trace->stages));
    CLAB_TRY(pass(&pair, true, trace->spans, (size_t)kept(trace->nspans, TRACE_SPANS) * sizeof *trace->spans));
    shift(trace, ahead);
    return CLAB_OK;
}

static void miss(struct gathered *g, int rank)
{
    const size_t used = strlen(g->names);
    if (g->missing++ < 8)
        snprintf(g->names + used, sizeof g->names - used, "%s%d", used ? ", " : "", rank);
}

// One after the other; `trace` is rank 0's own at first, and is overwritten. Who follows one that never came is not
// waited for.
static int gather(const struct clab_trace_job *job, struct clab_trace *trace, struct gathered *g)
{
    bool waits = true;
    struct header header = header_of(trace);
    CLAB_TRY(add(g, trace, &header));
    for (int rank = 1; rank < job->boot->nranks; rank++) {
        double error = 0;
        const int err = waits ? take(job, rank, trace, &header, &error) : CLAB_ETIMEOUT;
        if (err == CLAB_ENOMEM)
            return err;
        waits &= err != CLAB_ETIMEOUT;
        if (err) {
            miss(g, rank);
            continue;
        }
        g->error = error > g->error ? error : g->error;
        CLAB_TRY(add(g, trace, &header));
    }
    return CLAB_OK;
}

// What was typed: words with a 0 behind each.
static int add_command(struct clab_manifest *about)
{
    char text[1024] = "";
    FILE *file = fopen("/proc/self/cmdline", "r");
    size_t n = file ? fread(text, 1, sizeof text - 1, file) : 0;
    if (file)
        fclose(file);
    for (size_t i = 0; i + 1 < n; i++)
        if (text[i] == '\0')
            text[i] = ' ';
    return clab_manifest_add(about, "command", "%s", text);
}

static int describe_clocks(const struct clab_trace_job *job, const struct gathered *g, struct clab_manifest *about)
{
    char error[CLAB_TEXT];
    if (job->domain->backend->time->is_exact) {
        CLAB_TRY(clab_manifest_add(about, "stages",
                                   "none: virtual time prices a collective as a whole (commlab sim "
                                   "COLLECTIVE --trace FILE has its stages)"));
        return clab_manifest_add(about, "clocks", "virtual time, on %s", job->domain->backend->time->net(job->domain));
    }
    if (job->boot->nnodes == 1)
        return clab_manifest_add(about, "clocks", "one host, one clock");
    return clab_manifest_add(about, "clocks", "of %d hosts, set by rank 0's to within %s", job->boot->nnodes,
                             clab_seconds_text(g->error, error));
}

static int describe(const struct clab_trace_job *job, const struct gathered *g, const char *overwritten,
                    struct clab_manifest *about)
{
    CLAB_TRY(add_command(about));
    CLAB_TRY(clab_manifest_add(about, "kind", job->domain->backend->time->is_exact ? "simulated" : "measured"));
    CLAB_TRY(clab_manifest_add(about, "backend", "%s", job->backend));
    CLAB_TRY(clab_manifest_add(about, "ranks", "%d", job->boot->nranks));
    CLAB_TRY(describe_clocks(job, g, about));
    if (isfinite(g->kept))
        CLAB_TRY(clab_manifest_add(about, "kept", "%.1f %% of the ranks' time, in which others had their cores",
                                   100 * g->kept / (job->boot->nranks - g->missing)));
    if (g->resent)
        CLAB_TRY(clab_manifest_add(about, "resent", "%llu messages, which the described network had lost",
                                   (unsigned long long)g->resent));
    if (*overwritten)
        CLAB_TRY(clab_manifest_add(about, "overwritten", "%s", overwritten));
    if (g->missing)
        CLAB_TRY(clab_manifest_add(about, "missing", "ranks %s%s", g->names, g->missing > 8 ? ", ..." : ""));
    return clab_machine_describe(about);
}

// Where ranks or rings have overwritten what was older, leave what none has, and say so; else "".
static void cut(struct gathered *g, char text[TEXT])
{
    char lasts[CLAB_TEXT];
    struct clab_timeline *t = &g->timeline;
    *text = '\0';
    if (g->from == -INFINITY)
        return;
    const double until = clab_timeline_cut(t, g->from);
    snprintf(text, TEXT, "%llu calls, %llu stages and %llu spans before the last %s, for want of room",
             (unsigned long long)g->ncalls - (unsigned)t->ncalls, (unsigned long long)g->nstages - (unsigned)t->nstages,
             (unsigned long long)g->nspans - (unsigned)t->nspans, clab_seconds_text(until - g->from, lasts));
}

static int write_file(const struct clab_trace_job *job, struct clab_trace *trace)
{
    char overwritten[TEXT] = "";
    const char *path = clab_variable_text(CLAB_VARIABLE_TRACE);
    struct gathered g = {.from = -INFINITY};
    struct clab_manifest about = {0};
    int err = gather(job, trace, &g);
    if (!err) {
        cut(&g, overwritten);
        err = describe(job, &g, overwritten, &about);
    }
    if (!err)
        err = clab_timeline_write(
            &g.timeline, job->domain->backend->time->is_exact ? CLAB_TIMELINE_SIMULATED : CLAB_TIMELINE_MEASURED, path,
            &about);
    if (err)
        clab_error("the trace '%s' is not written: %s", path, clab_strerror(err));
    else if (g.missing)
        clab_warn("trace '%s': %d rank%s handed nothing in: %s%s", path, g.missing, g.missing > 1 ? "s have" : " has",
                  g.names, g.missing > 8 ? ", ..." : "");
    if (!err && *overwritten)
        clab_warn("trace '%s': overwritten are %s", path, overwritten);
    clab_manifest_free(&about);
    clab_timeline_free(&g.timeline);
    return err;
}

int clab_trace_close(const struct clab_trace_job *job, struct clab_trace *trace)
{
    int err = CLAB_OK;
    if (!trace)
        return CLAB_OK;
    job->boot->meanwhile = NULL;
    if (job->boot->rank == 0)
        err = write_file(job, trace);
    else
        hand_in(job, trace); // rank 0 logs failures
    free(trace);
    return err;
}
