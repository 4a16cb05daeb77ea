// SPDX-License-Identifier: MIT
// commlab sim sweep: the best algorithm on a described network, over ranks and bytes.

#include "cmd/sim/sweep.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/nearest.h"
#include "core/base/options.h"
#include "core/base/files/output.h"
#include "core/base/text.h"
#include "cmd/command.h"
#include "sim/engine/in_network.h"
#include "cmd/kit/kit.h"
#include "cmd/sim/commands.h"
#include "cmd/kit/progress.h"

static const char doc[] =
    "Price all algorithms of COLLECTIVE over ranks and bytes, and print the best algorithm of each range.\v"
    "A line of the table is a range of sizes over which one algorithm is best. The range ends at the smallest size at "
    "which another algorithm is faster. The table also says how much longer the second best and the library's own "
    "choice take: the mean over the sizes of the range, and the most. Example:\n\n"
    "  commlab sim sweep allreduce --ranks 2-1024 --bytes 8-1G --net dgx-h100\n\n"
    "Columns of the CSV: collective, algorithm, net, ranks, bytes, seconds, latency, bandwidth, reduce, wait (the four "
    "parts, in seconds), engine (the one that answered), best (1 for the fastest at this size, else 0). There is a row "
    "per size of --bytes, and per size where the best algorithm changes.";

struct request {
    bool collectives[CLAB_COLLECTIVE_COUNT];
    const char *ranks, *bytes, *algorithms, *nets, *csv, *plot;
    int factor, most, at;
    bool no_plot;
    struct sim_list ranks_list, bytes_list;
    struct clab_net *loaded[SWEEP_NETS];
    int nloaded;
    struct sweep sweep;
    char *root, *csv_path, *figure; // figure: without suffix
    char *command;
};

// ---- the command line ----------------------------------------------------------------------------------------

#define REQUEST struct request

static const struct clab_option options[] = {
    {"ranks", 'r', "LIST", "ranks: `2,4,8`, or a range (2-1024)", CLAB_TEXT_AT(REQUEST, ranks)},
    {"bytes", 'b', "LIST", "sizes of the whole buffer, as nccl-tests counts it (8-1G)", CLAB_TEXT_AT(REQUEST, bytes)},
    {"factor", 0, "N", "ranges grow by this factor (2)", CLAB_INT(REQUEST, factor, 2, 1 << 20)},
    {"algo", 'a', "NAMES", "algorithms, commas between them, in_network, or all (all)",
     CLAB_TEXT_AT(REQUEST, algorithms)},
    {"net", 0, "NAMES", "networks, commas between them: `commlab nets` lists them (machine)",
     CLAB_TEXT_AT(REQUEST, nets)},
    {"type", 0, "NAME", "element type (float)", CLAB_NAME(REQUEST, sweep.type, &clab_type_names)},
    CLAB_HEADING("What is done with it:"),
    {"most", 0, "MESSAGES", "leave out cases that would simulate more messages than this (5000000)",
     CLAB_INT(REQUEST, most, 1, 1 << 30)},
    {"at", 0, "P", "draw the times of this number of ranks (the largest)", CLAB_INT(REQUEST, at, 1, 1 << 24)},
    {"csv", 0, "FILE", "write all times here (results/sweep-COLLECTIVE-NET.csv)", CLAB_TEXT_AT(REQUEST, csv)},
    {"plot", 0, "FILE",
     "the figure, as FILE.svg and FILE.png, its words as FILE.txt (build/plots/sweep-COLLECTIVE-NET.svg)",
     CLAB_TEXT_AT(REQUEST, plot)},
    {"no-plot", 0, NULL, "draw nothing", CLAB_ON(REQUEST, no_plot)},
    {0},
};

static int take_collectives(const char *text, void *into)
{
    struct request *r = into;
    bool chosen[CLAB_COLLECTIVE_COUNT];
    CLAB_TRY(clab_names_take(&clab_collective_names, "sim sweep", text, chosen));
    for (int i = 0; i < CLAB_COLLECTIVE_COUNT; i++)
        r->collectives[i] |= chosen[i];
    return CLAB_OK;
}

