// SPDX-License-Identifier: MIT
// What a lab asks to predict: its own predict.txt, lab.conf, and what physics allows each of its runs.
#pragma once

#include "cmd/course/predictions.h"
#include "cmd/lab/lab.h"

// The run that a section's command starts, after lab.conf's defaults.
struct asked_run {
    char backend[PREDICTION_WHERE], net[PREDICTION_WHERE], emulate[PREDICTION_WHERE]; // "": none
    int ranks;
};

struct asked {
    struct lab_conf conf;
    struct predictions *template;
    struct asked_run runs[PREDICTION_SECTIONS];
    struct prediction_limits limits[PREDICTION_SECTIONS];
};

// Of labs/FOLDER below `root`. Freed by asked_free. Nothing is logged of a machine that is not measured yet: then there
// are no limits.
//   errors: CLAB_ENOENT (no predict.txt: this lab asks nothing), those of predictions_load, lab_conf_load and
//           predictions_check_template
int asked_load(const char *root, const char *folder, struct asked *asked_p);
void asked_free(struct asked *asked);
