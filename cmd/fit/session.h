// SPDX-License-Identifier: MIT
// commlab fit: measure what a message, a copy and a reduction cost between two ranks, and write it down as a network.
//
// - fit.c         the subcommand: the command line, the job.
// - fit_rounds.c  rounds of all probes, while there is time.
// - probe.c       the probes, as a table; turns.c what they do in a turn.
// - report.c      from samples to profiles, by sim/fit/fit.h.
#pragma once

#include "core/transport/backend.h"
#include "core/base/machine.h"
#include "cmd/fit/probe.h"

// What is to be measured.
struct fit_session {
    const struct clab_backend *backend;
    const char *path;    // of the profile
    const char *samples; // where they go; NULL: nowhere
    double seconds;      // to measure
    bool across;         // the two ranks are on two nodes
    struct clab_machine machine;
    struct fit_reach reach;
};

// All samples that were taken, and what was seen of the cores beside them.
struct fit_record {
    struct fit_task *tasks;
    int ntasks, nrounds;         // rounds that are complete
    struct clab_sample *samples; // (nrounds, ntasks)
    struct clab_look *looks;     // (nrounds, ntasks); zeros: nobody looked
};

// Rounds until the next would be too late; collective. What is recorded holds at rank 0.
//   errors: CLAB_ENOMEM, the backend's
int fit_rounds(const struct fit_session *session, struct fit_ranks *ranks, struct fit_record *record_p);
void fit_record_free(struct fit_record *record);

// How long calls took in placement `which`, in which there are samples, while its cores were at their fastest: the 5 %
// quantile in seconds, since the least may be a freak that no other sample is near.  errors: CLAB_ENOMEM
int fit_fastest_calls(const struct fit_record *record, const struct clab_placements *all, int which, double *seconds_p);

// Write the samples, estimate, write the profile or both, and say so; rank 0's.
//   errors: CLAB_EINVAL, CLAB_ENOMEM, CLAB_EIO
int fit_report(const struct fit_session *session, const struct fit_record *record);