// ---- who competes --------------------------------------------------------------------------------------------

static const char in_network[] = "in_network";

// Each name must be an algorithm of one of the collectives.
static int check_algorithms(const struct request *r)
{
    char there_are[1024] = " all in_network";
    for (int i = 0; clab_algorithms[i]; i++)
        if (r->collectives[clab_algorithms[i]->collective] && !strstr(there_are, clab_algorithms[i]->name))
            strcat(strcat(there_are, " "), clab_algorithms[i]->name);
    size_t length;
    for (const char *word, *rest = r->algorithms; (word = clab_list_next(&rest, &length));) {
        char name[64];
        bool known = false;
        snprintf(name, sizeof name, "%.*s", (int)length, word);
        for (int i = 0; clab_algorithms[i]; i++)
            known |= r->collectives[clab_algorithms[i]->collective] && !strcmp(clab_algorithms[i]->name, name);
        if (known || !strcmp(name, "all") || !strcmp(name, in_network))
            continue;
        struct clab_nearest nearest = clab_nearest_to(name, length);
        for (int c = 0; c < CLAB_COLLECTIVE_COUNT; c++)
            if (r->collectives[c])
                clab_algorithm_offer((enum clab_collective)c, &nearest);
        clab_error("--algo: there is no algorithm '%s'%s; there are:%s", name, clab_nearest_hint(&nearest), there_are);
        return CLAB_ENOENT;
    }
    return CLAB_OK;
}

static void add_entries(const struct request *r, struct sweep_line *line)
{
    const bool all = clab_list_has(r->algorithms, "all");
    for (int i = 0; clab_algorithms[i] && line->nentries < SWEEP_ALGORITHMS - 1; i++) {
        const struct clab_algorithm *a = clab_algorithms[i];
        const struct clab_problem problem = {a->collective, line->nranks, 0, a->default_lanes, 0, 1, NULL};
        const bool asked = all || clab_list_has(r->algorithms, a->name);
        if (asked && a->collective == line->collective && a->supports(&problem))
            line->entries[line->nentries++] = (struct sweep_entry){a->name, a};
    }
    if ((all || clab_list_has(r->algorithms, in_network)) && line->net->reducer.radix > 0 &&
        clab_in_network_supports(line->collective))
        line->entries[line->nentries++] = (struct sweep_entry){in_network, NULL};
}

// The sizes as counts: at least one element per block, each count once.
static int add_cells(const struct request *r, struct sweep_line *line)
{
    const size_t block = sweep_bytes(&r->sweep, line, 1);
    line->room = r->bytes_list.n + 1;
    line->cells = calloc((size_t)line->room, sizeof *line->cells);
    if (!line->cells)
        return CLAB_ENOMEM;
    for (int i = 0; i < r->bytes_list.n; i++) {
        size_t count = r->bytes_list.values[i] < block ? 1 : r->bytes_list.values[i] / block;
        if (line->collective == CLAB_BARRIER)
            count = 0;
        if (line->ncells == 0 || line->cells[line->ncells - 1].count != count)
            line->cells[line->ncells++].count = count;
    }
    return CLAB_OK;
}

static int add_line(struct request *r, enum clab_collective collective, const struct clab_net *net, int nranks)
{
    struct sweep_line *line = &r->sweep.lines[r->sweep.nlines++];
    *line = (struct sweep_line){.collective = collective, .net = net, .nranks = nranks};
    if (net->nodes && nranks > (long)net->nodes * net->ranks_per_node)
        line->left_out = "the network has no room for so many";
    else
        add_entries(r, line);
    if (!line->left_out && line->nentries == 0)
        line->left_out = "no algorithm that was asked for supports so many";
    return line->left_out ? CLAB_OK : add_cells(r, line);
}

// ---- networks and lines --------------------------------------------------------------------------------------

