// SPDX-License-Identifier: MIT
// The notice board of a host: a ring of lines that all may write and everybody reads at their own pace.
// - A line is two words and its number, which is written last and looked at twice (a sequence lock, Lameter 2005).
// - Who falls behind by a whole ring misses the oldest: what it says of ranks can be read from their slots as well.
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
    words[1] = (uint64_t)(uint16_t)n->reporter | (uint64_t)(uint16_t)n->culprit << 16 |
               (uint64_t)(uint16_t)n->err << 32 | (uint64_t)(uint16_t)n->kind << 48;
}

static struct clab_notice unpack(const uint64_t words[2])
{
    return (struct clab_notice){
        .comm = words[0],
        .reporter = (int16_t)words[1],
        .culprit = (int16_t)(words[1] >> 16),
        .err = (int16_t)(words[1] >> 32),
        .kind = (enum clab_notice_kind)(words[1] >> 48),
    };
}

// Wait for who writes the line that was posted a whole ring before `number`.
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

void clab_control_notify(struct clab_control *control, const struct clab_notice *notice)
{
    const uint64_t number = atomic_fetch_add(&control->posted, 1);
    struct clab_board_line *line = line_of(control, number);
    uint64_t words[2];
    pack(notice, words);
    await_last_writer(line, number);
    atomic_store(&line->number, 0);
    atomic_store(&line->words[0], words[0]);
    atomic_store(&line->words[1], words[1]);
    atomic_store(&line->number, number + 1);
    control_wake(control);
}

// Whether to wait for who writes the next line: it was killed in the midst of it, if others have posted more since long.
static bool is_being_written(struct clab_read_cursor *cursor, uint64_t posted)
{
    if (posted - cursor->next == 1)
        return true;
    const double now = clab_now();
    if (cursor->since == 0)
        cursor->since = now;
    return now - cursor->since < patience;
}

static void go_on(struct clab_read_cursor *cursor, uint64_t next)
{
    *cursor = (struct clab_read_cursor){.next = next};
}

bool clab_control_next_notice(struct clab_control *control, struct clab_read_cursor *cursor,
                              struct clab_notice *notice_p)
{
    for (;;) {
        const uint64_t posted = atomic_load_explicit(&control->posted, memory_order_acquire), next = cursor->next + 1;
        if (cursor->next == posted)
            return false;
        if (posted - cursor->next > CLAB_BOARD_NOTICES) {
            go_on(cursor, posted - CLAB_BOARD_NOTICES);
            continue;
        }
        struct clab_board_line *line = line_of(control, cursor->next);
        const uint64_t number = atomic_load(&line->number);
        const uint64_t words[2] = {atomic_load(&line->words[0]), atomic_load(&line->words[1])};
        if (number < next) {
            if (is_being_written(cursor, posted))
                return false;
            go_on(cursor, next);
        } else if (number == next && atomic_load(&line->number) == number) {
            go_on(cursor, next);
            *notice_p = unpack(words);
            return true;
        } // else overtaken
    }
}
