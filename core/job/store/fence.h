// SPDX-License-Identifier: MIT
// Fences at the store: any members exchange bytes by key, and all of them get all or an error.
//
// - A fence is complete when all its members have posted; it fails for all when one that has not posted is gone, when
//   one withdraws, or when they disagree on who meets or how many bytes each gives. What has come by then is told.
// - What was posted stays posted: a member that is lost after that does not spoil the fence.
// - A member has one post at a time, so that memory is bounded: (members) posts of STORE_BLOB_BYTES.
// - A member that comes late to a fence that has failed gets the same error, as long as that is remembered; the one
//   that made it fail may try again.
#pragma once

#include <stdbool.h>

#include "core/job/store/message.h"

// Bytes that several answers share.
struct store_block {
    int users;
    size_t bytes;
    unsigned char data[];
};
void store_block_release(struct store_block *block); // NULL is fine

// A message of STORE_GATHERED for `member`; its tail, if any, is the block's. Who keeps the block counts as a user.
typedef void store_answer_fn(void *of, int member, const struct store_message *answer, struct store_block *block);

struct store_fences;

// Of `nmembers`, the first `nranks` of which are "all" of a post that names nobody. NULL: out of memory.
struct store_fences *store_fences_create(int nranks, int nmembers, store_answer_fn *answer, void *of);
void store_fences_destroy(struct store_fences *fences);

// A message of STORE_POST from `member`.
//   errors: CLAB_EPARSE (it has posted already, is not among those who meet, or one of those is no member),
//           CLAB_ENOMEM
int store_fences_post(struct store_fences *fences, int member, const struct store_message *post);
// `member` gives up, because of `err`.
void store_fences_withdraw(struct store_fences *fences, int member, uint64_t key, int err);
// `member` will not post any more.
void store_fences_lose(struct store_fences *fences, int member);
