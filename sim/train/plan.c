// SPDX-License-Identifier: MIT
// From a model to buckets: when the gradients of each are there. See model.h.

#include <stdlib.h>

#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/vector.h"
#include "sim/train/model.h"

enum { FORWARD = 1, BACKWARD = 2 }; // times the flop of the forward pass

size_t clab_model_parameters(const struct clab_model *model)
{
    size_t n = 0;
    for (int i = 0; i < model->nlayers; i++)
        n += model->layers[i].rows * model->layers[i].columns + model->layers[i].vector;
    return n;
}

double clab_model_flop(const struct clab_model *model)
{
    double flop = 0;
    for (int i = 0; i < model->nlayers; i++)
        flop += model->layers[i].flop;
    return flop;
}

// ---- buckets -------------------------------------------------------------------------------------------------

struct packing {
    const struct clab_train_setting *setting;
    struct clab_train_plan *plan;
    bool open; // the last bucket is not full yet
};

static int open_bucket(struct packing *p, int layer)
{
    struct clab_train_plan *plan = p->plan;
    CLAB_TRY(CLAB_PUSH(plan->buckets, plan->nbuckets, plan->room, (struct clab_train_bucket){.first_layer = layer}));
    p->open = true;
    return CLAB_OK;
}

// Whether PowerSGD would halve a matrix at least, which is when PyTorch's lets it.
static bool is_worth_it(const struct clab_train_setting *s, size_t rows, size_t columns)
{
    return s->codec_rank == 0 || 2 * (rows + columns) * (size_t)s->codec_rank < rows * columns;
}

// A tensor, rows x columns or a vector of `rows`, whose gradient is there at `ready`.
static int add_tensor(struct packing *p, int layer, size_t rows, size_t columns, double ready)
{
    const struct clab_train_setting *s = p->setting;
    const size_t elements = columns ? rows * columns : rows;
    if (elements == 0)
        return CLAB_OK;
    if (!p->open)
        CLAB_TRY(open_bucket(p, layer));
    const int last = p->plan->nbuckets - 1;
    struct clab_train_bucket *b = &p->plan->buckets[last];
    b->ready = ready;
    b->bytes += elements * s->element_bytes;
    if (columns && is_worth_it(s, rows, columns)) {
        b->rows += rows;
        b->columns += columns;
    } else {
        b->vectors += elements;
    }
    b->last_layer = layer;
    p->open = b->bytes < (last == 0 ? s->first_cap : s->cap);
    return CLAB_OK;
}

static int pack(const struct clab_model *model, struct packing *p)
{
    const double pass = p->setting->flop_seconds * p->setting->batch;
    double now = FORWARD * clab_model_flop(model) * pass;
    for (int i = model->nlayers - 1; i >= 0; i--) {
        const struct clab_model_layer *layer = &model->layers[i];
        now += BACKWARD * layer->flop * pass;
        CLAB_TRY(add_tensor(p, i, layer->vector, 0, now)); // a layer's weights were registered before its biases
        CLAB_TRY(add_tensor(p, i, layer->rows, layer->columns, now));
    }
    p->plan->compute = now;
    return CLAB_OK;
}

int clab_train_plan_make(const struct clab_model *model, const struct clab_train_setting *setting,
                         struct clab_train_plan *plan_p)
{
    struct clab_train_plan plan = {0};
    struct packing packing = {.setting = setting, .plan = &plan};
    if (setting->batch < 1 || setting->element_bytes < 1 || setting->cap < 1 || setting->first_cap < 1) {
        clab_error("a model is trained on at least one sample, in buckets of at least a byte");
        return CLAB_EINVAL;
    }
    const int err = pack(model, &packing);
    if (err)
        clab_train_plan_free(&plan);
    else
        *plan_p = plan;
    return err;
}

void clab_train_plan_free(struct clab_train_plan *plan)
{
    free(plan->buckets);
    *plan = (struct clab_train_plan){0};
}
