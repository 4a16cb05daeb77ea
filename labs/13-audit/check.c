// SPDX-License-Identifier: MIT
// What a mended lab 13 must show: the least time of an allreduce on its links, verdicts that follow from it, and a speedup
// that was measured. The bound: a rank must send 2 (n - 1) / n of the buffer (Thakur et al. 2005).
// before: You believe the published time

#include "cmd/course/check.h"
#include "lab.h"

#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "cmd/audit/audit.h"
#include "cmd/kit/kit.h"
#include "core/base/log.h"

static const char believed[] =
    "You believe the published time. Compute the least time that the links allow: the bytes that a rank must send, divided by "
    "the rate of its link.";
static const char bits[] = "A link of 100 Gb/s carries 12.5 GB/s: 8 bits are a byte.";
static const char once[] =
    "A rank sends more than the buffer once: (n - 1) / n of it to add up, and as much again to pass the sums on.";
static const char twice[] =
    "2 S is the limit for many ranks. For 2 ranks it is twice too much, and calls a true claim impossible: 2 (n - 1) / n.";
static const char other[] = "The floor is 2 (n - 1) / n of the buffer, divided by the rate of a link, in seconds.";
static const char verdict[] =
    "A claim is possible if its time is not below the floor. Compare both in seconds, the right way around.";
static const char published[] =
    "The speedup is what somebody published. Measure both algorithms here: seconds_of runs, checks and times one.";

static const char reversed[] =
    "You divided the tree's time by the ring's. A tree's speedup is above 1 where it is faster: time of a ring / time of a tree.";

struct published {
    double n, bytes, time, link; // s, Gb/s
};
static const struct published claims[] = {
    {8, 1e8, 2450e-6, 100},            // 003's ring: the floor is 14 ms
    {8, 1073741824, 22450.12e-6, 2400}, // nccl-tests on NVLink: true
    {2, 1e9, 85e-3, 100},              // two ranks: the floor is 80 ms
    {64, 1e9, 155e-3, 100},            // many: 157.5 ms
};
enum { CLAIMS = sizeof claims / sizeof *claims };

static double least(const struct published *c)
{
    return 2 * (c->n - 1) / c->n * c->bytes / (c->link * 1e9 / 8);
}

static const char *why(const struct published *c, double got)
{
    const double once_s = c->bytes / (c->link * 1e9 / 8), near = 1e-6;
    return got == 0                                          ? believed
           : fabs(got / (least(c) / 8) - 1) < near           ? bits
           : fabs(got / (once_s / 8) - 1) < near             ? bits
           : fabs(got / once_s - 1) < near && c->n != 2      ? once
           : fabs(got / (2 * once_s) - 1) < near             ? twice
                                                             : other;
}

static const struct check_run *run_claims(struct check *c, const char *net, int ranks, const char *sizes)
{
    char words[256] = "";
    for (int i = 0; i < CLAIMS; i++)
        snprintf(words + strlen(words), sizeof words - strlen(words), "%s%.17g:%.17g:%.17g:%.17g", i ? "," : "", claims[i].n,
                 claims[i].bytes, 1e6 * claims[i].time, claims[i].link);
    snprintf(words + strlen(words), sizeof words - strlen(words), " %s", sizes);
    return check_run(c, "sim", net, ranks, words);
}

static void require_floors(struct check *c, const struct check_run *run)
{
    for (int i = 0; i < CLAIMS; i++) {
        char name[32];
        snprintf(name, sizeof name, "floor/claim/%d", i + 1);
        const double got = check_reported(run, name);
        check_require(c, fabs(got / least(&claims[i]) - 1) < 1e-6, why(&claims[i], got),
                      "%g ranks, %.4g bytes, links of %g Gb/s: got a floor of %.4g ms, expected %.4g ms", claims[i].n,
                      claims[i].bytes, claims[i].link, 1e3 * got, 1e3 * least(&claims[i]));
    }
}

static void require_verdicts(struct check *c, const struct check_run *run)
{
    for (int i = 0; i < CLAIMS; i++) {
        char name[32];
        snprintf(name, sizeof name, "possible/claim/%d", i + 1);
        const double got = check_reported(run, name), expected = claims[i].time >= least(&claims[i]);
        check_require(c, got == expected, verdict,
                      "%g ranks, %.4g bytes in %.4g ms, the floor is %.4g ms: got %g, expected %g (1: possible)", claims[i].n,
                      claims[i].bytes, 1e3 * claims[i].time, 1e3 * least(&claims[i]), got, expected);
    }
}

