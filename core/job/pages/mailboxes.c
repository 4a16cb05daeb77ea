// SPDX-License-Identifier: MIT
// The exchange over the control pages: an allgather among any ranks of the host.
//
// - A rank posts its blob under the fence's key in one of its two mailboxes, then reads those of all members. A post
//   stays: the round survives a member that dies after it has posted.
// - The owner writes a mailbox again when each member of its last round has read it, has given up that round, or is
//   gone. It also ignores a member that did not come within the timeout.
// - A rank that gives up stores the error in its mailbox, and ranks that still wait for it give up with the same error.
//   Its mailbox is then free. It also marks the others' mailboxes as taken, so that their owners do not wait for it.
//   It writes `err` first and looks for mailboxes second; a rank that posts later writes its key first and reads `err`
//   second. All four accesses are sequentially consistent, so one of the two ranks sees the other.
// - So an owner may write a mailbox again while a slow reader copies it. Invariant: `key` is 0 while the mailbox
//   changes, and `post` differs each time. A copy counts only if both are unchanged after it (a sequence lock, as in
//   board.c). A reader marks a numbered post as taken, so that a late mark does not free a newer post.
// - Waiting: spin while there is a core for every rank, yield the core, then sleep on the futex.

#include "core/job/pages/control.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/err.h"
#include "core/base/relax.h"
#include "core/base/vector.h"
#include "core/job/exchange.h"

enum {
    SPINS = 2000, // looks before the first yield: 10 to 100 us, more than a round takes
    YIELDS = 50,  // yields before the first sleep: a futex wake costs about as much
};
static const double nap = 1e-3; // s of a sleep, at most, while `meanwhile` is busy

// A part of an exchange under way.
struct round {
    const struct exchange_part *part;
    struct clab_rank_slot *slot;
    uint64_t key;
    double deadline;
    unsigned char *have; // (part->n) flags
    int missing;
};

static int member(const struct round *r, int i)
{
    return exchange_member(r->part, i);
}

static bool is_gone(struct clab_control *control, int rank)
{
    return clab_control_presence(control, rank) >= CLAB_LEAVING;
}

// ---- one look ------------------------------------------------------------------------------------------------

static struct control_mailbox *find_mailbox(struct clab_control *control, int rank, uint64_t key)
{
    for (unsigned turn = 0; turn < 2; turn++) {
        struct control_mailbox *mailbox = control_mailbox(control, rank, turn);
        if (atomic_load(&mailbox->key) == key)
            return mailbox;
    }
    return NULL;
}

// The rank that finds the error first logs it; the others only fail.
static bool must_log(const struct round *r)
{
    return !r->part->quiet && atomic_exchange(&r->slot->control->logged_key, r->key) != r->key;
}

// Member i gives `other` bytes.
static int refuse_size(const struct round *r, int i, size_t other)
{
    if (must_log(r))
        exchange_log_sizes(r->part->whole, member(r, i), other, (int)r->slot->control->nranks);
    return CLAB_EMISMATCH;
}

// Whether `mailbox` still holds what was the post number `post` of this round.
static bool is_still(const struct round *r, struct control_mailbox *mailbox, uint32_t post)
{
    return atomic_load(&mailbox->key) == r->key && atomic_load(&mailbox->post) == post;
}

static void mark_taken(const struct round *r, struct control_mailbox *mailbox, uint32_t post)
{
    atomic_store_explicit(&mailbox->taken[r->slot->rank], post, memory_order_release);
}

// Acquire and release: a reader of a word of a newer post also sees that the key has changed.
static void read_blob(struct control_mailbox *mailbox, unsigned char *to, size_t bytes)
{
    for (size_t i = 0; i < bytes; i += sizeof(uint64_t)) {
        const uint64_t word = atomic_load_explicit(&mailbox->blob[i / sizeof word], memory_order_acquire);
        memcpy(to + i, &word, bytes - i < sizeof word ? bytes - i : sizeof word);
    }
}

static void write_blob(struct control_mailbox *mailbox, const unsigned char *from, size_t bytes)
{
    for (size_t i = 0; i < bytes; i += sizeof(uint64_t)) {
        uint64_t word = 0;
        memcpy(&word, from + i, bytes - i < sizeof word ? bytes - i : sizeof word);
        atomic_store_explicit(&mailbox->blob[i / sizeof word], word, memory_order_release);
    }
}

