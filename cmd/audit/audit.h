// SPDX-License-Identifier: MIT
// Claims to check against arithmetic and physics. A file has a section per claim; a rule computes the verdict.
//
//   [1]
//   source  = 003
//   says    = 45 GB/s is 45 % of 100 Gb/s
//   rule    = equal
//   claimed = 45 %
//   right   = rate / line
//   rate    = 45 GB/s
//   line    = 100 Gb/s
//
// - Any other name is the claim's own, for expressions (quantity.h).
// - claims.c reads a file, rules.c and word_rules.c judge, depend.c asks what a verdict follows from, audit.c is the command.
#pragma once

#include <stdio.h>

#include "cmd/audit/quantity.h"

enum { AUDIT_SETTINGS = 24, AUDIT_COMPUTED = 160 };

struct audit_setting {
    char *name, *value;
    int line;
};

struct audit_claim {
    char *id;
    int line;
    struct audit_setting settings[AUDIT_SETTINGS];
    int n;
};

struct audit_claims {
    char *path;
    struct audit_claim *all;
    int n, room;
};

// Read a file of claims.  errors: CLAB_ENOENT, CLAB_EPARSE, CLAB_ENOMEM, CLAB_EUNSUPPORTED (no inih); logged
int audit_claims_load(const char *path, struct audit_claims *claims_p);
// The same from a file that is open.
int audit_claims_read(FILE *file, const char *path, struct audit_claims *claims_p);
void audit_claims_free(struct audit_claims *claims);

// The claim's setting of that name; NULL: it has none.
const struct audit_setting *audit_find(const struct audit_claim *claim, const char *name);

struct audit_verdict {
    const char *word;              // "pass", "unit error", ...
    char computed[AUDIT_COMPUTED]; // what the rule has found, with units
};

// Judge a claim by its rule.
//   errors: CLAB_EPARSE, logged with the file's line
int audit_judge(const struct audit_claims *claims, const struct audit_claim *claim, struct audit_verdict *verdict_p);

// The settings that a rule wants, in words: "claimed, right". NULL: there is no such rule.
const char *audit_rule_settings(const char *rule);

// Whether a setting is the claim's own: a number that its expressions use, and none that every claim or its rule has.
bool audit_is_own(const struct audit_claim *claim, const struct audit_setting *setting);

// *depends_p: whether the rule finds something else once that number is a thousand times, or a thousandth of, what it is.
//   setting: one of the claim's; it is left as it was
//   errors:  CLAB_ENOMEM
int audit_depends(const struct audit_claims *claims, struct audit_claim *claim, struct audit_setting *setting,
                  bool *depends_p);

// All rules, a line each: name, settings, verdicts.
void audit_rules_print(FILE *out);
