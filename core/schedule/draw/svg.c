// SPDX-License-Identifier: MIT
// Drawings in SVG: a space-time diagram, and what the chunks are made of under it. For a slide, the diagram alone, in
// letters for a hall.
// - Reduced messages are solid and blue, others dashed and orange; chunks darken as they fill. Both are told apart in
//   grey.

#include "core/schedule/draw/draw.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/text.h"

#define INK      "#222222"
#define FAINT    "#bbbbbb"
#define REDUCED  "#0072b2"
#define PLAIN    "#c25400"
#define COMPLETE "#08306b"

enum { RIGHT = 24, MIN_WIDTH = 720, MAX_MATRICES = 24, GAP = 18 };

// Where things are, in pixels.
struct layout {
    int ranks, cells;
    int left, top;                // of the space-time diagram
    int letter, small;            // heights of letters: of ranks, and of all else in the diagram
    int round_width, rank_height; // of the space-time diagram
    int cell, pitch;              // of a matrix: a cell's side, and from one matrix to the next
    int matrices, a_row;          // how many, and how many side by side
    int width, height, matrix_top;
    bool labels; // there is room for them
    bool slide;
};

static int at_least(int a, int b)
{
    return a > b ? a : b;
}

static int at_most(int a, int b)
{
    return a < b ? a : b;
}

static struct layout layout_of(const struct clab_trace *trace)
{
    int P = trace->problem.nranks, rounds = (int)trace->rounds;
    struct layout l = {.ranks = P, .cells = trace->cells, .labels = P <= 16, .left = 64, .top = 92, .small = 11};
    l.letter = l.labels ? 12 : 9;
    l.round_width = at_least(P <= 16 ? 76 : 40, at_most(150, (MIN_WIDTH - l.left - RIGHT) / at_least(rounds, 1)));
    l.rank_height = P <= 8 ? 48 : P <= 16 ? 36 : 14;
    return l;
}

// With the chunks below.
static struct layout page_of(const struct clab_trace *trace)
{
    char title[200];
    struct layout l = layout_of(trace);
    int P = l.ranks, rounds = (int)trace->rounds;
    l.cell = at_least(2, at_most(12, 160 / at_least(l.cells, P)));
    l.pitch = at_least(l.cell * l.cells, 50) + GAP;
    l.matrices = at_most(rounds + 1, MAX_MATRICES);
    l.width = at_least(MIN_WIDTH, l.left + rounds * l.round_width + RIGHT);
    l.width = at_least(l.width, 32 + 10 * (int)strlen(clab_trace_title(trace, title)));
    l.a_row = at_least(1, (l.width - l.left) / l.pitch);
    l.matrix_top = l.top + (P - 1) * l.rank_height + 66;
    l.height = l.matrix_top + (l.matrices + l.a_row - 1) / l.a_row * (P * l.cell + 34);
    return l;
}

static struct layout slide_of(const struct clab_trace *trace)
{
    struct layout l = layout_of(trace);
    l.slide = true;
    l.left = 88;
    l.top = 68;
    l.letter = 19;
    l.small = 18;
    l.width = at_least(l.left + (int)trace->rounds * l.round_width, 420) + RIGHT; // 420: of the legend
    l.height = l.top + (l.ranks - 1) * l.rank_height + 14;
    return l;
}

static double x_of(const struct layout *l, double time)
{
    return l->left + time * l->round_width;
}

static double y_of(const struct layout *l, double rank)
{
    return l->top + rank * l->rank_height;
}

// ---- frame ---------------------------------------------------------------------------------------------------

