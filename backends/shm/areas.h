// SPDX-License-Identifier: MIT
// When the memory of an endpoint can be freed: once no member can touch it any more.
//
// - A member touches the others' areas from the exchange of their addresses on, until it closes its endpoint. So each
//   rank says which communicators it is in, from before that exchange on; whoever has closed an area, or has failed to
//   open it, keeps it until no member is in that communicator.
// - Whoever enters after a member has failed in the exchange fails, too: it does not get that member's address.
// - A rank says it in a counting Bloom filter, which has one size for any number of communicators. It may say of a
//   communicator that it is in it, and be in others only: then an area is kept longer.
// Source: Bloom 1970; with counters: Fan, Cao, Almeida, Broder 2000 (Summary Cache), section V-C.
#pragma once

#include "backends/shm/channel.h"

// Memory that the ranks of a host share for this, zeroed at first.
size_t shm_filters_bytes(int nranks);

// This rank is in communicator `id`.
void shm_areas_enter(struct shm_domain *domain, uint64_t id);
// This rank is in it no more, and has no use for `area`: it is freed when that can be.  closed: taken
void shm_areas_leave(struct shm_domain *domain, struct shm_closed *closed, struct shm_area *area);
// Free what can be freed.
void shm_areas_reap(struct shm_domain *domain);
// The domain ends: free all but the areas.
void shm_areas_forget(struct shm_domain *domain);

// For shm_areas_leave, which can not fail.  NULL: no memory
struct shm_closed *shm_closed_create(const struct clab_group *group);
void shm_closed_free(struct shm_closed *closed); // NULL is fine
