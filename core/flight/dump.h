// SPDX-License-Identifier: MIT
// The report after a failure: one a host, on stderr, made of what its ranks have recorded.
//
// - CLAB_FLIGHT=0 turns it off; CLAB_FLIGHT=FILE also appends all that is recorded to FILE.
#pragma once

#include "core/flight/flight.h"

// Who can be asked.
struct clab_flight_host {
    char *flights;    // (n, CLAB_FLIGHT_BYTES)
    const int *ranks; // (n) of the job
    int n;
    enum clab_presence (*presence)(void *of, int rank);
    void *of;
};

// `comm` has failed at a rank of this host: report it, unless another has, after a moment for the others to fail, too.
//   members: (nmembers) of the job
void clab_flight_report(const struct clab_flight_host *host, uint64_t comm, const int *members, int nmembers);

// All ranks of the host have ended, one of them in the midst of an operation: report it, unless one of them has.
void clab_flight_report_last(const struct clab_flight_host *host);
