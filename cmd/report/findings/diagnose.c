// SPDX-License-Identifier: MIT
// What is wrong with a sweep (findings.h): too far below the limit, too much variance, a drop at one size. Each has its
// likely cause, taken from what the file says, and the command that tests it.
//
// - The limit is what the bench has measured beside the sweep: plain TCP where bytes go over sockets, or an emulated
//   wire's own rate (sim/nets), both against busbw, which is what a rank takes in per second; else, where buffers
//   outgrow the caches, the memory copies of all ranks at once, of which each rank has its part, against algbw.
// - Names in a command are those of the kit's collectives, and backends of small letters: a file of others can not put
//   words into a command that somebody types.

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/report/findings/findings.h"
#include "cmd/report/findings/marked.h"
#include "core/base/machine/called.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/units.h"
#include "core/base/vector.h"
#include "sim/sim.h"

enum { MOST_TROUBLES = 60, LARGE = 1 << 20, MOST_BYTES = 256 << 20 };
static const double enough = 0.8;      // of the limit
static const double wide = 0.10;       // half of an interval, as part of the median
static const double drop = 0.8;        // of the bandwidth at both neighbours
static const double moved = 1.5;       // times as far: the cores are elsewhere
static const double mostly = 0.5;      // of a call's time

static const struct marked_from nowhere;

static bool is_plain_name(const char *name)
{
    return *name && !name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_-")] && *name != '-';
}

// ---- the sentences of a trouble ------------------------------------------------------------------------------

struct telling {
    const struct report_picks *picks;
    struct report_findings *findings;
    struct marked what, cause, next;
};

static int tell_begin(const struct report_picks *picks, struct report_findings *findings, const struct report_row *row,
                      struct telling *t)
{
    *t = (struct telling){.picks = picks, .findings = findings};
    CLAB_TRY(marked_begin(picks->rows, &t->what));
    if (marked_begin(picks->rows, &t->cause) || marked_begin(picks->rows, &t->next))
        return CLAB_ENOMEM;
    fprintf(t->what.out, "%c%s of ", row->collective[0] - 'a' + 'A', row->collective + 1);
    marked_size(&t->what, row);
    fprintf(t->what.out, " between %d ranks over ", row->ranks);
    marked_name(&t->what, row->backend);
    fputs(": ", t->what.out);
    return CLAB_OK;
}

static int tell_end(struct telling *t)
{
    struct report_findings *f = t->findings;
    const struct report_trouble trouble = {marked_end(&t->what), marked_end(&t->cause), marked_end(&t->next)};
    if (trouble.what && trouble.cause && trouble.next &&
        !CLAB_PUSH(f->troubles, f->ntroubles, f->trouble_room, trouble))
        return CLAB_OK;
    free(trouble.what);
    free(trouble.cause);
    free(trouble.next);
    return CLAB_ENOMEM;
}

// The bench of this size, with `more` flags.
static void put_bench(struct telling *t, const struct report_row *row, int ranks, const char *more)
{
    const struct report_source *source = &t->picks->rows->sources[row->source];
    fprintf(t->next.out, "%s bench %s -n %d", clab_called(), row->collective, ranks);
    if (is_plain_name(row->backend))
        fprintf(t->next.out, " --backend %s", row->backend);
    if (is_plain_name(source->wire))
        fprintf(t->next.out, " --emulate %s", source->wire);
    if (row->is_in_place)
        fputs(" --in-place 1", t->next.out);
    fprintf(t->next.out, " -b %lld %s", row->bytes, more);
}

static void put_crowd(struct telling *t, const struct report_row *row)
{
    const int cores = t->picks->rows->sources[row->source].cores;
    if (cores)
        fprintf(t->cause.out, "%d ranks share %d core%s", row->ranks, cores, cores > 1 ? "s" : "");
    else
        fprintf(t->cause.out, "%d ranks share fewer cores", row->ranks);
}

// ---- below the limit -----------------------------------------------------------------------------------------

