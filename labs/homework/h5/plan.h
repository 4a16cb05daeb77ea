// SPDX-License-Identifier: MIT
// Homework h5: a plan, which is what a student hands in: plan.ini. It says what to rent, and how to train on it.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "labs/homework/h5/job.h"
#include "sim/train/train.h"

enum { H5_CHOICES = 8, H5_WHY = 1024 };

struct h5_plan {
    struct h5_rented rented;
    int micro_batch; // samples per GPU and micro step
    enum clab_train_overlap overlap;
    size_t bucket, first_bucket; // bytes
    int coding;
    struct clab_train_choice choices[H5_CHOICES]; // by rising size, the last for all
    int nchoices;
    bool is_ranked; // on the leaderboard
};

// Read a plan for a job. False: why_p says what is wrong, with the line and the remedy.
bool h5_plan_read(const struct h5_job *job, const char *text, size_t bytes, struct h5_plan *plan_p, char why_p[H5_WHY]);
// Whether it can be afforded, fits into memory, and converges. False: as above.
bool h5_plan_check(const struct h5_job *job, const struct h5_plan *plan, char why_p[H5_WHY]);

int h5_plan_gpus(const struct h5_plan *plan);
// Micro steps to a step.
int h5_plan_accumulate(const struct h5_job *job, const struct h5_plan *plan);
