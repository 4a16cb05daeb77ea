// SPDX-License-Identifier: MIT
// The line about those who did not come to a meeting in time.
#pragma once

enum { CLAB_NAMED = 8 }; // missing ones that it names

// what: "rank" or "node"; named: the first of those `missing`, (min(missing, CLAB_NAMED)); n: who should have met
void clab_log_missing(const char *what, const int *named, int missing, int n, double timeout);
