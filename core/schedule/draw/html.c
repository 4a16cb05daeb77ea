// SPDX-License-Identifier: MIT
// The stepper: one page that plays a schedule round by round, without a network.
//
// - stepper.html is the page, stepper.css how it looks, stepper.js what plays it; the build makes strings of them. In
//   the page a word between two @ is a place that is filled here.
// - All numbers and words are written here, from the trace: the list of rounds, which needs no JavaScript, and the data
//   that stepper.js shows. Nothing is counted twice.
// - A chunk's number in the data: the rank's chunks of CLAB_DATA in all lanes, then of CLAB_INPUT, of CLAB_SCRATCH.

#include "core/schedule/draw/draw.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/units.h"
#include "core/schedule/formats/listing.h"

// What has happened before a round begins.
struct counts {
    long stages; // ended, of all ranks and lanes
    size_t messages, bytes;
    int complete; // chunks that a rank is to get, and has got
};

struct page {
    const struct clab_trace *trace;
    int base[CLAB_BUFFER_COUNT + 1]; // where each buffer's chunks begin among a rank's; the last: how many there are
    struct clab_step *steps;         // (width)
    int *inputs;                     // (P, cells)
    struct counts *counts;           // (rounds + 1)
    FILE *out;
};

static int chunk_number(const struct page *page, int lane, enum clab_buffer buffer, int chunk)
{
    return page->base[buffer] + lane * clab_trace_lane_cells(page->trace, buffer) + chunk;
}

static size_t message_bytes(const struct page *page, const struct clab_message *m)
{
    const struct clab_problem *p = &page->trace->problem;
    if (clab_listing_is_loose(p->listing))
        return (size_t)m->src_span.count * p->listing->unit;
    return clab_span_elements(p, page->trace->algorithm->chunks(p), m->lane, m->src_span);
}

static bool wants(const struct page *page, int rank, int cell)
{
    const struct clab_trace *trace = page->trace;
    int chunk = cell % clab_trace_lane_cells(trace, CLAB_DATA);
    return !clab_listing_is_loose(trace->problem.listing) &&
           clab_problem_wants(&trace->problem, rank, chunk / trace->algorithm->chunks(&trace->problem));
}

// ---- counting ------------------------------------------------------------------------------------------------

// Call `visit` with the time at which each stage that has steps ends.
static void visit_stages(const struct page *page, int rank, void (*visit)(const struct page *page, long end))
{
    const struct clab_problem *p = &page->trace->problem;
    for (int lane = 0; lane < p->lanes; lane++)
        for (int stage = 0, n; (n = page->trace->algorithm->stage(p, rank, lane, stage, page->steps)) != CLAB_DONE;
             stage++)
            if (n > 0)
                visit(page, clab_trace_stage_end(page->trace, lane, rank, stage));
}

static void count_stage(const struct page *page, long end)
{
    page->counts[end].stages++;
}

static int count_complete(const struct page *page)
{
    const struct clab_trace *trace = page->trace;
    int n = 0;
    for (int i = 0; i < trace->problem.nranks * trace->cells; i++)
        n += page->inputs[i] == clab_trace_complete(trace) && wants(page, i / trace->cells, i % trace->cells);
    return n;
}

static void count(const struct page *page)
{
    const struct clab_trace *trace = page->trace;
    size_t next = 0;
    for (int rank = 0; rank < trace->problem.nranks; rank++)
        visit_stages(page, rank, count_stage);
    for (size_t i = 0; i < trace->nmessages; i++) {
        struct counts *c = &page->counts[trace->messages[i].leaves + 1];
        c->messages++;
        c->bytes += message_bytes(page, &trace->messages[i]);
    }
    clab_trace_start(trace, page->inputs);
    for (long time = 0; time <= trace->rounds; time++) {
        struct counts *c = &page->counts[time];
        clab_trace_advance(trace, time, &next, page->inputs);
        c->complete = count_complete(page);
        c->stages += time ? c[-1].stages : 0;
        c->messages += time ? c[-1].messages : 0;
        c->bytes += time ? c[-1].bytes : 0;
    }
}

static int wanted(const struct page *page)
{
    const struct clab_trace *trace = page->trace;
    int n = 0;
    for (int i = 0; i < trace->problem.nranks * trace->cells; i++)
        n += wants(page, i / trace->cells, i % trace->cells);
    return n;
}

// ---- words ---------------------------------------------------------------------------------------------------

// Names of schedules that were read from files may hold anything.
static void put_text(FILE *out, const char *text)
{
    for (; *text; text++)
        switch (*text) {
        case '&': fputs("&amp;", out); break;
        case '<': fputs("&lt;", out); break;
        case '>': fputs("&gt;", out); break;
        case '"': fputs("&quot;", out); break;
        default: fputc(*text, out);
        }
}

static void put_title(const struct page *page)
{
    char title[200];
    put_text(page->out, clab_trace_title(page->trace, title));
}

static void put_about(const struct page *page)
{
    put_text(page->out, page->trace->algorithm->title);
}

static void put_source(const struct page *page)
{
    put_text(page->out, page->trace->algorithm->source);
}

