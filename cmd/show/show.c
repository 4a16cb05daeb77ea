// SPDX-License-Identifier: MIT
// commlab show: draw an algorithm's steps and chunks, or write them for another simulator. Without a name: list all
// algorithms.

#include "cmd/command.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/nearest.h"
#include "core/base/options.h"
#include "core/base/files/output.h"
#include "cmd/kit/load.h"
#include "core/schedule/draw/draw.h"
#include "core/schedule/formats/goal.h"
#include "core/schedule/formats/msccl.h"

enum { MAX_RANKS = 512, MAX_RANKS_GOAL = 1 << 20, MAX_RANKS_SVG = 64, MAX_RANKS_HTML = 16, MAX_RANKS_SLIDE = 16, MAX_MESSAGES_HTML = 2000, MAX_LANES = 64, MAX_MOVES = 4000000 };

enum format { TEXT, SVG, SLIDE, HTML, GOAL, MSCCL, MSCCL_AZURE };

struct arguments {
    const char *name;       // of the algorithm; NULL: list them
    const char *collective; // NULL: look for it
    struct clab_problem problem;
    int lanes; // 0: the algorithm's own
    enum format format;
    size_t bytes;                 // of the whole buffer
    double reduce_seconds;        // a byte
    const char *output;           // NULL: stdout
    const char *goal, *msccl;     // files to read, instead of an algorithm
    struct clab_listing *listing; // the schedule of such a file
};

// ---- finding the algorithm -----------------------------------------------------------------------------------

static void list_algorithms(void)
{
    enum clab_collective last = CLAB_COLLECTIVE_COUNT;
    for (const struct clab_algorithm *const *a = clab_algorithms; *a; last = (*a)->collective, a++)
        printf("%-14s %-18s %s\n", (*a)->collective == last ? "" : clab_collective_name((*a)->collective), (*a)->name,
               (*a)->title);
}

// The collectives that have an algorithm of that name, as "broadcast, reduce"; returns how many.
static int find_collectives(const char *name, char *text, size_t room, enum clab_collective *last_p)
{
    int n = 0;
    size_t used = 0;
    for (int c = 0; c < CLAB_COLLECTIVE_COUNT && used < room; c++)
        if (clab_algorithm_find((enum clab_collective)c, name)) {
            used += (size_t)snprintf(text + used, room - used, "%s%s", n ? ", " : "",
                                     clab_collective_name((enum clab_collective)c));
            *last_p = (enum clab_collective)c;
            n++;
        }
    return n;
}

// The algorithm: --collective's, else allreduce's, else the only one of that name.
static const struct clab_algorithm *choose(const struct arguments *arguments)
{
    char collectives[200] = "";
    enum clab_collective collective = CLAB_ALLREDUCE;
    struct clab_nearest nearest = clab_nearest_to(arguments->name, strlen(arguments->name));
    int n = find_collectives(arguments->name, collectives, sizeof collectives, &collective);
    for (int c = 0; c < CLAB_COLLECTIVE_COUNT; c++)
        clab_algorithm_offer((enum clab_collective)c, &nearest);
    if (arguments->collective && clab_collective_parse(arguments->collective, &collective) != CLAB_OK)
        clab_names_find(&clab_collective_names, "show: --collective", arguments->collective,
                        strlen(arguments->collective)); // which says what there is
    else if (n == 0)
        clab_error("show: there is no algorithm '%s'%s; `commlab show` lists them", arguments->name,
                   clab_nearest_hint(&nearest));
    else if (arguments->collective && !clab_algorithm_find(collective, arguments->name))
        clab_error("show: %s has no algorithm '%s', but %s ha%s", arguments->collective, arguments->name, collectives,
                   n > 1 ? "ve" : "s");
    else if (!arguments->collective && clab_algorithm_find(CLAB_ALLREDUCE, arguments->name))
        return clab_algorithm_find(CLAB_ALLREDUCE, arguments->name);
    else if (!arguments->collective && n > 1)
        clab_error("show: '%s' is an algorithm of %s: choose one with --collective", arguments->name, collectives);
    else
        return clab_algorithm_find(collective, arguments->name);
    return NULL;
}

// ---- writing -------------------------------------------------------------------------------------------------

