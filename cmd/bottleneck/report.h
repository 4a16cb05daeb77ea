// SPDX-License-Identifier: MIT
// What `commlab bottleneck` prints.
#pragma once

#include "cmd/bottleneck/account.h"

// A word for a fault: "interface"; of BOTTLENECK_FAULTS "none".
const char *bottleneck_fault_word(enum bottleneck_fault fault);

// The 30 % rule and the targets, by parts of the time: communication that nothing hides, computing, and waiting of any kind.
void bottleneck_report_targets(double communication, double efficiency, double overhead);

void bottleneck_report(const struct bottleneck_run *run, const char *net, const struct bottleneck_account *account,
                       const struct bottleneck_seen *seen);
