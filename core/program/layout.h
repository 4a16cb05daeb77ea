// SPDX-License-Identifier: MIT
// The rules of where chunks lie, and so of which local copies one rank makes in one lane. The compiler (program.c)
// turns them into moves, and the simulator prices them: both walk the stages and ask here.
//
// - A chunk begins in the caller's `in` and is read from there at its first touch.
// - A chunk that the rank wants at the end is written to `out`, others to CLAB_TEMP: its home.
// - A chunk that is sent while it is received (recursive doubling) cannot land where it is being read. It alternates
//   between its home and CLAB_ALT. A first walk over all stages counts how often, so that the last write lands at home.
// - Chunks that came by message and chunks that did not, sent together, must lie together. The latter are copied home
//   before the first stage: they are "early".
//
// The copies of a call, in their order:
//   before the first stage    every early chunk (layout_next_early), to its home
//   before a stage            COPY and COMBINE steps; the chunks of a send that do not lie together, to a pack
//   beside the first stage    what is wanted and never written (layout_next_unwritten), from `in` to `out`
//   after a stage             what could not be received in one piece (layout_unpacks), out of its pack
//   at the end                what is wanted and does not lie in `out` (layout_next_away)
#pragma once

#include <stdint.h>
#include <string.h>

#include "core/program/program.h"

// One byte, since the simulator has one for each chunk of each rank.
struct chunk {
    uint8_t region : 2;     // CLAB_IN, CLAB_OUT, CLAB_TEMP or CLAB_ALT; layout_region() says it of CLAB_SCRATCH
    uint8_t is_located : 1; // it has a value, which lies in `region`
    uint8_t is_wanted : 1;  // in `out` at the end
    uint8_t is_early : 1;   // copied home before the first stage
    uint8_t is_read : 1;    // the stage at hand sends, copies or combines it
    uint8_t is_odd : 1;     // an odd number of stages to come both read and write it
    uint8_t begins_odd : 1; // as is_odd, before the first stage
};

enum { REGION_BITS = 3 }; // chunk.region with all bits set, for a mask

// What the first walk has found.
struct layout_walk {
    bool moves_early; // some chunks are early
    bool alternates;  // some chunks are sent while they are received
};

struct layout {
    const struct clab_problem *problem;
    const struct clab_algorithm *algorithm;
    bool in_place;
    int per_block;           // chunks of a block
    int nchunks, nscratch;   // of CLAB_DATA and of CLAB_SCRATCH, in one lane
    int rank, lane;          // at hand
    struct layout_walk walk; // theirs
    struct chunk *chunks;    // (nchunks + nscratch) theirs; zeroed before layout_first_walk
    struct clab_step *steps; // (width) for layout_first_walk
};

// All but the rank and lane at hand, their chunks, and `steps`, which the caller sets.
void layout_init(struct layout *layout, const struct clab_problem *problem, const struct clab_algorithm *algorithm,
                 bool in_place);
// The first walk over all stages of the rank and lane at hand, which it notes in `walk`, too. Afterwards only
// layout_next_unwritten may be asked, until layout_begin.
struct layout_walk layout_first_walk(struct layout *layout);
// A call begins: all chunks lie where they do before the first stage.
void layout_begin(struct layout *layout);

// ---- copies --------------------------------------------------------------------------------------------------

// The first chunk of CLAB_DATA from `from` on that must be copied (table above); -1: there is none.
int layout_next_early(const struct layout *layout, int from);
int layout_next_unwritten(const struct layout *layout, int from); // after the first walk, or all stages
int layout_next_away(const struct layout *layout, int from);      // after all stages

// Whether the chunks of `span`, several, lie in one piece; a send of others is packed (layout_packs).
bool layout_is_together(const struct layout *layout, struct clab_span span);
// What a receive that reduces adds to.
static inline struct clab_span layout_added(const struct clab_step *step)
{
    return clab_step_reads(step) ? step->src : step->dst;
}
// Whether the receive `step` is unpacked; if it reduces, a local move combines it with what is there.
bool layout_unpacks(const struct layout *layout, const struct clab_step *step);

// ---- stages: asked of each message, so in line ---------------------------------------------------------------

// The first chunk of a span of CLAB_DATA or CLAB_SCRATCH.
static inline struct chunk *layout_chunks(const struct layout *l, struct clab_span span)
{
    return &l->chunks[span.buffer == CLAB_SCRATCH ? l->nchunks + span.first : span.first];
}

static inline void layout_mark(const struct layout *l, const struct clab_step *steps, int nsteps, bool is_read)
{
    for (const struct clab_step *step = steps; l->walk.alternates && step < steps + nsteps; step++) {
        const bool reads = step->op == CLAB_SEND || step->op == CLAB_COPY || step->op == CLAB_COMBINE;
        if (!reads || step->src.buffer == CLAB_INPUT)
            continue;
        struct chunk *chunks = layout_chunks(l, step->src);
        for (int i = 0; i < step->src.count; i++)
            chunks[i].is_read = is_read;
    }
}

