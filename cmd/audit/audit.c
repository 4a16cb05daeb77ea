// SPDX-License-Identifier: MIT
// commlab audit: claims of a file, and what arithmetic and physics say of them (audit.h).

#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/audit/audit.h"
#include "cmd/command.h"
#include "cmd/kit/kit.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/options.h"
#include "core/base/files/output.h"
#include "core/base/files/table.h"

static const char usual_folder[] = "labs/13-audit", usual_file[] = "claims.txt";

static const char about[] =
    "Check published claims against arithmetic and physics.\v"
    "FILE holds claims, a section each; without it, the 38 of lab 13. The verdict is computed from the claim's numbers by "
    "its rule. A claim of your own:\n"
    "  [mine]\n"
    "  source  = a blog\n"
    "  says    = 8 GPUs sum 1 GB in 1 ms over NVLink\n"
    "  rule    = bound\n"
    "  value   = 1 ms\n"
    "  at_least = 2 * (n - 1) / n * 1 GB / rate\n"
    "  n       = 8\n"
    "  rate    = 450 GB/s\n"
    "Exit status: 0, also where claims fail; 2 if the file is wrong, with its line.";

struct request {
    const char *file, *csv, *json, *claim;
    bool rules, is_long;
};
#define REQUEST struct request

static int take_file(const char *text, void *into)
{
    struct request *r = into;
    if (r->file) {
        clab_error("audit: %s: one file at a time", text);
        return CLAB_EINVAL;
    }
    r->file = text;
    return CLAB_OK;
}

static const struct clab_option options[] = {
    {"claim", 0, "ID", "only this claim", CLAB_TEXT_AT(REQUEST, claim)},
    {"rules", 0, NULL, "list the rules: name, settings, question, verdicts", CLAB_ON(REQUEST, rules)},
    {"full", 0, NULL, "whole sentences, a claim per paragraph", CLAB_ON(REQUEST, is_long)},
    {"csv", 0, "FILE", "write all as CSV", CLAB_TEXT_AT(REQUEST, csv)},
    {"json", 0, "FILE", "write all as JSON", CLAB_TEXT_AT(REQUEST, json)},
    {0},
};

static const struct clab_column columns[] = {
    {"id", NULL, NULL, CLAB_KIND_TEXT, -8, 0, NULL},        {"source", NULL, NULL, CLAB_KIND_TEXT, -6, 0, NULL},
    {"claim", NULL, NULL, CLAB_KIND_TEXT, -40, 0, NULL},    {"computed", NULL, NULL, CLAB_KIND_TEXT, -44, 0, NULL},
    {"verdict", NULL, NULL, CLAB_KIND_TEXT, -14, 0, NULL},
};
enum { COLUMNS = sizeof columns / sizeof *columns, CLAIM = 2, COMPUTED = 3 };

static int add(struct clab_table *table, const struct audit_claims *claims, const struct audit_claim *claim)
{
    struct audit_verdict verdict;
    const struct audit_setting *source = audit_find(claim, "source");
    CLAB_TRY(audit_judge(claims, claim, &verdict));
    const struct clab_cell cells[] = {clab_cell_text(claim->id), clab_cell_text(source ? source->value : ""),
                                      clab_cell_text(audit_find(claim, "says")->value), clab_cell_text(verdict.computed),
                                      clab_cell_text(verdict.word)};
    return clab_table_add_row(table, cells);
}

static int judge_all(const struct request *r, const struct audit_claims *claims, struct clab_table *table)
{
    for (int i = 0; i < claims->n; i++)
        if (!r->claim || !strcmp(r->claim, claims->all[i].id))
            CLAB_TRY(add(table, claims, &claims->all[i]));
    if (clab_table_rows(table))
        return CLAB_OK;
    clab_error("audit: --claim %s: %s has no such claim", r->claim, claims->path);
    return CLAB_ENOENT;
}

// ---- the screen ----------------------------------------------------------------------------------------------

static const char *cell(const struct clab_table *table, int row, int column)
{
    return clab_table_cell(table, row, column).text;
}

// A table of 120 columns; a longer text goes on in lines below, cut at blanks.
static size_t part(const char **text, size_t room)
{
    size_t n = strlen(*text);
    if (n > room)
        for (n = room; n > 0 && (*text)[n] != ' ';)
            n--;
    return n ? n : room;
}

static void print_row(const struct clab_table *table, int row)
{
    const char *claim = cell(table, row, CLAIM), *computed = cell(table, row, COMPUTED);
    for (bool is_first = true; is_first || *claim || *computed; is_first = false) {
        const int a = (int)part(&claim, 40), b = (int)part(&computed, 44);
        printf("  %-8s %-6s %-40.*s %-44.*s %s\n", is_first ? cell(table, row, 0) : "", is_first ? cell(table, row, 1) : "",
               a, claim, b, computed, is_first ? cell(table, row, COLUMNS - 1) : "");
        claim += strlen(claim) < (size_t)a ? strlen(claim) : (size_t)a;
        computed += strlen(computed) < (size_t)b ? strlen(computed) : (size_t)b;
        claim += strspn(claim, " ");
        computed += strspn(computed, " ");
    }
}

static void print(const struct request *r, const struct clab_table *table, const char *path)
{
    int passed = 0;
    printf("# claims of %s\n# id       source claim                                    computed                              "
           "       verdict\n", path);
    for (int i = 0; i < clab_table_rows(table); i++) {
        if (r->is_long)
            printf("\n[%s] source %s: %s\n  %s\n  %s\n", cell(table, i, 0), cell(table, i, 1), cell(table, i, CLAIM),
                   cell(table, i, COMPUTED), cell(table, i, COLUMNS - 1));
        else
            print_row(table, i);
        passed += !strcmp(cell(table, i, COLUMNS - 1), "pass");
    }
    printf("# %d of %d claims pass\n", passed, clab_table_rows(table));
}

// Without a file: lab 13's, wherever the kit lies.
static int load(const struct request *r, struct audit_claims *claims)
{
    char *root, path[PATH_MAX];
    if (r->file)
        return audit_claims_load(r->file, claims);
    CLAB_TRY(kit_root(&root));
    const int err = kit_path(root, usual_folder, usual_file, path);
    free(root);
    return err ? err : audit_claims_load(kit_relative(path), claims);
}

static int run(int argc, char **argv)
{
    static const struct clab_command_line line = {
        .options = options, .arguments = "[FILE]", .about = about, .argument = take_file};
    struct request request = {0};
    struct audit_claims claims = {0};
    struct clab_table table;
    if (clab_options_parse(&line, argc, argv, &request))
        return STATUS_USAGE;
    if (request.rules) {
        audit_rules_print(stdout);
        return EXIT_SUCCESS;
    }
    clab_table_init(&table, columns, COLUMNS);
    int err = load(&request, &claims);
    if (!err && request.csv)
        err = clab_output_announce(request.csv);
    if (!err && request.json)
        err = clab_output_announce(request.json);
    if (!err)
        err = judge_all(&request, &claims, &table);
    if (!err)
        print(&request, &table, claims.path);
    if (!err)
        err = clab_table_write(&table, NULL, request.csv, request.json);
    clab_table_free(&table);
    audit_claims_free(&claims);
    return command_status(err);
}

const struct clab_command cmd_audit = {"audit", "check published claims against arithmetic and physics", run};
