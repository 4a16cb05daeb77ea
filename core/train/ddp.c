// SPDX-License-Identifier: MIT
#include "core/train/ddp.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/log.h"
#include "core/base/files/table.h"
#include "core/clab.h"
#include "core/transport/device.h"

enum { CAP = 25 << 20, FIRST_CAP = 1 << 20 }; // bytes, PyTorch's

struct bucket {
    struct clab_bucket shown;
    int awaited; // parameters that are not ready yet
    struct clab_work *work;
    struct clab_compressor *compressor; // NULL: gradients travel whole
};

struct clab_ddp {
    struct clab_comm *comm;
    struct clab_parameter *parameters; // (n), the caller's
    int n;
    struct clab_ddp_options options;
    float *gradients; // (all), the buckets one after another
    struct bucket *buckets;
    int nbuckets, started; // buckets whose allreduce has been started in this pass
    bool *ready;           // (n)
    bool is_open, reduces; // between begin and finish
    double exposed;
};

// ---- buckets -------------------------------------------------------------------------------------------------

int clab_buckets_plan(const size_t counts[], int n, size_t cap, size_t first_cap, int first[])
{
    int buckets = 0;
    size_t bytes = 0;
    for (int p = n - 1; p >= 0; p--) {
        bytes += counts[p] * sizeof(float);
        if (p == 0 || bytes >= (buckets == 0 ? first_cap : cap)) {
            first[buckets++] = p;
            bytes = 0;
        }
    }
    return buckets;
}

static int plan(struct clab_ddp *ddp, int first[], size_t counts[])
{
    const size_t cap = ddp->options.cap ? ddp->options.cap : CAP, least = cap < FIRST_CAP ? cap : FIRST_CAP;
    for (int p = 0; p < ddp->n; p++)
        counts[p] = ddp->parameters[p].count;
    ddp->nbuckets =
        clab_buckets_plan(counts, ddp->n, cap, ddp->options.first_cap ? ddp->options.first_cap : least, first);
    ddp->buckets = calloc((size_t)ddp->nbuckets, sizeof *ddp->buckets);
    if (!ddp->buckets)
        return CLAB_ENOMEM;
    for (int b = 0, end = ddp->n; b < ddp->nbuckets; end = first[b++])
        ddp->buckets[b].shown = (struct clab_bucket){.first = first[b], .last = end - 1};
    return CLAB_OK;
}

// Put gradients where buckets are, or leave them and only reserve the room.
static int place(struct clab_ddp *ddp)
{
    size_t all = 0;
    for (int p = 0; p < ddp->n; p++)
        all += ddp->parameters[p].count;
    CLAB_TRY(clab_alloc(clab_comm_job(ddp->comm), all * sizeof(float), (void **)&ddp->gradients));
    float *at = ddp->gradients;
    for (struct bucket *b = ddp->buckets; b < ddp->buckets + ddp->nbuckets; b++) {
        b->shown.gradients = at;
        for (int p = b->shown.last; p >= b->shown.first; at += ddp->parameters[p--].count)
            if (!ddp->options.copies)
                ddp->parameters[p].gradient = at;
        b->shown.count = (size_t)(at - b->shown.gradients);
    }
    clab_job_device(clab_comm_job(ddp->comm))->set(ddp->gradients, 0, all * sizeof(float));
    return CLAB_OK;
}

static int compress(struct clab_ddp *ddp)
{
    for (struct bucket *b = ddp->buckets; ddp->options.compress && b < ddp->buckets + ddp->nbuckets; b++)
        CLAB_TRY(clab_compressor_create(
            ddp->comm, ddp->options.compress,
            &(struct clab_compressible){ddp->parameters, b->shown.first, b->shown.last, b->shown.gradients},
            &b->compressor));
    return CLAB_OK;
}

static int prepare(struct clab_ddp *ddp)
{
    int *first = malloc((size_t)ddp->n * sizeof *first);
    size_t *counts = malloc((size_t)ddp->n * sizeof *counts);
    ddp->ready = calloc((size_t)ddp->n, sizeof *ddp->ready);
    int err = first && counts && ddp->ready ? plan(ddp, first, counts) : CLAB_ENOMEM;
    free(first);
    free(counts);
    CLAB_TRY(err);
    CLAB_TRY(place(ddp));
    CLAB_TRY(compress(ddp));
    for (const struct clab_parameter *p = ddp->parameters; p < ddp->parameters + ddp->n; p++)
        CLAB_TRY(clab_broadcast(ddp->comm, p->value, p->value, p->count, CLAB_F32, 0));
    return CLAB_OK;
}