static int draw_trace(const struct arguments *arguments, const struct clab_trace *trace, FILE *out)
{
    if (arguments->format == HTML && trace->nmessages > MAX_MESSAGES_HTML) {
        clab_error("show: %zu messages, and a page plays at most %d; take fewer ranks or lanes", trace->nmessages,
                   MAX_MESSAGES_HTML);
        return CLAB_EINVAL;
    }
    return arguments->format == SVG     ? clab_draw_svg(trace, out)
           : arguments->format == SLIDE ? clab_draw_slide(trace, out)
           : arguments->format == HTML  ? clab_draw_html(trace, out)
                                        : clab_draw_text(trace, out);
}

static int draw(const struct arguments *arguments, const struct clab_algorithm *algorithm, FILE *out)
{
    struct clab_trace trace;
    long moves = algorithm->cost(&arguments->problem).sent_total;
    if (moves > MAX_MOVES) {
        clab_error("show: %ld chunks are sent, too many to draw; take fewer ranks or lanes", moves);
        return CLAB_EINVAL;
    }
    CLAB_TRY(clab_trace_record(&arguments->problem, algorithm, &trace));
    int err = draw_trace(arguments, &trace, out);
    clab_trace_free(&trace);
    return err;
}

static int write_to(const struct arguments *arguments, const struct clab_algorithm *algorithm, FILE *out)
{
    if (arguments->format == GOAL)
        return clab_goal_write(&arguments->problem, algorithm, 1, arguments->reduce_seconds, out);
    if (arguments->format == MSCCL || arguments->format == MSCCL_AZURE)
        return clab_msccl_write(&arguments->problem, algorithm,
                                arguments->format == MSCCL ? CLAB_MSCCL_MICROSOFT : CLAB_MSCCL_AZURE, out);
    return draw(arguments, algorithm, out);
}

static int write_to_file(const struct arguments *arguments, const struct clab_algorithm *algorithm)
{
    struct clab_output output;
    CLAB_TRY(clab_output_announce(arguments->output));
    CLAB_TRY(clab_output_open(arguments->output, &output));
    int err = write_to(arguments, algorithm, output.file);
    if (err == CLAB_OK)
        return clab_output_close(&output);
    clab_output_abandon(&output);
    return err;
}

// The file gives the problem. A schedule in bytes has no chunks: its drawing shows only who has heard from whom.
static int take_listing(struct arguments *arguments, const struct clab_algorithm **algorithm_p)
{
    struct clab_problem *problem = &arguments->problem;
    if (arguments->name || arguments->collective) {
        clab_error("show: '%s': the file says which algorithm it is",
                   arguments->name ? arguments->name : arguments->collective);
        return CLAB_EINVAL;
    }
    CLAB_TRY(load_listing(arguments->goal, arguments->msccl, &arguments->listing));
    CLAB_TRY(clab_listing_problem(arguments->listing, arguments->bytes, 1, problem));
    if (arguments->listing->loose && arguments->format != GOAL)
        problem->count = 0;
    *algorithm_p = &arguments->listing->algorithm;
    return CLAB_OK;
}

static int take_algorithm(struct arguments *arguments, const struct clab_algorithm **algorithm_p)
{
    const struct clab_algorithm *algorithm = choose(arguments);
    struct clab_problem *problem = &arguments->problem;
    if (!algorithm)
        return CLAB_EINVAL;
    problem->collective = algorithm->collective;
    problem->lanes = arguments->lanes ? arguments->lanes : algorithm->default_lanes;
    problem->count = problem->collective == CLAB_BARRIER ? 0 : arguments->bytes / (size_t)clab_problem_blocks(problem);
    *algorithm_p = algorithm;
    return CLAB_OK;
}

static int check_ranks(const struct arguments *arguments)
{
    int nranks = arguments->problem.nranks;
    if (arguments->name && arguments->format != GOAL && nranks > MAX_RANKS)
        clab_error("show: --ranks %d: more than %d ranks are written by --format goal only", nranks, MAX_RANKS);
    else if (arguments->format == SVG && nranks > MAX_RANKS_SVG)
        clab_error("show: --ranks %d: a picture of more than %d ranks is unreadable; use --format text", nranks,
                   MAX_RANKS_SVG);
    else if (arguments->format == SLIDE && nranks > MAX_RANKS_SLIDE)
        clab_error("show: --ranks %d: a slide shows at most %d ranks; use --format svg (at most %d)", nranks,
                   MAX_RANKS_SLIDE, MAX_RANKS_SVG);
    else if (arguments->format == HTML && nranks > MAX_RANKS_HTML)
        clab_error("show: --ranks %d: a page shows at most %d ranks; use --format svg (at most %d) or text", nranks,
                   MAX_RANKS_HTML, MAX_RANKS_SVG);
    else
        return CLAB_OK;
    return CLAB_EINVAL;
}

