// SPDX-License-Identifier: MIT
// Writing GOAL. Operations of a rank are numbered l1, l2 ...; behind each stands what it requires.

#include "core/schedule/formats/goal.h"

#include "core/base/err.h"
#include "core/schedule/formats/goal_of.h"

static void write_operation(FILE *out, uint32_t i, const struct clab_goal_op *op)
{
    const bool sends = op->type == CLAB_GOAL_SEND;
    const unsigned long long size = op->size;
    if (op->type == CLAB_GOAL_CALC)
        fprintf(out, "l%u: calc %llu\n", i + 1, size);
    else
        fprintf(out, "l%u: %s %llub %s %d tag %u\n", i + 1, sends ? "send" : "recv", size, sends ? "to" : "from",
                op->peer, op->tag);
}

// The rank at hand, which then begins anew.
static void write_rank(struct goal_builder *b, int rank, FILE *out)
{
    const struct clab_goal *goal = b->goal;
    size_t need = 0;
    fprintf(out, "\nrank %d {\n", rank);
    for (uint32_t i = 0; i < goal->nops; i++) {
        write_operation(out, i, &goal->ops[i]);
        for (; need < b->nneeds && b->needs[need].op == i; need++)
            fprintf(out, "l%u requires l%u\n", i + 1, b->needs[need].on / 2 + 1);
    }
    fprintf(out, "}\n");
    b->goal->nops = b->nblocks = 0;
}

static void write_head(const struct goal_source *s, FILE *out)
{
    const struct clab_problem *p = s->problem;
    if (p->listing && p->listing->head)
        fputs(p->listing->head, out);
    else
        fprintf(out, "// %s %s: ranks %d, root %d, lanes %d, bytes of a block %zu\n",
                clab_collective_name(p->collective), s->algorithm->name, p->nranks, p->root, p->lanes,
                p->count * s->element_bytes);
    fprintf(out, "num_ranks %d\n", p->nranks);
}

static int write_ranks(struct goal_source *s, FILE *out)
{
    write_head(s, out);
    for (int rank = 0; rank < s->problem->nranks && !ferror(out); rank++) {
        CLAB_TRY(goal_source_add_rank(s, rank));
        write_rank(s->to, rank, out);
    }
    return CLAB_OK;
}

int clab_goal_write(const struct clab_problem *problem, const struct clab_algorithm *algorithm, size_t element_bytes,
                    double reduce_seconds, FILE *out)
{
    struct goal_builder builder;
    struct goal_source source = {0};
    int err = goal_build_begin(&builder, algorithm->name);
    if (!err)
        err = goal_source_open(&source, problem, algorithm, element_bytes, reduce_seconds, &builder);
    if (!err)
        err = write_ranks(&source, out);
    goal_source_close(&source);
    goal_build_free(&builder);
    return err;
}
