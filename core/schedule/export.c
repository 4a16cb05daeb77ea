// SPDX-License-Identifier: MIT
// Writing GOAL. Operations of a rank are numbered l1, l2 ...

#include "schedule/export.h"

#include <stdlib.h>

#include "base/err.h"

struct writer {
    const struct clab_problem *problem;
    const struct clab_algorithm *algorithm;
    size_t element_bytes;
    double reduce_seconds;   // a byte
    struct clab_step *steps; // (width)
    FILE *out;
    int rank, lane;
    long operation; // the last one written of this rank
};

static size_t span_bytes(const struct writer *w, struct clab_span span)
{
    int chunks = w->algorithm->chunks(w->problem);
    size_t elements = 0, start;
    for (int chunk = span.first; chunk < span.first + span.count; chunk++)
        elements += clab_problem_elements(w->problem, chunks, w->lane, chunk, &start);
    return elements * w->element_bytes;
}

static void write_requirement(const struct writer *w, long operation, long earlier)
{
    if (earlier > 0)
        fprintf(w->out, "l%ld requires l%ld\n", operation, earlier);
}

// A stage's messages, all after `earlier`, then its end, which is after all of them. Returns the end's number.
static long write_stage(struct writer *w, int nsteps, long earlier)
{
    long first = w->operation + 1;
    size_t reduced = 0;
    for (int i = 0; i < nsteps; i++) {
        const struct clab_step *step = &w->steps[i];
        bool sends = step->op == CLAB_SEND;
        if (step->op == CLAB_COPY)
            continue;
        size_t bytes = span_bytes(w, sends ? step->src : step->dst);
        reduced += step->op == CLAB_RECV_REDUCE ? bytes : 0;
        fprintf(w->out, "l%ld: %s %zub %s %d tag %d\n", ++w->operation, sends ? "send" : "recv", bytes,
                sends ? "to" : "from", step->peer, w->lane);
        write_requirement(w, w->operation, earlier);
    }
    if (w->operation < first)
        return earlier;
    long end = ++w->operation;
    fprintf(w->out, "l%ld: calc %.0f\n", end, (double)reduced * w->reduce_seconds * 1e9);
    for (long operation = first; operation < end; operation++)
        write_requirement(w, end, operation);
    return end;
}

static void write_rank(struct writer *w)
{
    w->operation = 0;
    fprintf(w->out, "\nrank %d {\n", w->rank);
    for (w->lane = 0; w->lane < w->problem->lanes; w->lane++) {
        long earlier = 0;
        int n;
        for (int s = 0; (n = w->algorithm->stage(w->problem, w->rank, w->lane, s, w->steps)) != CLAB_DONE; s++)
            earlier = write_stage(w, n, earlier);
    }
    fprintf(w->out, "}\n");
}

int clab_export_goal(const struct clab_problem *problem, const struct clab_algorithm *algorithm, size_t element_bytes,
                     double reduce_seconds, FILE *out)
{
    struct writer w = {problem, algorithm, element_bytes, reduce_seconds, NULL, out, 0, 0, 0};
    w.steps = calloc((size_t)algorithm->width(problem), sizeof *w.steps);
    if (!w.steps)
        return CLAB_ENOMEM;
    fprintf(out, "// %s %s: ranks %d, root %d, lanes %d, bytes of a block %zu\n",
            clab_collective_name(problem->collective), algorithm->name, problem->nranks, problem->root, problem->lanes,
            problem->count * element_bytes);
    fprintf(out, "num_ranks %d\n", problem->nranks);
    for (w.rank = 0; w.rank < problem->nranks; w.rank++)
        write_rank(&w);
    free(w.steps);
    return CLAB_OK;
}
