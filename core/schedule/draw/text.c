// SPDX-License-Identifier: MIT
// Drawings in text: columns of ranks for a few, lines of rounds for many.

#include "core/schedule/draw/draw.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "core/schedule/formats/listing.h"

enum { COLUMNS = 100, FEW_RANKS = 8, HEAD = 4 }; // HEAD: columns for the round's number

// ---- words ---------------------------------------------------------------------------------------------------

const char *clab_span_label(const struct clab_trace *trace, int lane, struct clab_span span, char out[CLAB_LABEL])
{
    char in_lane[16] = "";
    if (trace->problem.lanes > 1)
        snprintf(in_lane, sizeof in_lane, "%d:", lane);
    if (trace->problem.collective == CLAB_BARRIER)
        snprintf(out, CLAB_LABEL, "%.*s", (int)strlen(in_lane) - (*in_lane != '\0'), in_lane);
    else if (span.count == 1)
        snprintf(out, CLAB_LABEL, "%s%c%d", in_lane, "cis"[span.buffer], span.first);
    else
        snprintf(out, CLAB_LABEL, "%s%c%d-%d", in_lane, "cis"[span.buffer], span.first, span.first + span.count - 1);
    return out;
}

const char *clab_trace_title(const struct clab_trace *trace, char out[200])
{
    const struct clab_problem *p = &trace->problem;
    int used = snprintf(out, 200, "%s %s, %d rank%s", clab_problem_name(p), trace->algorithm->name,
                        p->nranks, p->nranks == 1 ? "" : "s");
    if (clab_collective_rooted(p->collective))
        used += snprintf(out + used, 200 - (size_t)used, ", root %d", p->root);
    if (p->lanes > 1)
        used += snprintf(out + used, 200 - (size_t)used, ", %d lanes", p->lanes);
    used += snprintf(out + used, 200 - (size_t)used, ": %ld round%s", trace->rounds, trace->rounds == 1 ? "" : "s");
    if (p->collective != CLAB_BARRIER)
        snprintf(out + used, 200 - (size_t)used, ", each sends ≤ %.4g buffers",
                 (double)trace->result.found.sent_max / trace->cells);
    return out;
}

// How much of a chunk is there, as a character: nothing, 1 to 9 or more inputs, all of them.
static char cell_sign(const struct clab_trace *trace, int inputs)
{
    if (inputs == 0)
        return '.';
    if (inputs == clab_trace_complete(trace))
        return '#';
    return inputs < 10 ? (char)('0' + inputs) : '+';
}

// Characters that a UTF-8 text shows.
static int shown_width(const char *text)
{
    int n = 0;
    for (; *text; text++)
        n += (*text & 0xc0) != 0x80;
    return n;
}

static void print_header(const struct clab_trace *trace, FILE *out)
{
    char title[200];
    fprintf(out, "%s\n%s\nsource: %s\n", clab_trace_title(trace, title), trace->algorithm->title,
            trace->algorithm->source);
}

// ---- few ranks: a column each --------------------------------------------------------------------------------

struct column_text {
    char text[8][CLAB_LABEL + 24]; // lines of a rank in a round
    int lines;
};

static void add_line(struct column_text *column, const char *arrow, int peer, const char *label)
{
    int room = (int)(sizeof column->text / sizeof *column->text);
    if (column->lines < room)
        snprintf(column->text[column->lines++], sizeof column->text[0], *label ? "%s%d %s" : "%s%d", arrow, peer,
                 label);
    else
        snprintf(column->text[room - 1], sizeof column->text[0], "...");
}

// What leaves in `round`, and what lands at its end. Messages are in the order in which they leave.
static void collect_round(const struct clab_trace *trace, long round, struct column_text columns[])
{
    char label[CLAB_LABEL];
    for (int rank = 0; rank < trace->problem.nranks; rank++)
        columns[rank].lines = 0;
    for (size_t i = 0; i < trace->nmessages; i++) {
        const struct clab_message *m = &trace->messages[i];
        if (m->leaves == round)
            add_line(&columns[m->src], "→", m->dst, clab_span_label(trace, m->lane, m->src_span, label));
    }
    for (size_t i = 0; i < trace->nmessages; i++) {
        const struct clab_message *m = &trace->messages[i];
        if (m->lands == round + 1)
            add_line(&columns[m->dst], m->reduces ? "+" : "←", m->src,
                     clab_span_label(trace, m->lane, m->dst_span, label));
    }
}

// A line of text that is filled column by column, and printed without blanks at its end.
struct line {
    char text[8 * COLUMNS];
    int width; // as shown
};