int clab_ddp_create(struct clab_comm *comm, struct clab_parameter parameters[], int n,
                    const struct clab_ddp_options *options, struct clab_ddp **ddp_p)
{
    if (n < 1) {
        clab_error("data parallel training of %d parameters: there is nothing to train", n);
        return CLAB_EINVAL;
    }
    struct clab_ddp *ddp = calloc(1, sizeof *ddp);
    if (!ddp)
        return CLAB_ENOMEM;
    *ddp = (struct clab_ddp){.comm = comm, .parameters = parameters, .n = n, .options = *options};
    const int err = prepare(ddp);
    if (err)
        clab_ddp_destroy(ddp);
    else
        *ddp_p = ddp;
    return err;
}

void clab_ddp_destroy(struct clab_ddp *ddp)
{
    if (!ddp)
        return;
    for (int p = 0; p < ddp->n && ddp->gradients && !ddp->options.copies; p++)
        ddp->parameters[p].gradient = NULL;
    for (int b = 0; ddp->buckets && b < ddp->nbuckets; b++)
        clab_compressor_destroy(ddp->buckets[b].compressor);
    clab_free(clab_comm_job(ddp->comm), ddp->gradients);
    free(ddp->buckets);
    free(ddp->ready);
    free(ddp);
}

int clab_ddp_nbuckets(const struct clab_ddp *ddp)
{
    return ddp->nbuckets;
}

const struct clab_bucket *clab_ddp_bucket(const struct clab_ddp *ddp, int bucket)
{
    return &ddp->buckets[bucket].shown;
}

double clab_ddp_exposed(const struct clab_ddp *ddp)
{
    return ddp->exposed;
}

// ---- a step --------------------------------------------------------------------------------------------------

// Between a bucket and its gradients' own memory, where they have such: each element is read and written.
static int copy_bucket(const struct clab_ddp *ddp, const struct clab_bucket *b, bool into)
{
    float *at = b->gradients;
    if (!ddp->options.copies)
        return CLAB_OK;
    for (int p = b->last; p >= b->first; at += ddp->parameters[p--].count) {
        float *own = ddp->parameters[p].gradient;
        clab_job_device(clab_comm_job(ddp->comm))
            ->copy(into ? at : own, into ? own : at, ddp->parameters[p].count * sizeof(float));
    }
    return clab_compute(clab_comm_job(ddp->comm), CLAB_FP32, 0, 2.0 * sizeof(float) * (double)b->count);
}

static int start(struct clab_ddp *ddp, struct bucket *b)
{
    CLAB_TRY(copy_bucket(ddp, &b->shown, true));
    CLAB_TRY(b->compressor ? clab_compressor_start(b->compressor, &b->work)
                           : clab_allreduce_start(ddp->comm, b->shown.gradients, b->shown.gradients, b->shown.count,
                                                  CLAB_F32, CLAB_AVG, &b->work));
    ddp->started++;
    return CLAB_OK;
}

static int start_complete(struct clab_ddp *ddp)
{
    while (ddp->started < ddp->nbuckets && !ddp->buckets[ddp->started].awaited)
        CLAB_TRY(start(ddp, &ddp->buckets[ddp->started]));
    return CLAB_OK;
}

static struct bucket *bucket_of(const struct clab_ddp *ddp, int parameter)
{
    struct bucket *b = ddp->buckets;
    while (b->shown.first > parameter)
        b++;
    return b;
}

static int mark_ready(struct clab_ddp *ddp, int parameter)
{
    if (parameter < 0 || parameter >= ddp->n || ddp->ready[parameter]) {
        clab_error(
            "the gradient of parameter %d is said to be ready, which it was before in this pass, or there is none",
            parameter);
        return CLAB_EINVAL;
    }
    ddp->ready[parameter] = true;
    bucket_of(ddp, parameter)->awaited--;
    return CLAB_OK;
}