// "which adds it", "which stores it as c2", "and stores it as c2"; of a signal nothing.
static void put_use(const struct page *page, const struct clab_message *m, const char *link)
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
static void put_leaving(const struct page *page, const struct clab_message *m)
{
    char label[CLAB_LABEL], size[CLAB_TEXT];
    clab_span_label(page->trace, m->lane, m->src_span, label);
    if (*label)
        fprintf(page->out, "<li>Rank %d sends %s (%s) to rank %d", m->src, label,
                clab_size_text(message_bytes(page, m), size), m->dst);
    else
        fprintf(page->out, "<li>Rank %d signals rank %d", m->src, m->dst);
    if (m->lands == m->leaves + 1)
        put_use(page, m, ", which");
    else
        fprintf(page->out, ". It arrives in round %ld", m->lands);
    fputs(".</li>\n", page->out);
}

// "Rank 1 gets c1 of rank 0, and adds it."
static void put_arriving(const struct page *page, const struct clab_message *m)
{
    char label[CLAB_LABEL];
    clab_span_label(page->trace, m->lane, m->src_span, label);
    fprintf(page->out, "<li>Rank %d gets %s of rank %d", m->dst, *label ? label : "the signal", m->src);
    put_use(page, m, ", and");
    fputs(".</li>\n", page->out);
}

static void put_summary(const struct page *page, long round)
{
    const struct counts *c = &page->counts[round], *all = &page->counts[page->trace->rounds];
    char bytes[CLAB_TEXT], all_bytes[CLAB_TEXT];
    fprintf(page->out, "So far: %ld of %ld stages, %zu of %zu messages, %s of %s.", c->stages, all->stages, c->messages,
            all->messages, clab_size_text(c->bytes, bytes), clab_size_text(all->bytes, all_bytes));
    if (wanted(page))
        fprintf(page->out, " Complete: %d of %d chunks.", c->complete, wanted(page));
}

static void put_round(const struct page *page, long round)
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

static void put_rounds(const struct page *page)
{
    for (long round = 1; round <= page->trace->rounds; round++)
        put_round(page, round);
}

static void put_command(const struct page *page)
{
    const struct clab_problem *p = &page->trace->problem;
    if (p->listing) {
        fputs("a schedule from a file", page->out);
        return;
    }
    fputs("<code>./commlab show ", page->out);
    put_text(page->out, page->trace->algorithm->name);
    fprintf(page->out, " -c %s --ranks %d", clab_collective_name(p->collective), p->nranks);
    if (p->lanes != page->trace->algorithm->default_lanes)
        fprintf(page->out, " --lanes %d", p->lanes);
    if (clab_collective_rooted(p->collective))
        fprintf(page->out, " --root %d", p->root);
    if (p->group)
        fprintf(page->out, " --group %d", p->group);
    fprintf(page->out, " --format html</code>");
}

// ---- data ----------------------------------------------------------------------------------------------------
// Names in them are the kit's own: numbers, labels of chunks, names of collectives.

static void put_stage_end(const struct page *page, long end)
{
    fprintf(page->out, "%ld,", end);
}

// Lists end with a null, so that each element can be followed by a comma.
static void put_stages(const struct page *page)
{
    fputs("\"stages\":[", page->out);
    for (int rank = 0; rank < page->trace->problem.nranks; rank++) {
        fputs("[", page->out);
        visit_stages(page, rank, put_stage_end);
        fputs("null],", page->out);
    }
    fputs("null],\n", page->out);
}

static void put_counts(const struct page *page)
{
    char bytes[CLAB_TEXT];
    fputs("\"counts\":[", page->out);
    for (long time = 0; time <= page->trace->rounds; time++) {
        const struct counts *c = &page->counts[time];
        fprintf(page->out, "[%ld,%zu,%zu,\"%s\",%d],", c->stages, c->messages, c->bytes,
                clab_size_text(c->bytes, bytes), c->complete);
    }
    fputs("null],\n", page->out);
}

// The buffers that the schedule uses, and the labels of their chunks.
static void put_buffers(const struct page *page)
{
    const struct clab_trace *trace = page->trace;
    const char *const names[] = {trace->problem.collective == CLAB_ALLTOALL ? "result" : "data", "input", "scratch"};
    char label[CLAB_LABEL];
    fputs("\"buffers\":[", page->out);
    for (int b = 0; b < CLAB_BUFFER_COUNT; b++) {
        if (page->base[b] == page->base[b + 1])
            continue;
        fprintf(page->out, "[\"%s\"", names[b]);
        for (int lane = 0; lane < trace->problem.lanes; lane++)
            for (int i = 0; i < clab_trace_lane_cells(trace, (enum clab_buffer)b); i++)
                fprintf(page->out, ",\"%s\"",
                        clab_span_label(trace, lane, (struct clab_span){(enum clab_buffer)b, i, 1}, label));
        fputs("],", page->out);
    }
    fputs("null],\n", page->out);
}

