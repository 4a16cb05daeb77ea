// SPDX-License-Identifier: MIT
// The rules about words: whether a setting has an effect, a function its parameters, a row its fields.

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/audit/judging.h"
#include "core/base/err.h"
#include "core/base/text.h"

enum { WORDS = 32, WORD = 48 };

struct words {
    char word[WORDS][WORD];
    int n;
};

// The words of a setting, which commas part.
static int words(const struct judging *j, const char *name, struct words *words_p)
{
    const struct audit_setting *s = audit_find(j->claim, name);
    const char *list, *word;
    size_t length = 0;
    if (!s)
        return audit_missing(j, name);
    words_p->n = 0;
    for (list = s->value; (word = clab_list_next(&list, &length));) {
        while (length && *word == ' ')
            word++, length--;
        while (length && word[length - 1] == ' ')
            length--;
        if (words_p->n == WORDS || length >= WORD)
            return audit_refuse(j, s->line, name, "too many or too long words");
        snprintf(words_p->word[words_p->n++], WORD, "%.*s", (int)length, word);
    }
    return CLAB_OK;
}

static int index_of(const struct words *in, const char *word)
{
    for (int i = 0; i < in->n; i++)
        if (!strcmp(in->word[i], word))
            return i;
    return -1;
}

enum { MISSED = 96 };

// Two settings of words, and those of the first that the second lacks: "a, b". What does not fit is left out.
static int compare(const struct judging *j, const char *wanted, const char *had, struct words *had_p,
                   char missed[MISSED])
{
    struct words all;
    size_t used = 0;
    CLAB_TRY(words(j, wanted, &all));
    CLAB_TRY(words(j, had, had_p));
    *missed = '\0';
    for (int i = 0; i < all.n && used < MISSED; i++)
        if (index_of(had_p, all.word[i]) < 0)
            used += (size_t)snprintf(missed + used, MISSED - used, "%s%s", used ? ", " : "", all.word[i]);
    return CLAB_OK;
}

static int known(const struct judging *j, const char *what, const char *word_if_not)
{
    struct words there;
    char missed[MISSED];
    CLAB_TRY(compare(j, what, "known", &there, missed));
    if (!*missed)
        return FOUND(j, "pass", "all are known");
    return FOUND(j, word_if_not, "not among the %d that there are: %s", there.n, missed);
}

int audit_judge_setting(const struct judging *j)
{
    return known(j, "setting", "no effect");
}

int audit_judge_variable(const struct judging *j)
{
    return known(j, "variable", "category");
}

int audit_judge_signature(const struct judging *j)
{
    struct words has;
    char missed[MISSED];
    CLAB_TRY(compare(j, "needs", "has", &has, missed));
    return *missed ? FOUND(j, "ABI", "%d parameters; it lacks %s", has.n, missed)
                   : FOUND(j, "pass", "%d parameters", has.n);
}

int audit_judge_fields(const struct judging *j)
{
    struct words row;
    struct audit_value needed;
    CLAB_TRY(words(j, "row", &row));
    CLAB_TRY(audit_single(j, "needed", &needed));
    return FOUND(j, row.n < needed.v[0] ? "no effect" : "pass", "%d fields; %g are needed", row.n, needed.v[0]);
}

int audit_judge_sequence(const struct judging *j)
{
    struct words order, needs;
    CLAB_TRY(words(j, "order", &order));
    CLAB_TRY(words(j, "needs", &needs));
    for (int i = 1; i < needs.n; i++) {
        const int a = index_of(&order, needs.word[i - 1]), b = index_of(&order, needs.word[i]);
        if (a < 0 || b < 0 || a > b)
            return FOUND(j, "incorrect", "%s must come before %s%s", needs.word[i - 1], needs.word[i],
                         a < 0 || b < 0 ? ", and is not there" : "");
    }
    return FOUND(j, "pass", "the order is right");
}

// The number that a field begins with: "95.2 GB/s".
static int leading_number(const struct judging *j, const char *field, double *number_p)
{
    char *end, why[96];
    *number_p = strtod(field, &end);
    if (end != field && isfinite(*number_p))
        return CLAB_OK;
    snprintf(why, sizeof why, "'%.32s' does not begin with a number", field);
    return audit_refuse(j, audit_find(j->claim, "fields")->line, "fields", why);
}

// Three or more fields that measure different things, and have the same digits.
int audit_judge_copied(const struct judging *j)
{
    struct words fields;
    double number[WORDS];
    int most = 0, which = 0;
    CLAB_TRY(words(j, "fields", &fields));
    for (int i = 0; i < fields.n; i++)
        CLAB_TRY(leading_number(j, fields.word[i], &number[i]));
    for (int i = 0; i < fields.n; i++) {
        int same = 0;
        for (int k = 0; k < fields.n; k++)
            same += number[k] == number[i];
        which = same > most ? i : which;
        most = same > most ? same : most;
    }
    return FOUND(j, most >= 3 ? "copied" : "pass", "%d of %d fields say %g", most, fields.n, number[which]);
}
