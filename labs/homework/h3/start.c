// SPDX-License-Identifier: MIT
#include "labs/homework/h3/start.h"

#include <limits.h>
#include <stdio.h>

#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/units.h"
#include "cmd/grade/homework.h"
#include "cmd/grade/seed.h"
#include "labs/homework/h3/price.h"

static int close_new(FILE *file, const char *path)
{
    if (!fclose(file))
        return CLAB_OK;
    clab_error("%s can not be written: is the disk full?", path);
    return CLAB_ENOENT;
}

// The model that is trained there: what begin() learns of it by step_facts.
static int write_model(const struct h3_case *c, const char *folder, int which)
{
    char path[PATH_MAX], size[CLAB_TEXT], pass[CLAB_TEXT];
    snprintf(path, sizeof path, "%s/model-%d.csv", folder, which + 1);
    FILE *file = fopen(path, "w");
    if (!file) {
        clab_error("%s can not be written: is the disk full, or the folder read only?", path);
        return CLAB_ENOENT;
    }
    h3_write_model(c, file);
    CLAB_TRY(close_new(file, path));
    printf("  work/h3/model-%d.csv (its model: %d parameters, %s; backward pass %s)\n", which + 1, h3_parameters(c),
           clab_size_text(h3_all_bytes(c), size), clab_seconds_text(h3_backward(c), pass));
    return CLAB_OK;
}

static int write_network(const struct h3_case *c, const char *folder, int which)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/network-%d.net", folder, which + 1);
    FILE *file = fopen(path, "w");
    if (!file) {
        clab_error("%s can not be written: is the disk full, or the folder read only?", path);
        return CLAB_ENOENT;
    }
    h3_write_network(c, file);
    CLAB_TRY(close_new(file, path));
    printf("  work/h3/network-%d.net (%s: %d ranks)\n", which + 1, c->name, c->ranks);
    return CLAB_OK;
}

int h3_start(const char *student, const char *folder)
{
    struct h3_case c;
    struct h3_bounds bounds;
    uint64_t seed;
    CLAB_TRY(homework_seed(NULL, student, "h3 networks", &seed));
    for (int which = 0; which < H3_NETWORKS; which++) {
        CLAB_TRY(h3_choose_network(which, seed, &c, &bounds));
        CLAB_TRY(write_network(&c, folder, which));
        CLAB_TRY(write_model(&c, folder, which));
    }
    return CLAB_OK;
}

int h3_ask(const char *student, struct homework_question *q)
{
    struct h3_case c;
    struct h3_bounds b;
    uint64_t seed;
    CLAB_TRY(homework_seed(NULL, student, "h3 networks", &seed));
    CLAB_TRY(h3_choose_network(0, seed, &c, &b));
    snprintf(q[0].question, HOMEWORK_QUESTION,
             "Your network 1 has %d ranks; the grader trains %d parameters there, %.3g MiB in all, with a backward pass of %.3g ms. Why is one collective "
             "for all of them slow, although it starts only once?",
             c.ranks, h3_parameters(&c), (double)h3_all_bytes(&c) / (1 << 20), 1e3 * h3_backward(&c));
    snprintf(q[0].answer, HOMEWORK_QUESTION,
             "It can start only when the last gradient is there, so nothing hides it: %.3g ms are exposed. Buckets of %.3g MiB, %d of them, travel "
             "beside the pass, and leave %.3g ms.",
             1e3 * b.none, (double)b.cap / (1 << 20), b.buckets, 1e3 * b.best);
    CLAB_TRY(h3_choose_network(2, seed, &c, &b));
    snprintf(q[1].question, HOMEWORK_QUESTION,
             "On your network 3, alpha is %.3g us with %d ranks. What happens there with one collective per parameter (%d of them), and how does your "
             "code find a better size?",
             1e6 * c.alpha, c.ranks, h3_parameters(&c));
    snprintf(q[1].answer, HOMEWORK_QUESTION,
             "Starting takes longer than the bytes: %.3g ms are exposed with one per parameter, and %.3g ms with %d buckets of %.3g MiB. begin() "
             "computes what a size costs from alpha, beta and the times at which gradients are there.",
             1e3 * b.each, 1e3 * b.best, b.buckets, (double)b.cap / (1 << 20));
    return CLAB_OK;
}
