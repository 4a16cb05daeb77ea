// SPDX-License-Identifier: MIT
// The lines about those who have not come to a fence: yet, or in time.
#pragma once

enum { CLAB_NAMED = 8 }; // missing ones that it names

// Some nodes of `n` have not joined the job whose store is at host:port.  named: as below, but (nnamed)
void clab_log_awaited(const int *named, int nnamed, int missing, int n, const char *host, int port);

// what: "rank" or "node"; named: the first of those `missing`, (min(missing, CLAB_NAMED)); n: who should have met
void clab_log_missing(const char *what, const int *named, int missing, int n, double timeout);
