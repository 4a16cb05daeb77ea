// SPDX-License-Identifier: MIT
#include "labs/homework/h5/start.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>

#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/text.h"
#include "cmd/grade/homework.h"
#include "cmd/grade/seed.h"
#include "labs/homework/h5/job.h"

static void write_net(const struct h5_job *job, FILE *file)
{
    h5_net_write(job, &job->now, file);
}

static int write(const struct h5_job *job, const char *folder, const char *name, const char *what,
                 void (*write_it)(const struct h5_job *job, FILE *file))
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    if (file)
        write_it(job, file);
    if (!file || fclose(file)) {
        clab_error("%s can not be written: is the disk full, or the folder read only?", path);
        return CLAB_ENOENT;
    }
    printf("  work/h5/%s (%s)\n", name, what);
    return CLAB_OK;
}

int h5_start(const char *student, const char *folder)
{
    struct h5_job job;
    uint64_t seed;
    CLAB_TRY(homework_seed(NULL, student, "h5 job", &seed));
    h5_job_draw(seed, &job);
    CLAB_TRY(write(&job, folder, "job.ini", "your job, prices and budget", h5_job_write));
    CLAB_TRY(write(&job, folder, "job.model", "its model", h5_model_write));
    return write(&job, folder, "cluster.net", "the network that it runs on now", write_net);
}

// "bf16 (0.3 %), ...": those that converge, or those that do not.
static void list_codings(const struct h5_job *job, bool converge, char text_p[200])
{
    struct clab_text text = clab_text_begin(text_p, 200);
    for (int i = 0; i < H5_CODINGS; i++)
        if ((job->loss[i] <= job->most_loss) == converge)
            clab_text_add(&text, isfinite(job->loss[i]) ? "%s%s (%.3g %%)" : "%s%s (never)", text.used ? ", " : "", h5_coding_names[i],
                          job->loss[i]);
}

int h5_ask(const char *student, struct homework_question *q)
{
    struct h5_job job;
    char yes[200], no[200];
    uint64_t seed;
    CLAB_TRY(homework_seed(NULL, student, "h5 job", &seed));
    h5_job_draw(seed, &job);
    struct h5_rented fast = job.now, packed = job.now;
    fast.is_fast = 1;
    packed.placement = H5_PACKED;
    list_codings(&job, true, yes);
    list_codings(&job, false, no);
    snprintf(q[0].question, HOMEWORK_QUESTION,
             "Your job pays %d of %d credits per hour as it runs now. What would a fast adapter on each host cost, what a packed placement, and "
             "which of them did you take?",
             h5_job_price(&job, &job.now), job.budget);
    snprintf(q[0].answer, HOMEWORK_QUESTION,
             "Fast adapters: %d credits per hour in all. Packed: %d. The reason has to be seconds per credit: which link is the one that gradients wait "
             "for? Racks pass on 1/%.3g of what hosts send if they are spread.",
             h5_job_price(&job, &fast), h5_job_price(&job, &packed), job.oversubscription);
    snprintf(q[1].question, HOMEWORK_QUESTION,
             "The loss may be %.3g %% higher in your job. Which compressions may you use, and why is the one that sends least not always the best?", job.most_loss);
    snprintf(q[1].answer, HOMEWORK_QUESTION,
             "May: %.180s. May not: %.180s. Compressing takes time on the GPU, too, and pays only as long as the network is what one waits for.",
             yes, no);
    return CLAB_OK;
}
