// SPDX-License-Identifier: MIT
// The verifier: proves that a schedule computes its collective, and that its stated cost is exact.
//
// - Values are not numbers but what they stand for: which chunk of which block, and the set of ranks that contributed.
// - Messages are matched as rendezvous, in order between a pair, so that no buffering can hide a deadlock.
// - The five rules of schedule.h are held: a chunk is written once a stage, reads see the stage's entry, and so on.
// - At the end every rank must have what it wants: the right chunk, every contributor exactly once. A redundant stage
//   or message leaves that right, but breaks the cost.
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
//   out:    *verdict_p: what was found, in every case but CLAB_ENOMEM
//   errors: CLAB_EWRONG (flawed: the result says how; nothing is logged), CLAB_ENOMEM
int clab_verify(struct clab_verifier *verifier, const struct clab_problem *problem,
                const struct clab_algorithm *algorithm, struct clab_verify_result *verdict_p);

// The same, and `observer` sees what happens.
int clab_verify_observed(struct clab_verifier *verifier, const struct clab_problem *problem,
                         const struct clab_algorithm *algorithm, const struct clab_observer *observer,
                         struct clab_verify_result *verdict_p);
