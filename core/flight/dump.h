// SPDX-License-Identifier: MIT
// The report after a failure: one per host, on stderr, from the records of its ranks.
//
// - CLAB_FLIGHT=0 turns it off; CLAB_FLIGHT=FILE also appends all records to FILE.
#pragma once

#include "core/flight/flight.h"

// The ranks of a host, and their recorders.
struct clab_flight_host {
    char *flights;    // (n, CLAB_FLIGHT_BYTES)
    const int *ranks; // (n) of the job
    int n;
    enum clab_presence (*presence)(void *of, int rank);
    void *of;
};

// `comm` has failed at a rank of this host. Wait a moment for other ranks to fail, too; then report it, unless another
// rank has.
//   members: (nmembers) of the job
void clab_flight_report(const struct clab_flight_host *host, uint64_t comm, const int *members, int nmembers);

// All ranks of the host have ended, one of them during an operation: report it, unless a rank has done so.
void clab_flight_report_last(const struct clab_flight_host *host);
