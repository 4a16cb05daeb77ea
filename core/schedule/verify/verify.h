// SPDX-License-Identifier: MIT
// The verifier: proves that a schedule computes its collective, and that its stated cost is exact.
//
// - A value is not a number but its meaning: which chunk of which block, and the set of ranks that contributed.
// - Messages are matched as rendezvous, in order between a pair, so that no buffering can hide a deadlock.
// - It checks the five rules of schedule.h: a chunk is written once per stage, reads see the stage's entry, and so on.
// - At the end every rank must have its result: the right chunk, every contributor exactly once. A redundant stage or
//   message does not break the result, but it breaks the stated cost.
// - A proof is for one problem: this P, root, lanes and group, but any count, type and operation.
#pragma once

#include "core/schedule/verify/replay.h"
#include "core/schedule/schedule.h"

// Memory that serves one verification after another.
struct clab_verifier;

//   errors: CLAB_ENOMEM
int clab_verifier_create(struct clab_verifier **verifier_p);
void clab_verifier_free(struct clab_verifier *verifier); // NULL is fine

// Prove `algorithm` for `problem`, whose count does not matter.
//   out:    *result_p: set in every case but CLAB_ENOMEM
//   errors: CLAB_EWRONG (flawed: the result says how; nothing is logged), CLAB_ENOMEM
int clab_verify(struct clab_verifier *verifier, const struct clab_problem *problem,
                const struct clab_algorithm *algorithm, struct clab_verify_result *result_p);

// The same; `observer` is called for each message and each write.
int clab_verify_observed(struct clab_verifier *verifier, const struct clab_problem *problem,
                         const struct clab_algorithm *algorithm, const struct clab_observer *observer,
                         struct clab_verify_result *result_p);
