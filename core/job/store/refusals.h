// SPDX-License-Identifier: MIT
// Refused peers: the launcher of node 0 logs them, or rank 0 if there is no launcher. Its user can mend the cause.
//
// - The first refusal is logged at once, later ones ever more rarely and with their number. So many peers cause few
//   lines. A peer that does not speak the protocol, such as a port scanner, is not logged.
#pragma once

#include "core/job/store/message.h"

struct store_refusals {
    struct store_message next; // of STORE_TURNED_AWAY; number: of others since the last one that was sent
    int waiting;               // not yet sent
    double since, pause;       // when the last one was sent, and how long the next one waits
};

// From the numeric `address`.
void store_refusals_add(struct store_refusals *refusals, enum store_refusal refusal, const char *address);
// The message to send at `now` (clab_now), if there is one.
bool store_refusals_take(struct store_refusals *refusals, double now, struct store_message *message_p);
// Log one line, with the remedy.
void store_refusals_log(const struct store_message *message);
