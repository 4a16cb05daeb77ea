// SPDX-License-Identifier: MIT
// When the memory of an endpoint can be freed (areas.h).

#include "backends/shm/areas.h"

#include <stdlib.h>

enum { HASHES = 3, COUNTERS = 2048 }; // with ten communicators, one in 300,000 others looks like one of them

// Written by its rank alone.
struct shm_filter {
    _Atomic uint16_t counters[COUNTERS];
};

struct shm_closed {
    struct shm_area *area;
    uint64_t id;    // of the communicator
    int *ranks;     // (n) of the job
    int n, settled; // the first `settled` of them are in it no more
    struct shm_closed *next;
};

size_t shm_filters_bytes(int nranks)
{
    return (size_t)nranks * sizeof(struct shm_filter);
}

// ---- who is in a communicator --------------------------------------------------------------------------------

static _Atomic uint16_t *counter(struct shm_filter *filter, uint64_t id, int hash)
{
    return &filter->counters[(id >> (16 * hash)) % COUNTERS];
}

static void count(struct shm_domain *domain, uint64_t id, int change)
{
    struct shm_filter *mine = &domain->filters[domain->boot->rank];
    for (int h = 0; h < HASHES; h++) {
        _Atomic uint16_t *c = counter(mine, id, h);
        const int before = atomic_load_explicit(c, memory_order_relaxed);
        atomic_store_explicit(c, (uint16_t)(before + change), memory_order_release);
    }
}

static bool is_in(const struct shm_domain *domain, int rank, uint64_t id)
{
    for (int h = 0; h < HASHES; h++)
        if (atomic_load_explicit(counter(&domain->filters[rank], id, h), memory_order_acquire) == 0)
            return false;
    return true;
}

void shm_areas_enter(struct shm_domain *domain, uint64_t id)
{
    count(domain, id, 1);
    atomic_thread_fence(memory_order_seq_cst); // seen by all who do not see the exchange after it
}

// ---- areas that are closed here ------------------------------------------------------------------------------

struct shm_closed *shm_closed_create(const struct clab_group *group)
{
    struct shm_closed *closed = malloc(sizeof *closed);
    int *ranks = malloc((size_t)group->nranks * sizeof *ranks);
    if (!closed || !ranks) {
        free(closed);
        free(ranks);
        return NULL;
    }
    *closed = (struct shm_closed){.id = group->id, .ranks = ranks, .n = group->nranks};
    for (int i = 0; i < closed->n; i++)
        ranks[i] = group->ranks[i];
    return closed;
}

void shm_closed_free(struct shm_closed *closed)
{
    if (closed)
        free(closed->ranks);
    free(closed);
}

void shm_areas_leave(struct shm_domain *domain, struct shm_closed *closed, struct shm_area *area)
{
    count(domain, closed->id, -1);
    closed->area = area;
    closed->next = domain->closed;
    domain->closed = closed;
    shm_areas_reap(domain);
}

static bool is_free(const struct shm_domain *domain, struct shm_closed *closed)
{
    while (closed->settled < closed->n && !is_in(domain, closed->ranks[closed->settled], closed->id))
        closed->settled++;
    return closed->settled == closed->n;
}

void shm_areas_reap(struct shm_domain *domain)
{
    if (domain->closed)
        atomic_thread_fence(memory_order_seq_cst); // that an exchange has failed is seen by all who enter later
    for (struct shm_closed **link = &domain->closed; *link;) {
        struct shm_closed *closed = *link;
        if (!is_free(domain, closed)) {
            link = &closed->next;
            continue;
        }
        *link = closed->next;
        shm_heap_free(domain->heap, closed->area);
        shm_closed_free(closed);
    }
}

void shm_areas_forget(struct shm_domain *domain)
{
    for (struct shm_closed *closed = domain->closed, *next; closed; closed = next) {
        next = closed->next;
        shm_closed_free(closed);
    }
    domain->closed = NULL;
}