// On a network whose ranks leave a barrier together, spans are the times that are divided.
static void require_speedup(struct check *c, const struct check_run *run, size_t bytes)
{
    char ring[32], tree[32], name[32];
    snprintf(ring, sizeof ring, "ring/%zu", bytes);
    snprintf(tree, sizeof tree, "tree/%zu", bytes);
    snprintf(name, sizeof name, "speedup/tree/%zu", bytes);
    check_require(c, check_spans(run, 0, ring) > 0 && check_spans(run, 0, tree) > 0, published,
                  "%zu bytes, spans %s and %s: got none, expected one of each at least", bytes, ring, tree);
    const double expected = check_most(run, ring, 0).seconds / check_most(run, tree, 0).seconds;
    const double got = check_reported(run, name);
    check_require(c, fabs(got / expected - 1) < 0.05, fabs(got * expected - 1) < 0.05 ? reversed : published,
                  "%zu bytes, time of a ring / time of a tree: got %.3f, expected %.3f, as the calls took in virtual time", bytes,
                  got, expected);
}

// ---- the student's own claims --------------------------------------------------------------------------------

enum { OWN_CLAIMS = 3, OWN_COMPUTED = 2, OWN_WORDS = 3 };
static const char no_file[] =
    "Task 2 asks for three claims of your own. Copy the form, `cp labs/13-audit/my-claims.txt work/13/`, and write them into it.";
static const char too_few[] = "Audit three claims: a section [NAME] for each.";
static const char is_form[] = "That is the form's example, not a claim that somebody has published. Replace it.";
static const char is_ours[] =
    "That is one of the 38 claims of this lab. Find one of your own: a data sheet, a blog, a paper, a README.";
static const char no_source[] =
    "Say where the claim stands, so that others can look it up: source = TITLE, page or address.";
static const char twice_said[] = "Two sections say the same. Audit three different claims.";
static const char malformed[] = "A rule wants its lines, with units that fit: `./commlab audit --rules`.";
static const char written[] =
    "The verdict must follow from the claim's numbers. Give each number a name and a unit, and compute with the names, as the "
    "form does: at_least = 2 * (n - 1) / n * bytes / link.";
static const char idle[] = "The verdict is the same whatever this number is. Use it in an expression, or leave it out.";
static const char none_true[] =
    "None of your claims passes. One should: look for a claim that you believe, and audit it, too.";
static const char no_plan[] =
    "A claim that its rule lets pass may still be false. Say what you would measure: a line measure = ..., in three words or more.";

// Rules that compare a claimed number with one that is right: what is right must be computed.
static bool compares(const char *rule)
{
    static const char *const all[] = {"equal", "reproduce", "estimate", "derived", "bound", "every"};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (!strcmp(rule, all[i]))
            return true;
    return false;
}

static const char *says(const struct audit_claim *claim)
{
    return audit_find(claim, "says")->value;
}

static int count_words(const char *text)
{
    int n = 0;
    for (bool was_blank = true; *text; text++) {
        n += was_blank && *text != ' ';
        was_blank = *text == ' ';
    }
    return n;
}

// Whether a file of the kit holds a claim in these words. A kit without the file has none.
static bool holds(const char *file, const char *words)
{
    struct audit_claims claims;
    struct clab_log_held held;
    char path[PATH_MAX], *root;
    bool found = false;
    if (kit_root(&root))
        return false;
    clab_log_hold(&held);
    if (!kit_path(root, "labs/13-audit", file, path) && !audit_claims_load(path, &claims)) {
        for (int i = 0; i < claims.n; i++)
            found |= !strcmp(says(&claims.all[i]), words);
        audit_claims_free(&claims);
    }
    clab_log_release(&held);
    free(root);
    return found;
}

