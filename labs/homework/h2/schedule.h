// SPDX-License-Identifier: MIT
// A student's schedule for one cluster: read as data that nobody trusts, proved, and counted.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/schedule/formats/listing.h"
#include "core/schedule/verify/verify.h"
#include "labs/homework/h2/cluster.h"

// What of a wrong sum is missing: of all places (rank, lane, chunk) whose sum is not complete at the end.
struct h2_missing {
    int places;
    bool only_last_chunk; // all are of the last chunk of several
    uint64_t ranks;       // those with such a place
    uint64_t silent;      // ranks that got nothing at all
    uint64_t everywhere;  // ranks whose arrays no other rank has in any place
    // A receive or a copy that overwrites a rank's own data, which it has sent to nobody; rank -1: none.
    int lost_rank, lost_stage, lost_chunk;
    int lost_from; // the rank that it receives from; -1: a copy
    // A stage that sends a chunk and adds to it at the same time, so it sends what was there before; rank -1: none.
    int early_rank, early_stage, early_chunk;
};

// What goes between hosts, as parts of the whole array.
struct h2_traffic {
    double sent, least; // by the host that sends most; what no allreduce can be below
    int host;           // that one
    int messages;       // that it sends to other hosts
    bool exchanges;     // some rank sends to another host and receives from another in one stage
    bool is_ring;       // each rank sends to one rank only
    int crossings;      // then: how many ranks send to another host
};

struct h2_schedule {
    struct clab_listing *listing; // NULL: it could not be read, or has no good shape
    bool is_there;                // the harness came to its end
    bool is_proved;
    int flaw;       // enum clab_flaw; -1: `text` says what is wrong before any proof
    char text[400]; // what is wrong: one sentence
    int rank, stage;
    struct h2_missing missing;
    struct h2_traffic traffic;
};

struct h2_words {
    const char *data; // not aligned
    size_t count, at;
};

// Read the next schedule, which is for `cluster`, prove it and count it. One that is not there, or is wrong, is no error.
//   out:    *schedule_p, to be freed in each case
//   errors: CLAB_ENOMEM
int h2_schedule_read(struct h2_words *words, const struct h2_cluster *cluster, struct clab_verifier *verifier,
                     struct h2_schedule *schedule_p);
void h2_schedule_free(struct h2_schedule *schedule);

// The question that harness.c reads, appended to the text.
struct clab_text;
void h2_schedule_ask(const struct h2_cluster *cluster, struct clab_text *text);