static void put_wants(const struct page *page)
{
    const struct clab_trace *trace = page->trace;
    fputs("\"wants\":[", page->out);
    for (int rank = 0; rank < trace->problem.nranks; rank++) {
        fputs("[", page->out);
        for (int cell = 0; cell < trace->cells; cell++)
            if (wants(page, rank, cell))
                fprintf(page->out, "%d,", cell);
        fputs("null],", page->out);
    }
    fputs("null],\n", page->out);
}

// [time, rank, chunk, contributors as bits, whether it is complete, block]
static void put_change(const struct page *page, long time, int rank, int number, uint64_t set, bool complete, int block)
{
    fprintf(page->out, "[%ld,%d,%d,%llu,%d,%d],", time, rank, number, (unsigned long long)set, complete, block);
}

static void put_start(const struct page *page)
{
    const struct clab_trace *trace = page->trace;
    int chunks = trace->algorithm->chunks(&trace->problem), complete = clab_trace_complete(trace);
    int lane_inputs = page->base[CLAB_INPUT + 1] - page->base[CLAB_INPUT];
    clab_trace_start(trace, page->inputs);
    for (int rank = 0; rank < trace->problem.nranks; rank++) {
        for (int cell = 0; cell < trace->cells; cell++) {
            int block = cell % clab_trace_lane_cells(trace, CLAB_DATA) / chunks;
            if (clab_problem_holds(&trace->problem, rank, block))
                put_change(page, -1, rank, cell, 1ull << rank, page->inputs[rank * trace->cells + cell] == complete,
                           block);
        }
        for (int i = 0; i < lane_inputs; i++)
            put_change(page, -1, rank, page->base[CLAB_INPUT] + i, 1ull << rank, false,
                       i % clab_trace_lane_cells(trace, CLAB_INPUT) / chunks);
    }
}

static void put_changes(const struct page *page)
{
    const struct clab_trace *trace = page->trace;
    fputs("\"changes\":[", page->out);
    put_start(page);
    for (size_t i = 0; i < trace->nchanges; i++) {
        const struct clab_change *c = &trace->changes[i];
        put_change(page, c->time, c->rank, page->base[c->buffer] + c->cell, c->set,
                   c->buffer == CLAB_DATA && c->inputs == clab_trace_complete(trace), c->block);
    }
    fputs("null],\n", page->out);
}

// [leaves, lands, source, destination, whether it is added, label, first chunk at the source]
static void put_messages(const struct page *page)
{
    const struct clab_trace *trace = page->trace;
    char label[CLAB_LABEL];
    fputs("\"messages\":[", page->out);
    for (size_t i = 0; i < trace->nmessages; i++) {
        const struct clab_message *m = &trace->messages[i];
        fprintf(page->out, "[%ld,%ld,%d,%d,%d,\"%s\",%d],", m->leaves, m->lands, m->src, m->dst, m->reduces,
                clab_span_label(trace, m->lane, m->src_span, label),
                chunk_number(page, m->lane, m->src_span.buffer, m->src_span.first));
    }
    fputs("null]\n", page->out);
}

static void put_data(const struct page *page)
{
    const struct clab_trace *trace = page->trace;
    fprintf(page->out, "{\"ranks\":%d,\"rounds\":%ld,\"collective\":\"%s\",\"complete\":%d,\"wanted\":%d,\n",
            trace->problem.nranks, trace->rounds, clab_collective_name(trace->problem.collective),
            clab_trace_complete(trace), wanted(page));
    put_stages(page);
    put_counts(page);
    put_buffers(page);
    put_wants(page);
    put_changes(page);
    put_messages(page);
    fputs("}", page->out);
}

// ---- the page ------------------------------------------------------------------------------------------------

static void put_style(const struct page *page)
{
    fputs(stepper_css, page->out);
}

static void put_script(const struct page *page)
{
    fputs(stepper_js, page->out);
}

static const struct place {
    const char *name;
    void (*put)(const struct page *);
} places[] = {{"@TITLE@", put_title}, {"@ABOUT@", put_about},     {"@SOURCE@", put_source}, {"@ROUNDS@", put_rounds},
              {"@DATA@", put_data},   {"@COMMAND@", put_command}, {"@STYLE@", put_style},   {"@SCRIPT@", put_script}};

static void put_page(const struct page *page)
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
    struct page page = {.trace = trace, .out = out};
    for (int b = 0; b < CLAB_BUFFER_COUNT; b++)
        page.base[b + 1] = page.base[b] + trace->problem.lanes * clab_trace_lane_cells(trace, (enum clab_buffer)b);
    page.steps = calloc((size_t)trace->algorithm->width(&trace->problem), sizeof *page.steps);
    page.inputs = calloc((size_t)trace->problem.nranks * (size_t)trace->cells, sizeof *page.inputs);
    page.counts = calloc((size_t)trace->rounds + 1, sizeof *page.counts);
    bool ok = page.steps && page.inputs && page.counts;
    if (ok) {
        count(&page);
        put_page(&page);
    }
    free(page.steps);
    free(page.inputs);
    free(page.counts);
    return ok ? CLAB_OK : CLAB_ENOMEM;
}
