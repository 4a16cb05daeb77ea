// SPDX-License-Identifier: MIT
// Whether the host at the other end of a connection still answers, by what the kernel knows of its packets.
//
// - TCP asks a silent host once a second (keepalive), and that host's kernel answers: also for a process that computes,
//   or is stopped. So members need no thread, and nothing piles up where nobody reads.
// - A packet may get lost. Where an answer is overdue, a few small messages (STORE_HEARTBEAT) make TCP ask more often: it
//   sends them again every 0.2 s until they are answered. A host is lost when none of about nine packets in a second
//   was: with a tenth of all packets lost each way, at random, three times in ten million.
// - Who was kept from looking (a machine that slept) asks before it judges.
#pragma once

#include <stdbool.h>

struct store_keepalive {
    double next; // the next look (clab_now); 0: now
    int misses;  // looks in a row that have found an answer overdue
};

enum store_liveness {
    STORE_ALIVE,  // or to be waited for
    STORE_PROBE,  // say STORE_HEARTBEAT, and wait
    STORE_SILENT, // its host does not answer
};

// Look at the connection if it is time to.
enum store_liveness store_keepalive_check(struct store_keepalive *keepalive, int fd);
// The same, for an answer that is overdue by so many seconds; negative: it is due in so many.
enum store_liveness store_keepalive_judge(struct store_keepalive *keepalive, double now, double overdue);
