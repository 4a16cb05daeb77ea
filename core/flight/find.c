// SPDX-License-Identifier: MIT
// Finds the rank for which the others wait. All members call the same collectives in the same order, so each collective
// has the same number at all of them. The ranks in the lowest number are behind; the others wait for them.

#include "core/flight/find.h"

#include "core/base/text.h"
#include "core/base/units.h"

enum { NAMED = 8 }; // ranks, in a list

struct clab_flight_place clab_flight_find(struct clab_flight *flight, uint64_t comm)
{
    struct clab_flight_place place = {.rank = flight->rank};
    struct clab_flight_op op;
    const uint64_t last = clab_flight_last(flight);
    for (uint64_t serial = clab_flight_first(last); serial <= last; serial++) { // so that the latest wins
        if (!clab_flight_read(flight, serial, &op))
            continue;
        if (op.comm == comm && clab_flight_is_collective(&op)) {
            place.has_called = true;
            place.last = op;
        } else if (clab_flight_is_open(&op) && (op.comm == comm || op.state != CLAB_FLIGHT_FAILED || serial == last)) {
            place.is_elsewhere = true;
            place.other = op;
        }
    }
    return place;
}

// Collective `sequence` of `comm`.
static bool find_number(struct clab_flight *flight, uint64_t comm, uint32_t sequence, struct clab_flight_op *op_p)
{
    const uint64_t last = clab_flight_last(flight);
    for (uint64_t serial = clab_flight_first(last); serial <= last; serial++)
        if (clab_flight_read(flight, serial, op_p) && op_p->comm == comm && clab_flight_is_collective(op_p) &&
            op_p->sequence == sequence)
            return true;
    return false;
}

bool clab_flight_differ(struct clab_flight *a, struct clab_flight *b, uint64_t comm, struct clab_flight_op *a_p,
                        struct clab_flight_op *b_p)
{
    const uint64_t last = clab_flight_last(a);
    for (uint64_t serial = clab_flight_first(last); serial <= last; serial++)
        if (clab_flight_read(a, serial, a_p) && a_p->comm == comm && clab_flight_is_collective(a_p) &&
            find_number(b, comm, a_p->sequence, b_p) && !clab_flight_is_same(a_p, b_p))
            return true;
    return false;
}

bool clab_flight_find_message(struct clab_flight *flight, uint64_t comm, int peer, struct clab_flight_op *op_p)
{
    const uint64_t last = clab_flight_last(flight);
    for (uint64_t serial = last; serial && serial >= clab_flight_first(last); serial--)
        if (clab_flight_read(flight, serial, op_p) && op_p->comm == comm && op_p->root == peer &&
            (op_p->what == CLAB_FLIGHT_SEND || op_p->what == CLAB_FLIGHT_RECEIVE))
            return true;
    return false;
}

// ---- text ----------------------------------------------------------------------------------------------------

static bool is_gone(const struct clab_flight_place *p)
{
    return p->presence >= CLAB_LEAVING;
}

static const char *end_of(const struct clab_flight_place *p)
{
    return p->presence == CLAB_LOST ? "has ended" : "has left the job";
}

static void add_op(struct clab_text *text, const struct clab_flight_op *op)
{
    char name[CLAB_FLIGHT_TEXT];
    clab_text_add(text, "%s", clab_flight_text(op, name));
}

// ": stage 2, has waited 30 s for rank 3"
static void add_wait(struct clab_text *text, const struct clab_flight_op *op, double now)
{
    char seconds[CLAB_TEXT];
    const int stage = op->stage, peer = op->waits_for, state = op->state;
    if (state == CLAB_FLIGHT_BEGUN || state == CLAB_FLIGHT_DONE)
        return;
    clab_text_add(text, ":");
    if (stage >= 0)
        clab_text_add(text, " stage %d,", stage);
    clab_text_add(text, " has waited %s", clab_seconds_text(now > op->since ? now - op->since : 0, seconds));
    if (peer >= 0)
        clab_text_add(text, " for rank %d", peer);
}

static void add_ago(struct clab_text *text, const struct clab_flight_op *op, double now)
{
    char seconds[CLAB_TEXT];
    clab_text_add(text, ", begun %s ago", clab_seconds_text(now > op->begun ? now - op->begun : 0, seconds));
}