static void put(struct line *line, const char *text)
{
    size_t used = strlen(line->text);
    snprintf(line->text + used, sizeof line->text - used, "%s", text);
    line->width += shown_width(text);
}

// The same, with a mark in place of what does not fit.
static void put_clipped(struct line *line, const char *text, int room)
{
    char clipped[64];
    int extra = (int)strlen(text) - shown_width(text); // bytes of an arrow that show nothing
    if (shown_width(text) > room)
        snprintf(clipped, sizeof clipped, "%.*s~", room - 1 + extra, text);
    put(line, shown_width(text) > room ? clipped : text);
}

// Blanks up to `column`, and at least one, but at the start of a line.
static void go_to(struct line *line, int column)
{
    do
        put(line, line->width || column ? " " : "");
    while (line->width < column);
}

static void print_line(struct line *line, FILE *out)
{
    size_t end = strlen(line->text);
    while (end > 0 && line->text[end - 1] == ' ')
        end--;
    fprintf(out, "%.*s\n", (int)end, line->text);
    *line = (struct line){0};
}

static void print_round(const struct clab_trace *trace, long round, const struct column_text columns[], int width,
                        FILE *out)
{
    struct line line = {0};
    int lines = 0;
    for (int rank = 0; rank < trace->problem.nranks; rank++)
        lines = columns[rank].lines > lines ? columns[rank].lines : lines;
    line.width = snprintf(line.text, sizeof line.text, "%ld", round);
    for (int i = 0; i < lines; i++) {
        for (int rank = 0; rank < trace->problem.nranks; rank++) {
            go_to(&line, HEAD + rank * width);
            put_clipped(&line, i < columns[rank].lines ? columns[rank].text[i] : "", width - 1);
        }
        print_line(&line, out);
    }
}

// The chunks [first, end) of every rank's, lanes apart.
static void print_some_cells(const struct clab_trace *trace, const int inputs[], int first, int end, int width,
                             FILE *out)
{
    struct line line = {0};
    int a_lane = trace->cells / trace->problem.lanes;
    for (int rank = 0; rank < trace->problem.nranks; rank++) {
        go_to(&line, HEAD + rank * width);
        for (int cell = first; cell < end; cell++) {
            const char sign[2] = {cell_sign(trace, inputs[rank * trace->cells + cell]), '\0'};
            if (cell > first && cell % a_lane == 0 && a_lane > 1)
                put(&line, " ");
            put(&line, sign);
        }
    }
    print_line(&line, out);
}

// All lanes in a line if there is room, else a line a lane.
static void print_cells(const struct clab_trace *trace, const int inputs[], int width, FILE *out)
{
    int lanes = trace->problem.lanes, a_lane = trace->cells / lanes;
    if (trace->cells + (a_lane > 1 ? lanes : 0) < width)
        print_some_cells(trace, inputs, 0, trace->cells, width, out);
    else
        for (int lane = 0; lane < lanes; lane++)
            print_some_cells(trace, inputs, lane * a_lane, (lane + 1) * a_lane, width, out);
}

// Whether a message leaves from this buffer.
static bool sends_from(const struct clab_trace *trace, enum clab_buffer buffer)
{
    for (size_t i = 0; i < trace->nmessages; i++)
        if (trace->messages[i].src_span.buffer == buffer)
            return true;
    return false;
}

// What the signs below a round say: of a barrier, of a collective that adds, of one where a chunk is there or is not.
static const char *cells_legend(const struct clab_trace *trace)
{
    if (trace->problem.collective == CLAB_BARRIER)
        return "Below: of how many ranks it knows that they have come; #: of all.";
    const bool is_moved = clab_listing_is_custom(trace->problem.listing) && clab_trace_complete(trace) <= 1;
    if (clab_collective_reduces(trace->problem.collective) && !is_moved)
        return "Below: one character per chunk. 1-9: it has the data of so many ranks; #: of all; .: of none.";
    return "Below: one character per chunk of the result. #: it is there; .: it is not there yet.";
}

// Only signs that this drawing has.
static void print_legend(const struct clab_trace *trace, FILE *out)
{
    const bool is_barrier = trace->problem.collective == CLAB_BARRIER;
    fprintf(out, "t: round. \"→1%s\": send %sto rank 1; ←3: receive from rank 3%s.\n", is_barrier ? "" : " c0",
            is_barrier ? "" : "chunk 0 ",
            clab_collective_reduces(trace->problem.collective) ? "; +3: receive, and add" : "");
    if (trace->problem.lanes > 1 && !is_barrier)
        fprintf(out, "1:c0: chunk 0 of lane 1. Lanes are copies of the schedule, each on its own part of the array.\n");
    if (!is_barrier && sends_from(trace, CLAB_INPUT))
        fprintf(out, "i0: chunk 0 of what the rank had before; c0: of its result.\n");
    if (sends_from(trace, CLAB_SCRATCH))
        fprintf(out, "s0: chunk 0 of an array that the algorithm has for itself.\n");
    fprintf(out, "%s\n\n", cells_legend(trace));
}

