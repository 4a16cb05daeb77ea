// SPDX-License-Identifier: MIT
// commlab fit: measure the cost of messages, copies and reductions between two ranks, and write them as a network.
//
// - fit.c         the subcommand: the command line, the job.
// - rounds.c      rounds of all probes, while there is time.
// - probe.c       the probes, as a table; turns.c: their turns.
// - report.c      from samples to profiles, by sim/fit/fit.h.
#pragma once

#include "core/transport/backend.h"
#include "core/base/machine/machine.h"
#include "core/base/stats.h"
#include "cmd/fit/probe.h"

// One measurement.
struct fit_session {
    const struct clab_backend *backend;
    const char *path;    // of the profile
    const char *samples; // the file of the samples; NULL: none
    double seconds;      // to measure
    bool across;         // the two ranks are on two nodes
    double flops;        // flop/s of rank 0's core in f32; NAN: not known
    double switch_cost;  // s of rank 0's core from one rank that waits to another, where they share it
    double arming;       // the part of a timer's time on rank 0's core for arming it
    struct clab_machine machine;
    struct fit_reach reach;
};

// Of fewer rounds nothing tells how far probes are from themselves; of so many there are intervals of 95 %.
enum { FIT_FEW_ROUNDS = 3, FIT_ROUNDS = CLAB_INTERVAL_SAMPLES };

// All samples, and a placement sample of the cores beside each.
struct fit_record {
    struct fit_task *tasks;
    int ntasks, nrounds;
    struct clab_sample *samples;              // (nrounds, ntasks); without time: not timed in that round
    struct clab_placement_sample *all_probed; // (nrounds, ntasks); zeros: no placement sample
};

// Run rounds until each task's samples agree, or the time is up; collective. The record is valid at rank 0.
//   errors: CLAB_ENOMEM, the backend's
int fit_rounds(const struct fit_session *session, struct fit_ranks *ranks, struct fit_record *record_p);
void fit_record_free(struct fit_record *record);

// The time of a call in placement `which`, which has samples, with its cores at their fastest: the 5 % quantile in
// seconds, since the minimum may be an outlier.  errors: CLAB_ENOMEM
int fit_fastest_calls(const struct fit_record *record, const struct clab_placements *all, int which, double *seconds_p);

// Between hosts the round trips beside the samples tell how fast the cores are. What counts is the fastest pace that a
// quarter of the samples have.
struct fit_pace {
    double least, most; // s of half a round trip
};
//   errors: CLAB_ENOMEM
int fit_pace_find(const struct fit_record *record, struct fit_pace *pace_p);
bool fit_pace_has(const struct fit_pace *pace, const struct fit_record *record, int i); // sample i

// Rank 0: write the samples, estimate, write the profile or both, and print them.
//   errors: CLAB_EINVAL, CLAB_ENOMEM, CLAB_EIO
int fit_report(const struct fit_session *session, const struct fit_record *record);
