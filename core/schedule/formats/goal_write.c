// SPDX-License-Identifier: MIT
// Writing GOAL. Operations of a rank are numbered l1, l2 ...

#include "core/schedule/formats/goal.h"

#include <stdlib.h>

#include "core/base/err.h"

struct writer {
    const struct clab_problem *problem;
    const struct clab_algorithm *algorithm;
    size_t element_bytes;
    double reduce_seconds;   // a byte
    struct clab_step *steps; // (width)
    long *ends;              // (width) the last operation of each step
    FILE *out;
    int rank, lane;
    long operation; // the last one written of this rank
};

static size_t span_bytes(const struct writer *w, struct clab_span span)
{
    if (clab_listing_is_loose(w->problem->listing))
        return (size_t)span.count * w->problem->listing->unit;
    return clab_span_elements(w->problem, w->algorithm->chunks(w->problem), w->lane, span) * w->element_bytes;
}

// Operation `operation` is after `earlier`; 0: after nothing.
static void write_requirement(const struct writer *w, long operation, long earlier)
{
    if (earlier > 0)
        fprintf(w->out, "l%ld requires l%ld\n", operation, earlier);
}

static long write_calc(struct writer *w, double nanoseconds, long earlier)
{
    fprintf(w->out, "l%ld: calc %.0f\n", ++w->operation, nanoseconds);
    write_requirement(w, w->operation, earlier);
    return w->operation;
}

static long write_message(struct writer *w, const struct clab_step *step, long earlier)
{
    bool sends = step->op == CLAB_SEND;
    fprintf(w->out, "l%ld: %s %zub %s %d tag %d\n", ++w->operation, sends ? "send" : "recv",
            span_bytes(w, sends ? step->src : step->dst), sends ? "to" : "from", step->peer, w->lane);
    write_requirement(w, w->operation, earlier);
    return w->operation;
}

// Step i of a stage that begins after `earlier`. What is reduced or calculated comes after its receive, which is the
// step before it; *chain_p is that one, or -1.
static void write_step(struct writer *w, int i, long earlier, int *chain_p)
{
    const struct clab_step *step = &w->steps[i];
    if (step->op == CLAB_CALC) {
        bool chained = *chain_p >= 0;
        w->ends[i] = write_calc(w, 1e9 * step->src.first + step->src.count, chained ? w->ends[*chain_p] : earlier);
        if (chained) {
            w->ends[*chain_p] = 0;
            *chain_p = i;
        }
        return;
    }
    bool reduces = step->op == CLAB_RECV_REDUCE || step->op == CLAB_COMBINE;
    double nanoseconds = reduces ? (double)span_bytes(w, step->dst) * w->reduce_seconds * 1e9 : 0;
    if (step->op == CLAB_COMBINE) { // beside the messages, of what has been received before
        w->ends[i] = nanoseconds >= 0.5 ? write_calc(w, nanoseconds, earlier) : 0;
        return;
    }
    w->ends[i] = write_message(w, step, earlier);
    if (nanoseconds >= 0.5)
        w->ends[i] = write_calc(w, nanoseconds, w->ends[i]);
    *chain_p = step->op == CLAB_SEND ? -1 : i;
}

// A stage's operations, all after `earlier`, then its end, which is after all of them. Returns the end's number.
static long write_stage(struct writer *w, int nsteps, long earlier)
{
    long first = w->operation;
    int chain = -1;
    for (int i = 0; i < nsteps; i++) {
        w->ends[i] = 0;
        if (w->steps[i].op != CLAB_COPY)
            write_step(w, i, earlier, &chain);
    }
    if (w->operation == first)
        return earlier;
    long end = write_calc(w, 0, 0);
    for (int i = 0; i < nsteps; i++)
        write_requirement(w, end, w->ends[i]);
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

static void write_head(const struct writer *w)
{
    const struct clab_problem *p = w->problem;
    if (p->listing && p->listing->head)
        fputs(p->listing->head, w->out);
    else
        fprintf(w->out, "// %s %s: ranks %d, root %d, lanes %d, bytes of a block %zu\n",
                clab_collective_name(p->collective), w->algorithm->name, p->nranks, p->root, p->lanes,
                p->count * w->element_bytes);
    fprintf(w->out, "num_ranks %d\n", p->nranks);
}

int clab_goal_write(const struct clab_problem *problem, const struct clab_algorithm *algorithm, size_t element_bytes,
                    double reduce_seconds, FILE *out)
{
    struct writer w = {problem, algorithm, element_bytes, reduce_seconds, NULL, NULL, out, 0, 0, 0};
    size_t width = (size_t)algorithm->width(problem);
    w.steps = calloc(width, sizeof *w.steps);
    w.ends = calloc(width, sizeof *w.ends);
    int err = w.steps && w.ends ? CLAB_OK : CLAB_ENOMEM;
    if (!err)
        write_head(&w);
    for (; !err && w.rank < problem->nranks; w.rank++)
        write_rank(&w);
    free(w.steps);
    free(w.ends);
    return err;
}
