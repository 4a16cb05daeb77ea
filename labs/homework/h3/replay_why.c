// SPDX-License-Identifier: MIT
// What is wrong with an action (replay_inside.h): the mistake that people make who do this, and the remedy.

#include "labs/homework/h3/replay_inside.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/base/units.h"

// ---- words ---------------------------------------------------------------------------------------------------------

// "step 1, rank 0, ready(12)"
static int say_place(const struct replay *r, int rank, char *out, size_t room)
{
    const struct replayed_rank *me = &r->rank[rank];
    const int n = h3_parameters(r->c), step = me->step < 0 ? 0 : me->step;
    char place[24];
    snprintf(place, sizeof place,
             me->last_ready < 0    ? "begin"
             : me->last_ready == n ? "finish"
                                   : "ready(%d)",
             me->last_ready);
    return snprintf(out, room, "%s, %d ranks: step %d, rank %d, %s: ", r->c->name, r->c->ranks, step, rank, place);
}

// Where the step before was right, what is left over from it is the first guess.
static const char *left_over(const struct replay *r, int rank)
{
    return r->rank[rank].step > 0
               ? " Step 0 was right: is a variable left over from it? Set all of them anew in begin()."
               : "";
}

bool why_not(struct replay *r, int rank, const char *format, ...)
{
    char *why = r->verdict->why;
    va_list list;
    if (why[0])
        return false;
    int length = say_place(r, rank, why, H3_WHY);
    va_start(list, format);
    length += vsnprintf(why + length, H3_WHY - (size_t)length, format, list);
    va_end(list);
    if (length < H3_WHY)
        snprintf(why + length, H3_WHY - (size_t)length, "%s", left_over(r, rank));
    return false;
}

// "parameters 4 to 7", "parameter 4"
static const char *range(int first, int count, char out[40])
{
    if (count == 1)
        snprintf(out, 40, "parameter %d", first);
    else
        snprintf(out, 40, "parameters %d to %d", first, first + count - 1);
    return out;
}

// Whether this rank does this to the parameter later in this step.
static bool does_later(const struct replay *r, int rank, enum h3_kind kind, int parameter)
{
    const struct h3_rank *did = r->rank[rank].did;
    for (int i = r->rank[rank].at; i < did->n && did->actions[i].kind != H3_DONE; i++) {
        const struct h3_action *a = &did->actions[i];
        if (a->kind == kind && (kind == H3_WAIT ? a->first == r->rank[rank].held[parameter].handle
                                                : parameter >= a->first && parameter - a->first < a->count))
            return true;
    }
    return false;
}

// ---- calls that can not be right -------------------------------------------------------------------------------------

bool why_range(struct replay *r, int rank, const char *call, int first, int count)
{
    return why_not(r, rank,
                   "%s(s, %d, %d): there are parameters 0 to %d. Give the first one and how many they are, at "
                   "least 1.",
                   call, first, count, h3_parameters(r->c) - 1);
}

bool why_reduced(struct replay *r, int rank, int p, int first, int count)
{
    const struct held *held = &r->rank[rank].held[p];
    char text[40];
    if (held->state == ABSENT && r->c->branch && rank % 2)
        return why_not(r, rank,
                       "a gradient is reduced before it is ready: %s, of which %d is not there yet. Odd ranks "
                       "compute the other branch first: count which gradients of a bucket are there, and start "
                       "it when all are.",
                       range(first, count, text), p);
    if (held->state == ABSENT)
        return why_not(r, rank,
                       "a gradient is reduced before it is ready: %s, of which %d is not there yet. A bucket "
                       "begins at the parameter that came last; start it when all its gradients are there.",
                       range(first, count, text), p);
    return why_not(r, rank,
                   "parameter %d is reduced twice: it is in %s, and was in the collective with handle %d. Set "
                   "what you count back when a bucket has been started.",
                   p, range(first, count, text), held->handle);
}

bool why_handle(struct replay *r, int rank, int handle)
{
    const int started = r->rank[rank].started;
    if (started == 0)
        return why_not(r, rank,
                       "step_wait(s, %d): no collective has been started in this step. Handles of a step before "
                       "are no longer good.",
                       handle);
    if (handle < 0 || handle >= started)
        return why_not(r, rank,
                       "step_wait(s, %d): %d collectives have been started in this step, with handles 0 to %d. "
                       "Wait for what step_reduce has returned.",
                       handle, started, started - 1);
    return why_not(r, rank, "step_wait(s, %d) once more: it is over already. Wait for each handle once.", handle);
}

