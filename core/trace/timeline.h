// SPDX-License-Identifier: MIT
// What the ranks of a job did, when: calls, their stages lane by lane, and spans of other work. Simulated and measured
// ones have this same form, so that they lie under each other in one viewer.
//
// - A call names its collective and algorithm. The messages of a stage are computed from them, so none are stored.
//   Arrows lead from the stage that sends to the stage that receives.
// - clab_timeline_exposed measures communication that no computation overlaps.
#pragma once

#include <stdint.h>

#include "core/base/files/manifest.h"
#include "core/base/type.h"
#include "core/schedule/schedule.h"

// What a call is: an enum clab_collective, or one of these.
enum { CLAB_TIMELINE_SEND = CLAB_COLLECTIVE_COUNT, CLAB_TIMELINE_RECEIVE };

struct clab_timeline_call {
    double begin, end;                 // s
    uint64_t comm;                     // the same at all members of a communicator, and of no other
    uint64_t count;                    // elements, as in struct clab_problem
    uint32_t serial;                   // of the process's calls
    uint32_t sequence;                 // of the communicator's collectives
    int32_t process;                   // rank of the job
    int32_t rank, nranks, root, group; // in the communicator; root: the peer of a send or receive
    uint8_t what, type, lanes;
    uint8_t algorithm; // 1 + its index in clab_algorithms; 0: not one of those
};

struct clab_timeline_stage {
    double begin, end;
    uint32_t serial; // of its call
    int32_t process, stage, lane;
};

// Rows of a process.
enum clab_timeline_row {
    CLAB_ROW_COLLECTIVE,
    CLAB_ROW_LANE, // and further ones: CLAB_ROW_LANE + lane
    CLAB_ROW_COMPUTE = CLAB_ROW_LANE + 64,
    CLAB_ROW_CORE,
    CLAB_ROW_OUT,
    CLAB_ROW_IN
};

enum { CLAB_TIMELINE_NAME = 32 };

// The name of a span that only reads and writes memory: clab_copy, and clab_compute without operations. Its bytes are
// both.
#define CLAB_SPAN_MEMORY "memory"

// In the file, what overlaps in a row gets rows beside it: row r is number r * CLAB_ROW_STRIDE and those that follow.
enum { CLAB_ROW_STRIDE = 128 };

struct clab_timeline_span {
    double begin, end;
    double kept;                       // s of it in which others had the rank's core (base/machine/kept.h); below 0: not known
    int64_t bytes;                     // -1: none
    int32_t process, row, peer, stage; // peer, stage: -1: none
    char name[CLAB_TIMELINE_NAME];
};

struct clab_timeline {
    struct clab_timeline_call *calls;
    struct clab_timeline_stage *stages;
    struct clab_timeline_span *spans;
    int ncalls, nstages, nspans, call_room, stage_room, span_room;
};

void clab_timeline_free(struct clab_timeline *timeline);
// Append (n) of each, all or nothing.  errors: CLAB_ENOMEM
int clab_timeline_add_calls(struct clab_timeline *timeline, const struct clab_timeline_call calls[], int n);
int clab_timeline_add_stages(struct clab_timeline *timeline, const struct clab_timeline_stage stages[], int n);
int clab_timeline_add_spans(struct clab_timeline *timeline, const struct clab_timeline_span spans[], int n);

// Leave what is whole in the time from `from` on: calls that begin then, with their stages, and of spans what lies
// there. Sorts the timeline.
//   out: when the last of it ends; `from` if nothing is left
double clab_timeline_cut(struct clab_timeline *timeline, double from);

enum clab_timeline_kind { CLAB_TIMELINE_MEASURED, CLAB_TIMELINE_SIMULATED };

// Write `path` for a trace viewer (base/files/viewer.h), with what `about` says. Times begin at 0, with the first thing there
// is. Sorts the timeline. Process 2r is rank r measured, 2r + 1 rank r simulated.
//   errors: CLAB_EUNSUPPORTED, CLAB_EIO, CLAB_ENOMEM
int clab_timeline_write(struct clab_timeline *timeline, enum clab_timeline_kind kind, const char *path,
                        const struct clab_manifest *about);

// ---- overlap -------------------------------------------------------------------------------------------------

struct clab_interval {
    double begin, end; // s, begin <= end
};

// Of the time in which `communication` is under way, in s, and that part of it in which none of `compute` is: it is
// exposed. Intervals may overlap, and are in any order; each moment counts once.
//   out: *whole_p, *exposed_p; the overlap is 1 - exposed / whole
//   errors: CLAB_ENOMEM
int clab_timeline_exposed(const struct clab_interval communication[], int n, const struct clab_interval compute[],
                          int m, double *whole_p, double *exposed_p);