static void draw_styles(const struct layout *l, FILE *out)
{
    fprintf(
        out,
        "<style>path{fill:none;stroke:" FAINT "}.r,.p{stroke-width:1.6}.r{stroke:" REDUCED ";marker-end:url(#r)}"
        ".p{stroke:" PLAIN ";stroke-dasharray:6 3;marker-end:url(#p)}"
        ".rl,.pl{font-size:%dpx;text-anchor:middle;"
        "stroke:#ffffff;stroke-width:3px;paint-order:stroke;stroke-linejoin:round}"
        ".rl{fill:" REDUCED "}.pl{fill:" PLAIN "}</style>\n<defs>\n",
        l->small);
    const char *const heads[][2] = {{"r", REDUCED}, {"p", PLAIN}};
    for (int i = 0; i < 2; i++)
        fprintf(
            out,
            "<marker id=\"%s\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" markerWidth=\"8\" markerHeight=\"8\" "
            "markerUnits=\"userSpaceOnUse\" orient=\"auto\">"
            "<path d=\"M0 0.5L8 4L0 7.5z\" style=\"fill:%s;stroke:none\"/>"
            "</marker>\n",
            heads[i][0], heads[i][1]);
    fprintf(out, "</defs>\n");
}

static void open_svg(const struct clab_trace *trace, const struct layout *l, FILE *out)
{
    char title[200];
    clab_trace_title(trace, title);
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" role=\"img\" "
            "font-family=\"DejaVu Sans, Helvetica, Arial, sans-serif\" font-size=\"12\" fill=\"" INK "\">\n<title>",
            l->width, l->height, l->width, l->height);
    clab_put_escaped(out, title, SIZE_MAX);
    fprintf(out,
            "</title>\n<desc>Space-time diagram: one line per rank, time to the right, one arrow per message.%s</desc>\n",
            l->slide ? "" : " Below: one row per rank, one column per chunk, darker with more inputs.");
    draw_styles(l, out);
    fprintf(out, "<rect width=\"%d\" height=\"%d\" fill=\"#ffffff\"/>\n", l->width, l->height);
}

static void draw_title(const struct clab_trace *trace, FILE *out)
{
    char title[200];
    clab_trace_title(trace, title);
    fprintf(out, "<text x=\"16\" y=\"26\" font-size=\"16\" font-weight=\"bold\">");
    clab_put_escaped(out, title, SIZE_MAX);
    fprintf(out, "</text>\n<text x=\"16\" y=\"44\">");
    clab_put_escaped(out, trace->algorithm->title, SIZE_MAX);
    fprintf(out, "</text>\n");
}

static void draw_arrow(FILE *out, bool reduces, double x1, double y1, double x2, double y2)
{
    fprintf(out, "<path class=\"%s\" d=\"M%.1f %.1fL%.1f %.1f\"/>\n", reduces ? "r" : "p", x1, y1, x2, y2);
}

// Shades of a cell by its share of inputs: white, light to middle, dark.
static const char *shade(const struct clab_trace *trace, int inputs, char out[8])
{
    static const int light[3] = {0xd3, 0xe4, 0xf3}, middle[3] = {0x5b, 0xa3, 0xcf};
    int complete = clab_trace_complete(trace), rgb[3];
    if (inputs == 0)
        return "#ffffff";
    if (inputs == complete)
        return COMPLETE;
    for (int i = 0; i < 3; i++)
        rgb[i] = light[i] + (middle[i] - light[i]) * (inputs - 1) / at_least(complete - 2, 1);
    snprintf(out, 8, "#%02x%02x%02x", rgb[0] & 0xff, rgb[1] & 0xff, rgb[2] & 0xff);
    return out;
}

// What a solid and a dashed arrow mean, from x on; returns where the next thing may stand.
static double draw_legend(const struct clab_trace *trace, const struct layout *l, double y, FILE *out)
{
    double x = 16, wide = l->small / 11.0;
    if (clab_collective_reduces(trace->problem.collective)) {
        draw_arrow(out, true, x, y, x + 30, y);
        fprintf(out, "<text x=\"%.0f\" y=\"%.0f\">sent and reduced</text>\n", x + 36, y + 4 * wide);
        x += 36 + 114 * wide;
    }
    draw_arrow(out, false, x, y, x + 30, y);
    fprintf(out, "<text x=\"%.0f\" y=\"%.0f\">sent</text>\n", x + 36, y + 4 * wide);
    return x + 86;
}

