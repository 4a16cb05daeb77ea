// SPDX-License-Identifier: MIT
// The stepper: one page that plays a schedule round by round, without a network.
//
// - stepper.html is the page, stepper.css how it looks, stepper.js what plays it; the build makes strings of them. In
//   the page a word between two @ is a place that is filled here.
// - All numbers and words are written by C, from the trace: the list of rounds, which needs no JavaScript, and the data
//   that stepper.js shows. Nothing is counted twice.

#include "core/base/machine/called.h"
#include "core/schedule/draw/html.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/text.h"
#include "core/base/units.h"
#include "core/schedule/formats/listing.h"

// ---- words ---------------------------------------------------------------------------------------------------

// Names of schedules that were read from files may hold anything.
static void put_text(FILE *out, const char *text)
{
    clab_put_escaped(out, text, SIZE_MAX);
}

static void put_title(const struct clab_page *page)
{
    char title[200];
    put_text(page->out, clab_trace_title(page->trace, title));
}

// "allreduce: each rank has an array, and gets the sum of all arrays. ring: reduce-scatter once around the ring ..."
static void put_about(const struct clab_page *page)
{
    static const char *const goals[CLAB_COLLECTIVE_COUNT] = {
        [CLAB_ALLREDUCE] = "each rank has an array, and gets the sum of all arrays",
        [CLAB_BROADCAST] = "each rank gets the array of the root",
        [CLAB_REDUCE] = "each rank has an array, and the root gets the sum of all arrays",
        [CLAB_ALLGATHER] = "each rank has a block, and gets the blocks of all ranks",
        [CLAB_REDUCE_SCATTER] = "each rank has an array, and gets one block of the sum of all arrays",
        [CLAB_ALLTOALL] = "each rank has one block for each rank, and gets one block from each rank",
        [CLAB_GATHER] = "each rank has a block, and the root gets the blocks of all ranks",
        [CLAB_SCATTER] = "the root has one block for each rank, and each rank gets its own",
        [CLAB_BARRIER] = "each rank waits until it knows that all ranks have come",
        [CLAB_SENDRECV] = "each rank sends its array to the next rank, and gets the array of the rank before",
    };
    const struct clab_problem *p = &page->trace->problem;
    if (!clab_listing_is_loose(p->listing))
        fprintf(page->out, "<b>%s</b>: %s. ", clab_problem_name(p),
                clab_listing_is_custom(p->listing) ? "its result is what the schedule makes" : goals[p->collective]);
    fputs("<b>", page->out);
    put_text(page->out, page->trace->algorithm->name);
    fputs("</b>: ", page->out);
    put_text(page->out, page->trace->algorithm->title);
    fputs(".", page->out);
}

static void put_source(const struct clab_page *page)
{
    put_text(page->out, page->trace->algorithm->source);
}

// "which adds it", "which stores it as c2", "and stores it as c2"; of a signal nothing.
static void put_use(const struct clab_page *page, const struct clab_message *m, const char *link)
{
    char from[CLAB_LABEL], to[CLAB_LABEL];
    clab_span_label(page->trace, m->lane, m->src_span, from);
    clab_span_label(page->trace, m->lane, m->dst_span, to);
    if (!*to)
        return;
    fprintf(page->out, "%s %s it", link, m->reduces ? "adds" : "stores");
    if (strcmp(from, to))
        fprintf(page->out, " %s %s", m->reduces ? "to" : "as", to);
}

// "Rank 0 sends c1 (256 KiB) to rank 1, which adds it." A late one only leaves.
static void put_leaving(const struct clab_page *page, const struct clab_message *m)
{
    char label[CLAB_LABEL], size[CLAB_TEXT];
    clab_span_label(page->trace, m->lane, m->src_span, label);
    if (*label)
        fprintf(page->out, "<li>Rank %d sends %s (%s) to rank %d", m->src, label,
                clab_size_text(clab_page_bytes(page, m), size), m->dst);
    else
        fprintf(page->out, "<li>Rank %d signals rank %d", m->src, m->dst);
    if (m->lands == m->leaves + 1)
        put_use(page, m, ", which");
    else
        fprintf(page->out, ". It arrives in round %ld", m->lands);
    fputs(".</li>\n", page->out);
}

// "Rank 1 gets c1 of rank 0, and adds it."
static void put_arriving(const struct clab_page *page, const struct clab_message *m)
{
    char label[CLAB_LABEL];
    clab_span_label(page->trace, m->lane, m->src_span, label);
    fprintf(page->out, "<li>Rank %d gets %s of rank %d", m->dst, *label ? label : "the signal", m->src);
    put_use(page, m, ", and");
    fputs(".</li>\n", page->out);
}

static void put_summary(const struct clab_page *page, long round)
{
    const struct clab_page_counts *c = &page->counts[round], *all = &page->counts[page->trace->rounds];
    char bytes[CLAB_TEXT], all_bytes[CLAB_TEXT];
    fprintf(page->out, "So far: %ld of %ld stages, %zu of %zu messages, %s of %s.", c->stages, all->stages, c->messages,
            all->messages, clab_size_text(c->bytes, bytes), clab_size_text(all->bytes, all_bytes));
    if (clab_page_wanted(page))
        fprintf(page->out, " Complete: %d of %d chunks.", c->complete, clab_page_wanted(page));
}

