// SPDX-License-Identifier: MIT
// Fences at the store: members exchange bytes under a key, and each gets the bytes of all, or an error.
//
// - A fence is complete when all its members have posted. It fails for all if a member that has not posted is gone, if
//   one withdraws, or if they disagree on the members or the number of bytes. The answer then holds what has come.
// - A post stays: the fence survives a member that is lost after it has posted.
// - A member has one post at a time, so memory is bounded: (members) posts of STORE_BLOB_BYTES.
// - A member that comes late to a failed fence gets the same error while the store remembers it. The member that made it
//   fail may try again.
#pragma once

#include <stdbool.h>

#include "core/job/store/message.h"

// Bytes that several answers share; freed by the last user.
struct store_block {
    int users;
    size_t bytes;
    unsigned char data[];
};
void store_block_release(struct store_block *block); // NULL is fine

// Takes a message of STORE_GATHERED for `member`; its tail, if any, is the block's. Add a user if you keep the block.
typedef void store_answer_fn(void *of, int member, const struct store_message *answer, struct store_block *block);

struct store_fences;

// Of `nmembers` members. A post that names nobody means the first `nranks`. NULL: out of memory.
struct store_fences *store_fences_create(int nranks, int nmembers, store_answer_fn *answer, void *of);
void store_fences_destroy(struct store_fences *fences);

// A message of STORE_POST from `member`.
//   errors: CLAB_EPARSE (it has a post already, is not in its own list, or the list names no member of the job),
//           CLAB_ENOMEM
int store_fences_post(struct store_fences *fences, int member, const struct store_message *post);
// `member` gives up because of `err`.
void store_fences_withdraw(struct store_fences *fences, int member, uint64_t key, int err);
// `member` will not post any more.
void store_fences_lose(struct store_fences *fences, int member);
