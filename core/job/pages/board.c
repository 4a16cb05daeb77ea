// SPDX-License-Identifier: MIT
// The notice board of a host: a ring of entries that every rank may write, and that each rank reads at its own pace.
// - An entry is two words and its number. The writer stores the number last; a reader loads it before and after the
//   words (a sequence lock, Lameter 2005).
// - A reader that falls behind by a whole ring misses the oldest entries. The rank slots still say who has died.
// - A writer that is killed in the middle delays readers by WRITE_SECONDS; then they skip its entry. The writer of the
//   same entry one ring later waits as long: a slow earlier writer would otherwise overwrite the newer notice.

#include "core/job/pages/control.h"

#include <sched.h>

#include "core/base/clock.h"

#define WRITE_SECONDS 1.0 // that a writer may take for one entry

static struct clab_board_entry *entry_of(struct clab_control *control, uint64_t number)
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

// Wait until the entry that was posted one ring before `number` is complete.
static void await_last_post(struct clab_board_entry *entry, uint64_t number)
{
    if (number < CLAB_BOARD_NOTICES)
        return;
    const uint64_t last = number + 1 - CLAB_BOARD_NOTICES;
    for (double since = 0; atomic_load(&entry->number) != last; sched_yield()) {
        const double now = clab_now();
        since = since > 0 ? since : now;
        if (now - since > WRITE_SECONDS)
            return;
    }
}

void clab_control_notify(struct clab_control *control, const struct clab_notice *notice)
{
    const uint64_t number = atomic_fetch_add(&control->posted, 1);
    struct clab_board_entry *entry = entry_of(control, number);
    uint64_t words[2];
    pack(notice, words);
    await_last_post(entry, number);
    atomic_store(&entry->number, 0);
    atomic_store(&entry->words[0], words[0]);
    atomic_store(&entry->words[1], words[1]);
    atomic_store(&entry->number, number + 1);
    control_wake(control);
}

// Whether the next entry may still be completed: its writer was killed if others have posted later entries for long.
static bool is_being_written(struct clab_read_cursor *cursor, uint64_t posted)
{
    if (posted - cursor->next == 1)
        return true;
    const double now = clab_now();
    if (cursor->since == 0)
        cursor->since = now;
    return now - cursor->since < WRITE_SECONDS;
}

static void move_to(struct clab_read_cursor *cursor, uint64_t next)
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
            move_to(cursor, posted - CLAB_BOARD_NOTICES);
            continue;
        }
        struct clab_board_entry *entry = entry_of(control, cursor->next);
        const uint64_t number = atomic_load(&entry->number);
        const uint64_t words[2] = {atomic_load(&entry->words[0]), atomic_load(&entry->words[1])};
        if (number < next) {
            if (is_being_written(cursor, posted))
                return false;
            move_to(cursor, next);
        } else if (number == next && atomic_load(&entry->number) == number) {
            move_to(cursor, next);
            *notice_p = unpack(words);
            return true;
        } // else overtaken
    }
}