struct limit {
    double rate;      // B/s; 0: not known
    const char *name; // in words
    bool is_of_bus;   // busbw, not algbw, is below it
};

// The rate of an emulated wire, which is a file of the kit.
static double wire_rate(const char *name)
{
    struct clab_net *net;
    struct clab_log_held held;
    if (!is_plain_name(name))
        return 0;
    clab_log_hold(&held);
    const int err = clab_net_load(name, &net);
    clab_log_release(&held);
    if (err)
        return 0;
    const struct clab_link *link = net->inter.present ? &net->inter : &net->intra;
    const double rate = link->beta > 0 ? 1 / link->beta : 0;
    clab_net_free(net);
    return rate;
}

static struct limit limit_of(const struct report_source *source, const struct report_row *row)
{
    const double touched = 2.0 * row->ranks * (double)row->bytes; // in and out
    if (source->wire[0])
        return (struct limit){wire_rate(source->wire), "the emulated wire", true};
    if (source->tcp > 0)
        return (struct limit){source->tcp, "plain TCP", true};
    if (source->copy_all > 0 && source->cache > 0 && touched > 2.0 * (double)source->cache)
        return (struct limit){source->copy_all / row->ranks, "this rank's part of all memory copies", false};
    return (struct limit){0};
}

// By the line through both: time = latency + bytes / rate.
static bool is_mostly_latency(const struct report_row *least, const struct report_row *most)
{
    const double grown = 1 - (double)least->bytes / (double)most->bytes, longer = 1 - least->usec / most->usec;
    return grown > 0 && 1 - longer / grown > mostly;
}

static void put_limit_cause(struct telling *t, int first, int end, const struct limit *limit)
{
    const struct report_row *last = t->picks->picks[end - 1].row;
    const struct report_source *source = &t->picks->rows->sources[last->source];
    if (last->is_crowded) {
        put_crowd(t, last);
        fputs(", so they wait for each other's turns.", t->cause.out);
        put_bench(t, last, source->cores > 1 ? source->cores : 2, "");
        fprintf(t->next.out, "-e %lld", last->bytes);
    } else if (last->bytes < LARGE || is_mostly_latency(t->picks->picks[first].row, last)) {
        fputs("Calls of this size still take mostly latency, so the sweep ends too early.", t->cause.out);
        put_bench(t, last, last->ranks, "");
        fprintf(t->next.out, "-e %lld", last->bytes < MOST_BYTES / 2 ? MOST_BYTES : 2 * last->bytes);
    } else if (limit->is_of_bus) {
        fputs("The cores that send and receive also copy and add the bytes, and one lane leaves the wire idle "
              "meanwhile. More lanes or another algorithm may fill it.",
              t->cause.out);
        put_bench(t, last, last->ranks, "--algo all --lanes 4 ");
        fprintf(t->next.out, "-e %lld", last->bytes);
    } else {
        fputs("The algorithm reads or writes each byte more often than one copy does: it adds, and it may use a buffer "
              "in between.",
              t->cause.out);
        put_bench(t, last, last->ranks, "--algo all ");
        fprintf(t->next.out, "-e %lld", last->bytes);
    }
}

static int check_limit(const struct report_picks *picks, int first, int end, struct report_findings *f)
{
    const struct report_row *row = picks->picks[end - 1].row;
    const struct limit limit = limit_of(&picks->rows->sources[row->source], row);
    const double rate = 1e9 * (limit.is_of_bus ? row->busbw : row->algbw);
    char text[CLAB_TEXT], part[32];
    struct telling t;
    if (!(limit.rate > 0) || !(rate < enough * limit.rate))
        return CLAB_OK;
    CLAB_TRY(tell_begin(picks, f, row, &t));
    marked_value(&t.what, clab_rate_text(rate, text),
                 (struct marked_from){row, limit.is_of_bus ? "busbw_GBps" : "algbw_GBps"}, nowhere);
    snprintf(part, sizeof part, "%.0f %%", 100 * rate / limit.rate);
    fprintf(t.what.out, " is %s of the limit, ", part);
    fprintf(t.what.out, "%s (%s).", clab_rate_text(limit.rate, text), limit.name);
    put_limit_cause(&t, first, end, &limit);
    return tell_end(&t);
}

