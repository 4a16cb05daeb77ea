// SPDX-License-Identifier: MIT
// The notice board of a host: a ring of lines that all may write and everybody reads at their own pace.
// - A line is two words and its number, which is written last and looked at twice (a sequence lock, Lameter 2005).
// - Who falls behind by a whole ring misses the oldest: what it says of ranks can be read from their seats as well.

#include "job/control.h"

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

void clab_control_tell(struct clab_control *control, const struct clab_notice *notice)
{
    const uint64_t number = atomic_fetch_add(&control->told, 1);
    struct clab_board_line *line = line_of(control, number);
    uint64_t words[2];
    pack(notice, words);
    atomic_store(&line->number, 0);
    atomic_store(&line->words[0], words[0]);
    atomic_store(&line->words[1], words[1]);
    atomic_store(&line->number, number + 1);
    control_ring(control);
}

bool clab_control_hear(struct clab_control *control, uint64_t *heard_p, struct clab_notice *notice_p)
{
    for (;;) {
        const uint64_t told = atomic_load_explicit(&control->told, memory_order_acquire);
        if (*heard_p == told)
            return false;
        if (told - *heard_p > CLAB_BOARD_NOTICES)
            *heard_p = told - CLAB_BOARD_NOTICES;
        struct clab_board_line *line = line_of(control, *heard_p);
        const uint64_t number = atomic_load(&line->number);
        const uint64_t words[2] = {atomic_load(&line->words[0]), atomic_load(&line->words[1])};
        if (number < *heard_p + 1)
            return false; // its writer is at it
        if (number > *heard_p + 1 || atomic_load(&line->number) != number)
            continue; // overtaken
        ++*heard_p;
        *notice_p = unpack(words);
        return true;
    }
}