static int show(struct arguments *arguments)
{
    const struct clab_algorithm *algorithm;
    struct clab_problem *problem = &arguments->problem;
    bool is_file = arguments->goal || arguments->msccl;
    CLAB_TRY(is_file ? take_listing(arguments, &algorithm) : take_algorithm(arguments, &algorithm));
    CLAB_TRY(check_ranks(arguments));
    CLAB_TRY(clab_problem_check(problem, algorithm));
    return arguments->output ? write_to_file(arguments, algorithm) : write_to(arguments, algorithm, stdout);
}

// ---- the command line ----------------------------------------------------------------------------------------

#define ARGUMENTS struct arguments

static const struct clab_option options[] = {
    {"ranks", 'n', "P", "ranks, 1 to 512, or with --format goal 1 to 1048576 (4)",
     CLAB_INT(ARGUMENTS, problem.nranks, 1, MAX_RANKS_GOAL)},
    {"collective", 'c', "NAME", "which collective's algorithm (allreduce, if it has one of that name)",
     CLAB_TEXT_AT(ARGUMENTS, collective)},
    {"lanes", 'L', "N", "lanes (the algorithm's own)", CLAB_INT(ARGUMENTS, lanes, 1, MAX_LANES)},
    {"root", 'r', "RANK", "root (0)", CLAB_INT(ARGUMENTS, problem.root, 0, MAX_RANKS_GOAL - 1)},
    {"group", 0, "N", "ranks per node, for hierarchical algorithms (the square root of P)",
     CLAB_INT(ARGUMENTS, problem.group, 1, MAX_RANKS_GOAL)},
    {"format", 'f', "FORMAT",
     "text, svg, slide (svg of the messages alone, in large letters), html (a page that plays it), goal (for LogGOPSim and "
     "ATLAHS), msccl or msccl-azure (XML for either) (text)",
     CLAB_NAME(ARGUMENTS, format,
               &CLAB_NAMES([TEXT] = "text", [SVG] = "svg", [SLIDE] = "slide", [HTML] = "html", [GOAL] = "goal",
                           [MSCCL] = "msccl", [MSCCL_AZURE] = "msccl-azure"))},
    {"goal", 0, "FILE", "a schedule of stages in GOAL instead of ALGORITHM: checked, drawn as who hears of whom",
     CLAB_TEXT_AT(ARGUMENTS, goal)},
    {"msccl", 0, "FILE", "a schedule in MSCCL's XML instead of ALGORITHM: proved, drawn",
     CLAB_TEXT_AT(ARGUMENTS, msccl)},
    {"bytes", 0, "SIZE", "of the collective's whole buffer, for html and goal (1M)", CLAB_SIZE(ARGUMENTS, bytes, 0)},
    {"reduce", 0, "COST", "what reducing a byte costs, such as 0.1ns/B or 10GB/s, for goal (nothing)",
     CLAB_COST(ARGUMENTS, reduce_seconds)},
    {"output", 'o', "FILE", "where to write (standard output)", CLAB_TEXT_AT(ARGUMENTS, output)},
    {0},
};

static const char doc[] =
    "Draw what every rank does in an algorithm, and which ranks' data each chunk has. Without ALGORITHM: list all.\v"
    "Time is counted in rounds: every message takes one round. In a round, a rank sends at most one message, and "
    "receives at most one. `buffers`: bytes as a multiple of the collective's whole buffer. `--format html "
    "--output ring.html` writes a page for a browser, which plays the rounds of up to 16 ranks; it needs no network.";

static int run(int argc, char **argv)
{
    static const struct clab_command_line line = {
        .options = options, .arguments = "[ALGORITHM]", .about = doc, CLAB_ONE(ARGUMENTS, name, "one algorithm at a time")};
    struct arguments arguments = {.problem = {.nranks = 4}, .bytes = 1 << 20};
    if (clab_options_parse(&line, argc, argv, &arguments))
        return STATUS_USAGE;
    if (!arguments.name && !arguments.goal && !arguments.msccl) {
        list_algorithms();
        return EXIT_SUCCESS;
    }
    int err = show(&arguments);
    clab_listing_free(arguments.listing);
    return command_status(err);
}

const struct clab_command cmd_show = {"show", "draw an algorithm's steps and chunks: text, SVG, HTML, GOAL or MSCCL's XML",
                                      run};
