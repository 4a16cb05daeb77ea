// SPDX-License-Identifier: MIT
// Answers of `commlab sim`, as text and as JSON.

#include "cmd/sim/print.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/files/table.h"
#include "core/base/units.h"

enum { ENOUGH_MESSAGES = 10000 }; // fewer give no useful rate

void sim_print_question(const struct sim_request *r)
{
    char size[CLAB_TEXT];
    if (r->goal) {
        printf("# %s among %d ranks on %s: %s\n", r->goal, r->problem.nranks, r->net->name, r->net->title);
        return;
    }
    printf("# %s of %s (%s) among %d rank%s on %s: %s\n", r->collective, clab_size_text(r->bytes, size),
           clab_type_name(r->type), r->problem.nranks, r->problem.nranks == 1 ? "" : "s", r->net->name, r->net->title);
    if (r->options.calls > 1)
        printf("# call after call, one of %d%s\n", r->options.calls,
               r->net->nlevels ? "; each writes to buffers that a peer has read in the call before" : "");
    else
        printf("# one call that all ranks begin together%s\n",
               r->net->nlevels ? ", with buffers that no peer has read before; bench and labs predict as with --calls 16"
                               : "");
    if (r->is_scattered)
        printf("# ranks are dealt out to the nodes: rank r is on node r modulo their number\n");
    if (r->is_chosen)
        printf("# auto: %s, the library's choice\n", r->algorithm);
}

static void print_part(const char *name, double seconds, double whole, const char *what)
{
    char text[CLAB_TEXT];
    printf("  %-10s %12s %4.0f %%  %s\n", name, clab_seconds_text(seconds, text), whole > 0 ? 100 * seconds / whole : 0,
           what);
}

static void print_parts(const struct clab_sim_result *s)
{
    print_part("latency", s->latency, s->seconds, "fixed costs of messages");
    print_part("bandwidth", s->bandwidth, s->seconds, "bytes sent, and copied");
    print_part("reduce", s->reduce, s->seconds, "bytes added up");
    print_part("wait", s->wait, s->seconds, "waiting for other ranks");
}

// What the switches do has a formula, and no schedule that a program could run.
static bool is_model_only(const struct sim_answer *a)
{
    return !strcmp(a->name, "in_network");
}

static void print_model_only(void)
{
    printf("# in_network: the model only; no program of this kit can run it. alpha + 2 levels * hop + bytes * the slower "
           "beta,\n# of the link and of the switch ([reducer] of the network; one way: 1 level * hop). Graham et al. 2016 "
           "(SHARP)\n");
}

void sim_print_answer(const struct sim_request *r, const struct sim_answer *a)
{
    const struct clab_sim_result *s = &a->result;
    char time[CLAB_TEXT], rate[CLAB_TEXT], cost[CLAB_TEXT], memory[CLAB_TEXT];
    printf("%s: %s", a->name, clab_seconds_text(s->seconds, time));
    if (r->bytes && s->seconds > 0)
        printf(", algbw %s", clab_rate_text((double)r->bytes / s->seconds, rate));
    printf("\n");
    if (!r->why)
        print_parts(s);
    if (is_model_only(a))
        print_model_only();
    printf("simulated in %s by engine %s (%s): %d rank%s, %ld message%s, %s of memory",
           clab_seconds_text(s->engine_seconds, cost), clab_sim_engine_name(s->engine), s->why, s->ranks,
           s->ranks == 1 ? "" : "s", s->messages, s->messages == 1 ? "" : "s", clab_size_text(s->peak_bytes, memory));
    if (s->messages >= ENOUGH_MESSAGES)
        printf(", %.1f M messages/s", 1e-6 * (double)s->messages / s->engine_seconds);
    printf("\n");
}

enum { COLUMNS = 9, FIRST_PART = 3, LAST_PART = 6 };

static bool is_shown(const struct sim_request *r, int column)
{
    return !r->why || column < FIRST_PART || column > LAST_PART;
}