bool why_scaled(struct replay *r, int rank, int p)
{
    const struct held *held = &r->rank[rank].held[p];
    if (held->state == ABSENT)
        return why_not(r, rank,
                       "the gradient of parameter %d is scaled before it is there. Scale it in ready() or later.", p);
    return why_not(r, rank,
                   "the gradient of parameter %d is scaled while it travels. Call step_wait(s, %d) first, or scale "
                   "before step_reduce.",
                   p, held->handle);
}

// ---- what is missing -------------------------------------------------------------------------------------------------

// The largest bucket that the rank has started, in bytes.
static size_t largest(const struct replay *r, int rank)
{
    size_t most = 0;
    for (int k = 0; k < r->rank[rank].started; k++) {
        size_t bytes = 0;
        for (int p = r->all[k].first; p < r->all[k].first + r->all[k].count; p++)
            bytes += h3_bytes(r->c, p);
        most = bytes > most ? bytes : most;
    }
    return most;
}

static bool is_unreduced(const struct replay *r, int rank, int p)
{
    return r->rank[rank].held[p].handle < 0 && !does_later(r, rank, H3_REDUCE, p);
}

// Parameter p is in no bucket of this step.
static bool why_unreduced(struct replay *r, int rank, int p)
{
    const int n = h3_parameters(r->c);
    int low = 0, all = 0, huge = p; // those from 0 on; all of them; the largest
    char text[40], size[CLAB_TEXT];
    while (low < n && is_unreduced(r, rank, low))
        low++;
    for (int q = 0; q < n; q++) {
        all += is_unreduced(r, rank, q);
        huge = is_unreduced(r, rank, q) && h3_bytes(r->c, q) > h3_bytes(r->c, huge) ? q : huge;
    }
    if (all == n)
        return why_not(
            r, rank,
            "no gradient is reduced: each rank has only its own, so ranks learn different things. "
            "Collect gradients in ready(), and call step_reduce when a bucket is full; in finish() for the rest.");
    p = h3_bytes(r->c, huge) < largest(r, rank) ? p : huge;
    clab_size_text(h3_bytes(r->c, p), size);
    if (p == huge && h3_bytes(r->c, p) >= largest(r, rank))
        return why_not(r, rank,
                       "parameter %d (%s) is in no collective: it is larger than your buckets. A gradient that does "
                       "not fit into a bucket needs one of its own, or makes the bucket larger.",
                       p, size);
    if (all == low)
        return why_not(r, rank,
                       "the last bucket is never sent: no collective has %s. It is not full when the pass ends; send "
                       "it all the same.",
                       range(0, low, text));
    return why_not(r, rank,
                   "parameter %d (%s) is in no collective, but others before and after it are. When a bucket is "
                   "sent, the gradient that has just come belongs into this one or into the next.",
                   p, size);
}

bool why_updated(struct replay *r, int rank, int p)
{
    const struct held *held = &r->rank[rank].held[p];
    if (held->state == ABSENT)
        return why_not(r, rank, "parameter %d is updated before its gradient is there.", p);
    if (held->state == UPDATED)
        return why_not(r, rank, "parameter %d is updated twice in this step. Update each one once.", p);
    if (held->state == TRAVELS)
        return why_not(r, rank,
                       "parameter %d is updated before the wait: its gradient still travels. Call step_wait(s, %d) "
                       "first.",
                       p, held->handle);
    if (!is_unreduced(r, rank, p))
        return why_not(r, rank,
                       "parameter %d is updated with this rank's own gradient, before it is reduced. Update after "
                       "step_reduce and step_wait.",
                       p);
    return why_unreduced(r, rank, p);
}

bool why_left(struct replay *r, int rank, int p)
{
    if (r->rank[rank].held[p].state == LOCAL)
        return why_unreduced(r, rank, p);
    return why_not(r, rank,
                   "parameter %d is not updated in this step. Call step_update for all parameters, each one after "
                   "its wait.",
                   p);
}

