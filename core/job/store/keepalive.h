// SPDX-License-Identifier: MIT
// Whether the host at the other end of a connection still answers, by the kernel's counts of its packets.
//
// - TCP probes a silent host once per second (keepalive). That host's kernel answers, also for a process that computes
//   or is stopped. So members need no thread, and no messages pile up at a process that does not read.
// - The network may lose a packet. If an answer is overdue, a few small messages (STORE_HEARTBEAT) make TCP probe more
//   often: it resends them every 0.2 s until the host answers. A host is lost if it answers none of about nine packets
//   in one second. If the network loses a tenth of all packets each way, at random, that happens to a host that is alive
//   three times in ten million.
// - A process that could not look for a while (its machine slept) probes again before it judges.
#pragma once

#include <stdbool.h>

struct store_keepalive {
    double next; // the time of the next look (clab_now); 0: now
    int misses;  // looks in a row that found the answer overdue
};

enum store_liveness {
    STORE_ALIVE,  // or its answer is not overdue for long
    STORE_PROBE,  // send STORE_HEARTBEAT, and wait
    STORE_SILENT, // its host does not answer
};

// Look at the connection if it is time for that.
enum store_liveness store_keepalive_check(struct store_keepalive *keepalive, int fd);
// The same for an answer that is overdue by so many seconds; negative: due in so many.
enum store_liveness store_keepalive_judge(struct store_keepalive *keepalive, double now, double overdue);