int clab_ddp_begin(struct clab_ddp *ddp, bool reduce)
{
    if (ddp->is_open) {
        clab_error("a backward pass begins before clab_ddp_finish has ended the one before");
        return CLAB_EINVAL;
    }
    ddp->is_open = true;
    ddp->reduces = reduce;
    ddp->started = 0;
    memset(ddp->ready, 0, (size_t)ddp->n * sizeof *ddp->ready);
    for (struct bucket *b = ddp->buckets; b < ddp->buckets + ddp->nbuckets; b++)
        b->awaited = b->shown.last - b->shown.first + 1;
    for (int p = 0; p < ddp->n && ddp->options.find_unused; p++)
        if (ddp->parameters[p].unused)
            CLAB_TRY(mark_ready(ddp, p));
    return CLAB_OK;
}

int clab_ddp_ready(void *user, int parameter)
{
    struct clab_ddp *ddp = user;
    CLAB_TRY(mark_ready(ddp, parameter));
    return ddp->reduces && !ddp->options.no_overlap ? start_complete(ddp) : CLAB_OK;
}

static int check_all_ready(const struct clab_ddp *ddp)
{
    for (int p = 0; p < ddp->n; p++)
        if (!ddp->ready[p]) {
            clab_error("%s got no gradient in this backward pass, so its bucket can not start: set find_unused, which "
                       "lets unused parameters take part with 0",
                       ddp->parameters[p].name);
            return CLAB_EINVAL;
        }
    return CLAB_OK;
}

static int wait_for_all(struct clab_ddp *ddp)
{
    int first = CLAB_OK;
    for (struct bucket *b = ddp->buckets; b < ddp->buckets + ddp->started; b++) {
        const int err = clab_work_wait(b->work);
        b->work = NULL;
        first = first ? first : err;
        if (!first && b->compressor)
            first = clab_compressor_finish(b->compressor);
        if (!first)
            first = copy_bucket(ddp, &b->shown, false);
    }
    return first;
}

int clab_ddp_finish(struct clab_ddp *ddp)
{
    int err = ddp->reduces ? check_all_ready(ddp) : CLAB_OK;
    const double begin = clab_seconds();
    if (!err && ddp->reduces)
        err = start_complete(ddp);
    const int waited = wait_for_all(ddp); // also after an error: what has been started ends in a wait
    ddp->exposed = clab_seconds() - begin;
    ddp->is_open = false;
    return err ? err : waited;
}

// ---- printing ------------------------------------------------------------------------------------------------

static const struct clab_column columns[] = {
    {.name = "bucket", .kind = CLAB_KIND_INTEGER, .width = 6},
    {.name = "parameters", .kind = CLAB_KIND_INTEGER, .width = 10},
    {.name = "elements", .kind = CLAB_KIND_INTEGER, .width = 10},
    {.name = "size", .unit = "MB", .kind = CLAB_KIND_REAL, .width = 10, .digits = 6},
    {.name = "from", .kind = CLAB_KIND_TEXT, .width = -10},
    {.name = "to", .kind = CLAB_KIND_TEXT, .width = -10},
};

static int add_row(struct clab_table *table, const struct clab_ddp *ddp, int bucket)
{
    const struct clab_bucket *b = clab_ddp_bucket(ddp, bucket);
    const struct clab_cell cells[] = {clab_cell_integer(bucket),
                                      clab_cell_integer(b->last - b->first + 1),
                                      clab_cell_integer((long long)b->count),
                                      clab_cell_real((double)b->count * sizeof(float) / 1e6),
                                      clab_cell_text(ddp->parameters[b->last].name),
                                      clab_cell_text(ddp->parameters[b->first].name)};
    return clab_table_add_row(table, cells);
}

int clab_ddp_print(const struct clab_ddp *ddp, FILE *file)
{
    struct clab_table table;
    int err = CLAB_OK;
    clab_table_init(&table, columns, sizeof columns / sizeof *columns);
    for (int b = 0; !err && b < ddp->nbuckets; b++)
        err = add_row(&table, ddp, b);
    if (!err)
        clab_table_print(&table, file);
    clab_table_free(&table);
    return err;
}