static int add_row(const struct sim_request *r, const struct sim_answer *a, struct clab_table *table)
{
    const struct clab_sim_result *s = &a->result;
    const struct clab_cell all[COLUMNS] = {
        clab_cell_text(a->name),
        clab_cell_integer(a->lanes),
        clab_cell_real(1e6 * s->seconds),
        clab_cell_real(1e6 * s->latency),
        clab_cell_real(1e6 * s->bandwidth),
        clab_cell_real(1e6 * s->reduce),
        clab_cell_real(1e6 * s->wait),
        clab_cell_text(clab_sim_engine_name(s->engine)),
        clab_cell_integer(s->messages),
    };
    struct clab_cell row[COLUMNS];
    for (int i = 0, n = 0; i < COLUMNS; i++)
        if (is_shown(r, i))
            row[n++] = all[i];
    return clab_table_add_row(table, row);
}

void sim_print_table(const struct sim_request *r, const struct sim_answer *answers, int n)
{
    static const struct clab_column all[COLUMNS] = {
        {"algorithm", NULL, NULL, CLAB_KIND_TEXT, -20, 0, NULL}, {"lanes", NULL, NULL, CLAB_KIND_INTEGER, 5, 0, NULL},
        {"time", "time", "us", CLAB_KIND_REAL, 12, 2, NULL},     {"latency", NULL, "us", CLAB_KIND_REAL, 12, 2, NULL},
        {"bandwidth", NULL, "us", CLAB_KIND_REAL, 12, 2, NULL},  {"reduce", NULL, "us", CLAB_KIND_REAL, 12, 2, NULL},
        {"wait", NULL, "us", CLAB_KIND_REAL, 12, 2, NULL},       {"engine", NULL, NULL, CLAB_KIND_TEXT, 7, 0, NULL},
        {"messages", NULL, NULL, CLAB_KIND_INTEGER, 9, 0, NULL},
    };
    struct clab_column columns[COLUMNS];
    struct clab_table table;
    size_t ncolumns = 0;
    for (int i = 0; i < COLUMNS; i++)
        if (is_shown(r, i))
            columns[ncolumns++] = all[i];
    clab_table_init(&table, columns, ncolumns);
    for (int i = 0; i < n; i++)
        if (add_row(r, &answers[i], &table) != CLAB_OK)
            break;
    clab_table_print(&table, stdout);
    for (int i = 0; i < n; i++)
        if (is_model_only(&answers[i]))
            print_model_only();
    clab_table_free(&table);
}

void sim_fill_json(struct clab_json *json, const struct sim_request *r, const struct sim_answer *a)
{
    const struct clab_sim_result *s = &a->result;
    clab_json_add(json, "collective", clab_cell_text(r->collective));
    clab_json_add(json, "algorithm", clab_cell_text(a->name));
    clab_json_add(json, "ranks", clab_cell_integer(r->problem.nranks));
    clab_json_add(json, "bytes", clab_cell_integer((long long)r->bytes));
    clab_json_add(json, "type", clab_cell_text(clab_type_name(r->type)));
    clab_json_add(json, "lanes", clab_cell_integer(a->lanes));
    clab_json_add(json, "net", clab_cell_text(r->net->name));
    clab_json_add(json, "seconds", clab_cell_real(s->seconds));
    clab_json_add(json, "latency", clab_cell_real(s->latency));
    clab_json_add(json, "bandwidth", clab_cell_real(s->bandwidth));
    clab_json_add(json, "reduce", clab_cell_real(s->reduce));
    clab_json_add(json, "wait", clab_cell_real(s->wait));
    clab_json_add(json, "engine", clab_cell_text(clab_sim_engine_name(s->engine)));
    clab_json_add(json, "engine_why", clab_cell_text(s->why));
    clab_json_add(json, "engine_ranks", clab_cell_integer(s->ranks));
    clab_json_add(json, "engine_seconds", clab_cell_real(s->engine_seconds));
    clab_json_add(json, "model_only", clab_cell_integer(is_model_only(a)));
    clab_json_add(json, "messages", clab_cell_integer(s->messages));
    clab_json_add(json, "peak_bytes", clab_cell_integer((long long)s->peak_bytes));
}
