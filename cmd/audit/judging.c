// SPDX-License-Identifier: MIT
// A claim's settings as a rule reads them (judging.h).

#include "cmd/audit/judging.h"

#include "core/base/err.h"
#include "core/base/log.h"

int audit_refuse(const struct judging *j, int line, const char *name, const char *why)
{
    clab_error("%s:%d: [%s] %s: %s", j->claims->path, line, j->claim->id, name, why);
    return CLAB_EPARSE;
}

static int find_name(const struct audit_names *names, const char *name, struct audit_value *value_p,
                     char why[AUDIT_WHY])
{
    const struct audit_setting *s = audit_find(names->of, name);
    return s ? audit_eval(s->value, names, value_p, why) : CLAB_ENOENT;
}

bool audit_has(const struct judging *j, const char *name)
{
    return audit_find(j->claim, name) != NULL;
}

int audit_missing(const struct judging *j, const char *name)
{
    char why[96];
    const struct audit_setting *rule = audit_find(j->claim, "rule");
    snprintf(why, sizeof why, "the rule %.24s wants a line %.24s = ...", rule->value, name);
    return audit_refuse(j, j->claim->line, name, why);
}

int audit_value_of(const struct judging *j, const char *name, struct audit_value *value_p)
{
    const struct audit_setting *s = audit_find(j->claim, name);
    int steps = AUDIT_STEPS;
    const struct audit_names names = {.find = find_name, .of = j->claim, .steps = &steps};
    char why[AUDIT_WHY];
    if (!s)
        return audit_missing(j, name);
    return audit_eval(s->value, &names, value_p, why) ? audit_refuse(j, s->line, name, why) : CLAB_OK;
}

int audit_single(const struct judging *j, const char *name, struct audit_value *value_p)
{
    CLAB_TRY(audit_value_of(j, name, value_p));
    return value_p->n == 1 ? CLAB_OK
                           : audit_refuse(j, audit_find(j->claim, name)->line, name, "one value is wanted, not a list");
}

int audit_pair(const struct judging *j, const char *a, const char *b, struct audit_value *a_p, struct audit_value *b_p)
{
    CLAB_TRY(audit_value_of(j, a, a_p));
    CLAB_TRY(audit_value_of(j, b, b_p));
    const int line = audit_find(j->claim, b)->line;
    if (!audit_is_alike(a_p, b_p))
        return audit_refuse(j, line, b,
                            "it counts something else than the value that it is compared with: check the units");
    if (a_p->n != b_p->n && a_p->n != 1 && b_p->n != 1)
        return audit_refuse(j, line, b, "the lists that are compared have different lengths");
    for (struct audit_value *v = a_p->n < b_p->n ? a_p : b_p; v->n < (v == a_p ? b_p : a_p)->n; v->n++)
        v->v[v->n] = v->v[0];
    a_p->percent = b_p->percent = a_p->percent || b_p->percent;
    return CLAB_OK;
}
