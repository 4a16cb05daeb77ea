// SPDX-License-Identifier: MIT
// The report after a failure: one per host, on stderr, from the records of its ranks.
//
// - CLAB_FLIGHT=0 turns it off; CLAB_FLIGHT=FILE also appends all records to FILE.
#pragma once

#include "core/flight/flight.h"

// `comm` has failed at a rank of this host. Wait a moment for other ranks to fail, too; then report it, unless another
// rank has.
//   members: (nmembers) of the job
void clab_flight_report(const struct clab_flight_host *host, uint64_t comm, const int *members, int nmembers);

// For the launcher, after its ranks have ended.
extern const struct clab_flight_reader clab_flight_reader;