static void draw_shades(const struct clab_trace *trace, double x, FILE *out)
{
    int complete = clab_trace_complete(trace);
    char color[8];
    const struct {
        const char *text;
        int inputs;
    } cells[] = {{"no input", 0}, {"some", (complete + 1) / 2}, {"complete", complete}};
    for (int i = 0; i < 3; i++) {
        if (i == 1 && complete < 2)
            continue;
        fprintf(out,
                "<rect x=\"%.0f\" y=\"54\" width=\"12\" height=\"12\" fill=\"%s\" stroke=\"" FAINT
                "\"/><text x=\"%.0f\" "
                "y=\"64\">%s</text>\n",
                x, shade(trace, cells[i].inputs, color), x + 17, cells[i].text);
        x += 84;
    }
}

static void draw_legends(const struct clab_trace *trace, const struct layout *l, FILE *out)
{
    fprintf(out, "<g font-size=\"%d\">\n", l->small);
    double x = draw_legend(trace, l, l->top - 32 - (l->slide ? 20 : 0), out);
    if (!l->slide)
        draw_shades(trace, x, out);
    fprintf(out, "</g>\n");
}

// ---- space and time ------------------------------------------------------------------------------------------

static void draw_axes(const struct clab_trace *trace, const struct layout *l, FILE *out)
{
    double right = x_of(l, (double)trace->rounds), bottom = y_of(l, l->ranks - 1);
    for (long t = 0; t <= trace->rounds; t++)
        fprintf(out, "<path style=\"stroke:#e4e4e4\" d=\"M%.1f %.1fV%.1f\"/>\n", x_of(l, (double)t), (double)l->top - 6,
                bottom + 6);
    fprintf(out, "<g text-anchor=\"middle\" font-size=\"%d\" fill=\"#555555\">\n", l->small);
    for (long t = 0; t < trace->rounds; t++)
        fprintf(out, "<text x=\"%.1f\" y=\"%d\">%s%ld</text>\n", x_of(l, (double)t + 0.5), l->top - 9,
                t == 0 && l->labels ? "round " : "", t);
    fprintf(out, "</g>\n");
    for (int rank = 0; rank < l->ranks; rank++) {
        fprintf(out, "<path style=\"stroke:#888888\" d=\"M%d %.1fH%.1f\"/>\n", l->left, y_of(l, rank),
                right > l->left ? right : l->left + 20.0);
        fprintf(out, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\" font-size=\"%d\">%s%d</text>\n", l->left - 8,
                y_of(l, rank) + (l->slide ? 6 : 4), l->letter, l->labels ? "rank " : "", rank);
    }
}

struct line {
    double x1, y1, x2, y2;
};

static struct line line_of(const struct layout *l, const struct clab_message *m)
{
    return (struct line){x_of(l, (double)m->leaves), y_of(l, m->src), x_of(l, (double)m->lands), y_of(l, m->dst)};
}

static void draw_message(const struct layout *l, const struct clab_message *m, FILE *out)
{
    const struct line at = line_of(l, m);
    double slope = (at.y2 - at.y1) / (at.x2 - at.x1);
    draw_arrow(out, m->reduces, at.x1 + 3, at.y1 + 3 * slope, at.x2 - 1, at.y2 - slope);
}

// A rank sends one message at a time, so labels close to the sender's line do not meet.
static void draw_label(const struct clab_trace *trace, const struct layout *l, const struct clab_message *m, FILE *out)
{
    char buffer[CLAB_LABEL];
    const char *label = clab_span_label(trace, m->lane, m->src_span, buffer);
    const struct line at = line_of(l, m);
    double away = l->slide ? 14 : 12, down = at.y2 > at.y1 ? away : -away, right = down * (at.x2 - at.x1) / (at.y2 - at.y1);
    double aside = l->slide ? 5.0 + 5.0 * (double)strlen(label) : 9;
    fprintf(out, "<text class=\"%s\" x=\"%.1f\" y=\"%.1f\">%s</text>\n", m->reduces ? "rl" : "pl", at.x1 + right + aside,
            at.y1 + down + l->small / 3.0 + 1 / 3.0, label);
}

