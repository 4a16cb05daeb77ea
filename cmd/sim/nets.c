// SPDX-License-Identifier: MIT
// commlab nets: list the networks that the simulator knows, and this machine, measured or not; or one of them.

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
#include "core/base/files/table.h"
#include "core/base/units.h"
#include "sim/net/net.h"
#include "sim/sim.h"

static const char doc[] =
    "List the networks that `commlab sim --net NAME` knows: the files sim/nets/NAME.net (CLAB_NETS names another "
    "folder); `flat`, which --alpha, --beta and --gamma describe; and `machine`, this machine, which `commlab fit` "
    "measures. A file with a mistake gets a message, and the others are listed. With NET: only that network, and its "
    "time per byte.\v"
    "alpha is the fixed time per message. The bandwidth is the rate of a link, in one direction; beta, the time per "
    "byte, is 1 / bandwidth. A node is one machine. If a node has several ranks, there are links within a node and "
    "links between nodes. Each file names the source of each figure. labs/glossary.md explains the names of the "
    "hardware.";

static const char legend[] =
    "\nnode: one machine. alpha: the fixed time per message. bandwidth: of a link, in one direction; the time per byte, "
    "beta,\nis 1 / bandwidth.\n";

static const struct clab_column columns[] = {
    {"net", NULL, NULL, CLAB_KIND_TEXT, -14, 0, NULL},
    {"nodes", NULL, NULL, CLAB_KIND_TEXT, 5, 0, NULL},
    {"ranks", "ranks", "/node", CLAB_KIND_TEXT, 6, 0, NULL},
    {"alpha_intra", "alpha", NULL, CLAB_KIND_TEXT, 8, 0, "within a node"},
    {"beta_intra", "bandwidth", NULL, CLAB_KIND_TEXT, 10, 0, "within a node"},
    {"alpha_inter", "alpha", NULL, CLAB_KIND_TEXT, 8, 0, "between nodes"},
    {"beta_inter", "bandwidth", NULL, CLAB_KIND_TEXT, 10, 0, "between nodes"},
    {"title", NULL, NULL, CLAB_KIND_TEXT, -1, 0, NULL},
};

// TITLE: characters that the other columns leave of 120.
enum { NCOLUMNS = sizeof columns / sizeof *columns, TITLE = 50 };

static const char *alpha_of(const struct clab_link *link, char text[CLAB_TEXT])
{
    return link->present ? clab_seconds_text(link->alpha, text) : NULL;
}

static const char *bandwidth_of(const struct clab_link *link, char text[CLAB_TEXT])
{
    return link->present && link->beta > 0 ? clab_rate_text(1 / link->beta, text) : NULL;
}

// The bytes of the title that fit one line: all, or those before the last space that fits.
static int bytes_of_line(const char *title)
{
    int length = (int)strlen(title);
    if (length > TITLE)
        for (length = TITLE; length && title[length] != ' ';)
            length--;
    return length ? length : TITLE;
}

// Adds a line for each piece of the title that does not fit the row.
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

// Whoever read the file has logged its mistake. The list leaves it out.
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
        clab_cell_text(bandwidth_of(&net->intra, text[1])),
        clab_cell_text(alpha_of(&net->inter, text[2])),
        clab_cell_text(bandwidth_of(&net->inter, text[3])),
        clab_cell_text(title),
    };
    int err = clab_table_add_row(table, row);
    if (!err)
        err = add_rest(table, net->title + strlen(title));
    clab_net_free(net);
    return err;
}

// The command line describes this network: it has no file.
static int add_flat(struct clab_table *table)
{
    const struct clab_cell row[NCOLUMNS] = {
        clab_cell_text("flat"),   clab_cell_text("any"),
        clab_cell_text("1"),      clab_cell_text(NULL),
        clab_cell_text(NULL),     clab_cell_text("--alpha"),
        clab_cell_text("--beta"), clab_cell_text("the links that the command line describes"),
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

static int add_unmeasured(struct clab_table *table)
{
    struct clab_cell row[NCOLUMNS] = {clab_cell_text("machine")};
    for (int i = 1; i < NCOLUMNS - 1; i++)
        row[i] = clab_cell_none();
    row[NCOLUMNS - 1] = clab_cell_text("this machine, not measured yet: `commlab fit`");
    return clab_table_add_row(table, row);
}

static int add_profile(struct clab_table *table, const char *backend, bool *broken)
{
    char *path;
    CLAB_TRY(clab_net_profile_path(backend, &path));
    int err = CLAB_OK;
    if (access(path, R_OK) == 0)
        err = add_net(table, path, broken);
    else if (!strcmp(backend, clab_backend_usual(1))) // that of the network `machine`
        err = add_unmeasured(table);
    free(path);
    return err;
}

static int list(struct clab_table *table, bool *broken)
{
    char *folder;
    const char *backend;
    CLAB_TRY(clab_net_folder(&folder));
    int err = add_folder(table, folder, broken);
    if (!err)
        err = add_flat(table);
    for (int i = 0; !err && (backend = clab_backend_name(i)); i++)
        err = add_profile(table, backend, broken);
    free(folder);
    return err;
}

// ---- one network ---------------------------------------------------------------------------------------------

static void print_link(const char *where, const struct clab_link *link)
{
    char alpha[CLAB_TEXT], bandwidth[CLAB_TEXT];
    if (link->present && link->beta > 0)
        printf("%s: alpha %s per message; beta %.4g ns per byte = 1 / (%s)\n", where,
               clab_seconds_text(link->alpha, alpha), link->beta * 1e9, clab_rate_text(1 / link->beta, bandwidth));
}

static int print_numbers(const char *name)
{
    struct clab_net *net;
    CLAB_TRY(clab_net_load(name, &net));
    print_link("within a node", &net->intra);
    print_link("between nodes", &net->inter);
    for (int i = 0; i < net->ntiers; i++) {
        char where[128];
        snprintf(where, sizeof where, "between nodes of different groups of %d (%s)", net->tiers[i].nodes,
                 net->tiers[i].name);
        print_link(where, &net->tiers[i]);
    }
    clab_net_free(net);
    return CLAB_OK;
}

static int take_net(const char *text, void *into)
{
    const char **name = into;
    if (*name) {
        clab_error("nets: one network at a time, not '%s' and '%s'", *name, text);
        return CLAB_EINVAL;
    }
    *name = text;
    return CLAB_OK;
}

static int run(int argc, char **argv)
{
    static const struct clab_option none[] = {{0}};
    static const struct clab_command_line line = {
        .options = none, .about = doc, .arguments = "[NET]", .argument = take_net};
    struct clab_table table;
    const char *name = NULL;
    if (clab_options_parse(&line, argc, argv, &name))
        return STATUS_USAGE;
    clab_table_init(&table, columns, NCOLUMNS);
    bool broken = false;
    int err = name && !strcmp(name, "flat") ? add_flat(&table)
              : name                        ? add_net(&table, name, &broken)
                                            : list(&table, &broken);
    if (!err && !(name && broken)) {
        clab_table_print(&table, stdout);
        fputs(legend, stdout);
    }
    if (!err && !broken && name && strcmp(name, "flat") != 0)
        err = print_numbers(name);
    clab_table_free(&table);
    return err || broken ? EXIT_FAILURE : EXIT_SUCCESS;
}

const struct clab_command cmd_nets = {"nets", "list the networks that the simulator knows", run};
