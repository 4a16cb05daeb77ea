// SPDX-License-Identifier: MIT
// What shm offers a backend that wraps it, beside messages: a board (memory that all members of a communicator share),
// places in the job's memory file, and a futex for each rank. Domains and endpoints are shm's.
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

// Wake `member` if it sleeps. It sees what was written before.
void clab_shm_wake(const struct clab_endpoint *endpoint, int member);
// Wait without reading the clock. The first call announces the sleep and returns, so that the caller polls once more;
// the next ones sleep until woken. Without is_woken (the event may come with no wake-up) they sleep 1 ms at most, else 8
// to 32 ms: each of hundreds of ranks that wakes for nothing takes a core from the one that works.
void clab_shm_sleep(struct clab_endpoint *endpoint, unsigned fruitless, bool is_woken);