void clab_flight_where(const struct clab_flight_place *p, double now, char *at, size_t room)
{
    struct clab_text text = clab_text_begin(at, room);
    const bool is_open = p->has_called && clab_flight_is_open(&p->last);
    if (is_gone(p))
        clab_text_add(&text, "%s ", end_of(p));
    else if (p->is_stopped)
        clab_text_add(&text, "is stopped ");
    if (!p->has_called)
        clab_text_add(&text, "before its first call");
    else
        clab_text_add(&text, "%s number %u, ", is_open ? "in" : "after", (unsigned)p->last.sequence);
    if (p->has_called)
        add_op(&text, &p->last);
    if (is_open)
        add_wait(&text, &p->last, now);
    else if (p->has_called)
        add_ago(&text, &p->last, now);
    if (p->is_elsewhere && !is_open) {
        clab_text_add(&text, "; in ");
        add_op(&text, &p->other);
        add_wait(&text, &p->other, now);
    }
}

// ---- ranks that are behind -----------------------------------------------------------------------------------

// The number of the collective that a rank is in, or has yet to call.
static unsigned next_of(const struct clab_flight_place *p)
{
    return p->has_called ? (unsigned)p->last.sequence + !clab_flight_is_open(&p->last) : 0;
}

static bool is_in(const struct clab_flight_place *p, unsigned number)
{
    return p->has_called && p->last.sequence == number && clab_flight_is_open(&p->last);
}

static bool is_behind(const struct clab_flight_place *p, unsigned number)
{
    return !is_in(p, number) && next_of(p) <= number;
}

static bool waits_there(const struct clab_flight_place *p, unsigned number)
{
    return is_in(p, number) && !is_gone(p) && !p->is_stopped;
}

// "; ranks 0-2, 5 wait in number 17"
static void add_waiting(struct clab_text *text, const struct clab_flight_place *places, int n, unsigned number)
{
    int waiting = 0, runs = 0;
    for (int i = 0; i < n; i++)
        waiting += waits_there(&places[i], number);
    if (!waiting)
        return;
    clab_text_add(text, waiting == 1 ? "; rank" : "; ranks");
    for (int i = 0, last; i < n; i = last + 1) {
        last = i;
        if (!waits_there(&places[i], number) || ++runs > NAMED)
            continue;
        while (last + 1 < n && places[last + 1].rank == places[last].rank + 1 && waits_there(&places[last + 1], number))
            last++;
        clab_text_add(text, "%s %d", runs > 1 ? "," : "", places[i].rank);
        if (last > i)
            clab_text_add(text, "-%d", places[last].rank);
    }
    clab_text_add(text, "%s %s in number %u", runs > NAMED ? " and more" : "", waiting == 1 ? "waits" : "wait", number);
}

// The last collective that a rank has ended, and its current operation.
static void add_last(struct clab_text *text, const struct clab_flight_place *p, double now)
{
    if (!p->has_called) {
        clab_text_add(text, "it has called none");
    } else {
        clab_text_add(text, "its last is number %u, ", (unsigned)p->last.sequence);
        add_op(text, &p->last);
        add_ago(text, &p->last, now);
    }
    if (p->is_elsewhere && !is_gone(p)) {
        clab_text_add(text, "; it is in ");
        add_op(text, &p->other);
    }
}

// The current operation of the rank that is farthest behind.
static void add_laggard(struct clab_text *text, const struct clab_flight_place *p, unsigned number, double now)
{
    const bool is_open = p->has_called && clab_flight_is_open(&p->last);
    clab_text_add(text, "rank %d ", p->rank);
    if (is_gone(p) || p->is_stopped)
        clab_text_add(text, "%s", is_gone(p) ? end_of(p) : "is stopped");
    else
        clab_text_add(text, is_open ? "is still" : "has not called number %u", number);
    if (!is_open) {
        clab_text_add(text, ": ");
        add_last(text, p, now);
        return;
    }
    clab_text_add(text, " in number %u, ", (unsigned)p->last.sequence);
    add_op(text, &p->last);
    add_wait(text, &p->last, now);
}

static const struct clab_flight_place *first_behind(const struct clab_flight_place *places, int n, unsigned number)
{
    const struct clab_flight_place *first = NULL;
    for (int i = 0; i < n; i++)
        if (is_behind(&places[i], number) && (!first || next_of(&places[i]) < next_of(first)))
            first = &places[i];
    return first;
}