static void draw_columns(const struct clab_trace *trace, int inputs[], FILE *out)
{
    struct column_text columns[FEW_RANKS];
    struct line line = {0};
    int width = (COLUMNS - HEAD) / (trace->problem.nranks > 4 ? trace->problem.nranks : 4);
    size_t next = 0;
    print_header(trace, out);
    print_legend(trace, out);
    put(&line, "t");
    for (int rank = 0; rank < trace->problem.nranks; rank++) {
        char head[24];
        snprintf(head, sizeof head, "rank %d", rank);
        go_to(&line, HEAD + rank * width);
        put(&line, head);
    }
    print_line(&line, out);
    clab_trace_start(trace, inputs);
    clab_trace_advance(trace, 0, &next, inputs);
    print_cells(trace, inputs, width, out);
    for (long round = 0; round < trace->rounds; round++) {
        collect_round(trace, round, columns);
        clab_trace_advance(trace, round + 1, &next, inputs);
        print_round(trace, round, columns, width, out);
        print_cells(trace, inputs, width, out);
    }
}

// ---- many ranks: a line a round ------------------------------------------------------------------------------

struct tally {
    long messages, chunks;
    long complete, partial, empty;
    char examples[COLUMNS]; // as many messages as fit
};

static void add_example(const struct clab_trace *trace, const struct clab_message *m, struct tally *tally)
{
    char label[CLAB_LABEL], text[CLAB_LABEL + 40];
    size_t used = strlen(tally->examples), room = 46;
    if (used > 3 && !strcmp(tally->examples + used - 3, "..."))
        return;
    clab_span_label(trace, m->lane, m->src_span, label);
    snprintf(text, sizeof text, "%s%d→%d%s%s", used ? ", " : "", m->src, m->dst,
             m->reduces ? " +"
             : *label   ? " "
                        : "",
             label);
    bool fits = shown_width(tally->examples) + shown_width(text) + 5 < (int)room;
    strncat(tally->examples, fits ? text : " ...", sizeof tally->examples - used - 1);
}

static struct tally tally_round(const struct clab_trace *trace, long round, size_t *message_p, const int inputs[])
{
    struct tally tally = {0};
    for (; *message_p < trace->nmessages && trace->messages[*message_p].leaves == round; ++*message_p) {
        const struct clab_message *m = &trace->messages[*message_p];
        tally.messages++;
        tally.chunks += m->src_span.count;
        add_example(trace, m, &tally);
    }
    for (int i = 0; i < trace->problem.nranks * trace->cells; i++) {
        bool complete = inputs[i] == clab_trace_complete(trace);
        tally.complete += complete;
        tally.partial += inputs[i] > 0 && !complete;
        tally.empty += inputs[i] == 0;
    }
    return tally;
}

static void draw_rounds(const struct clab_trace *trace, int inputs[], FILE *out)
{
    size_t next = 0, message = 0;
    print_header(trace, out);
    fprintf(out, "per round: messages sent (+: to be reduced), and chunks of all ranks that are complete after it\n\n");
    fprintf(out, "%5s %8s %8s   %8s %8s %8s   %s\n", "round", "messages", "chunks", "complete", "partial", "nothing",
            "messages");
    clab_trace_start(trace, inputs);
    for (long round = 0; round < trace->rounds; round++) {
        clab_trace_advance(trace, round + 1, &next, inputs);
        const struct tally t = tally_round(trace, round, &message, inputs);
        fprintf(out, "%5ld %8ld %8ld   %8ld %8ld %8ld%s%s\n", round, t.messages, t.chunks, t.complete, t.partial,
                t.empty, *t.examples ? "   " : "", t.examples);
    }
}

int clab_draw_text(const struct clab_trace *trace, FILE *out)
{
    int *inputs = calloc((size_t)trace->problem.nranks * (size_t)trace->cells, sizeof *inputs);
    if (!inputs)
        return CLAB_ENOMEM;
    if (trace->problem.nranks <= FEW_RANKS)
        draw_columns(trace, inputs, out);
    else
        draw_rounds(trace, inputs, out);
    free(inputs);
    return CLAB_OK;
}
