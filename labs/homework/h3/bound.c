// SPDX-License-Identifier: MIT
// What a step exposes if nobody thinks, and if one does: made-up traces, priced like a student's (price.h).
//
// - A cap says when a bucket is sent. After the pass, each bucket is waited for, scaled and updated while others travel.
// - All caps of a geometric row are tried. Better schedules exist; who finds one has all points, too.

#include <math.h>
#include <stdlib.h>

#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/mix.h"
#include "core/base/vector.h"
#include "labs/homework/h3/price.h"

static const double ratio = 1.1; // of a cap and the next

struct making {
    const struct h3_case *c;
    struct h3_rank did;
    int first[H3_PARAMETERS], count[H3_PARAMETERS], buckets;
};

static int put(struct making *m, enum h3_kind kind, int first, int count)
{
    return CLAB_PUSH(m->did.actions, m->did.n, m->did.room, (struct h3_action){kind, first, count, 1.0 / m->c->ranks});
}

static int send(struct making *m, int first, int last)
{
    m->first[m->buckets] = first;
    m->count[m->buckets++] = last - first + 1;
    return put(m, H3_REDUCE, first, last - first + 1);
}

static int make_pass(struct making *m, double cap)
{
    int last = h3_parameters(m->c) - 1;
    double bytes = 0;
    m->did.n = m->buckets = 0;
    CLAB_TRY(put(m, H3_STEP, 0, 0));
    for (int p = last; p >= 0; p--) {
        CLAB_TRY(put(m, H3_READY, p, 0));
        bytes += (double)h3_bytes(m->c, p);
        if (bytes < cap)
            continue;
        CLAB_TRY(send(m, p, last));
        last = p - 1;
        bytes = 0;
    }
    CLAB_TRY(put(m, H3_FINISH, 0, 0));
    return bytes > 0 ? send(m, 0, last) : CLAB_OK;
}

static int try(struct making *m, double cap, double *exposed_p)
{
    struct h3_trace trace = {0};
    struct h3_time time;
    CLAB_TRY(make_pass(m, cap));
    for (int b = 0; b < m->buckets; b++) {
        CLAB_TRY(put(m, H3_WAIT, b, 0));
        CLAB_TRY(put(m, H3_SCALE, m->first[b], m->count[b]));
        CLAB_TRY(put(m, H3_UPDATE, m->first[b], m->count[b]));
    }
    CLAB_TRY(put(m, H3_DONE, 0, 0));
    for (int rank = 0; rank < m->c->ranks; rank++)
        trace.rank[rank] = m->did;
    CLAB_TRY(h3_price(m->c, &trace, &time));
    *exposed_p = time.exposed;
    return CLAB_OK;
}

static int try_all(struct making *m, struct h3_bounds *b)
{
    const double all = (double)h3_all_bytes(m->c);
    CLAB_TRY(try(m, INFINITY, &b->none));
    CLAB_TRY(try(m, 1, &b->each));
    b->best = INFINITY;
    for (double cap = all / h3_parameters(m->c) / 4; cap < all; cap *= ratio) {
        double exposed;
        CLAB_TRY(try(m, cap, &exposed));
        if (exposed < b->best) {
            b->best = exposed;
            b->cap = (size_t)cap;
            b->buckets = m->buckets;
        }
    }
    return CLAB_OK;
}

int h3_bound(const struct h3_case *c, struct h3_bounds *bounds_p)
{
    struct making m = {.c = c};
    const int err = try_all(&m, bounds_p);
    free(m.did.actions);
    return err;
}

int h3_fixed(const struct h3_case *c, double parts, double *exposed_p)
{
    struct making m = {.c = c};
    const int err = try(&m, (double)h3_all_bytes(c) / parts, exposed_p);
    free(m.did.actions);
    return err;
}

// ---- points --------------------------------------------------------------------------------------------------------

static const double full_to = 1.03, none_from = 1.5; // times the best

double h3_share(const struct h3_bounds *b, double exposed)
{
    const double none = fmin(b->none, none_from * b->best), share = (none - exposed) / (none - full_to * b->best);
    return floor(100 * fmax(0, fmin(1, share)) + 0.5) / 100;
}

// ---- networks that are worth a homework ------------------------------------------------------------------------------

// Parts of all bytes that are no good on a network; 0: there are no more. Those that are good there are between or beside.
enum { PARTS = 3 };
static const double bad_parts[H3_NETWORKS][PARTS] = {{4, 20}, {4, 10, 14}, {8, 30}};
static const double bad_from = 1.3, least = 0.03; // times the best; of the backward pass

static int judge(int which, const struct h3_case *c, const struct h3_bounds *b, bool *is_worth_p)
{
    *is_worth_p = b->best >= least * h3_backward(c) && b->none >= none_from * b->best && b->each >= 1.1 * b->best;
    for (int i = 0; i < PARTS && bad_parts[which][i] > 0 && *is_worth_p; i++) {
        double exposed;
        CLAB_TRY(h3_fixed(c, bad_parts[which][i], &exposed));
        *is_worth_p = exposed >= bad_from * b->best;
    }
    return CLAB_OK;
}

int h3_choose_network(int which, uint64_t seed, struct h3_case *c, struct h3_bounds *b)
{
    for (uint64_t i = 0; i < 100; i++) {
        bool is_worth;
        h3_network(which, clab_mix(seed + (uint64_t)which, i), c);
        CLAB_TRY(h3_bound(c, b));
        CLAB_TRY(judge(which, c, b, &is_worth));
        if (is_worth)
            return CLAB_OK;
    }
    clab_error("h3: of 100 models and networks for the seed %llu, none is worth a homework", (unsigned long long)seed);
    return CLAB_EINVAL;
}
