// SPDX-License-Identifier: MIT
// What the rules share (rules.c, word_rules.c): the claim that is judged, its settings, and what is found.
#pragma once

#include "cmd/audit/audit.h"

struct judging {
    const struct audit_claims *claims;
    const struct audit_claim *claim;
    struct audit_verdict *verdict;
    double tolerance;
};

#define FOUND(j, verdict_word, ...) \
    ((j)->verdict->word = (verdict_word), snprintf((j)->verdict->computed, AUDIT_COMPUTED, __VA_ARGS__), CLAB_OK)

// Refuse a setting, in a line of the file; or a claim that lacks one.  CLAB_EPARSE
int audit_refuse(const struct judging *j, int line, const char *name, const char *why);
int audit_missing(const struct judging *j, const char *name);

bool audit_has(const struct judging *j, const char *name);
// The value of a setting; one that is a single quantity; two of one dimension, and as many of the one as of the other (a
// single one is repeated).
//   errors: CLAB_EPARSE (logged)
int audit_value_of(const struct judging *j, const char *name, struct audit_value *value_p);
int audit_single(const struct judging *j, const char *name, struct audit_value *value_p);
int audit_pair(const struct judging *j, const char *a, const char *b, struct audit_value *a_p, struct audit_value *b_p);

// ---- word_rules.c --------------------------------------------------------------------------------------------

int audit_judge_copied(const struct judging *j);
int audit_judge_setting(const struct judging *j);
int audit_judge_variable(const struct judging *j);
int audit_judge_signature(const struct judging *j);
int audit_judge_fields(const struct judging *j);
int audit_judge_sequence(const struct judging *j);
