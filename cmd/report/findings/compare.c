// SPDX-License-Identifier: MIT
// Which is faster, and by how much (findings.h).
//
// - Two times differ where their intervals do not overlap. The factor between them has the interval from (slow, low) /
//   (fast, high) to (slow, high) / (fast, low). Otherwise there is no measurable difference, and the sentence says so.
// - Rows without an interval, as those of nccl-tests, are named with their times, and nothing is concluded.
// - Runs of one setting are compared likewise: how many there are, and how far the fastest is from the slowest.
// - Backends are compared at 100 MB, or at the largest size that all of them have; if that is below 1 MB, at the largest
//   that two of them have, and others are left out.

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/report/findings/findings.h"
#include "cmd/report/findings/marked.h"
#include "core/base/err.h"
#include "core/base/order.h"
#include "core/base/vector.h"

enum { MOST_CONTENDERS = 16, FEW_SIZES = 4, MOST_FINDINGS = 500, SMALL = 1000000 };

static const long long usual_sizes[] = {100000000, 100 << 20}; // "100 MB", by either way of counting

// ---- two rows ------------------------------------------------------------------------------------------------

static bool has_interval(const struct report_row *row)
{
    return isfinite(row->low) && isfinite(row->high);
}

// What stands before the next detail.
static const char *put_detail(struct marked *m, const char *before, const char *words, const char *name)
{
    fprintf(m->out, "%s%s", before, words);
    marked_name(m, name);
    return ", ";
}

// "shm", or with device, machine, emulated wire and settings where the other one's differ: "nccl (cuda, machine B)".
static void put_place(struct marked *m, const struct report_row *row, const struct report_row *other)
{
    const char *letter = report_machine_letter(m->rows, row->source);
    const bool has_device = strcmp(row->device, other->device) && *row->device;
    const bool has_machine = strcmp(letter, report_machine_letter(m->rows, other->source)) != 0;
    const char *wire = m->rows->sources[row->source].wire;
    const bool has_wire = strcmp(wire, m->rows->sources[other->source].wire) != 0;
    const char *settings = m->rows->sources[row->source].settings;
    const bool has_settings = strcmp(settings, m->rows->sources[other->source].settings) != 0;
    const char *before = " (";
    marked_name(m, row->backend);
    if (has_device)
        before = put_detail(m, before, "", row->device);
    if (has_machine)
        before = put_detail(m, before, "machine ", letter);
    if (has_wire)
        before = put_detail(m, before, *wire ? "delayed as on " : "not delayed", wire);
    if (has_settings)
        before = put_detail(m, before, "", *settings ? settings : "usual settings");
    fputs(*before == ',' ? ")" : "", m->out);
}

typedef void put_name(struct marked *m, const struct report_row *row, const struct report_row *other);

static void put_algorithm(struct marked *m, const struct report_row *row, const struct report_row *other)
{
    (void)other;
    marked_name(m, row->algorithm);
}

static void put_ranks(struct marked *m, const struct report_row *row, const struct report_row *other)
{
    (void)other;
    fprintf(m->out, "%d ranks%s", row->ranks, row->is_crowded ? " (more than cores)" : "");
}

static void put_file(struct marked *m, const struct report_row *row, const struct report_row *other)
{
    (void)other;
    marked_name(m, m->rows->sources[row->source].file);
    fprintf(m->out, ":%d", row->line);
}

static void put_factor(struct marked *m, const struct report_row *slow, const struct report_row *fast)
{
    const struct marked_from from[][2] = {{{slow, "usec"}, {fast, "usec"}},
                                          {{slow, "usec_low"}, {fast, "usec_high"}},
                                          {{slow, "usec_high"}, {fast, "usec_low"}}};
    const double factors[] = {slow->usec / fast->usec, slow->low / fast->high, slow->high / fast->low};
    const char *const words[] = {"", " times (", " to "};
    for (int i = 0; i < 3; i++) {
        char text[32];
        fputs(words[i], m->out);
        snprintf(text, sizeof text, factors[i] < 1000 ? "%.3g" : "%.0f", factors[i]);
        marked_value(m, text, from[i][0], from[i][1]);
    }
    fputs(")", m->out);
}

// "A takes 1 ms (0.9 to 1.1), B takes 2 ms (1.9 to 2.1): A is faster, 2 times (1.7 to 2.3)."
static void put_comparison(struct marked *m, const struct report_row *fast, const struct report_row *slow, put_name *name)
{
    name(m, fast, slow);
    fprintf(m->out, name == put_ranks ? " take " : " takes ");
    marked_time(m, fast);
    fputs(", ", m->out);
    name(m, slow, fast);
    fputs(" ", m->out);
    marked_time(m, slow);
    if (!has_interval(fast) || !has_interval(slow)) {
        fputs("; not both have an interval, so the data do not say whether they differ.", m->out);
    } else if (slow->low <= fast->high) {
        fputs(": no measurable difference, since the intervals overlap.", m->out);
    } else {
        fputs(": ", m->out);
        name(m, slow, fast);
        fputs(name == put_ranks ? " take " : " takes ", m->out);
        put_factor(m, slow, fast);
        fputs(" as long.", m->out);
    }
}