static int load_nets(struct request *r)
{
    size_t length;
    for (const char *word, *rest = r->nets; (word = clab_list_next(&rest, &length));) {
        if (r->nloaded == SWEEP_NETS) {
            clab_error("--net: more than %d networks", SWEEP_NETS);
            return CLAB_EINVAL;
        }
        char *name = strndup(word, length);
        const int err = name ? clab_net_load(name, &r->loaded[r->nloaded]) : CLAB_ENOMEM;
        free(name);
        CLAB_TRY(err);
        r->nloaded++;
    }
    return CLAB_OK;
}

static int make_lines(struct request *r)
{
    const size_t most = (size_t)CLAB_COLLECTIVE_COUNT * (size_t)r->nloaded * (size_t)r->ranks_list.n;
    r->sweep.messages_at_most = r->most;
    r->sweep.lines = calloc(most, sizeof *r->sweep.lines);
    if (!r->sweep.lines)
        return CLAB_ENOMEM;
    for (int c = 0; c < CLAB_COLLECTIVE_COUNT; c++)
        for (int n = 0; n < r->nloaded && r->collectives[c]; n++)
            for (int i = 0; i < r->ranks_list.n; i++)
                CLAB_TRY(add_line(r, (enum clab_collective)c, r->loaded[n], (int)r->ranks_list.values[i]));
    for (int i = 0; i < r->sweep.nlines; i++)
        if (!r->sweep.lines[i].left_out)
            return CLAB_OK;
    sweep_print_left_out(&r->sweep);
    clab_error("sim sweep: nothing is left to price");
    return CLAB_EINVAL;
}

// ---- files ---------------------------------------------------------------------------------------------------

// "sweep-allreduce-dgx-h100", "sweep-2-collectives-3-nets"
static void name_files(const struct request *r, char *name, size_t room)
{
    const char *collective = NULL;
    int n = 0;
    for (int c = 0; c < CLAB_COLLECTIVE_COUNT; c++)
        if (r->collectives[c]) {
            collective = clab_collective_name((enum clab_collective)c);
            n++;
        }
    size_t used = n > 1 ? (size_t)snprintf(name, room, "sweep-%d-collectives", n)
                        : (size_t)snprintf(name, room, "sweep-%s", collective);
    if (r->nloaded > 1)
        snprintf(name + used, room - used, "-%d-nets", r->nloaded);
    else
        snprintf(name + used, room - used, "-%s", r->loaded[0]->name);
}

// The folder results/ of the user, made where it is missing.
static int make_results(const char *root, char folder_p[PATH_MAX + 16])
{
    char home[PATH_MAX];
    CLAB_TRY(kit_home(root, home));
    snprintf(folder_p, PATH_MAX + 16, "%s/results", home);
    return kit_make_folder(folder_p);
}

static int find_csv(struct request *r, const char *name)
{
    if (r->csv) {
        r->csv_path = strdup(r->csv);
    } else {
        char folder[PATH_MAX + 16];
        CLAB_TRY(make_results(r->root, folder));
        if (asprintf(&r->csv_path, "%s/%s.csv", folder, name) < 0)
            r->csv_path = NULL;
    }
    return r->csv_path ? clab_output_announce(r->csv_path) : CLAB_ENOMEM;
}

static int find_figure(struct request *r, const char *name)
{
    char *build;
    if (r->plot)
        return kit_figure_path(r->plot, &r->figure);
    CLAB_TRY(kit_made(&build));
    const int n = asprintf(&r->figure, "%s/plots/%s", build, name);
    free(build);
    return n < 0 ? CLAB_ENOMEM : CLAB_OK;
}

// A user who names a CSV file, and wants no figure, needs no kit around the program.
static int find_files(struct request *r)
{
    char name[128];
    name_files(r, name, sizeof name);
    if (!r->csv || !r->no_plot)
        CLAB_TRY(kit_root(&r->root));
    CLAB_TRY(find_csv(r, name));
    return r->no_plot ? CLAB_OK : find_figure(r, name);
}