static void require_form(struct check *c, const struct audit_claims *claims, int i)
{
    const struct audit_claim *claim = &claims->all[i];
    const struct audit_setting *source = audit_find(claim, "source");
    check_require(c, !holds("my-claims.txt", says(claim)), is_form, "[%s] says: %s", claim->id, says(claim));
    check_require(c, !holds("claims.txt", says(claim)), is_ours, "[%s] says: %s", claim->id, says(claim));
    check_require(c, source && strncmp(source->value, "nobody", 6) != 0, no_source, "[%s] source: got %s", claim->id,
                  source ? source->value : "none");
    for (int k = 0; k < i; k++)
        check_require(c, strcmp(says(&claims->all[k]), says(claim)) != 0, twice_said, "[%s] and [%s] say: %s",
                      claims->all[k].id, claim->id, says(claim));
}

// Each number of its own changes what is found; a rule that compares has one at least. Returns whether it has.
static bool require_computed(struct check *c, const struct audit_claims *claims, struct audit_claim *claim)
{
    const char *rule = audit_find(claim, "rule")->value;
    bool depends, any = false;
    for (int i = 0; i < claim->n; i++) {
        struct audit_setting *setting = &claim->settings[i];
        if (!audit_is_own(claim, setting))
            continue;
        check_require(c, audit_depends(claims, claim, setting, &depends) == CLAB_OK && depends, idle,
                      "[%s] %s = %s, in line %d: nothing depends on it", claim->id, setting->name, setting->value,
                      setting->line);
        any = true;
    }
    check_require(c, any || !compares(rule), written, "[%s] rule %s: got no number with a name, expected one at least",
                  claim->id, rule);
    return any;
}

static void require_audited(struct check *c, const struct audit_claims *claims)
{
    int passed = 0, computed = 0;
    for (int i = 0; i < claims->n; i++) {
        struct audit_claim *claim = &claims->all[i];
        struct audit_verdict verdict = {.word = ""};
        struct clab_log_held held;
        require_form(c, claims, i);
        clab_log_hold(&held);
        const int err = audit_judge(claims, claim, &verdict);
        clab_log_release(&held);
        if (!check_require(c, err == CLAB_OK, malformed, "%s", held.text))
            return;
        computed += require_computed(c, claims, claim);
        const bool is_passed = !strcmp(verdict.word, "pass");
        const struct audit_setting *plan = audit_find(claim, "measure");
        check_require(c, !is_passed || (plan && count_words(plan->value) >= OWN_WORDS), no_plan,
                      "[%s] passes; measure: got %s", claim->id, plan ? plan->value : "none");
        passed += is_passed;
    }
    check_require(c, claims->n >= OWN_CLAIMS, too_few, "got %d claims, expected %d at least", claims->n, OWN_CLAIMS);
    check_require(c, computed >= OWN_COMPUTED, written,
                  "claims with numbers to compute from: got %d, expected %d at least", computed, OWN_COMPUTED);
    check_require(c, passed > 0, none_true, "claims that pass: got 0 of %d, expected 1 at least", claims->n);
}

static void hold_own_claims(struct check *c, const char *path)
{
    struct audit_claims claims;
    struct clab_log_held held;
    if (!check_require(c, access(path, R_OK) == 0, no_file, "%s: it is not there", kit_relative(path)))
        return;
    clab_log_hold(&held);
    const int err = audit_claims_load(kit_relative(path), &claims);
    clab_log_release(&held);
    if (!check_require(c, err == CLAB_OK, malformed, "%s", held.text))
        return;
    require_audited(c, &claims);
    audit_claims_free(&claims);
}

static void check(struct check *c)
{
    const char *own = check_file(c, "my-claims.txt");
    if (check_case(c, "floors: the least time of four published claims"))
        require_floors(c, run_claims(c, "1gbe", 2, "8"));
    if (check_case(c, "verdicts: two of the four are possible"))
        require_verdicts(c, run_claims(c, "1gbe", 2, "8"));
    if (check_case(c, "8 ranks on 1gbe: the speedup of a tree is measured")) {
        require_speedup(c, run_claims(c, "1gbe", 8, "64 262144"), 64);
        require_speedup(c, run_claims(c, "1gbe", 8, "64 262144"), 262144);
    }
    if (own && check_case(c, "my-claims.txt: three claims of your own, each judged by its numbers; one passes"))
        hold_own_claims(c, own);
}

const struct lab_check LAB_CHECK = {.check = check};