// "Allreduce of 100 MB between 2 ranks over shm: "
static void put_work(struct marked *m, const struct report_row *row, bool with_ranks, bool with_backend)
{
    char head[2] = {row->collective[0] >= 'a' ? (char)(row->collective[0] - 'a' + 'A') : row->collective[0], 0};
    fprintf(m->out, "%s%s of ", head, row->collective + (row->collective[0] != 0));
    marked_size(m, row);
    if (strcmp(row->type, "float") && *row->type) {
        fputs(", ", m->out);
        marked_name(m, row->type);
    }
    if (row->root > 0)
        fprintf(m->out, ", root %d", row->root);
    if (!strcmp(row->mode, "latency"))
        fputs(", latency of one call", m->out);
    fputs(row->is_in_place ? ", in place," : "", m->out);
    if (with_ranks)
        fprintf(m->out, " between %d ranks%s", row->ranks, row->is_crowded ? " (more than cores)" : "");
    if (with_backend) {
        fputs(" over ", m->out);
        marked_name(m, row->backend);
    }
    fputs(": ", m->out);
}

static int push(struct report_findings *f, const char *collective, struct marked *m)
{
    char *text = marked_end(m);
    const struct report_finding finding = {collective, text};
    if (text && !CLAB_PUSH(f->findings, f->n, f->room, finding))
        return CLAB_OK;
    free(text);
    return CLAB_ENOMEM;
}

static int tell_pair(const struct report_picks *picks, const struct report_row *fast, const struct report_row *slow,
                     put_name *name, struct report_findings *f)
{
    struct marked m;
    CLAB_TRY(marked_begin(picks->rows, &m));
    put_work(&m, fast, name != put_ranks, name != put_place);
    put_comparison(&m, fast, slow, name);
    return push(f, fast->collective, &m);
}

// ---- backends ------------------------------------------------------------------------------------------------

static const struct report_row *at_size(const struct report_picks *picks, int first, int end, long long bytes)
{
    while (first < end) {
        const int middle = first + (end - first) / 2;
        const struct report_row *row = picks->picks[middle].row;
        if (row->bytes == bytes)
            return row;
        if (row->bytes < bytes)
            first = middle + 1;
        else
            end = middle;
    }
    return NULL;
}

// Series of the same work and number of ranks as the one that begins at `first`, and are not before it.
static int gather_series(const struct report_picks *picks, int first, int begins[MOST_CONTENDERS])
{
    int n = 0;
    for (int i = first; i < picks->n; i = report_series_end(picks, i)) {
        const struct report_row *a = picks->picks[first].row, *b = picks->picks[i].row;
        if (!report_is_same_work(a, b))
            break;
        if (a->ranks == b->ranks && n < MOST_CONTENDERS)
            begins[n++] = i;
    }
    return n;
}

// How many of the series have that size.
static int count_with(const struct report_picks *picks, const int begins[], const int ends[], int n, long long bytes)
{
    int have = 0;
    for (int i = 0; i < n; i++)
        have += at_size(picks, begins[i], ends[i], bytes) != NULL;
    return have;
}

// The largest size that at least `wanted` series have; 0: there is none.
static long long largest_with(const struct report_picks *picks, const int begins[], const int ends[], int n, int wanted)
{
    long long largest = 0;
    for (int s = 0; s <= n - wanted; s++)
        for (int i = ends[s] - 1; i >= begins[s] && picks->picks[i].row->bytes > largest; i--)
            if (count_with(picks, begins, ends, n, picks->picks[i].row->bytes) >= wanted)
                largest = picks->picks[i].row->bytes;
    return largest;
}

// 100 MB, or the largest size that all have. If that is a small one, the largest that two have. 0: there is none.
//   2 <= n <= MOST_CONTENDERS
static long long common_size(const struct report_picks *picks, const int begins[], int n)
{
    int ends[MOST_CONTENDERS];
    for (int i = 0; i < n; i++)
        ends[i] = report_series_end(picks, begins[i]);
    for (size_t i = 0; i < sizeof usual_sizes / sizeof *usual_sizes; i++)
        if (count_with(picks, begins, ends, n, usual_sizes[i]) > 1)
            return usual_sizes[i];
    const long long of_all = largest_with(picks, begins, ends, n, n);
    return of_all >= SMALL ? of_all : largest_with(picks, begins, ends, n, 2);
}

