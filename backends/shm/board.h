// SPDX-License-Identifier: MIT
// What a backend that wraps shm finds there beside messages: a board of memory for all members of a communicator, every
// other byte of the job's memory file, and bells. Domains and endpoints are shm's.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct clab_domain;
struct clab_endpoint;

#define CLAB_SHM_ELSEWHERE SIZE_MAX

// The board: clab_group.board_bytes of it, of zeros at first. It lasts until all members have closed.
char *clab_shm_board(struct clab_endpoint *endpoint);

// Where memory lies in the file, which is the same for all processes: CLAB_SHM_ELSEWHERE if it does not. And back.
size_t clab_shm_offset(const struct clab_domain *domain, const void *memory);
char *clab_shm_at(const struct clab_domain *domain, size_t offset);

// Wake `member` if it sleeps: what was written before is seen by it.
void clab_shm_ring(const struct clab_endpoint *endpoint, int member);
// A way to wait without a look at the clock: first say so, and return for another look; then sleep until rung. For
// something that may come without a ring: 1 ms at most; else 8 ms the first time and up to 32 ms, since each of
// hundreds of ranks that wakes in vain takes a core from the one that works.
void clab_shm_sleep(struct clab_endpoint *endpoint, unsigned fruitless, bool is_rung);
