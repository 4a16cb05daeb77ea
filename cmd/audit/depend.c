// SPDX-License-Identifier: MIT
// What a verdict follows from: the claim's own numbers, changed one at a time (audit.h).

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/audit/audit.h"
#include "core/base/err.h"
#include "core/base/log.h"

// Names that every claim has, beside its rule's and its own.
static bool is_common(const char *name)
{
    static const char *const common[] = {"source", "says", "rule", "tolerance", "measure"};
    for (size_t i = 0; i < sizeof common / sizeof *common; i++)
        if (!strcmp(name, common[i]))
            return true;
    return false;
}

// Whether a name is a whole word of a text: of "value, at_most or at_least".
static bool is_word_of(const char *text, const char *name)
{
    const size_t length = strlen(name);
    for (const char *at = text; (at = strstr(at, name)); at++) {
        const char before = at == text ? ' ' : at[-1], after = at[length];
        if (!isalnum((unsigned char)before) && before != '_' && !isalnum((unsigned char)after) && after != '_')
            return true;
    }
    return false;
}

bool audit_is_own(const struct audit_claim *claim, const struct audit_setting *setting)
{
    const char *settings = audit_rule_settings(audit_find(claim, "rule")->value);
    return !is_common(setting->name) && !(settings && is_word_of(settings, setting->name));
}

// What the rule finds, in a text; "": it refuses the claim.
static void find(const struct audit_claims *claims, const struct audit_claim *claim, char text[AUDIT_COMPUTED])
{
    struct audit_verdict verdict;
    struct clab_log_held held;
    clab_log_hold(&held);
    const int err = audit_judge(claims, claim, &verdict);
    clab_log_release(&held);
    snprintf(text, AUDIT_COMPUTED, "%s", err ? "" : verdict.computed);
}

// Whether it finds something else once the number is multiplied by `factor`.
static int changes(const struct audit_claims *claims, struct audit_claim *claim, struct audit_setting *setting,
                   const char *factor, bool *changes_p)
{
    char before[AUDIT_COMPUTED], after[AUDIT_COMPUTED], *kept = setting->value;
    const size_t room = strlen(kept) + strlen(factor) + 8;
    find(claims, claim, before);
    setting->value = malloc(room);
    if (setting->value) {
        snprintf(setting->value, room, "%s * (%s)", factor, kept);
        find(claims, claim, after);
        *changes_p |= strcmp(before, after) != 0;
        free(setting->value);
    }
    const int err = setting->value ? CLAB_OK : CLAB_ENOMEM;
    setting->value = kept;
    return err;
}

int audit_depends(const struct audit_claims *claims, struct audit_claim *claim, struct audit_setting *setting,
                  bool *depends_p)
{
    *depends_p = false;
    CLAB_TRY(changes(claims, claim, setting, "1000", depends_p));
    return *depends_p ? CLAB_OK : changes(claims, claim, setting, "0.001", depends_p);
}