static int by_time(const void *a, const void *b)
{
    const struct report_row *x = *(const struct report_row *const *)a, *y = *(const struct report_row *const *)b;
    return CLAB_ORDER(x->usec, y->usec);
}

static void make_contest(const struct report_picks *picks, int first, struct report_contest *contest_p)
{
    int begins[MOST_CONTENDERS];
    const int n = gather_series(picks, first, begins);
    const long long bytes = n > 1 ? common_size(picks, begins, n) : 0;
    *contest_p = (struct report_contest){0};
    for (int i = 0; bytes && i < n; i++) {
        contest_p->rows[contest_p->n] = at_size(picks, begins[i], report_series_end(picks, begins[i]), bytes);
        contest_p->n += contest_p->rows[contest_p->n] != NULL;
    }
    contest_p->left_out = n - contest_p->n;
    qsort(contest_p->rows, (size_t)contest_p->n, sizeof *contest_p->rows, by_time);
}

// Whether the series at `first` is the first of its work and number of ranks.
static bool is_first_of_ranks(const struct report_picks *picks, int first)
{
    for (int i = first - 1; i >= 0 && report_is_same_work(picks->picks[i].row, picks->picks[first].row); i--)
        if (picks->picks[i].row->ranks == picks->picks[first].row->ranks)
            return false;
    return true;
}

static int compare_backends(const struct report_picks *picks, int first, struct report_findings *f)
{
    struct report_contest contest;
    if (!is_first_of_ranks(picks, first))
        return CLAB_OK;
    make_contest(picks, first, &contest);
    for (int i = 1; i < contest.n; i++)
        CLAB_TRY(tell_pair(picks, contest.rows[0], contest.rows[i], put_place, f));
    return CLAB_OK;
}

// Most backends.
void report_contest_find(const struct report_picks *picks, const char *collective, struct report_contest *contest_p)
{
    *contest_p = (struct report_contest){0};
    for (int i = 0; i < picks->n; i = report_series_end(picks, i)) {
        struct report_contest c;
        if (strcmp(picks->picks[i].row->collective, collective) || !is_first_of_ranks(picks, i))
            continue;
        make_contest(picks, i, &c);
        if (c.n > contest_p->n)
            *contest_p = c;
    }
}

// ---- runs of one setting -------------------------------------------------------------------------------------

static double apart(const struct report_row *row)
{
    return report_runs_slowest(row)->usec / report_runs_fastest(row)->usec;
}

// How many runs there are of a series' sizes, and how far apart they are where that is most.
static int tell_runs(const struct report_picks *picks, int first, int end, struct report_findings *f)
{
    const struct report_row *most = NULL;
    struct marked m;
    int n = 0;
    for (int i = first; i < end; i++) {
        const struct report_row *row = picks->picks[i].row;
        n += row->nruns > 0;
        if (row->nruns && (!most || apart(row) > apart(most)))
            most = row;
    }
    if (!most)
        return CLAB_OK;
    CLAB_TRY(marked_begin(picks->rows, &m));
    put_work(&m, most, true, true);
    fprintf(m.out, "%d runs by ", most->nruns);
    marked_name(&m, most->algorithm);
    fputs(". ", m.out);
    put_comparison(&m, report_runs_fastest(most), report_runs_slowest(most), put_file);
    fputs(" The median of runs counts, with an interval over all of theirs.", m.out);
    if (end - first > 1)
        fprintf(m.out, " Of %d sizes, %d ha%s several runs; here they are furthest apart.", end - first, n,
                n == 1 ? "s" : "ve");
    return push(f, most->collective, &m);
}

// ---- one series ----------------------------------------------------------------------------------------------

static int compare_algorithms(const struct report_picks *picks, int first, int end, struct report_findings *f)
{
    const int ends[] = {first, end - 1};
    for (int i = 0; i < 1 + (end - first > 1); i++) {
        const struct report_pick *pick = &picks->picks[ends[i]];
        if (pick->rival)
            CLAB_TRY(tell_pair(picks, pick->row, pick->rival, put_algorithm, f));
    }
    return CLAB_OK;
}

// Where the bandwidth ends to grow: its most, and the smallest size with half of that.
static int tell_bandwidth(const struct report_picks *picks, int first, int end, struct report_findings *f)
{
    const struct report_row *most = NULL, *half = NULL;
    struct marked m;
    for (int i = first; i < end; i++)
        if (isfinite(picks->picks[i].row->busbw) && (!most || picks->picks[i].row->busbw > most->busbw))
            most = picks->picks[i].row;
    for (int i = end - 1; most && i >= first && picks->picks[i].row->busbw >= most->busbw / 2; i--)
        half = picks->picks[i].row;
    if (end - first < FEW_SIZES || !most)
        return CLAB_OK;
    CLAB_TRY(marked_begin(picks->rows, &m));
    put_work(&m, most, true, true);
    fputs("the bus bandwidth is highest at this size, ", m.out);
    marked_rate(&m, most);
    fputs(half ? ". It is at least half of that from " : ". At the largest size, ", m.out);
    marked_size(&m, half ? half : picks->picks[end - 1].row);
    if (half) {
        fputs(" on.", m.out);
    } else {
        fputs(", it is ", m.out);
        marked_rate(&m, picks->picks[end - 1].row);
        fputs(".", m.out);
    }
    return push(f, most->collective, &m);
}

