// SPDX-License-Identifier: MIT
// The notice board of a host: a ring of lines that all may write and everybody reads at their own pace.
// - A line is two words and its number, which is written last and looked at twice (a sequence lock, Lameter 2005).
// - Who falls behind by a whole ring misses the oldest: what it says of ranks can be read from their seats as well.
// - Who is killed while writing holds readers up for `patience`, and then they go on without that line. So does who
//   tells a whole ring later, into the same line: a writer that had no core meanwhile would else end by spoiling the
//   new one.

#include "core/job/control.h"

#include <sched.h>

#include "core/base/clock.h"

static const double patience = 1; // s

static struct clab_board_line *line_of(struct clab_control *control, uint64_t number)
{
    return &control->board[number % CLAB_BOARD_NOTICES];
}

static void pack(const struct clab_notice *n, uint64_t words[2])
{
    words[0] = n->comm;
    words[1] = (uint64_t)(uint16_t)n->teller | (uint64_t)(uint16_t)n->culprit << 16 | (uint64_t)(uint16_t)n->err << 32 |
               (uint64_t)(uint16_t)n->kind << 48;
}

static struct clab_notice unpack(const uint64_t words[2])
{
    return (struct clab_notice){
        .comm = words[0],
        .teller = (int16_t)words[1],
        .culprit = (int16_t)(words[1] >> 16),
        .err = (int16_t)(words[1] >> 32),
        .kind = (enum clab_notice_kind)(words[1] >> 48),
    };
}

// Wait for who writes the line that was told a whole ring before `number`.
static void await_last_writer(struct clab_board_line *line, uint64_t number)
{
    if (number < CLAB_BOARD_NOTICES)
        return;
    const uint64_t last = number + 1 - CLAB_BOARD_NOTICES;
    for (double since = 0; atomic_load(&line->number) != last; sched_yield()) {
        const double now = clab_now();
        since = since > 0 ? since : now;
        if (now - since > patience)
            return;
    }
}

void clab_control_tell(struct clab_control *control, const struct clab_notice *notice)
{
    const uint64_t number = atomic_fetch_add(&control->told, 1);
    struct clab_board_line *line = line_of(control, number);
    uint64_t words[2];
    pack(notice, words);
    await_last_writer(line, number);
    atomic_store(&line->number, 0);
    atomic_store(&line->words[0], words[0]);
    atomic_store(&line->words[1], words[1]);
    atomic_store(&line->number, number + 1);
    control_ring(control);
}

// Whether to wait for who writes the next line: it was killed in the midst of it, if others have told more since long.
static bool is_being_written(struct clab_ear *ear, uint64_t told)
{
    if (told - ear->heard == 1)
        return true;
    const double now = clab_now();
    if (ear->since == 0)
        ear->since = now;
    return now - ear->since < patience;
}

static void go_on(struct clab_ear *ear, uint64_t heard)
{
    *ear = (struct clab_ear){.heard = heard};
}

bool clab_control_hear(struct clab_control *control, struct clab_ear *ear, struct clab_notice *notice_p)
{
    for (;;) {
        const uint64_t told = atomic_load_explicit(&control->told, memory_order_acquire), next = ear->heard + 1;
        if (ear->heard == told)
            return false;
        if (told - ear->heard > CLAB_BOARD_NOTICES) {
            go_on(ear, told - CLAB_BOARD_NOTICES);
            continue;
        }
        struct clab_board_line *line = line_of(control, ear->heard);
        const uint64_t number = atomic_load(&line->number);
        const uint64_t words[2] = {atomic_load(&line->words[0]), atomic_load(&line->words[1])};
        if (number < next) {
            if (is_being_written(ear, told))
                return false;
            go_on(ear, next);
        } else if (number == next && atomic_load(&line->number) == number) {
            go_on(ear, next);
            *notice_p = unpack(words);
            return true;
        } // else overtaken
    }
}