// Take what member i has posted in `mailbox`. If its owner has written another post meanwhile, take nothing.
static int take_mailbox(struct round *r, int i, struct control_mailbox *mailbox)
{
    const uint32_t post = atomic_load(&mailbox->post), whole = atomic_load(&mailbox->bytes);
    if (whole == (uint32_t)r->part->whole)
        read_blob(mailbox, r->part->all + (size_t)i * r->part->whole, r->part->bytes);
    const int err = atomic_load(&mailbox->err);
    if (!is_still(r, mailbox, post))
        return CLAB_OK;
    if (whole != (uint32_t)r->part->whole)
        return refuse_size(r, i, whole);
    mark_taken(r, mailbox, post);
    r->have[i] = true;
    r->missing--;
    return err;
}

// Take what member i has posted, if it has.
static int take(struct round *r, int i)
{
    struct clab_control *control = r->slot->control;
    const bool gone = is_gone(control, member(r, i)); // before the mailbox: what it posted before it left is there
    struct control_mailbox *mailbox = find_mailbox(control, member(r, i), r->key);
    if (mailbox)
        return take_mailbox(r, i, mailbox);
    if (!gone)
        return CLAB_OK;
    if (must_log(r))
        exchange_log_ended(member(r, i), (int)r->slot->control->nranks);
    return CLAB_EPEER;
}

static int take_all(struct round *r)
{
    for (int i = 0; i < r->part->n; i++)
        if (!r->have[i])
            CLAB_TRY(take(r, i));
    return CLAB_OK;
}

// The deadline has passed: take all posts, also of members that have given up before this rank.
static void take_the_rest(struct round *r)
{
    for (int i = 0; i < r->part->n; i++)
        if (!r->have[i])
            take(r, i);
}

// This rank has given up and has stored its error: tell the members that it will not read their posts of this round.
static void take_no_more(const struct round *r)
{
    for (int i = 0; i < r->part->n; i++) {
        struct control_mailbox *mailbox = r->have[i] ? NULL : find_mailbox(r->slot->control, member(r, i), r->key);
        const uint32_t post = mailbox ? atomic_load(&mailbox->post) : 0;
        if (mailbox && is_still(r, mailbox, post))
            mark_taken(r, mailbox, post);
    }
}

// Whether all members of the last round in this mailbox have taken its post.
static bool is_mailbox_free(const struct round *r)
{
    const struct clab_members *last = &r->slot->last[r->slot->turn & 1];
    struct control_mailbox *mailbox = control_mailbox(r->slot->control, r->slot->rank, r->slot->turn);
    const uint32_t post = atomic_load(&mailbox->post);
    for (int i = 0; i < last->n; i++)
        if (atomic_load_explicit(&mailbox->taken[last->ranks[i]], memory_order_acquire) != post &&
            !is_gone(r->slot->control, last->ranks[i]))
            return false;
    return true;
}

// ---- waiting -------------------------------------------------------------------------------------------------

// The last `fruitless` looks found nothing: spin, yield or sleep.
static int pause_a_moment(struct round *r, int fruitless, uint32_t seen)
{
    struct clab_rank_slot *slot = r->slot;
    const int spins = slot->control->nranks <= slot->control->cores ? SPINS : 0;
    bool busy = false;
    if (slot->progress.meanwhile)
        CLAB_TRY(slot->progress.meanwhile(slot->progress.of, &busy));
    if (fruitless < spins) {
        clab_relax();
    } else if (fruitless < spins + YIELDS) {
        sched_yield();
    } else {
        const double now = clab_now();
        if (now >= r->deadline)
            return CLAB_ETIMEOUT;
        control_sleep(slot->control, seen, busy && now + nap < r->deadline ? now + nap : r->deadline);
    }
    return CLAB_OK;
}

// Look until `is_done`.
static int await(struct round *r, int (*look)(struct round *), bool (*is_done)(const struct round *))
{
    for (int fruitless = 0;; fruitless++) {
        const uint32_t seen = atomic_load(&r->slot->control->futex); // before the look: later posts change it
        CLAB_TRY(look(r));
        if (is_done(r))
            return CLAB_OK;
        CLAB_TRY(pause_a_moment(r, fruitless, seen));
    }
}

