// SPDX-License-Identifier: MIT
// The end of a job with a tape: every rank meets rank 0, one after the other, sets its clock by rank 0's if it is on
// another host, and hands its tape in. Rank 0 writes the file.

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/log.h"
#include "core/base/machine.h"
#include "core/base/mix.h"
#include "core/base/units.h"
#include "core/base/variables.h"
#include "core/clab.h"
#include "core/comm/comm.h"
#include "core/trace/inside.h"
#include "core/job/job.h"

enum { MEETING = 0x7461706565, ROUND_TRIPS = 8, PART_BYTES = 1 << 20, TEXT = 160 };

// Rank 0 and another one.
struct pair {
    struct clab_bootstrap *boot;
    int ranks[2];
    uint64_t fences;
};

static struct pair pair_of(const struct clab_job *job, int other)
{
    return (struct pair){.boot = job->bootstrap, .ranks = {0, other}};
}

// Each gives `bytes`, and has both.
static int meet(struct pair *pair, const void *mine, size_t bytes, void *both)
{
    const struct clab_fence fence = {.ranks = pair->ranks,
                                     .n = 2,
                                     .key = clab_mix(clab_mix(MEETING, (uint64_t)pair->ranks[1]), ++pair->fences),
                                     .quiet = true};
    return pair->boot->exchange(pair->boot, fence, mine, bytes, both);
}

// ---- clocks --------------------------------------------------------------------------------------------------

struct stamp {
    double node, now;
};

// How far the other's clock is ahead of rank 0's, within *error_p; 0 on one host. Both call this together, and both
// know. A meeting begins when the slower has come and ends at about the same time for both: the middle of two such ends
// is when the other looked at its clock.
static int compare_clocks(struct pair *pair, bool is_first, double *ahead_p, double *error_p)
{
    struct stamp mine = {pair->boot->node, 0}, both[2];
    double ahead = 0, error = INFINITY;
    CLAB_TRY(meet(pair, &mine, sizeof mine, both));
    *ahead_p = *error_p = 0;
    if (both[0].node == both[1].node)
        return CLAB_OK;
    for (int i = 0; i < ROUND_TRIPS; i++) {
        const double before = clab_seconds();
        mine.now = before;
        CLAB_TRY(meet(pair, &mine, sizeof mine, both));
        const double after = clab_seconds();
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
    double from;                      // s: as in struct clab_tape
};

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
        err = meet(pair, is_first ? nothing : (char *)data + done, part, both);
        if (!err && is_first)
            memcpy((char *)data + done, both + part, part);
    }
    free(both);
    return err;
}

static int hand_in(const struct clab_job *job, struct clab_tape *tape)
{
    struct pair pair = pair_of(job, job->rank);
    const struct header header = {tape->ncalls, tape->nstages, tape->nspans, tape->from};
    struct header both[2];
    double ahead, error;
    CLAB_TRY(compare_clocks(&pair, false, &ahead, &error));
    CLAB_TRY(meet(&pair, &header, sizeof header, both));
    CLAB_TRY(pass(&pair, false, tape->calls, (size_t)kept(tape->ncalls, TAPE_CALLS) * sizeof *tape->calls));
    CLAB_TRY(pass(&pair, false, tape->stages, (size_t)kept(tape->nstages, TAPE_STAGES) * sizeof *tape->stages));
    return pass(&pair, false, tape->spans, (size_t)kept(tape->nspans, TAPE_SPANS) * sizeof *tape->spans);
}

// ---- rank 0 --------------------------------------------------------------------------------------------------

struct gathered {
    struct clab_timeline timeline;
    uint64_t ncalls, nstages, nspans; // that all ranks have written, ever
    double from;                      // s: before that, some are overwritten
    double error;                     // s that clocks may differ, at most
    int missing;                      // ranks that handed nothing in
    char names[64];                   // the first of them
};

static void shift(struct clab_tape *tape, double ahead)
{
    tape->from -= ahead;
    for (int i = 0; i < kept(tape->ncalls, TAPE_CALLS); i++) {
        tape->calls[i].begin -= ahead;
        tape->calls[i].end -= ahead;
    }
    for (int i = 0; i < kept(tape->nstages, TAPE_STAGES); i++) {
        tape->stages[i].begin -= ahead;
        tape->stages[i].end -= ahead;
    }
    for (int i = 0; i < kept(tape->nspans, TAPE_SPANS); i++) {
        tape->spans[i].begin -= ahead;
        tape->spans[i].end -= ahead;
    }
}

