// SPDX-License-Identifier: MIT
// A file of claims, read (audit.h).

#include <stdlib.h>
#include <string.h>

#include "cmd/audit/audit.h"
#include "core/base/files/conf.h"
#include "core/base/err.h"
#include "core/base/files/input.h"
#include "core/base/log.h"
#include "core/base/vector.h"

static int use(void *context, const struct clab_setting *s)
{
    struct audit_claims *claims = context;
    struct audit_claim *claim = claims->n ? &claims->all[claims->n - 1] : NULL;
    if (!*s->section) {
        clab_error("%s:%d: '%s' stands before the first [claim]", s->path, s->line, s->name);
        return CLAB_EPARSE;
    }
    if (!claim || strcmp(claim->id, s->section) != 0) {
        const struct audit_claim fresh = {.id = strdup(s->section), .line = s->line};
        if (!fresh.id)
            return CLAB_ENOMEM;
        CLAB_TRY(CLAB_PUSH(claims->all, claims->n, claims->room, fresh));
        claim = &claims->all[claims->n - 1];
    }
    if (claim->n == AUDIT_SETTINGS) {
        clab_error("%s:%d: [%s] has more than %d lines", s->path, s->line, s->section, AUDIT_SETTINGS);
        return CLAB_EPARSE;
    }
    claim->settings[claim->n] = (struct audit_setting){strdup(s->name), strdup(s->value), s->line};
    const struct audit_setting *kept = &claim->settings[claim->n++];
    return kept->name && kept->value ? CLAB_OK : CLAB_ENOMEM;
}

// Each claim says what it says, and which rule judges it.
static int check(const struct audit_claims *claims)
{
    static const char *const needed[] = {"says", "rule"};
    for (int i = 0; i < claims->n; i++)
        for (size_t k = 0; k < sizeof needed / sizeof *needed; k++)
            if (!audit_find(&claims->all[i], needed[k])) {
                clab_error("%s:%d: [%s] has no '%s ='", claims->path, claims->all[i].line, claims->all[i].id, needed[k]);
                return CLAB_EPARSE;
            }
    if (claims->n)
        return CLAB_OK;
    clab_error("%s: there is no claim; a section [NAME] with says = and rule = is one", claims->path);
    return CLAB_EPARSE;
}

int audit_claims_read(FILE *file, const char *path, struct audit_claims *claims_p)
{
    struct audit_claims claims = {.path = strdup(path)};
    int err = claims.path ? clab_conf_read(file, path, use, &claims) : CLAB_ENOMEM;
    if (!err)
        err = check(&claims);
    if (err)
        audit_claims_free(&claims);
    else
        *claims_p = claims;
    return err;
}

int audit_claims_load(const char *path, struct audit_claims *claims_p)
{
    struct clab_input input;
    CLAB_TRY(clab_input_open(path, CLAB_INPUT_SETTINGS, &input));
    const int err = audit_claims_read(input.file, path, claims_p);
    clab_input_close(&input);
    return err;
}

void audit_claims_free(struct audit_claims *claims)
{
    for (int i = 0; i < claims->n; i++) {
        struct audit_claim *claim = &claims->all[i];
        for (int k = 0; k < claim->n; k++) {
            free(claim->settings[k].name);
            free(claim->settings[k].value);
        }
        free(claim->id);
    }
    free(claims->all);
    free(claims->path);
    *claims = (struct audit_claims){0};
}

const struct audit_setting *audit_find(const struct audit_claim *claim, const char *name)
{
    for (int i = 0; i < claim->n; i++)
        if (!strcmp(claim->settings[i].name, name))
            return &claim->settings[i];
    return NULL;
}
