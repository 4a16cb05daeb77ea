// SPDX-License-Identifier: MIT
#include "labs/homework/h5/start.h"

#include <limits.h>
#include <stdio.h>

#include "core/base/err.h"
#include "core/base/log.h"
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
