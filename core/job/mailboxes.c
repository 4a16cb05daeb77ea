// SPDX-License-Identifier: MIT
// The exchange over the control pages: an allgather among any ranks of the host.
//
// - A rank posts its blob under the fence's key in one of its two mailboxes, then reads those of all members. What was
//   posted stays posted: a member that dies after it has posted does not spoil the round.
// - A mailbox is written again when each member of its last round has read it, has given the round up, or is gone. A
//   member that was silent for the whole timeout is not waited for either.
// - A rank that gives up says so in its mailbox, and ranks that still wait for it give up for the same reason. Its mailbox is
//   free then. It also marks the others' mailboxes as taken: a rank that has completed the round needs no reader more.
//   It writes `err` first and looks for mailboxes second; a rank that posts later writes its key first and reads `err`
//   second. All four are sequentially consistent, so that one of the two sees the other.
// - A mailbox can therefore be written again while a slow reader copies it. Invariant: `key` is 0 while the mailbox changes,
//   and `post` differs each time. What a reader copies counts only if both are unchanged after the copy (a sequence
//   lock, as in board.c). It marks a numbered post as taken, so that a late mark does not free a newer one.
// - Waiting: spin while there are cores for all, lend the core out, then sleep on the futex.

#include "core/job/control.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/mix.h"
#include "core/base/relax.h"
#include "core/base/vector.h"
#include "core/job/missing.h"

enum {
    SPINS = 2000, // looks before the core is given away: 10 to 100 us, more than a round takes
    YIELDS = 50,  // and before sleep: a futex wake costs about as much
};
static const double nap = 1e-3; // s, at most, while there is something else to do

// A round under way.
struct round {
    struct clab_rank_slot *slot;
    const int *ranks; // (n); NULL: all
    int n;
    uint64_t key;
    bool quiet;
    const char *mine; // (bytes)
    size_t bytes;     // of this part
    size_t whole;     // that each member gives in all
    char *all;        // member i's goes to all + i * whole
    double deadline;
    bool *have; // (n)
    int missing;
};