// The dead rank that was farthest behind; NULL: no rank has died. Live ranks may be behind because of it.
static const struct clab_flight_place *first_lost(const struct clab_flight_place *places, int n)
{
    const struct clab_flight_place *first = NULL;
    for (int i = 0; i < n; i++)
        if (places[i].presence == CLAB_LOST && (!first || next_of(&places[i]) < next_of(first)))
            first = &places[i];
    return first;
}

// ---- all in the same collective ------------------------------------------------------------------------------

// The first rank that is gone or stopped; else the first that has not failed, as others have.
static const struct clab_flight_place *first_silent(const struct clab_flight_place *places, int n)
{
    for (int i = 0; i < n; i++)
        if (is_gone(&places[i]) || places[i].is_stopped)
            return &places[i];
    for (int i = 0; i < n; i++)
        if (places[i].last.state != CLAB_FLIGHT_FAILED)
            return &places[i];
    return NULL;
}

static const struct clab_flight_place *first_other(const struct clab_flight_place *places, int n)
{
    for (int i = 1; i < n; i++)
        if (!clab_flight_is_same(&places[0].last, &places[i].last))
            return &places[i];
    return NULL;
}

static bool is_here(const struct clab_flight_place *places, int n, int rank)
{
    int i = 0;
    while (i < n && places[i].rank != rank)
        i++;
    return i < n;
}

static void add_chain(struct clab_text *text, const struct clab_flight_place *places, int n)
{
    for (int i = 0; i < n && i < NAMED; i++)
        if (places[i].last.waits_for >= 0)
            clab_text_add(text, "%s rank %d for %d%s", i ? "," : ":", places[i].rank, places[i].last.waits_for,
                          is_here(places, n, places[i].last.waits_for) ? "" : " (of another host)");
}

static void add_same(struct clab_text *text, const struct clab_flight_place *places, int n, unsigned number, double now)
{
    const struct clab_flight_place *other = first_other(places, n), *silent = first_silent(places, n);
    if (other) {
        clab_text_add(text, "ranks disagree on number %u: rank %d calls ", number, places[0].rank);
        add_op(text, &places[0].last);
        clab_text_add(text, ", rank %d calls ", other->rank);
        add_op(text, &other->last);
        return;
    }
    if (silent) {
        clab_text_add(text, "rank %d %s in number %u (", silent->rank,
                      is_gone(silent)      ? end_of(silent)
                      : silent->is_stopped ? "is stopped"
                                           : "does not answer",
                      number);
        add_op(text, &silent->last);
        clab_text_add(text, ")");
        add_wait(text, &silent->last, now);
        return;
    }
    clab_text_add(text, "all are in number %u (", number);
    add_op(text, &places[0].last);
    clab_text_add(text, "), and wait");
    add_chain(text, places, n);
}

// Nobody is in a collective: the longest wait for a message.
static void add_messages(struct clab_text *text, const struct clab_flight_place *places, int n, double now)
{
    const struct clab_flight_place *first = NULL;
    for (int i = 0; i < n; i++)
        if (places[i].is_elsewhere && places[i].other.state != CLAB_FLIGHT_BEGUN &&
            (!first || places[i].other.since < first->other.since))
            first = &places[i];
    if (!first) {
        clab_text_add(text, "nobody was waiting");
        return;
    }
    clab_text_add(text, "rank %d is in ", first->rank);
    add_op(text, &first->other);
    add_wait(text, &first->other, now);
}

void clab_flight_diagnosis(const struct clab_flight_place *places, int n, double now, char *at, size_t room)
{
    struct clab_text text = clab_text_begin(at, room);
    unsigned number = 0;
    bool any = false;
    for (int i = 0; i < n; i++)
        if (places[i].has_called && clab_flight_is_open(&places[i].last)) {
            number = !any || places[i].last.sequence > number ? (unsigned)places[i].last.sequence : number;
            any = true;
        }
    const struct clab_flight_place *behind = any ? first_behind(places, n, number) : NULL;
    if (!any) {
        add_messages(&text, places, n, now);
    } else if (behind) {
        const struct clab_flight_place *lost = first_lost(places, n);
        add_laggard(&text, lost ? lost : behind, number, now);
        add_waiting(&text, places, n, number);
    } else {
        add_same(&text, places, n, number, now);
    }
}
