// SPDX-License-Identifier: MIT
// The training report: what communication costs a real run of data parallel training (core/train), field by field,
// measured and predicted; or why a field was not measured.
//
// - training.c   the order of events: runs, fields, files.
// - rank.c       the program that each rank runs.
// - runs.c       starts it by 1 rank and by N in turns, and collects what it reports.
// - predict.c    what the simulator says of the same.
// - fields.c     the fields, from these.
// - format.c     fields as people read them.
#pragma once

#include <stdbool.h>

struct training_request {
    int ranks, pairs;                    // 0: 2, 6
    const char *backend, *emulate, *net; // NULL: shm; none; the backend's own
    char *command;                       // the whole line, for the manifest
};

// Run, and write folder/training-BACKEND-NET-N.csv, .txt and .json (a trace); the text goes to the screen, too.
//   errors: CLAB_EINVAL (no such backend, ...; logged), CLAB_EUNSUPPORTED, CLAB_EWRONG (a run failed, and has said why),
//           CLAB_EIO, CLAB_ENOMEM
int training_report(const struct training_request *request, const char *folder);

// The command line of a rank, and what it runs: an exit status. training_report starts it.
bool training_is_rank(int argc, char **argv);
int training_rank(int argc, char **argv);