// ---- variance ------------------------------------------------------------------------------------------------

static bool is_wide(const struct report_row *row)
{
    return row->status == REPORT_NOISY || (row->high - row->low) / 2 > wide * row->usec;
}

// Whether the cores were elsewhere than in another row of the series: a virtual machine's can be moved.
static bool has_moved(const struct report_picks *picks, int first, int end)
{
    double least = INFINITY, most = 0;
    for (int i = first; i < end; i++) {
        const double line = picks->picks[i].row->place[0];
        least = line > 0 ? fmin(least, line) : least;
        most = line > 0 ? fmax(most, line) : most;
    }
    return most > moved * least;
}

static void put_variance_cause(struct telling *t, int first, int end, const struct report_row *row)
{
    const struct report_source *source = &t->picks->rows->sources[row->source];
    if (row->is_crowded) {
        put_crowd(t, row);
        fputs(", and the scheduler decides who waits.", t->cause.out);
        put_bench(t, row, source->cores > 1 ? source->cores : 2, "");
        fprintf(t->next.out, "-e %lld", row->bytes);
    } else if (source->is_busy) {
        fputs("The file warns that the machine was busy with other work.", t->cause.out);
        fprintf(t->next.out, "%s doctor", clab_called());
    } else if (report_runs_differ(row)) {
        fprintf(t->cause.out,
                "Its %d runs differ by more than their own intervals. So one thing differed for a whole run: other work, "
                "another build, or where the cores were.",
                row->nruns);
        put_bench(t, row, row->ranks, "--seconds 2s ");
        fprintf(t->next.out, "-e %lld", row->bytes);
    } else if (has_moved(t->picks, first, end)) {
        fputs("The way between the cores became longer or shorter meanwhile (column line_nsec): the hypervisor moved "
              "this VM's CPUs. Run it again.",
              t->cause.out);
        put_bench(t, row, row->ranks, "--seconds 2s ");
        fprintf(t->next.out, "-e %lld", row->bytes);
    } else {
        clab_say_to(t->cause.out,
                    "The file names no cause. Other processes, a changing clock rate or too few calls are likely: "
                    "measure for longer, and look at ./commlab doctor.");
        put_bench(t, row, row->ranks, "--seconds 2s ");
        fprintf(t->next.out, "-e %lld", row->bytes);
    }
}

// The widest interval of a series speaks for all of them.
static int check_variance(const struct report_picks *picks, int first, int end, struct report_findings *f)
{
    const struct report_row *widest = NULL;
    double most = 0;
    int n = 0;
    struct telling t;
    for (int i = first; i < end; i++) {
        const struct report_row *row = picks->picks[i].row;
        const double width = isfinite(row->high - row->low) ? (row->high - row->low) / row->usec : 0;
        n += is_wide(row);
        if (is_wide(row) && (!widest || width > most))
            widest = row, most = width;
    }
    if (!widest)
        return CLAB_OK;
    CLAB_TRY(tell_begin(picks, f, widest, &t));
    marked_time(&t.what, widest);
    if (most > 0)
        fprintf(t.what.out, " is known to ±%.0f %% only.", 50 * most);
    else
        fputs(" is marked as noisy.", t.what.out);
    if (end - first > 1)
        fprintf(t.what.out, " Of %d sizes, %d vary by more than ±%.0f %%.", end - first, n, 100 * wide);
    put_variance_cause(&t, first, end, widest);
    return tell_end(&t);
}

// ---- a drop at one size --------------------------------------------------------------------------------------