static void put_round(const struct clab_page *page, long round)
{
    const struct clab_trace *trace = page->trace;
    fprintf(page->out, "<li id=\"round-%ld\"><ul>\n", round);
    for (size_t i = 0; i < trace->nmessages; i++) {
        const struct clab_message *m = &trace->messages[i];
        if (m->leaves == round - 1)
            put_leaving(page, m);
        else if (m->lands == round)
            put_arriving(page, m);
    }
    fputs("</ul><p>", page->out);
    put_summary(page, round);
    fputs("</p></li>\n", page->out);
}

static void put_rounds(const struct clab_page *page)
{
    for (long round = 1; round <= page->trace->rounds; round++)
        put_round(page, round);
}

static void put_legend(const struct clab_page *page)
{
    const struct clab_problem *p = &page->trace->problem;
    if (p->collective == CLAB_BARRIER)
        fputs("<li>Each rank has one mark: of which ranks it knows that they have come to the barrier.</li>\n",
              page->out);
    else
        fputs("<li>Each rank has an array, which is cut into chunks: c0, c1 and so on.</li>\n", page->out);
    if (clab_problem_has_input(p) && p->collective != CLAB_ALLTOALL)
        fputs("<li>i0, i1 and so on are its input.</li>\n", page->out);
    if (p->collective == CLAB_ALLTOALL)
        fputs("<li>i0, i1 and so on are its input. <b class=\"word\">2→5</b> is data of rank 2 for rank 5.</li>\n",
              page->out);
    if (clab_trace_lane_cells(page->trace, CLAB_SCRATCH))
        fputs("<li>s0, s1 and so on are memory that only the algorithm uses.</li>\n", page->out);
    if (p->lanes > 1)
        fputs("<li>1:c0 is chunk c0 of lane 1. Lanes are copies of the schedule, each for its own part of the array."
              "</li>\n",
              page->out);
}

static void put_command(const struct clab_page *page)
{
    const struct clab_problem *p = &page->trace->problem;
    if (p->listing) {
        fputs("Made from the schedule of a file.", page->out);
        return;
    }
    fprintf(page->out, "Made by <code>%s show ", clab_called());
    put_text(page->out, page->trace->algorithm->name);
    fprintf(page->out, " -c %s --ranks %d", clab_collective_name(p->collective), p->nranks);
    if (p->lanes != page->trace->algorithm->default_lanes)
        fprintf(page->out, " --lanes %d", p->lanes);
    if (clab_collective_rooted(p->collective))
        fprintf(page->out, " --root %d", p->root);
    if (p->group)
        fprintf(page->out, " --group %d", p->group);
    if (p->count)
        fprintf(page->out, " --bytes %zu", p->count * (size_t)clab_problem_blocks(p));
    fprintf(page->out, " --format html</code> from the schedule that also runs.");
}

// ---- the page ------------------------------------------------------------------------------------------------

static void put_style(const struct clab_page *page)
{
    fputs(stepper_css, page->out);
}

static void put_script(const struct clab_page *page)
{
    fputs(stepper_js, page->out);
}

static const struct place {
    const char *name;
    void (*put)(const struct clab_page *);
} places[] = {{"@TITLE@", put_title},     {"@ABOUT@", put_about},   {"@LEGEND@", put_legend},
              {"@SOURCE@", put_source},   {"@ROUNDS@", put_rounds}, {"@DATA@", clab_page_put_data},
              {"@COMMAND@", put_command}, {"@STYLE@", put_style},   {"@SCRIPT@", put_script}};

static void put_page(const struct clab_page *page)
{
    const char *text = stepper_html;
    for (const char *at; (at = strchr(text, '@')); text = at) {
        size_t i = 0;
        fwrite(text, 1, (size_t)(at - text), page->out);
        while (i < sizeof places / sizeof *places && strncmp(at, places[i].name, strlen(places[i].name)))
            i++;
        if (i == sizeof places / sizeof *places) {
            fputc(*at++, page->out);
            continue;
        }
        places[i].put(page);
        at += strlen(places[i].name);
    }
    fputs(text, page->out);
}

int clab_draw_html(const struct clab_trace *trace, FILE *out)
{
    struct clab_page page = {.trace = trace, .out = out};
    for (int b = 0; b < CLAB_BUFFER_COUNT; b++)
        page.base[b + 1] = page.base[b] + trace->problem.lanes * clab_trace_lane_cells(trace, (enum clab_buffer)b);
    page.steps = calloc((size_t)trace->algorithm->width(&trace->problem), sizeof *page.steps);
    page.inputs = calloc((size_t)trace->problem.nranks * (size_t)trace->cells, sizeof *page.inputs);
    page.counts = calloc((size_t)trace->rounds + 1, sizeof *page.counts);
    bool ok = page.steps && page.inputs && page.counts;
    if (ok) {
        clab_page_count(&page);
        put_page(&page);
    }
    free(page.steps);
    free(page.inputs);
    free(page.counts);
    return ok ? CLAB_OK : CLAB_ENOMEM;
}