static int write_csv(const struct request *r)
{
    struct clab_manifest manifest = {0};
    int err = clab_manifest_add(&manifest, "command", "%s", r->command);
    for (int i = 0; i < r->nloaded && !err; i++)
        err = clab_manifest_add(&manifest, "network", "%s: %s", r->loaded[i]->name, r->loaded[i]->title);
    if (!err)
        err = clab_manifest_add(&manifest, "type", "%s", clab_type_name(r->sweep.type));
    if (!err && r->at)
        err = clab_manifest_add(&manifest, "times of", "%d ranks", r->at);
    if (!err)
        err = sweep_add_left_out(&r->sweep, &manifest);
    if (!err)
        err = sweep_write_csv(&r->sweep, &manifest, r->csv_path);
    clab_manifest_free(&manifest);
    return err;
}

static bool has_sizes(const struct sweep *sweep)
{
    for (int i = 0; i < sweep->nlines; i++)
        if (sweep->lines[i].ncells > 1)
            return true;
    return false;
}

// If the user did not ask for the figure, it may be missing.
static int draw(const struct request *r)
{
    if (!has_sizes(&r->sweep)) {
        printf("no figure: it would be of one size only\n");
        return CLAB_OK;
    }
    const int err = kit_plot(r->root, "plots/sweep.gp", r->csv_path, r->figure);
    if (err == CLAB_OK)
        printf("figure: %s.svg\n", kit_relative(r->figure));
    return err == CLAB_EUNSUPPORTED && !r->plot ? CLAB_OK : err;
}

// ---- all of it -----------------------------------------------------------------------------------------------

static int answer(struct request *r)
{
    const double begin = clab_now();
    int priced = 0;
    kit_progress("sim sweep: computing times");
    const int err = sweep_price(&r->sweep);
    kit_progress_clear();
    CLAB_TRY(err);
    CLAB_TRY(sweep_print(&r->sweep));
    sweep_print_left_out(&r->sweep);
    CLAB_TRY(write_csv(r));
    for (int i = 0; i < r->sweep.nlines; i++)
        priced += r->sweep.lines[i].ncells * r->sweep.lines[i].nentries;
    printf("%d times in %.1f s: %s\n", priced, clab_now() - begin, kit_relative(r->csv_path));
    return r->no_plot ? CLAB_OK : draw(r);
}

static int prepare(struct request *r)
{
    CLAB_TRY(check_algorithms(r));
    CLAB_TRY(sim_list_parse("--ranks", r->ranks, sim_take_ranks, r->factor, &r->ranks_list));
    CLAB_TRY(sim_list_parse("--bytes", r->bytes, sim_take_size, r->factor, &r->bytes_list));
    CLAB_TRY(load_nets(r));
    CLAB_TRY(make_lines(r));
    return find_files(r);
}

static void request_free(struct request *r)
{
    for (int i = 0; i < r->sweep.nlines; i++)
        free(r->sweep.lines[i].cells);
    free(r->sweep.lines);
    for (int i = 0; i < r->nloaded; i++)
        clab_net_free(r->loaded[i]);
    free(r->ranks_list.values);
    free(r->bytes_list.values);
    free(r->root);
    free(r->csv_path);
    free(r->figure);
    free(r->command);
}

int sim_sweep(int argc, char **argv)
{
    static const struct clab_command_line line = {
        .options = options, .arguments = "[COLLECTIVE...]", .about = doc, .argument = take_collectives};
    struct request r = {.ranks = "2-1024",
                        .bytes = "8-1G",
                        .algorithms = "all",
                        .nets = "machine",
                        .factor = 2,
                        .most = 5000000,
                        .sweep = {.type = CLAB_F32},
                        .command = kit_command_line(argc, argv)};
    bool any = false;
    int err = r.command ? clab_options_parse(&line, argc, argv, &r) : CLAB_ENOMEM;
    for (int i = 0; i < CLAB_COLLECTIVE_COUNT; i++)
        any |= r.collectives[i];
    r.collectives[CLAB_ALLREDUCE] |= !any;
    if (!err)
        err = prepare(&r);
    if (!err)
        err = answer(&r);
    request_free(&r);
    return command_status(err);
}
