// SPDX-License-Identifier: MIT
// Who was refused, for who can do something about it: the launcher of node 0, or rank 0 where there is none, logs it.
//
// - A few lines, however many knock: the first is said at once, the next ones ever more rarely, with how many it were
//   by then. Who is none of commlab's, such as a port scanner, is not worth one.
#pragma once

#include "core/job/store/message.h"

struct store_refusals {
    struct store_message next; // of STORE_TURNED_AWAY; number: of others since the last one was said
    int waiting;               // that were not yet said
    double since, pause;       // the last one was said, and how long the next one waits
};

// From the numeric `address`.
void store_refusals_add(struct store_refusals *refusals, enum store_refusal refusal, const char *address);
// What is to be said at `now` (clab_now), if anything.
bool store_refusals_take(struct store_refusals *refusals, double now, struct store_message *message_p);
// One line, with the remedy.
void store_refusals_log(const struct store_message *message);