static int compare_ranks(const struct report_picks *picks, int first, int end, struct report_findings *f)
{
    const struct report_row *a = picks->picks[first].row;
    if (end >= picks->n || !report_is_same_work(a, picks->picks[end].row) ||
        !report_is_same_place(picks->rows, a, picks->picks[end].row))
        return CLAB_OK;
    const int next_end = report_series_end(picks, end);
    const int begins[] = {first, end};
    const long long bytes = common_size(picks, begins, 2);
    const struct report_row *few = at_size(picks, first, end, bytes), *many = at_size(picks, end, next_end, bytes);
    if (!bytes || !few || !many)
        return CLAB_OK;
    return few->usec <= many->usec ? tell_pair(picks, few, many, put_ranks, f)
                                   : tell_pair(picks, many, few, put_ranks, f);
}

// ---- files ---------------------------------------------------------------------------------------------------

static int tell_predictions(const struct report_rows *rows, int source, double *errors, struct report_findings *f)
{
    struct marked m;
    int n = 0;
    for (int i = 0; i < rows->n; i++) {
        const struct report_row *row = &rows->rows[i];
        if (row->source == source && report_row_counts(row) && isfinite(row->predicted))
            errors[n++] = 100 * fabs(row->usec - row->predicted) / row->usec;
    }
    if (n < FEW_SIZES)
        return CLAB_OK;
    qsort(errors, (size_t)n, sizeof *errors, clab_order_doubles);
    CLAB_TRY(marked_begin(rows, &m));
    marked_name(&m, rows->sources[source].file);
    fprintf(m.out, ": half of %d predictions are within %.3g %% of the measured time, three quarters within %.3g %%.", n,
            errors[n / 2], errors[3 * n / 4]);
    return push(f, NULL, &m);
}

// What was not measured, and why: once per reason and file.
static int tell_skipped(const struct report_rows *rows, int source, struct report_findings *f)
{
    for (int i = 0, last = -1; i < rows->n; i++) {
        const struct report_row *row = &rows->rows[i];
        if (row->source != source || row->status < REPORT_SKIPPED)
            continue;
        if (last >= 0 && !strcmp(rows->rows[last].reason, row->reason) && rows->rows[last].ranks == row->ranks)
            continue;
        last = i;
        struct marked m;
        CLAB_TRY(marked_begin(rows, &m));
        marked_name(&m, row->backend);
        fprintf(m.out, ", %d ranks: %s: ", row->ranks, row->status == REPORT_SKIPPED ? "skipped" : "failed");
        marked_name(&m, *row->reason ? row->reason : "the file gives no reason");
        fprintf(m.out, " (");
        marked_name(&m, rows->sources[source].file);
        fprintf(m.out, ":%d).", row->line);
        CLAB_TRY(push(f, NULL, &m));
    }
    return CLAB_OK;
}

int report_compare(const struct report_picks *picks, struct report_findings *findings)
{
    for (int i = 0, end; i < picks->n && findings->n < MOST_FINDINGS; i = end) {
        end = report_series_end(picks, i);
        CLAB_TRY(tell_runs(picks, i, end, findings));
        CLAB_TRY(compare_backends(picks, i, findings));
        CLAB_TRY(compare_ranks(picks, i, end, findings));
        CLAB_TRY(compare_algorithms(picks, i, end, findings));
        CLAB_TRY(tell_bandwidth(picks, i, end, findings));
    }
    double *errors = calloc((size_t)picks->rows->n + 1, sizeof *errors);
    int err = errors ? CLAB_OK : CLAB_ENOMEM;
    for (int s = 0; s < picks->rows->nsources && !err && findings->n < MOST_FINDINGS; s++) {
        err = tell_predictions(picks->rows, s, errors, findings);
        err = err ? err : tell_skipped(picks->rows, s, findings);
    }
    free(errors);
    return err;
}

void report_findings_free(struct report_findings *f)
{
    for (int i = 0; i < f->n; i++)
        free(f->findings[i].text);
    for (int i = 0; i < f->ntroubles; i++) {
        free(f->troubles[i].what);
        free(f->troubles[i].cause);
        free(f->troubles[i].next);
    }
    free(f->findings);
    free(f->troubles);
    *f = (struct report_findings){0};
}