static void draw_messages(const struct clab_trace *trace, const struct layout *l, FILE *out)
{
    for (size_t i = 0; i < trace->nmessages; i++)
        draw_message(l, &trace->messages[i], out);
    for (size_t i = 0; i < trace->nmessages && l->labels; i++) // on top of all arrows
        draw_label(trace, l, &trace->messages[i], out);
}

// ---- chunks --------------------------------------------------------------------------------------------------

// The round after which matrix i shows the chunks, -1 being the start: evenly spaced if there are too many.
static long matrix_round(const struct clab_trace *trace, const struct layout *l, int i)
{
    return l->matrices < 2 ? -1 : (trace->rounds * i + (l->matrices - 2)) / (l->matrices - 1) - 1;
}

static void draw_matrix(const struct clab_trace *trace, const struct layout *l, const int inputs[], double x, double y,
                        FILE *out)
{
    char color[8];
    for (int rank = 0; rank < l->ranks; rank++)
        for (int first = 0, next; first < l->cells; first = next) { // cells of the same shade in one rectangle
            const int *row = inputs + rank * l->cells;
            for (next = first + 1; next < l->cells && row[next] == row[first]; next++)
                ;
            if (row[first])
                fprintf(out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%d\" height=\"%d\" fill=\"%s\"/>\n",
                        x + first * l->cell, y + rank * l->cell, (next - first) * l->cell, l->cell,
                        shade(trace, row[first], color));
        }
    fprintf(out, "<path d=\"M%.1f %.1fh%dv%dh-%dz", x, y, l->cells * l->cell, l->ranks * l->cell, l->cells * l->cell);
    for (int i = 1; i < l->cells && l->cell >= 6; i++)
        fprintf(out, "M%.1f %.1fv%d", x + i * l->cell, y, l->ranks * l->cell);
    for (int i = 1; i < l->ranks && l->cell >= 6; i++)
        fprintf(out, "M%.1f %.1fh%d", x, y + i * l->cell, l->cells * l->cell);
    fprintf(out, "\"/>\n");
}

static void draw_matrices(const struct clab_trace *trace, const struct layout *l, int inputs[], FILE *out)
{
    size_t next = 0;
    fprintf(out, "<text x=\"16\" y=\"%d\" font-weight=\"bold\">Chunks: one row per rank, one column per chunk</text>\n",
            l->matrix_top - 32);
    clab_trace_start(trace, inputs);
    for (int i = 0; i < l->matrices; i++) {
        long round = matrix_round(trace, l, i);
        double x = l->left + i % l->a_row * l->pitch, y = l->matrix_top + i / l->a_row * (l->ranks * l->cell + 34);
        clab_trace_advance(trace, round + 1, &next, inputs);
        fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" font-size=\"11\" fill=\"#555555\">", x, y - 6);
        if (round < 0)
            fprintf(out, "at first</text>\n");
        else
            fprintf(out, "after %ld</text>\n", round);
        draw_matrix(trace, l, inputs, x, y, out);
    }
}

static void draw_space_time(const struct clab_trace *trace, const struct layout *l, FILE *out)
{
    draw_legends(trace, l, out);
    draw_axes(trace, l, out);
    draw_messages(trace, l, out);
}

int clab_draw_svg(const struct clab_trace *trace, FILE *out)
{
    const struct layout layout = page_of(trace);
    int *inputs = calloc((size_t)trace->problem.nranks * (size_t)trace->cells, sizeof *inputs);
    if (!inputs)
        return CLAB_ENOMEM;
    open_svg(trace, &layout, out);
    draw_title(trace, out);
    draw_space_time(trace, &layout, out);
    draw_matrices(trace, &layout, inputs, out);
    fprintf(out, "</svg>\n");
    free(inputs);
    return CLAB_OK;
}

int clab_draw_slide(const struct clab_trace *trace, FILE *out)
{
    const struct layout layout = slide_of(trace);
    open_svg(trace, &layout, out);
    draw_space_time(trace, &layout, out);
    fprintf(out, "</svg>\n");
    return CLAB_OK;
}