static int add(struct gathered *g, const struct clab_tape *tape)
{
    const int ncalls = kept(tape->ncalls, TAPE_CALLS), nstages = kept(tape->nstages, TAPE_STAGES);
    const int nspans = kept(tape->nspans, TAPE_SPANS);
    g->ncalls += tape->ncalls;
    g->nstages += tape->nstages;
    g->nspans += tape->nspans;
    g->from = fmax(g->from, tape->from);
    CLAB_TRY(clab_timeline_add_calls(&g->timeline, tape->calls, ncalls));
    CLAB_TRY(clab_timeline_add_stages(&g->timeline, tape->stages, nstages));
    return clab_timeline_add_spans(&g->timeline, tape->spans, nspans);
}

// Read rank `other`'s tape into `tape`.
static int take(const struct clab_job *job, int other, struct clab_tape *tape, double *error_p)
{
    struct pair pair = pair_of(job, other);
    struct header header = {0}, both[2];
    double ahead;
    CLAB_TRY(compare_clocks(&pair, true, &ahead, error_p));
    CLAB_TRY(meet(&pair, &header, sizeof header, both));
    tape->ncalls = both[1].ncalls;
    tape->nstages = both[1].nstages;
    tape->nspans = both[1].nspans;
    tape->from = both[1].from;
    CLAB_TRY(pass(&pair, true, tape->calls, (size_t)kept(tape->ncalls, TAPE_CALLS) * sizeof *tape->calls));
    CLAB_TRY(pass(&pair, true, tape->stages, (size_t)kept(tape->nstages, TAPE_STAGES) * sizeof *tape->stages));
    CLAB_TRY(pass(&pair, true, tape->spans, (size_t)kept(tape->nspans, TAPE_SPANS) * sizeof *tape->spans));
    shift(tape, ahead);
    return CLAB_OK;
}

static void miss(struct gathered *g, int rank)
{
    const size_t used = strlen(g->names);
    if (g->missing++ < 8)
        snprintf(g->names + used, sizeof g->names - used, "%s%d", used ? ", " : "", rank);
}

// One after the other; `tape` is rank 0's own at first, and is overwritten. Who follows one that never came is not
// waited for.
static int gather(const struct clab_job *job, struct clab_tape *tape, struct gathered *g)
{
    bool waits = true;
    CLAB_TRY(add(g, tape));
    for (int rank = 1; rank < job->ranks; rank++) {
        double error = 0;
        const int err = waits ? take(job, rank, tape, &error) : CLAB_ETIMEOUT;
        if (err == CLAB_ENOMEM)
            return err;
        waits &= err != CLAB_ETIMEOUT;
        if (err) {
            miss(g, rank);
            continue;
        }
        g->error = error > g->error ? error : g->error;
        CLAB_TRY(add(g, tape));
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

static int describe_clocks(const struct clab_job *job, const struct gathered *g, struct clab_manifest *about)
{
    char error[CLAB_TEXT];
    if (job->backend->time->is_exact) {
        CLAB_TRY(clab_manifest_add(about, "stages",
                                   "none: virtual time prices a collective as a whole (commlab sim "
                                   "COLLECTIVE --trace FILE has its stages)"));
        return clab_manifest_add(about, "clocks", "virtual time, on %s", job->backend->time->net(job->domain));
    }
    if (job->bootstrap->nnodes == 1)
        return clab_manifest_add(about, "clocks", "one host, one clock");
    return clab_manifest_add(about, "clocks", "of %d hosts, set by rank 0's to within %s", job->bootstrap->nnodes,
                             clab_seconds_text(g->error, error));
}

static int describe(const struct clab_job *job, const struct gathered *g, const char *overwritten,
                    struct clab_manifest *about)
{
    CLAB_TRY(add_command(about));
    CLAB_TRY(clab_manifest_add(about, "kind", job->backend->time->is_exact ? "simulated" : "measured"));
    CLAB_TRY(clab_manifest_add(about, "backend", "%s", job->backend_name));
    CLAB_TRY(clab_manifest_add(about, "ranks", "%d", job->ranks));
    CLAB_TRY(describe_clocks(job, g, about));
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

static int write_file(const struct clab_job *job, struct clab_tape *tape)
{
    char overwritten[TEXT] = "";
    const char *path = clab_variable_text(CLAB_VARIABLE_TRACE);
    struct gathered g = {.from = -INFINITY};
    struct clab_manifest about = {0};
    int err = gather(job, tape, &g);
    if (!err) {
        cut(&g, overwritten);
        err = describe(job, &g, overwritten, &about);
    }
    if (!err)
        err = clab_timeline_write(
            &g.timeline, job->backend->time->is_exact ? CLAB_TIMELINE_SIMULATED : CLAB_TIMELINE_MEASURED, path, &about);
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

int clab_tape_close(const struct clab_job *job, struct clab_tape *tape)
{
    int err = CLAB_OK;
    if (!tape)
        return CLAB_OK;
    job->bootstrap->meanwhile = NULL;
    if (job->rank == 0)
        err = write_file(job, tape);
    else
        hand_in(job, tape); // what goes wrong is rank 0's to say
    free(tape);
    return err;
}