static int member(const struct round *r, int i)
{
    return r->ranks ? r->ranks[i] : i;
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

// Whoever finds an error first says it, the others only fail.
static bool is_to_say(const struct round *r)
{
    return !r->quiet && atomic_exchange(&r->slot->control->logged_key, r->key) != r->key;
}

static int refuse_size(const struct round *r, size_t other)
{
    if (is_to_say(r))
        clab_error("rendezvous: this rank gives %zu bytes, another %zu", r->whole, other);
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

// Acquire and release: who reads a word of a newer post finds that the key has changed, too.
static void read_blob(struct control_mailbox *mailbox, char *to, size_t bytes)
{
    for (size_t i = 0; i < bytes; i += sizeof(uint64_t)) {
        const uint64_t word = atomic_load_explicit(&mailbox->blob[i / sizeof word], memory_order_acquire);
        memcpy(to + i, &word, bytes - i < sizeof word ? bytes - i : sizeof word);
    }
}

static void write_blob(struct control_mailbox *mailbox, const char *from, size_t bytes)
{
    for (size_t i = 0; i < bytes; i += sizeof(uint64_t)) {
        uint64_t word = 0;
        memcpy(&word, from + i, bytes - i < sizeof word ? bytes - i : sizeof word);
        atomic_store_explicit(&mailbox->blob[i / sizeof word], word, memory_order_release);
    }
}

// Take what member i has posted in `mailbox`. If it has failed and written something else meanwhile, nothing is taken.
static int take_mailbox(struct round *r, int i, struct control_mailbox *mailbox)
{
    const uint32_t post = atomic_load(&mailbox->post), whole = atomic_load(&mailbox->bytes);
    if (whole == (uint32_t)r->whole)
        read_blob(mailbox, r->all + (size_t)i * r->whole, r->bytes);
    const int err = atomic_load(&mailbox->err);
    if (!is_still(r, mailbox, post))
        return CLAB_OK;
    if (whole != (uint32_t)r->whole)
        return refuse_size(r, whole);
    mark_taken(r, mailbox, post);
    r->have[i] = true;
    r->missing--;
    return err;
}

// Take what member i has posted, if it has.
static int take(struct round *r, int i)
{
    struct clab_control *control = r->slot->control;
    const bool gone = is_gone(control, member(r, i)); // asked first: what it posted before it went is there
    struct control_mailbox *mailbox = find_mailbox(control, member(r, i), r->key);
    if (mailbox)
        return take_mailbox(r, i, mailbox);
    if (!gone)
        return CLAB_OK;
    if (is_to_say(r))
        clab_error("rendezvous: rank %d has ended", member(r, i));
    return CLAB_EPEER;
}

static int take_all(struct round *r)
{
    for (int i = 0; i < r->n; i++)
        if (!r->have[i])
            CLAB_TRY(take(r, i));
    return CLAB_OK;
}

// The deadline has passed: take what there is, also from those who have given up before me.
static void take_the_rest(struct round *r)
{
    for (int i = 0; i < r->n; i++)
        if (!r->have[i])
            take(r, i);
}

// I have given up, and have said so: no member waits for me to read what it has posted in this round.
static void take_no_more(const struct round *r)
{
    for (int i = 0; i < r->n; i++) {
        struct control_mailbox *mailbox = r->have[i] ? NULL : find_mailbox(r->slot->control, member(r, i), r->key);
        const uint32_t post = mailbox ? atomic_load(&mailbox->post) : 0;
        if (mailbox && is_still(r, mailbox, post))
            mark_taken(r, mailbox, post);
    }
}

// Whether the members of my last round but one have all taken what I posted then.
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

static void log_missing(const struct round *r)
{
    int named[CLAB_NAMED], missing = 0;
    for (int i = 0; i < r->n; i++)
        if (!r->have[i] && missing++ < CLAB_NAMED)
            named[missing - 1] = member(r, i);
    clab_log_missing("rank", named, missing, r->n, r->slot->timeout);
}

// Found nothing `fruitless` times: what suits.
static int pause_a_moment(struct round *r, int fruitless, uint32_t seen)
{
    struct clab_rank_slot *slot = r->slot;
    const int spins = slot->control->nranks <= slot->control->cores ? SPINS : 0;
    bool busy = false;
    if (slot->meanwhile)
        CLAB_TRY(slot->meanwhile(slot->meanwhile_of, &busy));
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
        const uint32_t seen = atomic_load(&r->slot->control->futex); // before the look: what comes after it rings
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
    CLAB_TRY(CLAB_RESERVE(last->ranks, last->room, r->n));
    last->n = r->n;
    for (int i = 0; i < r->n; i++)
        last->ranks[i] = member(r, i);
    return CLAB_OK;
}

static struct control_mailbox *post(struct round *r)
{
    struct control_mailbox *mailbox = control_mailbox(r->slot->control, r->slot->rank, r->slot->turn);
    struct control_mailbox *other = control_mailbox(r->slot->control, r->slot->rank, r->slot->turn + 1);
    if (atomic_load(&other->key) == r->key) // of this fence, at which I have failed before
        atomic_store(&other->key, 0);
    atomic_store(&mailbox->key, 0);
    atomic_fetch_add(&mailbox->post, 1);
    atomic_store(&mailbox->bytes, (uint32_t)r->whole);
    atomic_store(&mailbox->err, CLAB_OK);
    write_blob(mailbox, r->mine, r->bytes);
    atomic_store(&mailbox->key, r->key);
    control_wake(r->slot->control);
    return mailbox;
}

static bool has_come(const struct round *r, int rank)
{
    for (int i = 0; i < r->n; i++)
        if (member(r, i) == rank)
            return r->have[i];
    return true; // nobody has asked for it
}

// The deadline is over: who was missing all the time is not waited for to read what I have posted before.
static void forget_silent(const struct round *r, struct clab_members *last)
{
    int kept = 0;
    for (int i = 0; i < last->n; i++)
        if (has_come(r, last->ranks[i]))
            last->ranks[kept++] = last->ranks[i];
    last->n = kept;
}

// Those who have taken what I posted are free of me, and I of those who have not.
static void give_up(struct round *r, struct control_mailbox *mailbox, int err)
{
    struct clab_rank_slot *slot = r->slot;
    atomic_store(&mailbox->err, err);
    take_no_more(r);
    slot->last[slot->turn & 1].n = 0; // some may never take what I have posted
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
    if (err == CLAB_ETIMEOUT && is_to_say(r))
        log_missing(r);
    if (err)
        give_up(r, mailbox, err);
    control_wake(slot->control); // who waits for me, or for a free mailbox
    slot->turn++;
    return err;
}

int clab_slot_exchange(struct clab_rank_slot *slot, struct clab_fence fence, const void *mine, size_t bytes, void *all)
{
    const int n = fence.ranks ? fence.n : (int)slot->control->nranks;
    bool *have = malloc((size_t)n * sizeof *have);
    size_t done = 0;
    int err = have ? CLAB_OK : CLAB_ENOMEM;
    do {
        const size_t part = bytes - done < CONTROL_BLOB_BYTES ? bytes - done : CONTROL_BLOB_BYTES;
        struct round round = {
            .slot = slot,
            .ranks = fence.ranks,
            .n = n,
            .key = clab_mix(fence.key, done) | 1, // never 0
            .quiet = fence.quiet,
            .mine = (const char *)mine + done,
            .bytes = part,
            .whole = bytes,
            .all = (char *)all + done,
            .deadline = clab_now() + slot->timeout,
            .have = have,
            .missing = n,
        };
        if (!err)
            memset(have, 0, (size_t)n * sizeof *have);
        err = err ? err : run_round(&round);
        done += part;
    } while (done < bytes && !err);
    free(have);
    return err;
}
