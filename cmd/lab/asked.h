// SPDX-License-Identifier: MIT
// What a lab asks to predict: its own predict.txt, lab.conf, and what physics allows each of its runs.
#pragma once

#include <stdbool.h>

#include "cmd/lab/lab.h"
#include "cmd/predict/predictions.h"

// What physics allows a message of the network in question. NAN: not known.
struct prediction_limits {
    double message; // s: no message is faster
    double byte;    // s/B: no byte is
    int ranks;      // of the lab, where a section does not say
};

// The unit that values of `asked`, an item of the template, have in results: lab.conf's, or else its own. NULL: lab.conf
// has no such quantity.
const char *prediction_unit(const struct lab_conf *conf, const struct prediction *asked);
// The ends of an answer in that unit, the lower one first. False: its own does not convert.
bool prediction_ends(const struct prediction *item, const char *unit, double *low_p, double *high_p);
// The limit of a comparison in that unit.
bool prediction_limit(const struct prediction *item, const char *unit, double *limit_p);

// Whether an answer is possible.  errors: CLAB_EPARSE (logged; the line begins with `where`)
int prediction_check(const struct lab_conf *conf, const struct prediction *item, const struct prediction *asked,
                     const struct prediction_limits *limits, const char *where);
// Whether `p` answers what `template` asks, and nothing else. limits: (template->nsections)
//   errors: CLAB_EPARSE (logged)
int predictions_check(const struct predictions *p, const struct predictions *template, const struct lab_conf *conf,
                      const struct prediction_limits limits[]);
// Whether a template itself is sound: its quantities are lab.conf's, and its units convert.  errors: CLAB_EPARSE
int predictions_check_template(const struct predictions *template, const struct lab_conf *conf);

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
