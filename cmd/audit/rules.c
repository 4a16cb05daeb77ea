// SPDX-License-Identifier: MIT
// The rules that judge claims (audit.h). A rule knows no claim: it computes from the claim's settings, and its words follow
// from the numbers.
//
// - Those about words are in word_rules.c.
// - tolerance = 2 % unless the claim says another: what rounding may do.
// - Sources: bounds of collectives, Thakur et al. 2005 and nccl-tests' PERFORMANCE.md; units, IEC 80000-13.

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/audit/judging.h"
#include "core/base/err.h"
#include "core/base/nearest.h"

enum { TEXT = 32 };

// ---- what is found -------------------------------------------------------------------------------------------

static bool is_near(const struct judging *j, double a, double b)
{
    return fabs(a - b) <= j->tolerance * fabs(b) + 1e-12 * fabs(a);
}

// All elements: "3.92 s, 4.41 s".
static const char *all_text(const struct audit_value *v, char *out, size_t room)
{
    *out = '\0';
    for (int i = 0; i < v->n && strlen(out) + TEXT < room; i++) {
        char one[TEXT];
        snprintf(out + strlen(out), room - strlen(out), "%s%s", i ? ", " : "", audit_text(v, i, one, sizeof one));
    }
    return out;
}

// A factor by which people mix up units; NULL: it is none.
static const char *mixed_up(const struct judging *j, double factor)
{
    static const struct {
        double factor;
        const char *what;
    } known[] = {{8, "bits and bytes"},         {8e9 / 1073741824, "Gib and GB"}, {1e9 / 1073741824, "GiB and GB"},
                 {1e6 / 1048576, "MiB and MB"}, {1e3, "a prefix of 1000"},        {1e6, "two prefixes of 1000"},
                 {1.024, "1024 and 1000"}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (fabs(factor / known[i].factor - 1) < fmin(j->tolerance, 0.02) ||
            fabs(factor * known[i].factor - 1) < fmin(j->tolerance, 0.02))
            return known[i].what;
    return NULL;
}

// ---- rules: is it this value? --------------------------------------------------------------------------------

// The element that is farthest off.
static int worst(const struct audit_value *claimed, const struct audit_value *right)
{
    int at = 0;
    for (int i = 1; i < claimed->n; i++)
        if (fabs(log(fabs(claimed->v[i] / right->v[i]))) > fabs(log(fabs(claimed->v[at] / right->v[at]))))
            at = i;
    return at;
}

static int compare(const struct judging *j, const char *word_if_not)
{
    struct audit_value claimed, right;
    char list[96];
    CLAB_TRY(audit_pair(j, "claimed", "right", &claimed, &right));
    const int at = worst(&claimed, &right);
    const double factor = claimed.v[at] / right.v[at];
    bool is_right = true;
    for (int i = 0; i < claimed.n; i++)
        is_right &= is_near(j, claimed.v[i], right.v[i]);
    if (is_right)
        return FOUND(j, "pass", "right: %s", all_text(&right, list, sizeof list));
    const char *mix = mixed_up(j, factor);
    all_text(&right, list, sizeof list);
    return FOUND(j, mix ? "unit error" : word_if_not, "right: %s; claimed is %.3g times that%s%s", list, factor,
                 mix ? ": " : "", mix ? mix : "");
}

static int equal(const struct judging *j)
{
    return compare(j, "wrong");
}

static int reproduce(const struct judging *j)
{
    return compare(j, "unreproducible");
}

// A short formula instead of the whole one. On the safe side, and by at most a factor of two, it is approximate.
static int estimate(const struct judging *j)
{
    struct audit_value claimed, right;
    char list[96];
    CLAB_TRY(audit_pair(j, "claimed", "right", &claimed, &right));
    double least = INFINITY, most = 0;
    for (int i = 0; i < claimed.n; i++) {
        if (right.v[i] == 0)
            return audit_refuse(j, audit_find(j->claim, "right")->line, "right",
                                "it is 0, and nothing is so many times 0");
        least = fmin(least, claimed.v[i] / right.v[i]);
        most = fmax(most, claimed.v[i] / right.v[i]);
    }
    const char *word = least >= 1 - j->tolerance && most <= 1 + j->tolerance ? "pass"
                       : least < 1 - j->tolerance                            ? "too low"
                       : most <= 2 + j->tolerance                            ? "approximate"
                                                                             : "too high";
    all_text(&right, list, sizeof list);
    if (most - least < 0.005)
        return FOUND(j, word, "right: %s; claimed is %.3g times that", list, most);
    return FOUND(j, word, "right: %s; claimed is %.3g to %.3g times that", list, least, most);
}

// One number that several ways of computing it could give.
static int derived(const struct judging *j)
{
    struct audit_value claimed, right;
    char list[96];
    CLAB_TRY(audit_pair(j, "claimed", "right", &claimed, &right));
    bool any = false;
    for (int i = 0; i < right.n; i++)
        any |= is_near(j, claimed.v[i], right.v[i]);
    return FOUND(j, any ? "pass" : "inconsistent", "from its parts: %s", all_text(&right, list, sizeof list));
}

// ---- rules: can it be? ---------------------------------------------------------------------------------------

static int bound(const struct judging *j)
{
    const bool is_floor = audit_has(j, "at_least");
    struct audit_value v, limit;
    char a[TEXT], b[TEXT];
    CLAB_TRY(audit_pair(j, "value", is_floor ? "at_least" : "at_most", &v, &limit));
    int at = 0;
    bool holds = true;
    for (int i = 0; i < v.n; i++)
        if (is_floor ? v.v[i] < limit.v[i] * (1 - j->tolerance) : v.v[i] > limit.v[i] * (1 + j->tolerance)) {
            holds = false;
            at = i;
        }
    return FOUND(j, holds ? "pass" : "impossible", "%s; %s %s", audit_text(&v, at, a, sizeof a),
                 is_floor ? "at least" : "at most", audit_text(&limit, at, b, sizeof b));
}

// What is said of all of a kind.
static int every(const struct judging *j)
{
    struct audit_value v, limit;
    char list[96], text[TEXT];
    int above = 0;
    CLAB_TRY(audit_pair(j, "values", "above", &v, &limit));
    for (int i = 0; i < v.n; i++)
        above += v.v[i] > limit.v[i] * (1 + j->tolerance);
    return FOUND(j,
                 above == v.n ? "pass"
                 : above      ? "incomplete"
                              : "wrong",
                 "%d of %d are above %s: %s", above, v.n, audit_text(&limit, 0, text, sizeof text),
                 all_text(&v, list, sizeof list));
}

static int fits(const struct judging *j)
{
    struct audit_value low, high, least, most;
    CLAB_TRY(audit_single(j, "low", &low));
    CLAB_TRY(audit_single(j, "high", &high));
    CLAB_TRY(audit_single(j, "least", &least));
    CLAB_TRY(audit_single(j, "most", &most));
    const bool is_in = low.v[0] >= least.v[0] && high.v[0] <= most.v[0];
    return FOUND(j, is_in ? "pass" : "incorrect", "%.6g to %.6g; the type holds %.6g to %.6g", low.v[0], high.v[0],
                 least.v[0], most.v[0]);
}

// A value that is multiplied again and again: does it stay in its type?
static int overflow(const struct judging *j)
{
    struct audit_value growth, calls, most;
    CLAB_TRY(audit_single(j, "growth", &growth));
    CLAB_TRY(audit_single(j, "calls", &calls));
    CLAB_TRY(audit_single(j, "most", &most));
    if (growth.v[0] <= 1)
        return FOUND(j, "pass", "it does not grow");
    const double last = floor(log(most.v[0]) / log(growth.v[0]));
    return FOUND(j, calls.v[0] <= last ? "pass" : "unverified", "overflows after %.0f of %.0f calls", last, calls.v[0]);
}

static int step(const struct judging *j)
{
    struct audit_value v, from, by;
    CLAB_TRY(audit_single(j, "value", &v));
    CLAB_TRY(audit_single(j, "from", &from));
    CLAB_TRY(audit_single(j, "step", &by));
    const bool is_step = fabs(remainder(v.v[0], by.v[0])) < 1e-9;
    return FOUND(j, is_step && v.v[0] >= from.v[0] ? "pass" : "invalid", "%g; allowed: multiples of %g, from %g on",
                 v.v[0], by.v[0], from.v[0]);
}

// ---- rules: do several statements agree? ---------------------------------------------------------------------

static int agree(const struct judging *j)
{
    struct audit_value v, directions;
    char list[96];
    bool same = true, same_once_divided = audit_has(j, "directions");
    CLAB_TRY(audit_value_of(j, "values", &v));
    if (same_once_divided)
        CLAB_TRY(audit_value_of(j, "directions", &directions));
    if (same_once_divided && directions.n != v.n)
        return audit_refuse(j, audit_find(j->claim, "directions")->line, "directions",
                            "one number per value is wanted");
    for (int i = 1; i < v.n; i++) {
        same &= is_near(j, v.v[i], v.v[0]);
        same_once_divided = same_once_divided && is_near(j, v.v[i] / directions.v[i], v.v[0] / directions.v[0]);
    }
    return FOUND(j,
                 same                ? "pass"
                 : same_once_divided ? "mixed"
                                     : "contradiction",
                 "%s%s", all_text(&v, list, sizeof list),
                 same || !same_once_divided ? "" : ": the same, once both directions are added and once not");
}

// Ranges that must have a value in common.
static int overlap(const struct judging *j)
{
    struct audit_value low, high;
    char a[TEXT], b[TEXT];
    CLAB_TRY(audit_pair(j, "low", "high", &low, &high));
    int from = 0, to = 0;
    for (int i = 1; i < low.n; i++) {
        from = low.v[i] > low.v[from] ? i : from;
        to = high.v[i] < high.v[to] ? i : to;
    }
    audit_text(&low, from, a, sizeof a);
    audit_text(&high, to, b, sizeof b);
    return FOUND(j, low.v[from] <= high.v[to] ? "pass" : "contradiction", "%d ranges: one begins at %s, one ends at %s",
                 low.n, a, b);
}

static int order(const struct judging *j)
{
    struct audit_value claimed, right;
    char list[96];
    bool same = true, reversed = true;
    CLAB_TRY(audit_pair(j, "claimed", "right", &claimed, &right));
    for (int i = 0; i < claimed.n; i++)
        same &= is_near(j, claimed.v[i], right.v[i]);
    for (int i = 1; i < claimed.n; i++)
        reversed &= (claimed.v[i] - claimed.v[i - 1]) * (right.v[i] - right.v[i - 1]) < 0;
    return FOUND(j,
                 same                        ? "pass"
                 : reversed && claimed.n > 1 ? "reversed"
                                             : "wrong",
                 "right: %s", all_text(&right, list, sizeof list));
}

// time = alpha + bytes / rate: the line with the least relative squares, and how far the rows are from it.
static int line(const struct judging *j)
{
    struct audit_value bytes, time;
    double s = 0, x = 0, xx = 0, y = 0, xy = 0, most = 0, shortest = INFINITY;
    char a[TEXT], r[TEXT];
    CLAB_TRY(audit_value_of(j, "bytes", &bytes));
    CLAB_TRY(audit_value_of(j, "time", &time));
    if (bytes.n != time.n || bytes.n < 3)
        return audit_refuse(j, audit_find(j->claim, "time")->line, "time",
                            "as many times as bytes are wanted, three or more");
    for (int i = 0; i < time.n; i++) { // a / t + b S / t = 1, weighted by 1 / t
        const double w = 1 / time.v[i], z = bytes.v[i] / time.v[i];
        s += w * w, x += w * z, xx += z * z, y += w, xy += z;
    }
    struct audit_value alpha = {.n = 1, .v = {(y * xx - xy * x) / (s * xx - x * x)}, .seconds = 1};
    struct audit_value rate = {.n = 1, .bytes = 1, .seconds = -1};
    const double beta = (xy * s - y * x) / (s * xx - x * x);
    rate.v[0] = 1 / beta;
    for (int i = 0; i < time.n; i++) {
        most = fmax(most, fabs((alpha.v[0] + beta * bytes.v[i]) / time.v[i] - 1));
        shortest = fmin(shortest, time.v[i]);
    }
    // Rows of one size, or that took no time, have no line: 0 / 0. Rounding may give an alpha a little below 0.
    if (!isfinite(alpha.v[0]) || !isfinite(beta) || beta <= 0 || alpha.v[0] < -j->tolerance * shortest)
        return FOUND(j, "no single fit", "no alpha of 0 or more and rate above 0 give these times");
    return FOUND(j, most <= fmax(j->tolerance, 0.1) ? "pass" : "no single fit", "alpha %s, %s; a row is off by %.0f %%",
                 audit_text(&alpha, 0, a, sizeof a), audit_text(&rate, 0, r, sizeof r), 100 * most);
}

// ---- all of them ---------------------------------------------------------------------------------------------

static const struct rule {
    const char *name, *settings, *asks, *verdicts;
    int (*judge)(const struct judging *j);
} rules[] = {
    {"equal", "claimed, right", "Is the claimed value right?", "pass, unit error, wrong", equal},
    {"reproduce", "claimed, right", "Do the shown values give it?", "pass, unit error, unreproducible", reproduce},
    {"estimate", "claimed, right", "How far is a short formula off?", "pass, approximate, too low, too high", estimate},
    {"derived", "claimed, right", "Does one of several ways give it?", "pass, inconsistent", derived},
    {"bound", "value, at_most or at_least", "Does physics allow it?", "pass, impossible", bound},
    {"every", "values, above", "Is it so for all of a kind?", "pass, incomplete, wrong", every},
    {"fits", "low, high, least, most", "Does the type hold the values?", "pass, incorrect", fits},
    {"overflow", "growth, calls, most", "Does it stay below the most?", "pass, unverified", overflow},
    {"step", "value, from, step", "Is it an allowed value?", "pass, invalid", step},
    {"agree", "values, or with directions", "Do all say the same?", "pass, mixed, contradiction", agree},
    {"overlap", "low, high", "Do ranges have a value in common?", "pass, contradiction", overlap},
    {"order", "claimed, right", "Which is the larger one?", "pass, reversed, wrong", order},
    {"copied", "fields", "Were the fields measured?", "pass, copied", audit_judge_copied},
    {"line", "bytes, time", "Is it alpha + bytes / rate?", "pass, no single fit", line},
    {"setting", "setting, known", "Does the library know it?", "pass, no effect", audit_judge_setting},
    {"variable", "variable, known", "Does the choice depend on it?", "pass, category", audit_judge_variable},
    {"signature", "has, needs", "Has the function all parameters?", "pass, ABI", audit_judge_signature},
    {"fields", "row, needed", "Has the row enough fields?", "pass, no effect", audit_judge_fields},
    {"sequence", "order, needs", "Is the order right?", "pass, incorrect", audit_judge_sequence},
};
enum { RULES = sizeof rules / sizeof *rules };

void audit_rules_print(FILE *out)
{
    for (int i = 0; i < RULES; i++)
        fprintf(out, "  %-10s %-27s %-35s %s\n", rules[i].name, rules[i].settings, rules[i].asks, rules[i].verdicts);
}

static const struct rule *find_rule(const char *name)
{
    for (int i = 0; i < RULES; i++)
        if (!strcmp(rules[i].name, name))
            return &rules[i];
    return NULL;
}

const char *audit_rule_settings(const char *name)
{
    const struct rule *rule = find_rule(name);
    return rule ? rule->settings : NULL;
}

static int refuse_rule(const struct judging *j, const struct audit_setting *rule)
{
    char why[160];
    struct clab_nearest nearest = clab_nearest_to(rule->value, strlen(rule->value));
    for (int i = 0; i < RULES; i++)
        clab_nearest_offer(&nearest, rules[i].name);
    snprintf(why, sizeof why, "there is no rule '%.32s'%s; `commlab audit --rules` lists them", rule->value,
             clab_nearest_hint(&nearest));
    return audit_refuse(j, rule->line, "rule", why);
}

int audit_judge(const struct audit_claims *claims, const struct audit_claim *claim, struct audit_verdict *verdict_p)
{
    struct judging j = {.claims = claims, .claim = claim, .verdict = verdict_p, .tolerance = 0.02};
    const struct audit_setting *name = audit_find(claim, "rule");
    const struct rule *rule = find_rule(name->value);
    if (!rule)
        return refuse_rule(&j, name);
    if (audit_has(&j, "tolerance")) {
        struct audit_value tolerance;
        CLAB_TRY(audit_single(&j, "tolerance", &tolerance));
        if (tolerance.bytes || tolerance.seconds || tolerance.v[0] < 0 || tolerance.v[0] >= 1)
            return audit_refuse(&j, audit_find(claim, "tolerance")->line, "tolerance",
                                "from 0 to below 100 % is wanted");
        j.tolerance = tolerance.v[0];
    }
    return rule->judge(&j);
}