static bool overlap(const struct report_row *a, const struct report_row *b)
{
    const double least = a->algbw * a->usec / a->high, most = a->algbw * a->usec / a->low;
    const double other_least = b->algbw * b->usec / b->high, other_most = b->algbw * b->usec / b->low;
    return !(most < other_least) && !(least > other_most);
}

// Less bandwidth than at the size before and at the size behind, by more than the intervals say.
static bool is_drop(const struct report_row *before, const struct report_row *row, const struct report_row *after)
{
    return row->algbw < drop * before->algbw && row->algbw < drop * after->algbw && !overlap(row, before) &&
           !overlap(row, after);
}

static void put_drop_cause(struct telling *t, const struct report_row *before, const struct report_row *row,
                           const struct report_row *after)
{
    const struct report_source *source = &t->picks->rows->sources[row->source];
    const double touched = 2.0 * row->ranks * (double)row->bytes;
    if (strcmp(before->algorithm, row->algorithm) || strcmp(row->algorithm, after->algorithm)) {
        fputs("The algorithm changes here: ", t->cause.out);
        marked_name(&t->cause, before->algorithm);
        fputs(", ", t->cause.out);
        marked_name(&t->cause, row->algorithm);
        fputs(", ", t->cause.out);
        marked_name(&t->cause, after->algorithm);
        fputs(". The choice for this size may be the wrong one.", t->cause.out);
        put_bench(t, row, row->ranks, "--algo all ");
    } else if (source->cache && touched > (double)source->cache / 2 && touched < 4 * (double)source->cache) {
        fputs("At this size the buffers of all ranks begin to outgrow the largest cache, ", t->cause.out);
        char text[CLAB_TEXT];
        fprintf(t->cause.out, "%s.", clab_size_text(source->cache, text));
        put_bench(t, row, row->ranks, row->is_in_place ? "--algo all " : "--in-place 1 ");
    } else {
        fputs("A protocol of the backend may begin or end at this size, or something disturbed this one row: the same size "
              "again tells which.",
              t->cause.out);
        put_bench(t, row, row->ranks, "--seconds 1s ");
    }
    fprintf(t->next.out, "-e %lld", row->bytes);
}

static int check_drops(const struct report_picks *picks, int first, int end, struct report_findings *f)
{
    for (int i = first + 1; i < end - 1 && f->ntroubles < MOST_TROUBLES; i++) {
        const struct report_row *before = picks->picks[i - 1].row, *row = picks->picks[i].row;
        const struct report_row *after = picks->picks[i + 1].row;
        char text[CLAB_TEXT];
        struct telling t;
        if (!is_drop(before, row, after))
            continue;
        CLAB_TRY(tell_begin(picks, f, row, &t));
        fputs("a drop to ", t.what.out);
        marked_value(&t.what, clab_rate_text(1e9 * row->algbw, text), (struct marked_from){row, "algbw_GBps"}, nowhere);
        fputs(", between ", t.what.out);
        marked_value(&t.what, clab_rate_text(1e9 * before->algbw, text), (struct marked_from){before, "algbw_GBps"},
                     nowhere);
        fputs(" at ", t.what.out);
        marked_size(&t.what, before);
        fputs(" and ", t.what.out);
        marked_value(&t.what, clab_rate_text(1e9 * after->algbw, text), (struct marked_from){after, "algbw_GBps"},
                     nowhere);
        fputs(" at ", t.what.out);
        marked_size(&t.what, after);
        fputs(".", t.what.out);
        put_drop_cause(&t, before, row, after);
        CLAB_TRY(tell_end(&t));
    }
    return CLAB_OK;
}

int report_diagnose(const struct report_picks *picks, struct report_findings *findings)
{
    for (int i = 0, end; i < picks->n && findings->ntroubles < MOST_TROUBLES; i = end) {
        end = report_series_end(picks, i);
        CLAB_TRY(check_limit(picks, i, end, findings));
        CLAB_TRY(check_variance(picks, i, end, findings));
        CLAB_TRY(check_drops(picks, i, end, findings));
    }
    return CLAB_OK;
}
