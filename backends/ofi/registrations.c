// SPDX-License-Identifier: MIT
// Which registration covers which memory (registrations.h).

#include "backends/ofi/registrations.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/vector.h"

static bool covers(const struct ofi_registration *r, const char *start, size_t bytes)
{
    return r->start <= start && start + bytes <= r->start + r->bytes;
}

// The number of held registrations that begin at `address` or below it.
static size_t count_up_to(const struct ofi_registrations *all, const char *address)
{
    size_t low = 0, high = all->nheld;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (all->held[middle]->start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static int enter(struct ofi_registrations *all, const void *start, size_t bytes, struct ofi_registration **entered_p)
{
    struct ofi_registration *r = calloc(1, sizeof *r);
    if (!r)
        return CLAB_ENOMEM;
    *r = (struct ofi_registration){.start = start, .bytes = bytes, .uses = 1};
    const int err = all->registrar.enter(all->registrar.of, start, bytes, &r->handle);
    if (err) {
        free(r);
        return err;
    }
    *entered_p = r;
    return CLAB_OK;
}

static void leave(struct ofi_registrations *all, struct ofi_registration *r)
{
    all->registrar.leave(all->registrar.of, r->handle);
    free(r);
}

void ofi_registrations_init(struct ofi_registrations *all, struct ofi_registrar registrar)
{
    *all = (struct ofi_registrations){.registrar = registrar};
}

void ofi_registrations_finish(struct ofi_registrations *all)
{
    for (size_t i = 0; i < all->nheld; i++)
        leave(all, all->held[i]);
    free(all->held);
    for (struct ofi_registration *r = all->used, *next; r; r = next) {
        next = r->next;
        leave(all, r);
    }
}

// ---- held ----------------------------------------------------------------------------------------------------

int ofi_registrations_hold(struct ofi_registrations *all, const void *start, size_t bytes)
{
    struct ofi_registration *entered;
    CLAB_TRY(CLAB_RESERVE(all->held, all->room, all->nheld + 1));
    CLAB_TRY(enter(all, start, bytes, &entered));
    const size_t at = count_up_to(all, start);
    memmove(all->held + at + 1, all->held + at, (all->nheld - at) * sizeof *all->held);
    all->held[at] = entered;
    all->nheld++;
    return CLAB_OK;
}

void ofi_registrations_let_go(struct ofi_registrations *all, const void *start)
{
    const size_t behind = count_up_to(all, start);
    if (behind == 0 || all->held[behind - 1]->start != start)
        return;
    struct ofi_registration *r = all->held[behind - 1];
    memmove(all->held + behind - 1, all->held + behind, (all->nheld - behind) * sizeof *all->held);
    all->nheld--;
    r->next = all->used; // where a transfer that still uses it drops it
    all->used = r;
    ofi_registrations_drop(all, r);
}

// ---- used ----------------------------------------------------------------------------------------------------

static struct ofi_registration *find(const struct ofi_registrations *all, const char *start, size_t bytes)
{
    const size_t behind = count_up_to(all, start);
    if (behind > 0 && covers(all->held[behind - 1], start, bytes))
        return all->held[behind - 1];
    for (struct ofi_registration *r = all->used; r; r = r->next)
        if (covers(r, start, bytes))
            return r;
    return NULL;
}

int ofi_registrations_add(struct ofi_registrations *all, const void *start, size_t bytes,
                          struct ofi_registration **registration_p)
{
    struct ofi_registration *r;
    CLAB_TRY(enter(all, start, bytes, &r));
    r->next = all->used;
    all->used = r;
    *registration_p = r;
    return CLAB_OK;
}

int ofi_registrations_use(struct ofi_registrations *all, const void *start, size_t bytes,
                          struct ofi_registration **registration_p)
{
    struct ofi_registration *r = find(all, start, bytes);
    if (r) {
        r->uses++;
    } else {
        CLAB_TRY(ofi_registrations_add(all, start, bytes, &r));
    }
    *registration_p = r;
    return CLAB_OK;
}

void ofi_registrations_drop(struct ofi_registrations *all, struct ofi_registration *registration)
{
    if (--registration->uses)
        return;
    struct ofi_registration **link = &all->used;
    while (*link != registration)
        link = &(*link)->next;
    *link = registration->next;
    leave(all, registration);
}
