// SPDX-License-Identifier: MIT
// What a student reads about a mistake: which one it probably is, and what to do.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "labs/homework/h2/schedule.h"

enum { H2_ADVICE = 700 }; // room for one

// Of a schedule that is not proved: the mistake that people make when it looks so.  Returns text_p
const char *h2_advice_proof(const struct h2_schedule *schedule, const struct h2_cluster *cluster, char text_p[H2_ADVICE]);

// Which problems were proved, and so what the function takes for granted. "": nothing can be told.
struct h2_pattern {
    bool proved[17];          // for 1 to 16 ranks in any order, at these numbers
    bool even, dealt, ordered; // equal hosts in order; equal hosts, dealt out; unequal hosts in order: all of these
};
const char *h2_advice_pattern(const struct h2_pattern *pattern, char text_p[H2_ADVICE]);

// Of one that is proved: where to look if too much goes between hosts, or if it takes too long: a pointer, not the solution.
// "": nothing can be told. is_said: advice about bytes was given, so it is not given once more
const char *h2_advice_bytes(const struct h2_schedule *schedule, const struct h2_cluster *cluster, char text_p[H2_ADVICE]);
const char *h2_advice_time(const struct h2_schedule *schedule, const struct h2_cluster *cluster, bool is_said,
                           char text_p[H2_ADVICE]);
