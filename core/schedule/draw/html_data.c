// SPDX-License-Identifier: MIT
// What stepper.js plays, in JSON: numbers, labels of chunks, names of collectives; nothing that came from a file.
//
// - A chunk's number: the rank's chunks of CLAB_DATA in all lanes, then of CLAB_INPUT, then of CLAB_SCRATCH.
// - Lists end with a null, so that a comma can follow each element.

#include "core/schedule/draw/html.h"

#include "core/base/units.h"

static int chunk_number(const struct clab_page *page, int lane, enum clab_buffer buffer, int chunk)
{
    return page->base[buffer] + lane * clab_trace_lane_cells(page->trace, buffer) + chunk;
}

static void put_stage_end(const struct clab_page *page, long end)
{
    fprintf(page->out, "%ld,", end);
}

static void put_stages(const struct clab_page *page)
{
    fputs("\"stages\":[", page->out);
    for (int rank = 0; rank < page->trace->problem.nranks; rank++) {
        fputs("[", page->out);
        clab_page_visit_stages(page, rank, put_stage_end);
        fputs("null],", page->out);
    }
    fputs("null],\n", page->out);
}

static void put_counts(const struct clab_page *page)
{
    char bytes[CLAB_TEXT];
    fputs("\"counts\":[", page->out);
    for (long time = 0; time <= page->trace->rounds; time++) {
        const struct clab_page_counts *c = &page->counts[time];
        fprintf(page->out, "[%ld,%zu,%zu,\"%s\",%d],", c->stages, c->messages, c->bytes,
                clab_size_text(c->bytes, bytes), c->complete);
    }
    fputs("null],\n", page->out);
}

// The buffers that the schedule uses, and the labels of their chunks.
static void put_buffers(const struct clab_page *page)
{
    const struct clab_trace *trace = page->trace;
    const char *const names[] = {clab_problem_has_input(&trace->problem) ? "result" : "data", "input", "scratch"};
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

static void put_wants(const struct clab_page *page)
{
    const struct clab_trace *trace = page->trace;
    fputs("\"wants\":[", page->out);
    for (int rank = 0; rank < trace->problem.nranks; rank++) {
        fputs("[", page->out);
        for (int cell = 0; cell < trace->cells; cell++)
            if (clab_page_wants(page, rank, cell))
                fprintf(page->out, "%d,", cell);
        fputs("null],", page->out);
    }
    fputs("null],\n", page->out);
}

// [time, rank, chunk, contributors as bits, whether it is complete, block]
static void put_change(const struct clab_page *page, long time, int rank, int number, uint64_t set, bool complete,
                       int block)
{
    fprintf(page->out, "[%ld,%d,%d,%llu,%d,%d],", time, rank, number, (unsigned long long)set, complete, block);
}

static void put_start(const struct clab_page *page)
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
        for (int i = 0; i < lane_inputs; i++) {
            int block = i % clab_trace_lane_cells(trace, CLAB_INPUT) / chunks;
            if (clab_problem_in_block(&trace->problem, rank, block) >= 0)
                put_change(page, -1, rank, page->base[CLAB_INPUT] + i, 1ull << rank, false, block);
        }
    }
}

static void put_changes(const struct clab_page *page)
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
static void put_messages(const struct clab_page *page)
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

void clab_page_put_data(const struct clab_page *page)
{
    const struct clab_trace *trace = page->trace;
    fprintf(page->out, "{\"ranks\":%d,\"rounds\":%ld,\"collective\":\"%s\",\"complete\":%d,\"wanted\":%d,\n",
            trace->problem.nranks, trace->rounds, clab_collective_name(trace->problem.collective),
            clab_trace_complete(trace), clab_page_wanted(page));
    put_stages(page);
    put_counts(page);
    put_buffers(page);
    put_wants(page);
    put_changes(page);
    put_messages(page);
    fputs("}", page->out);
}
