// SPDX-License-Identifier: MIT
// commlab nets: the networks that the simulator knows, and this machine's own profile if there is one.

#include "core/transport/backend.h"
#include "cmd/command.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/options.h"
#include "core/base/table.h"
#include "core/base/units.h"
#include "sim/net/net.h"
#include "sim/sim.h"

static const char doc[] =
    "List the networks that `commlab sim --net NAME` knows: sim/nets/NAME.net (or CLAB_NETS), `flat`, which --alpha, "
    "--beta and --gamma describe, and `machine`, this machine, once `commlab fit` has measured it. What is wrong with "
    "a file that can not be read is said, and the rest listed.\v"
    "alpha is a message's fixed cost and beta the rate of a link, one way; a network of nodes with several ranks has "
    "those of both its links. Every figure's source is in its file.";

static const struct clab_column columns[] = {
    {"net", NULL, NULL, CLAB_KIND_TEXT, -14, 0, NULL},
    {"nodes", NULL, NULL, CLAB_KIND_TEXT, 5, 0, NULL},
    {"ranks", "ranks", "/node", CLAB_KIND_TEXT, 6, 0, NULL},
    {"alpha_intra", "alpha", NULL, CLAB_KIND_TEXT, 8, 0, "within a node"},
    {"beta_intra", "beta", NULL, CLAB_KIND_TEXT, 10, 0, "within a node"},
    {"alpha_inter", "alpha", NULL, CLAB_KIND_TEXT, 8, 0, "between nodes"},
    {"beta_inter", "beta", NULL, CLAB_KIND_TEXT, 10, 0, "between nodes"},
    {"title", NULL, NULL, CLAB_KIND_TEXT, -1, 0, NULL},
};

// TITLE: what 120 columns leave of a line.
enum { NCOLUMNS = sizeof columns / sizeof *columns, TITLE = 50 };

static const char *alpha_of(const struct clab_link *link, char text[CLAB_TEXT])
{
    return link->present ? clab_seconds_text(link->alpha, text) : NULL;
}

static const char *beta_of(const struct clab_link *link, char text[CLAB_TEXT])
{
    return link->present && link->beta > 0 ? clab_rate_text(1 / link->beta, text) : NULL;
}

// The bytes of the title that go on one line: up to its end, or the last space that is near enough.
static int bytes_of_line(const char *title)
{
    int length = (int)strlen(title);
    if (length > TITLE)
        for (length = TITLE; length && title[length] != ' ';)
            length--;
    return length ? length : TITLE;
}

// A line of its own for each piece of the title that the row has no room for.
static int add_rest(struct clab_table *table, const char *title)
{
    int err = CLAB_OK;
    for (int length; *title && !err; title += length) {
        struct clab_cell row[NCOLUMNS];
        char text[TITLE + 1];
        title += strspn(title, " ");
        length = bytes_of_line(title);
        snprintf(text, sizeof text, "%.*s", length, title);
        for (int i = 0; i < NCOLUMNS; i++)
            row[i] = clab_cell_text(i < NCOLUMNS - 1 ? "" : text);
        err = clab_table_add_row(table, row);
    }
    return err;
}

// One that can not be read has had its line: it is left out, and the others are listed.
static int add_net(struct clab_table *table, const char *name, bool *broken)
{
    struct clab_net *net;
    char nodes[CLAB_TEXT], ranks[CLAB_TEXT], text[4][CLAB_TEXT], title[TITLE + 1];
    if (clab_net_load(name, &net) != CLAB_OK) {
        *broken = true;
        return CLAB_OK;
    }
    snprintf(nodes, sizeof nodes, "%d", net->nodes);
    snprintf(ranks, sizeof ranks, "%d", net->ranks_per_node);
    snprintf(title, sizeof title, "%.*s", bytes_of_line(net->title), net->title);
    const struct clab_cell row[NCOLUMNS] = {
        clab_cell_text(net->name),
        clab_cell_text(net->nodes ? nodes : "any"),
        clab_cell_text(ranks),
        clab_cell_text(alpha_of(&net->intra, text[0])),
        clab_cell_text(beta_of(&net->intra, text[1])),
        clab_cell_text(alpha_of(&net->inter, text[2])),
        clab_cell_text(beta_of(&net->inter, text[3])),
        clab_cell_text(title),
    };
    int err = clab_table_add_row(table, row);
    if (!err)
        err = add_rest(table, net->title + strlen(title));
    clab_net_free(net);
    return err;
}

// What has no file, since the command line describes it.
static int add_flat(struct clab_table *table)
{
    const struct clab_cell row[NCOLUMNS] = {
        clab_cell_text("flat"),   clab_cell_text("any"),
        clab_cell_text("1"),      clab_cell_text(NULL),
        clab_cell_text(NULL),     clab_cell_text("--alpha"),
        clab_cell_text("--beta"), clab_cell_text("what `commlab sim --net flat` is told"),
    };
    return clab_table_add_row(table, row);
}

static int is_net(const struct dirent *entry)
{
    size_t length = strlen(entry->d_name);
    return length > 4 && strcmp(entry->d_name + length - 4, ".net") == 0;
}

static int add_folder(struct clab_table *table, const char *folder, bool *broken)
{
    struct dirent **entries;
    int n = scandir(folder, &entries, is_net, versionsort), err = CLAB_OK;
    if (n < 0) {
        clab_error("%s: %m; CLAB_NETS names the folder of the network descriptions", folder);
        return CLAB_ENOENT;
    }
    for (int i = 0; i < n; i++) {
        char *path;
        if (!err)
            err = asprintf(&path, "%s/%s", folder, entries[i]->d_name) < 0 ? CLAB_ENOMEM : CLAB_OK;
        if (!err) {
            err = add_net(table, path, broken);
            free(path);
        }
        free(entries[i]);
    }
    free(entries);
    return err;
}

static int add_profile(struct clab_table *table, const char *backend, bool *broken)
{
    char *path;
    CLAB_TRY(clab_net_profile_path(backend, &path));
    int err = access(path, R_OK) == 0 ? add_net(table, path, broken) : CLAB_OK;
    free(path);
    return err;
}

static int run(int argc, char **argv)
{
    static const struct clab_option none[] = {{0}};
    static const struct clab_command_line line = {.options = none, .about = doc};
    struct clab_table table;
    char *folder;
    if (clab_options_parse(&line, argc, argv, NULL))
        return STATUS_USAGE;
    if (clab_net_folder(&folder) != CLAB_OK)
        return EXIT_FAILURE;
    clab_table_init(&table, columns, NCOLUMNS);
    bool broken = false;
    int err = add_folder(&table, folder, &broken);
    if (!err)
        err = add_flat(&table);
    const char *backend;
    for (int i = 0; !err && (backend = clab_backend_name(i)); i++)
        err = add_profile(&table, backend, &broken);
    if (!err)
        clab_table_print(&table, stdout);
    clab_table_free(&table);
    free(folder);
    return err || broken ? EXIT_FAILURE : EXIT_SUCCESS;
}

const struct clab_command cmd_nets = {"nets", "list the networks that the simulator knows", run};
