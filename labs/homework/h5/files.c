// SPDX-License-Identifier: MIT
// A job as the files that a student reads, and that the simulator reads, too (job.h).

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "labs/homework/h5/job.h"
#include "sim/net/net.h"
#include "sim/train/model.h"

enum { POSITIONS = 512, RACK = 4 }; // tokens of a sample; hosts of a rack

void h5_model_write(const struct h5_job *job, FILE *file)
{
    const int w = job->width;
    fprintf(file, "# Homework h5: the model of your job. sim/models/README.md explains this file.\n\n[model]\n"
                  "title = a transformer with %d layers of width %d\nsample = sequence\nbatch = %d\n\n",
            job->layers, w, H5_MICRO_NOW);
    fprintf(file, "[block embedding]\ntokens = lookup %dx%d\npositions_of = lookup %dx%d\n\n", job->words, w, POSITIONS, w);
    fprintf(file, "[block layer]\ntimes = %d\npositions = %d\nnorm1 = %d\nqkv = %dx%d + %d\nscores = flop %.0f\n"
                  "out = %dx%d + %d\nnorm2 = %d\nup = %dx%d + %d\ndown = %dx%d + %d\n\n",
            job->layers, POSITIONS, 2 * w, w, 3 * w, 3 * w, 4.0 * POSITIONS * POSITIONS * w, w, w, w, 2 * w, w, 4 * w, 4 * w,
            4 * w, w, w);
    fprintf(file, "[block head]\npositions = %d\nnorm = %d\ntokens = tied %dx%d\n", POSITIONS, 2 * w, w, job->words);
}

// The share of a host of all that its adapters could carry is what a rack passes up for it.
void h5_net_write(const struct h5_job *job, const struct h5_rented *r, FILE *file)
{
    fprintf(file, "# Homework h5: the network with %d hosts of %d GPUs. sim/nets/README.md explains this file.\n\n[net]\n"
                  "title = %d hosts of %d GPUs, %s\nnodes = %-10d   ; hosts\nranks = %-10d   ; GPUs used per host\n"
                  "gamma = %.6g GB/s\n\n",
            r->hosts, r->gpus, r->hosts, r->gpus, h5_placement_names[r->placement], r->hosts, r->gpus,
            job->memory / 3e9);
    fprintf(file, "[compute]            ; of a GPU, at most\nf64 = %.6g Gflop/s\nf32 = %.6g Gflop/s\nf16 = %.6g Tflop/s\n"
                  "memory = %.6g GB/s\n\n",
            job->peak / 16e9, job->peak / 8e9, job->peak / 1e12, job->memory / 1e9);
    fprintf(file, "[link intra]         ; two GPUs of a host\nalpha = 3.4 us\nbeta = %.6g GB/s\n\n", job->inside / 1e9);
    fprintf(file, "[link inter]         ; two hosts, by one adapter each\nalpha = %.6g us\nbeta = %.6g Gb/s\n\n", 1e6 * job->alpha,
            (r->is_fast ? job->fast_rate : job->slow_rate) / 1e9);
    fprintf(file, "[topology]\nadapters = %-10d ; per host: its GPUs share them\nbetween = fat-tree\n"
                  "leaf = %-14d ; hosts of this job per rack\n"
                  "oversubscription = %-4.6g ; what they can send, by what their rack passes on\n",
            r->adapters, r->placement == H5_PACKED ? RACK : 1, job->oversubscription);
}

static void write_losses(const struct h5_job *job, FILE *file)
{
    fprintf(file, "[loss]             ; how much worse the model is in the end, against no compression (made-up numbers)\n");
    for (int i = 0; i < H5_CODINGS; i++)
        if (isfinite(job->loss[i]))
            fprintf(file, "%-12s = %.2f %%\n", h5_coding_names[i], job->loss[i]);
        else
            fprintf(file, "%-12s = diverges ; small gradients become 0\n", h5_coding_names[i]);
    fprintf(file, "limit        = %.2f %%  ; the most that the job accepts\n", job->most_loss);
}

void h5_job_write(const struct h5_job *job, FILE *file)
{
    fprintf(file, "# Homework h5: your job, what can be rented for it, and what that costs. labs/homework/h5/h5.md explains it.\n\n"
                  "[job]\nbatch            = %-8d ; samples per step, of all GPUs\n"
                  "most_micro_batch = %-8d ; samples that a GPU holds at a time\n"
                  "efficiency       = 40 %%     ; of a GPU's peak\noptimizer        = adam\ngradients        = float    ; 4 B each\n\n",
            job->batch, job->most_micro);
    fprintf(file, "[budget]           ; credits per hour\nlimit   = %d\nnow     = %-8d ; what the job costs as it is\n\n",
            job->budget, h5_job_price(job, &job->now));
    fprintf(file, "[prices]           ; credits per hour, for each host\nhost    = %-8d ; with one adapter\n"
                  "gpu     = %-8d ; for each GPU used: 1, 2, 4 or 8\nadapter = %-8d ; for each one more: 2 or 4 in all\n"
                  "fast    = %-8d ; for each adapter: %.6g Gb/s; slow (0 credits): %.6g Gb/s\n"
                  "packed  = %-8d ; %d hosts per rack; spread (0 credits): each host in a rack of its own\n\n",
            job->host_price, job->gpu_price, job->adapter_price, job->fast_price, job->fast_rate / 1e9,
            job->slow_rate / 1e9, job->packed_price, RACK);
    write_losses(job, file);
}

// ---- read again --------------------------------------------------------------------------------------------------------

// A file in memory, ready to be read.
struct text {
    char *at;
    size_t bytes;
    FILE *file;
};

static int text_begin(struct text *text)
{
    *text = (struct text){0};
    text->file = open_memstream(&text->at, &text->bytes);
    return text->file ? CLAB_OK : CLAB_ENOMEM;
}

static int text_turn(struct text *text)
{
    const int err = fclose(text->file);
    text->file = err ? NULL : fmemopen(text->at, text->bytes, "r");
    return text->file ? CLAB_OK : CLAB_ENOMEM;
}

static void text_end(struct text *text)
{
    if (text->file)
        fclose(text->file);
    free(text->at);
}

int h5_model(const struct h5_job *job, struct clab_model **model_p)
{
    struct text text;
    CLAB_TRY(text_begin(&text));
    h5_model_write(job, text.file);
    int err = text_turn(&text);
    if (!err)
        err = clab_model_read(text.file, "job.model", model_p);
    text_end(&text);
    return err;
}

int h5_net(const struct h5_job *job, const struct h5_rented *rented, struct clab_net **net_p)
{
    struct text text;
    CLAB_TRY(text_begin(&text));
    h5_net_write(job, rented, text.file);
    int err = text_turn(&text);
    if (!err)
        err = clab_net_read(text.file, "cluster.net", net_p);
    text_end(&text);
    return err;
}
