// SPDX-License-Identifier: MIT
// The student's predictions in a lab run: found, locked, set beside the model and the measurement, written for the figure.
//
// - yours.c        finds work/NN/predict.txt, locks it at the first run, and says which copy counts.
// - yours_value.c  what each prediction is compared with.
// - yours_table.c  the table for people, and NAME.yours.csv for figures.
#pragma once

#include "cmd/lab/asked.h"
#include "cmd/predict/files.h"
#include "cmd/lab/lab.h"
#include "core/base/stats.h"

// ---- yours.c -------------------------------------------------------------------------------------------------

struct lab_yours {
    const char *root, *id; // the caller's
    struct asked asked;
    struct predict_files files;
    struct predictions *counted;    // what counts, of all commands; NULL: nothing was predicted
    bool fits[PREDICTION_SECTIONS]; // sections of the template that this run answers
    int blanks, answers;            // of these sections
    bool is_new, is_added;          // to be locked by this run: all of predict.txt; its sections of this run
    bool is_edited;                 // predict.txt has changed since
    bool is_other;                  // other sizes, iterations or options than the lab's: nothing was asked of it
};

// A run as asked_run has it; whether it has the numbers of ranks of lab.conf's sweep, too; and whether its sizes,
// iterations or options are others than lab.conf's.
struct lab_yours_run {
    struct asked_run run;
    bool is_swept, is_other;
};

// Before measuring: look for predictions of this run. A lab without predict.txt has none.
//   errors: CLAB_EINVAL (the file has a mistake; logged), CLAB_EIO, CLAB_ENOMEM
int lab_yours_open(const char *root, const struct lab_conf *conf, const struct lab_yours_run *run,
                   struct lab_yours *yours_p);
// When all else is ready to measure: lock them at the first run.  errors: CLAB_EIO, logged
int lab_yours_lock(const struct lab_yours *yours);
void lab_yours_free(struct lab_yours *yours);

// The answer to `asked` of the template; NULL: a blank, or of another run.
const struct prediction *lab_yours_answer(const struct lab_yours *yours, const struct prediction *asked);

// ---- yours_value.c -------------------------------------------------------------------------------------------

// What one prediction is compared with, in `unit`. n == 0 and NAN: there is no such value.
struct lab_compared {
    char unit[PREDICTION_UNIT];
    double low, high; // yours; yes is 1, no is 0
    struct clab_summary measured;
    double model;
    // Orders: which word stands at each place; has_*: all words have a value.
    int measured_places[PREDICTION_WORDS], model_places[PREDICTION_WORDS];
    bool has_measured_places, has_model_places;
};

//   answer: lab_yours_answer's; ranks: of the run that was asked for
//   errors: CLAB_ENOMEM
int lab_compare(const struct lab_context *context, const struct lab_results *results, const struct prediction *asked,
                const struct prediction *answer, int ranks, struct lab_compared *compared_p);

// ---- yours_table.c -------------------------------------------------------------------------------------------

// errors: CLAB_ENOMEM
int lab_yours_print(const struct lab_yours *yours, const struct lab_context *context,
                    const struct lab_results *results);
// Write NAME.yours.csv beside NAME.csv; without answers take an old one away.  errors: CLAB_EIO, CLAB_ENOMEM
int lab_yours_write(const struct lab_yours *yours, const struct lab_conf *conf, const char *csv);
