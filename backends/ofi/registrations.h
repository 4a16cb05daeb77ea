// SPDX-License-Identifier: MIT
// Memory that is registered with a network adapter (FI_MR_LOCAL): which registration covers which bytes.
//
// - Memory of clab_alloc is registered once, and held until it is freed: transfers find it in an ordered map.
// - Other memory is registered while transfers use it, by all of them together, and no longer: were it kept, memory
//   that is freed and mapped anew at its address would be read at its old place. Providers that register slowly keep a
//   cache of their own, which sees what the process unmaps (FI_MR_CACHE_MONITOR in fabric(7)).
// - It does not call libfabric: the caller passes the functions that register.
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct ofi_registrar {
    void *of;
    //   errors: passed on
    int (*enter)(void *of, const void *start, size_t bytes, void **handle_p);
    void (*leave)(void *of, void *handle);
};

struct ofi_registration {
    const char *start;
    size_t bytes;
    void *handle;
    unsigned uses;                 // transfers, and 1 while it is held
    struct ofi_registration *next; // of the list of those that are not held
};

struct ofi_registrations {
    struct ofi_registrar registrar;
    struct ofi_registration **held; // (nheld) by address; they do not overlap
    size_t nheld, room;
    struct ofi_registration *used; // other memory
};

void ofi_registrations_init(struct ofi_registrations *all, struct ofi_registrar registrar);
// Nothing is in use any more.
void ofi_registrations_finish(struct ofi_registrations *all);

// Memory that stays until it is let go by its start, once no transfer uses it.
//   errors: CLAB_ENOMEM, the registrar's
int ofi_registrations_hold(struct ofi_registrations *all, const void *start, size_t bytes);
void ofi_registrations_let_go(struct ofi_registrations *all, const void *start);

// A registration that covers these bytes, from now until it is dropped.
//   errors: CLAB_ENOMEM, the registrar's
int ofi_registrations_use(struct ofi_registrations *all, const void *start, size_t bytes,
                          struct ofi_registration **registration_p);
// A registration of exactly these bytes, whatever covers them already, until it is dropped.
//   errors: CLAB_ENOMEM, the registrar's
int ofi_registrations_add(struct ofi_registrations *all, const void *start, size_t bytes,
                          struct ofi_registration **registration_p);
void ofi_registrations_drop(struct ofi_registrations *all, struct ofi_registration *registration);
