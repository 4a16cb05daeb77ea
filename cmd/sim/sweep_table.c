// SPDX-License-Identifier: MIT
// The tables of a sweep: per number of ranks the best algorithm over ranges of sizes, and all times as CSV.
//
// - An algorithm's loss is its extra time against the best one: mean and maximum over the priced sizes of a range.

#include "cmd/sim/sweep.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/files/table.h"
#include "core/base/units.h"

enum { NAMES = 64, LINE = 512 };

// ---- ranges of sizes -----------------------------------------------------------------------------------------

// The end of the cells from `first` on that have the same best entry.
static int end_of_range(const struct sweep_line *line, int first)
{
    int end = first + 1;
    while (end < line->ncells && line->cells[end].best == line->cells[first].best)
        end++;
    return end;
}

// The loss against the best, over the cells of a range.
struct loss {
    double sum, most;
    int n;
    char names[NAMES]; // "ring/tree"
};

static bool has_name(const char *names, const char *name)
{
    const size_t length = strlen(name);
    for (const char *at = names; (at = strstr(at, name)); at += length)
        if ((at == names || at[-1] == '/') && (at[length] == '/' || !at[length]))
            return true;
    return false;
}

static void add_loss(struct loss *loss, const char *name, double seconds, double best)
{
    const double part = fmax(0, seconds / best - 1); // equals count as equal
    const size_t used = strlen(loss->names);
    if (!name || isnan(seconds))
        return;
    if (!has_name(loss->names, name))
        snprintf(loss->names + used, sizeof loss->names - used, "%s%s", used ? "/" : "", name);
    loss->sum += part;
    loss->most = fmax(loss->most, part);
    loss->n++;
}

// As many names as `width` columns hold, and how many more there are: "naive/leaders/+1". The first always fits.
static struct clab_cell names_cell(const struct loss *loss, int width, char text[NAMES])
{
    const char *end = loss->names + strlen(loss->names);
    int more = 0;
    for (const char *at = end; end - loss->names > width - (more ? 3 : 0) && at > loss->names; at--)
        if (*at == '/') {
            end = at;
            more++;
        }
    snprintf(text, NAMES, more ? "%.*s/+%d" : "%.*s", (int)(end - loss->names), loss->names, more);
    return clab_cell_text(*text ? text : NULL);
}

static struct clab_cell percent(double part, const struct loss *loss)
{
    return loss->n ? clab_cell_real(100 * part) : clab_cell_none();
}

// ---- the screen ----------------------------------------------------------------------------------------------

// A hundred and twenty columns in all.
enum { SECOND = 22, CHOSEN = 17 };

static const struct clab_column columns[] = {
    {"ranks", NULL, NULL, CLAB_KIND_INTEGER, 6, 0, NULL},
    {"from", NULL, NULL, CLAB_KIND_TEXT, 9, 0, NULL},
    {"to", NULL, NULL, CLAB_KIND_TEXT, 9, 0, NULL},
    {"best", NULL, NULL, CLAB_KIND_TEXT, -16, 0, NULL},
    {"second", "algorithm", NULL, CLAB_KIND_TEXT, -SECOND, 0, "second best"},
    {"second_loses", "loses", "%", CLAB_KIND_REAL, 7, 1, "second best"},
    {"second_most", "at most", "%", CLAB_KIND_REAL, 7, 1, "second best"},
    {"default", "algorithm", NULL, CLAB_KIND_TEXT, -CHOSEN, 0, "default choice"},
    {"default_loses", "loses", "%", CLAB_KIND_REAL, 7, 1, "default choice"},
    {"default_most", "at most", "%", CLAB_KIND_REAL, 7, 1, "default choice"},
};

enum { NCOLUMNS = sizeof columns / sizeof *columns };

static int add_range(const struct sweep *sweep, const struct sweep_line *line, int first, int end,
                     struct clab_table *table)
{
    const int best = line->cells[first].best, last = end < line->ncells ? end : end - 1;
    struct loss second = {0}, chosen = {0};
    char from[CLAB_TEXT], to[CLAB_TEXT], seconds[NAMES], choices[NAMES];
    for (int i = first; i < end && best >= 0; i++) {
        const struct sweep_cell *c = &line->cells[i];
        const double least = c->results[best].seconds;
        if (c->second >= 0)
            add_loss(&second, line->entries[c->second].name, c->results[c->second].seconds, least);
        add_loss(&chosen, c->chosen_name, c->chosen_seconds, least);
    }
    const struct clab_cell row[NCOLUMNS] = {
        clab_cell_integer(line->nranks),
        clab_cell_text(clab_size_text(sweep_bytes(sweep, line, line->cells[first].count), from)),
        clab_cell_text(clab_size_text(sweep_bytes(sweep, line, line->cells[last].count), to)),
        clab_cell_text(best >= 0 ? line->entries[best].name : NULL),
        names_cell(&second, SECOND, seconds),
        percent(second.sum / second.n, &second),
        percent(second.most, &second),
        names_cell(&chosen, CHOSEN, choices),
        percent(chosen.sum / chosen.n, &chosen),
        percent(chosen.most, &chosen),
    };
    return clab_table_add_row(table, row);
}

static int add_line(const struct sweep *sweep, const struct sweep_line *line, struct clab_table *table)
{
    for (int first = 0, end; first < line->ncells; first = end) {
        end = end_of_range(line, first);
        CLAB_TRY(add_range(sweep, line, first, end, table));
    }
    return CLAB_OK;
}

static bool is_of_same_table(const struct sweep_line *a, const struct sweep_line *b)
{
    return a->collective == b->collective && a->net == b->net;
}

