// SPDX-License-Identifier: MIT
// What the stepper's page counts: stages, messages, bytes and complete chunks before each round.

#include "core/schedule/draw/html.h"

#include "core/schedule/formats/listing.h"

size_t clab_page_bytes(const struct clab_page *page, const struct clab_message *m)
{
    const struct clab_problem *p = &page->trace->problem;
    if (clab_listing_is_loose(p->listing))
        return (size_t)m->src_span.count * p->listing->unit;
    return clab_span_elements(p, page->trace->algorithm->chunks(p), m->lane, m->src_span);
}

bool clab_page_wants(const struct clab_page *page, int rank, int cell)
{
    const struct clab_trace *trace = page->trace;
    int chunk = cell % clab_trace_lane_cells(trace, CLAB_DATA);
    return !clab_listing_is_loose(trace->problem.listing) &&
           clab_problem_wants(&trace->problem, rank, chunk / trace->algorithm->chunks(&trace->problem));
}

void clab_page_visit_stages(const struct clab_page *page, int rank,
                            void (*visit)(const struct clab_page *page, long end))
{
    const struct clab_problem *p = &page->trace->problem;
    for (int lane = 0; lane < p->lanes; lane++)
        for (int stage = 0, n; (n = page->trace->algorithm->stage(p, rank, lane, stage, page->steps)) != CLAB_DONE;
             stage++)
            if (n > 0)
                visit(page, clab_trace_stage_end(page->trace, lane, rank, stage));
}

static void count_stage(const struct clab_page *page, long end)
{
    page->counts[end].stages++;
}

static int count_complete(const struct clab_page *page)
{
    const struct clab_trace *trace = page->trace;
    int n = 0;
    for (int i = 0; i < trace->problem.nranks * trace->cells; i++)
        n += page->inputs[i] == clab_trace_complete(trace) && clab_page_wants(page, i / trace->cells, i % trace->cells);
    return n;
}

void clab_page_count(const struct clab_page *page)
{
    const struct clab_trace *trace = page->trace;
    size_t next = 0;
    for (int rank = 0; rank < trace->problem.nranks; rank++)
        clab_page_visit_stages(page, rank, count_stage);
    for (size_t i = 0; i < trace->nmessages; i++) {
        struct clab_page_counts *c = &page->counts[trace->messages[i].leaves + 1];
        c->messages++;
        c->bytes += clab_page_bytes(page, &trace->messages[i]);
    }
    clab_trace_start(trace, page->inputs);
    for (long time = 0; time <= trace->rounds; time++) {
        struct clab_page_counts *c = &page->counts[time];
        clab_trace_advance(trace, time, &next, page->inputs);
        c->complete = count_complete(page);
        c->stages += time ? c[-1].stages : 0;
        c->messages += time ? c[-1].messages : 0;
        c->bytes += time ? c[-1].bytes : 0;
    }
}

int clab_page_wanted(const struct clab_page *page)
{
    const struct clab_trace *trace = page->trace;
    int n = 0;
    for (int i = 0; i < trace->problem.nranks * trace->cells; i++)
        n += clab_page_wants(page, i / trace->cells, i % trace->cells);
    return n;
}