// A stage begins, before any of its steps is asked about; and ends, when all that it writes has settled.
static inline void layout_begin_stage(const struct layout *layout, const struct clab_step *steps, int nsteps)
{
    layout_mark(layout, steps, nsteps, true);
}
static inline void layout_end_stage(const struct layout *layout, const struct clab_step *steps, int nsteps)
{
    layout_mark(layout, steps, nsteps, false);
}

static inline uint64_t chunk_bytes(struct chunk chunk) // eight of it
{
    uint8_t byte;
    memcpy(&byte, &chunk, sizeof byte);
    return byte * UINT64_C(0x0101010101010101);
}

// How many of `n` chunks, from the first on, have `value` in the fields of `mask`: eight at a time, as spans are long.
static inline int chunks_with(const struct chunk *chunks, int n, struct chunk mask, struct chunk value)
{
    const uint64_t fields = chunk_bytes(mask), values = chunk_bytes(value) & fields;
    int i = 0;
    for (uint64_t eight; i + 8 <= n; i += 8) {
        memcpy(&eight, chunks + i, sizeof eight);
        if ((eight & fields) != values)
            break;
    }
    while (i < n && (chunk_bytes(chunks[i]) & fields) == values)
        i++;
    return i;
}

// Give `n` chunks `value` in the fields of `mask`.
static inline void chunks_set(struct chunk *chunks, int n, struct chunk mask, struct chunk value)
{
    const uint64_t fields = chunk_bytes(mask), values = chunk_bytes(value) & fields;
    int i = 0;
    for (uint64_t eight; i + 8 <= n; i += 8) {
        memcpy(&eight, chunks + i, sizeof eight);
        eight = (eight & ~fields) | values;
        memcpy(chunks + i, &eight, sizeof eight);
    }
    for (; i < n; i++) {
        const uint8_t one = (uint8_t)((chunk_bytes(chunks[i]) & ~fields) | values);
        memcpy(chunks + i, &one, sizeof one);
    }
}

// How many of `n` chunks, from the first on, lie in its region.
static inline int layout_run(const struct chunk *chunks, int n)
{
    return n == 1 ? 1 : chunks_with(chunks, n, (struct chunk){.region = REGION_BITS}, chunks[0]);
}

// Whether a write of these chunks to `region` would hit what a send or copy of this stage is reading.
static inline bool layout_is_read_in(const struct chunk *chunks, int n, enum clab_region region)
{
    for (int i = 0; i < n; i++)
        if (chunks[i].is_located && chunks[i].is_read && chunks[i].region == region)
            return true;
    return false;
}

// Where chunks go that the rank wants, all of them, or that it does not: it wants whole blocks.
static inline enum clab_region layout_home(const struct layout *l, struct clab_span span)
{
    const struct chunk *chunks = layout_chunks(l, span);
    for (int i = 0; i < span.count; i += l->per_block)
        if (!chunks[i].is_wanted)
            return CLAB_TEMP;
    return span.count == 0 || chunks[span.count - 1].is_wanted ? CLAB_OUT : CLAB_TEMP;
}

// Where a receive or copy into `span` lands, as chunk.region; it lies there once settled.
static inline enum clab_region layout_choose(const struct layout *l, struct clab_span span)
{
    const struct chunk *chunks = layout_chunks(l, span);
    const enum clab_region home = layout_home(l, span);
    if (!l->walk.alternates)
        return home;
    if (layout_is_read_in(chunks, span.count, home))
        return CLAB_ALT;
    return chunks->is_odd && !layout_is_read_in(chunks, span.count, CLAB_ALT) ? CLAB_ALT : home;
}

static inline void layout_settle(const struct layout *l, struct clab_span span, enum clab_region region)
{
    struct chunk *chunks = layout_chunks(l, span);
    for (int i = 0; l->walk.alternates && i < span.count; i++)
        chunks[i].is_odd ^= chunks[i].is_read && chunks[i].is_located && chunks[i].region != CLAB_IN;
    const struct chunk landed = {.region = region & REGION_BITS, .is_located = true};
    if (span.count == 1) {
        chunks->region = landed.region;
        chunks->is_located = true;
    } else {
        chunks_set(chunks, span.count, (struct chunk){.region = REGION_BITS, .is_located = true}, landed);
    }
}

// chunk.region as a region of the program's memory.
static inline enum clab_region layout_region(enum clab_buffer buffer, enum clab_region region)
{
    return buffer == CLAB_SCRATCH ? region + (CLAB_SCRATCH_TEMP - CLAB_TEMP) : region;
}

// Whether a send's chunks are copied together first.
static inline bool layout_packs(const struct layout *layout, struct clab_span src)
{
    return src.count > 1 && !layout_is_together(layout, src);
}

// ---- places --------------------------------------------------------------------------------------------------

// The elements of all chunks of `span`.
size_t layout_elements(const struct layout *layout, struct clab_span span);
// The place of chunk `index`: now, or if it lay in `region` (as chunk.region). *count_p: its elements.
struct clab_place layout_place(const struct layout *layout, enum clab_buffer buffer, int index, size_t *count_p);
struct clab_place layout_place_in(const struct layout *layout, enum clab_buffer buffer, int index,
                                  enum clab_region region, size_t *count_p);