bool why_unwaited(struct replay *r, int rank, int p)
{
    return why_not(r, rank,
                   "nobody waits for the collective with handle %d, so parameter %d is never updated. In finish, "
                   "wait for all that have been started.",
                   r->rank[rank].held[p].handle, p);
}

// ---- what is wrong ---------------------------------------------------------------------------------------------------

bool why_in_use(struct replay *r, int rank, int p)
{
    return why_not(r, rank,
                   "parameter %d is updated while the backward pass still needs it: the gradients of its layer's "
                   "inputs are computed next, from the weights before the update. Update in finish.",
                   p);
}

bool why_factor(struct replay *r, int rank, int p, double factor)
{
    const double ranks = r->c->ranks;
    if (factor == 1)
        return why_not(r, rank,
                       "gradients are never divided by the number of ranks: parameter %d is updated with a sum, "
                       "%g times the mean. Call step_scale with 1.0 / ranks once.",
                       p, ranks);
    if (fabs(factor * ranks * ranks - 1) < 1e-6)
        return why_not(r, rank,
                       "gradients are divided by the number of ranks twice: that of parameter %d has the factor %g, "
                       "not 1/%g. Scale it before step_reduce or after step_wait, not both.",
                       p, factor, ranks);
    if (factor == 0)
        return why_not(r, rank,
                       "the gradient of parameter %d was multiplied by 0. In C, 1 / ranks is 0 where both are int: "
                       "write 1.0 / ranks.",
                       p);
    return why_not(r, rank,
                   "the gradient of parameter %d was multiplied by %g, where 1/%g makes a mean. Scale each gradient "
                   "once, on all ranks, by 1.0 / ranks.",
                   p, factor, ranks);
}

bool why_other(struct replay *r, int rank, int handle, int first, int count)
{
    const struct collective *k = &r->all[handle];
    char mine[40], theirs[40];
    return why_not(r, rank,
                   "ranks start collectives in different order: number %d is of %s here, and of %s on rank %d. Fix "
                   "in begin which parameters are in which bucket, the same on all ranks, and start a bucket only "
                   "after those before it.",
                   handle, range(first, count, mine), range(k->first, k->count, theirs), k->by);
}

bool why_hung(struct replay *r)
{
    for (int rank = 0; rank < r->c->ranks; rank++) {
        const int handle = r->rank[rank].hung;
        for (int other = 0; handle >= 0 && other < r->c->ranks; other++)
            if (r->rank[other].started <= handle)
                return why_not(r, rank,
                               "it waits forever for the collective with handle %d, which rank %d does not start: "
                               "that one has started %d in this step. All ranks must start the same ones.",
                               handle, other, r->rank[other].started);
    }
    return why_not(r, 0, "the ranks wait for each other forever.");
}

bool why_numbers(struct replay *r, int rank, int p, double got, double expected)
{
    return why_not(r, rank, "after %d steps parameter %d is %.9g, but sequential training gives %.9g.", H3_STEPS, p,
                   got, expected);
}

bool why_ended(struct replay *r, int rank)
{
    const struct h3_rank *did = r->rank[rank].did;
    if (did->end == H3_DIED && did->signal == 11)
        return why_not(r, rank,
                       "your program crashes here (segmentation fault: a bad pointer, or an index beyond an array's "
                       "end). There are up to 256 parameters; build/labcc -fsanitize=address finds the line.");
    if (did->end == H3_DIED && (did->signal == 9 || did->signal == 24))
        return why_not(r, rank,
                       "your program computes here without an end, and was stopped. Is there a loop that never "
                       "ends?");
    if (did->end == H3_DIED)
        return why_not(r, rank, "your program is ended by signal %d here.", did->signal);
    if (did->end == H3_MANY)
        return why_not(r, rank, "more than %d calls in one step. Is there a loop that never ends?", H3_ACTIONS);
    if (did->end == H3_UNRUN)
        return why_not(r, rank, "not run, since your program computed without an end before.");
    if (did->end == H3_LEFT)
        return why_not(r, rank, "your program ends here. Return from each function; call no exit.");
    return why_not(r, rank, "what your program has left can not be read: it overwrites memory that is not its own.");
}
