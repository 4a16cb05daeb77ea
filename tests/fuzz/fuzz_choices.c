// SPDX-License-Identifier: MIT
// Choices for NCCL, and the times that they are made of: a table that is read is written and read as the same, whatever
// is refused is said in a line that names the file, and what comes of times has no gap.

#include "tests/fuzz/fuzz.h"

#include <math.h>

#include "core/base/err.h"
#include "cmd/nccl/tune.h"
#include "cmd/report/combine/rows.h"

static const char path[] = "a.csv";

// ---- the tuner's table ---------------------------------------------------------------------------------------

static int read_rows(const void *text, size_t size, struct clab_nccl_rows *rows_p, char why[CLAB_NCCL_WHY])
{
    FILE *file = fuzz_file(text, size);
    const int err = clab_nccl_rows_read(file, path, rows_p, why);
    fclose(file);
    return err;
}

static void check_row(const struct clab_nccl_row *r)
{
    must_hold(r->function >= 0 && r->function < CLAB_NCCL_FUNCTIONS && r->first <= r->last && r->line > 0);
    must_hold(r->algorithm >= 0 && r->algorithm < CLAB_NCCL_ALGORITHMS);
    must_hold(r->protocol >= 0 && r->protocol < CLAB_NCCL_PROTOCOLS);
    must_hold(r->channels >= CLAB_NCCL_ANY && r->channels <= CLAB_NCCL_MOST_CHANNELS);
    must_hold(r->nodes == CLAB_NCCL_ANY || r->nodes > 0);
    must_hold(r->ranks == CLAB_NCCL_ANY || r->ranks > 0);
}

static bool is_same(const struct clab_nccl_row *a, const struct clab_nccl_row *b)
{
    return a->function == b->function && a->algorithm == b->algorithm && a->protocol == b->protocol &&
           a->first == b->first && a->last == b->last && a->channels == b->channels && a->nodes == b->nodes &&
           a->ranks == b->ranks && a->ops == b->ops && a->registered == b->registered;
}

static void check_again(const struct clab_nccl_rows *rows)
{
    char *text, why[CLAB_NCCL_WHY];
    size_t size;
    struct clab_nccl_rows again;
    FILE *file = open_memstream(&text, &size);
    must_hold(file);
    clab_nccl_rows_write_heading(true, file);
    for (int i = 0; i < rows->n; i++)
        clab_nccl_rows_write(&rows->rows[i], i % 2 ? 1.5 : 0, file);
    fclose(file);
    must_hold(read_rows(text, size, &again, why) == CLAB_OK);
    must_hold(again.n == rows->n && again.short_rows == 0);
    for (int i = 0; i < rows->n; i++)
        must_hold(is_same(&again.rows[i], &rows->rows[i]));
    clab_nccl_rows_free(&again);
    free(text);
}

static void check_rows(const uint8_t *data, size_t size)
{
    char why[CLAB_NCCL_WHY];
    struct clab_nccl_rows rows;
    const int err = read_rows(data, size, &rows, why);
    must_hold(err == CLAB_OK || err == CLAB_EPARSE);
    if (err) {
        must_hold(!strncmp(why, path, strlen(path)) && !strchr(why, '\n') && strlen(why) < CLAB_NCCL_WHY - 1);
        return;
    }
    must_hold(rows.n > 0 && rows.short_rows <= rows.n);
    for (int i = 0; i < rows.n; i++)
        check_row(&rows.rows[i]);
    check_again(&rows);
    clab_nccl_rows_free(&rows);
}

// ---- times ---------------------------------------------------------------------------------------------------

static void check_time(const struct tune_time *t)
{
    must_hold(t->function >= 0 && t->function < CLAB_NCCL_FUNCTIONS && t->ranks >= 2 && t->nodes >= 1);
    must_hold(t->usec > 0 && isfinite(t->usec));
    must_hold(t->is_own || (t->algorithm >= 0 && t->algorithm < CLAB_NCCL_ALGORITHMS));
    must_hold(t->is_own || (t->protocol >= 0 && t->protocol < CLAB_NCCL_PROTOCOLS));
}

static void check_choices(struct tune_times *times)
{
    struct tune_choice *c;
    int n;
    must_hold(tune_choose(times, (struct tune_rule){.margin = 1.03}, &c, &n) == CLAB_OK);
    must_hold(n <= times->n && (n > 0) == (times->n > 0));
    for (int i = 0; i < n; i++) {
        must_hold(c[i].row.first <= c[i].row.last && c[i].nsizes > 0);
        must_hold(c[i].row.first == 0 || (i > 0 && c[i - 1].row.last + 1 == c[i].row.first));
    }
    free(c);
}

static void check_times(const uint8_t *data, size_t size)
{
    struct tune_times times = {0};
    struct clab_input input = fuzz_input(data, size);
    fuzz_log_clear();
    const struct tune_label label = {.is_own = true, .channels = CLAB_NCCL_ANY};
    const int err = tune_read_input(&input, path, label, (struct tune_missing){-1, 0, 1}, &times);
    clab_input_close(&input);
    must_hold(err == CLAB_OK || err == CLAB_EPARSE);
    if (err)
        must_say_once(path);
    for (int i = 0; i < times.n; i++)
        check_time(&times.all[i]);
    if (!err)
        check_choices(&times);
    tune_times_free(&times);
}

// The same text of nccl-tests as rows of a report.
static void check_report(const uint8_t *data, size_t size)
{
    struct report_rows rows = {0};
    char *text = fuzz_text(data, size);
    fuzz_log_clear();
    const int err =
        report_rows_add_nccl_tests(&rows, text, path, "reduce_perf.txt", (struct report_missing){"allreduce", 2});
    must_hold(err == CLAB_OK || err == CLAB_EPARSE);
    if (err)
        must_say_once(path);
    must_hold(!err || rows.n == 0);
    for (int i = 0; i < rows.n; i++) {
        const struct report_row *row = &rows.rows[i];
        must_hold(isfinite(row->usec) && row->usec > 0 && row->ranks > 0 && row->bytes >= 0 && row->line > 0);
        must_hold(*row->collective && *row->backend && *row->type && *row->op && row->wrong >= -1);
    }
    report_rows_free(&rows);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    check_rows(data, size);
    check_times(data, size);
    check_report(data, size);
    return 0;
}
