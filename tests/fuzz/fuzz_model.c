// SPDX-License-Identifier: MIT
// Descriptions of models: what is accepted can be cut into buckets that hold all of it; what is refused is said once.

#include "tests/fuzz/fuzz.h"

#include <math.h>

#include "core/base/err.h"
#include "sim/train/model.h"

static const char path[] = "folder/a.model";

static void check_plan(const struct clab_model *model)
{
    struct clab_train_plan plan;
    const struct clab_train_setting setting = {.batch = model->batch,
                                               .flop_seconds = 1e-12,
                                               .element_bytes = 4,
                                               .cap = (size_t)25 << 20,
                                               .first_cap = (size_t)1 << 20,
                                               .codec_rank = 4};
    must_hold(clab_train_plan_make(model, &setting, &plan) == CLAB_OK);
    size_t bytes = 0;
    for (int i = 0; i < plan.nbuckets; i++) {
        must_hold(plan.buckets[i].first_layer < model->nlayers && plan.buckets[i].last_layer <= plan.buckets[i].first_layer);
        must_hold(plan.buckets[i].ready <= plan.compute * (1 + 1e-9));
        bytes += plan.buckets[i].bytes;
    }
    must_hold(bytes == 4 * clab_model_parameters(model));
    must_hold(isfinite(plan.compute) && plan.compute >= 0);
    clab_train_plan_free(&plan);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct clab_model *model = NULL;
    FILE *file = fuzz_file(data, size);
    fuzz_log_clear();
    const int err = clab_model_read(file, path, &model);
    fclose(file);
    must_hold(err == CLAB_OK || err == CLAB_EPARSE || err == CLAB_EUNSUPPORTED);
    must_hold((err == CLAB_OK) == (model != NULL));
    if (err) {
        must_say_once(path);
        return 0;
    }
    must_hold(fuzz_log_errors == 0);
    must_hold(strcmp(model->name, "a") == 0 && *model->title && model->batch >= 1);
    check_plan(model);
    clab_model_free(model);
    return 0;
}