int sweep_print(const struct sweep *sweep)
{
    for (int first = 0, end; first < sweep->nlines; first = end) {
        const struct sweep_line *line = &sweep->lines[first];
        struct clab_table table;
        int err = CLAB_OK;
        clab_table_init(&table, columns, NCOLUMNS);
        for (end = first; end < sweep->nlines && is_of_same_table(line, &sweep->lines[end]); end++)
            if (!err)
                err = add_line(sweep, &sweep->lines[end], &table);
        printf("# %s of %s on %s: %s\n", clab_collective_name(line->collective), clab_type_name(sweep->type),
               line->net->name, line->net->title);
        if (!err)
            clab_table_print(&table, stdout);
        clab_table_free(&table);
        CLAB_TRY(err);
    }
    printf("# loses: how much longer than the best, as a mean over the sizes of a row; at most: at the worst size\n"
           "# a/b: a at some sizes, b at others; +1: one more. default choice: the library's, if you name none\n");
    return CLAB_OK;
}

// ---- what was left out ---------------------------------------------------------------------------------------

// "allreduce ring on dgx-h100, 131072 ranks, 8 B to 256 KiB: 3.4e+10 messages each"; false: nothing was.
static bool left_out_text(const struct sweep *sweep, const struct sweep_line *line, int entry, char text[LINE])
{
    const struct sweep_cell *first = NULL, *last = NULL;
    char from[CLAB_TEXT], to[CLAB_TEXT];
    int n = 0;
    for (int i = 0; i < line->ncells; i++)
        if (isnan(line->cells[i].results[entry].seconds)) {
            first = first ? first : &line->cells[i];
            last = &line->cells[i];
            n++;
        }
    if (!first)
        return false;
    snprintf(text, LINE, "%s %s on %s, %d ranks, %d sizes from %s to %s: %.1e messages to simulate, more than %.1e",
             clab_collective_name(line->collective), line->entries[entry].name, line->net->name, line->nranks, n,
             clab_size_text(sweep_bytes(sweep, line, first->count), from),
             clab_size_text(sweep_bytes(sweep, line, last->count), to), last->messages[entry], sweep->messages_at_most);
    return true;
}

// Hands each line of text to `use`.
static int tell_left_out(const struct sweep *sweep, int (*use)(const char *text, void *context), void *context)
{
    char text[LINE];
    for (int l = 0; l < sweep->nlines; l++) {
        const struct sweep_line *line = &sweep->lines[l];
        snprintf(text, sizeof text, "%s on %s, %d ranks: %s", clab_collective_name(line->collective), line->net->name,
                 line->nranks, line->left_out ? line->left_out : "");
        if (line->left_out)
            CLAB_TRY(use(text, context));
        for (int entry = 0; entry < line->nentries; entry++)
            if (left_out_text(sweep, line, entry, text))
                CLAB_TRY(use(text, context));
    }
    return CLAB_OK;
}

static int print_text(const char *text, void *context)
{
    (void)context;
    printf("left out: %s\n", text);
    return CLAB_OK;
}

void sweep_print_left_out(const struct sweep *sweep)
{
    tell_left_out(sweep, print_text, NULL);
}

static int add_text(const char *text, void *context)
{
    return clab_manifest_add(context, "left out", "%s", text);
}

int sweep_add_left_out(const struct sweep *sweep, struct clab_manifest *manifest)
{
    return tell_left_out(sweep, add_text, manifest);
}

// ---- the file ------------------------------------------------------------------------------------------------

static const struct clab_column files[] = {
    CLAB_COLUMN(TEXT, "collective"), CLAB_COLUMN(TEXT, "algorithm"), CLAB_COLUMN(TEXT, "net"),
    CLAB_COLUMN(INTEGER, "ranks"), CLAB_COLUMN(INTEGER, "bytes"), CLAB_COLUMN(REAL, "seconds"),
    CLAB_COLUMN(REAL, "latency"), CLAB_COLUMN(REAL, "bandwidth"), CLAB_COLUMN(REAL, "reduce"),
    CLAB_COLUMN(REAL, "wait"), CLAB_COLUMN(TEXT, "engine"), CLAB_COLUMN(INTEGER, "best"),
};

enum { NFILES = sizeof files / sizeof *files };

static int add_cell(const struct sweep *sweep, const struct sweep_line *line, const struct sweep_cell *cell,
                    struct clab_table *table)
{
    for (int i = 0; i < line->nentries; i++) {
        const struct clab_sim_result *r = &cell->results[i];
        if (isnan(r->seconds))
            continue;
        CLAB_TRY(clab_table_add_row(table, (const struct clab_cell[NFILES]){
                                               clab_cell_text(clab_collective_name(line->collective)),
                                               clab_cell_text(line->entries[i].name),
                                               clab_cell_text(line->net->name),
                                               clab_cell_integer(line->nranks),
                                               clab_cell_integer((long long)sweep_bytes(sweep, line, cell->count)),
                                               clab_cell_real(r->seconds),
                                               clab_cell_real(r->latency),
                                               clab_cell_real(r->bandwidth),
                                               clab_cell_real(r->reduce),
                                               clab_cell_real(r->wait),
                                               clab_cell_text(clab_sim_engine_name(r->engine)),
                                               clab_cell_integer(i == cell->best),
                                           }));
    }
    return CLAB_OK;
}

int sweep_write_csv(const struct sweep *sweep, const struct clab_manifest *manifest, const char *path)
{
    struct clab_table table;
    int err = CLAB_OK;
    clab_table_init(&table, files, NFILES);
    for (int l = 0; l < sweep->nlines; l++)
        for (int c = 0; c < sweep->lines[l].ncells && !err; c++)
            err = add_cell(sweep, &sweep->lines[l], &sweep->lines[l].cells[c], &table);
    if (!err)
        err = clab_table_write_csv(&table, manifest, path);
    clab_table_free(&table);
    return err;
}
