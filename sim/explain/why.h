// SPDX-License-Identifier: MIT
// Why a collective takes as long as it does: the critical path through the engine's record, and the best remedy.
//
// - The path is walked back from the last rank's end, from each item to what it waited for. Its pieces follow each
//   other without a gap, so that they add up to the predicted time exactly.
// - It is one path: others may be as long. A piece in which a port sent bytes ahead of their turn is negative.
// - If the result is the mean of several calls, so is the path: pieces of all those calls, divided by their number.
#pragma once

#include "sim/engine/record.h"
#include "sim/sim.h"

struct clab_why_piece {
    double seconds;
    size_t bytes;
    int32_t rank, peer, stage; // CLAB_RECORD_NONE where there is none
    int8_t link;               // clab_net_link_index, or CLAB_RECORD_NONE
    uint8_t did, lane;
};

// Pieces that follow each other again and again, such as latency, bytes, latency, bytes, are one row each.
struct clab_why_row {
    double seconds; // of all of them
    int times;
    int first, step; // pieces first, first + step, ...
    int stage_first, stage_last;
};

struct clab_why {
    struct clab_why_piece *pieces; // (npieces), in the order of time
    struct clab_why_row *rows;     // (nrows), likewise
    int npieces, nrows;
    double seconds; // that they add up to
    double parts[CLAB_PART_COUNT];
};

//   record: of a run that answered CLAB_OK
//   errors: CLAB_ENOMEM
int clab_why_find(const struct clab_record *record, struct clab_why *why_p);
void clab_why_free(struct clab_why *why);

enum { CLAB_WHY_TEXT = 160 };

// The ranks of a row: "3", "3→4→5 … 2".
const char *clab_why_ranks(const struct clab_why *why, const struct clab_why_row *row, char text[CLAB_WHY_TEXT]);

// Find the change that saves most. Candidates: half the latency or half the cost of a byte of a link on the path; half
// the cost of copies, of reductions, of a core's overhead; no stragglers; no computing; links or cores that are
// not shared. Each is priced anew, by the engine that `options` asks for.
//   out:    text, such as "halving beta of inter"; *saves_p, a fraction of the time; false: no change helps, both unset
//   errors: those of clab_sim_run
int clab_why_remedy(const struct clab_problem *problem, const struct clab_algorithm *algorithm,
                    const struct clab_net *net, const struct clab_sim_options *options, const struct clab_why *why,
                    char text[CLAB_WHY_TEXT], double *saves_p);

// The name of link `index` of a network: "inter", a tier's; "": none.
const char *clab_why_link(const struct clab_net *net, int index);