static int look_at_nothing(struct round *r)
{
    (void)r;
    return CLAB_OK;
}

static bool has_all(const struct round *r)
{
    return r->missing == 0;
}

// ---- a round -------------------------------------------------------------------------------------------------

static int remember(struct round *r, struct clab_members *last)
{
    CLAB_TRY(CLAB_RESERVE(last->ranks, last->room, r->part->n));
    last->n = r->part->n;
    for (int i = 0; i < r->part->n; i++)
        last->ranks[i] = member(r, i);
    return CLAB_OK;
}

static struct control_mailbox *post(struct round *r)
{
    struct control_mailbox *mailbox = control_mailbox(r->slot->control, r->slot->rank, r->slot->turn);
    struct control_mailbox *other = control_mailbox(r->slot->control, r->slot->rank, r->slot->turn + 1);
    if (atomic_load(&other->key) == r->key) // an earlier attempt at this fence, which failed
        atomic_store(&other->key, 0);
    atomic_store(&mailbox->key, 0);
    atomic_fetch_add(&mailbox->post, 1);
    atomic_store(&mailbox->bytes, (uint32_t)r->part->whole);
    atomic_store(&mailbox->err, CLAB_OK);
    write_blob(mailbox, r->part->mine, r->part->bytes);
    atomic_store(&mailbox->key, r->key);
    control_wake(r->slot->control);
    return mailbox;
}

static bool has_come(const struct round *r, int rank)
{
    for (int i = 0; i < r->part->n; i++)
        if (member(r, i) == rank)
            return r->have[i];
    return true; // not a member of this round
}

// The deadline has passed: do not wait for the missing members to read earlier posts either.
static void forget_silent(const struct round *r, struct clab_members *last)
{
    int kept = 0;
    for (int i = 0; i < last->n; i++)
        if (has_come(r, last->ranks[i]))
            last->ranks[kept++] = last->ranks[i];
    last->n = kept;
}

// From now on this rank and the other members of the round do not wait for each other.
static void give_up(struct round *r, struct control_mailbox *mailbox, int err)
{
    struct clab_rank_slot *slot = r->slot;
    atomic_store(&mailbox->err, err);
    take_no_more(r);
    slot->last[slot->turn & 1].n = 0; // some may never take this post
    if (err == CLAB_ETIMEOUT)
        forget_silent(r, &slot->last[(slot->turn + 1) & 1]);
}

static int run_round(struct round *r)
{
    struct clab_rank_slot *slot = r->slot;
    CLAB_TRY(await(r, look_at_nothing, is_mailbox_free));
    CLAB_TRY(remember(r, &slot->last[slot->turn & 1]));
    struct control_mailbox *mailbox = post(r);
    const int err = await(r, take_all, has_all);
    if (err == CLAB_ETIMEOUT)
        take_the_rest(r);
    if (err == CLAB_ETIMEOUT && must_log(r))
        exchange_log_missing(r->part, r->have, (int)slot->control->nranks, slot->timeout);
    if (err)
        give_up(r, mailbox, err);
    control_wake(slot->control); // ranks that wait for this post, or for a free mailbox
    slot->turn++;
    return err;
}

static int run_part(void *of, const struct exchange_part *part)
{
    struct clab_rank_slot *slot = of;
    unsigned char *have = calloc((size_t)part->n, 1);
    if (!have)
        return CLAB_ENOMEM;
    struct round round = {
        .part = part,
        .slot = slot,
        .key = part->key | 1, // never 0
        .deadline = clab_now() + slot->timeout,
        .have = have,
        .missing = part->n,
    };
    const int err = run_round(&round);
    free(have);
    return err;
}

int clab_slot_exchange(struct clab_rank_slot *slot, struct clab_fence fence, const void *mine, size_t bytes, void *all)
{
    const struct exchange_part whole = exchange_whole(fence, (int)slot->control->nranks, mine, bytes, all);
    return exchange_in_parts(&whole, CONTROL_BLOB_BYTES, run_part, slot);
}
