// SPDX-License-Identifier: MIT
// Which mistake explains times that are wrong (judge.h).
//
// A mistake is a machine that lacks something, or a formula that is wrong: times as they would be with it. It explains
// the student's times if these are much nearer to its times than to the right ones.

#include <math.h>
#include <stdio.h>

#include "core/base/stats.h"
#include "core/base/units.h"
#include "labs/homework/h4/judge.h"

enum { BOTH = 2 };

// ---- times with a mistake ------------------------------------------------------------------------------------------

static double one_host(const struct h4_machine *machine, struct h4_question q)
{
    struct h4_machine m = *machine;
    m.host = 1 << 20;
    return h4_machine_seconds(&m, q);
}

static double no_hosts(const struct h4_machine *machine, struct h4_question q)
{
    struct h4_machine m = *machine;
    m.host = 1;
    return h4_machine_seconds(&m, q);
}

static double no_step(const struct h4_machine *machine, struct h4_question q)
{
    struct h4_machine m = *machine;
    m.handshake = 0;
    return h4_machine_seconds(&m, q);
}

static double step_everywhere(const struct h4_machine *machine, struct h4_question q)
{
    struct h4_machine m = *machine;
    m.limit = 0;
    return h4_machine_seconds(&m, q);
}

static double no_gamma(const struct h4_machine *machine, struct h4_question q)
{
    struct h4_machine m = *machine;
    m.gamma = 0;
    return h4_machine_seconds(&m, q);
}

static double no_alpha(const struct h4_machine *machine, struct h4_question q)
{
    struct h4_machine m = *machine;
    m.alpha[H4_INSIDE] = m.alpha[H4_ACROSS] = m.handshake = 0;
    return h4_machine_seconds(&m, q);
}

static double no_beta(const struct h4_machine *machine, struct h4_question q)
{
    struct h4_machine m = *machine;
    m.beta[H4_INSIDE] = m.beta[H4_ACROSS] = m.gamma = 0;
    return h4_machine_seconds(&m, q);
}

static double whole_messages(const struct h4_machine *machine, struct h4_question q)
{
    if (q.algorithm == H4_RING)
        q.bytes *= (size_t)q.ranks;
    return h4_machine_seconds(machine, q);
}

static double half_a_ring(const struct h4_machine *machine, struct h4_question q)
{
    return (q.algorithm == H4_RING ? 0.5 : 1) * h4_machine_seconds(machine, q);
}

static double few_ranks(const struct h4_machine *machine, struct h4_question q)
{
    q.ranks = q.ranks > H4_ASKED_RANKS ? H4_ASKED_RANKS : q.ranks;
    return h4_machine_seconds(machine, q);
}

static double two_ranks(const struct h4_machine *machine, struct h4_question q)
{
    q.ranks = 2;
    return h4_machine_seconds(machine, q);
}

// The last stage, again and again.
static double doubling_in_a_row(const struct h4_machine *machine, struct h4_question q)
{
    const double all = h4_machine_seconds(machine, q);
    struct h4_question half = q;
    half.ranks = q.ranks / 2;
    if (q.algorithm != H4_DOUBLING || half.ranks < 2)
        return all;
    return all + (q.ranks - 1 - log2(q.ranks)) * (all - h4_machine_seconds(machine, half));
}

static const struct mistake {
    double (*seconds)(const struct h4_machine *, struct h4_question);
    const char *text;
} mistakes[] = {
    {one_host,
     "as if all ranks were on one host: from some number of ranks on, messages cross to other hosts, and take "
     "longer. Ask doubling of 8 bytes among 2, 4, 8 and 16 ranks: where does one stage more cost much more?"},
    {no_hosts, "as if each rank had a host of its own: the first stages of doubling, and rings within one host, do not "
               "cross, and cost less. Fit alpha and beta of both links"},
    {no_step,
     "as if alpha were the same for all messages: between hosts, messages above a limit cost a handshake more. "
     "Ask sizes from 2 KiB to 128 KiB, and look for the step. In a ring, the message has bytes / P"},
    {step_everywhere,
     "as if each message between hosts cost the handshake of large messages: alpha was fitted from large "
     "messages. Ask 8 bytes, too"},
    {no_gamma,
     "as if adding were free: a ring adds (P - 1) / P of the bytes, doubling log2(P) times all. Ask a ring and "
     "doubling of the same large size among 2 ranks: the difference is gamma's"},
    {no_alpha, "as if alpha were 0: short messages take no time in them. Ask 8 bytes"},
    {no_beta, "as if beta were 0: your times do not grow with the bytes as they do. Ask a large size, too"},
    {whole_messages, "as if each message of a ring had all bytes: it has bytes / P"},
    {half_a_ring, "as if a ring had P - 1 stages: P - 1 of them add, and P - 1 more bring the sums around"},
    {few_ranks, "as if no more than 16 ranks took part: what you asked is not what you foresee. Use the formula in P"},
    {two_ranks, "as if two ranks took part, always: a ring has 2 (P - 1) stages, doubling log2(P)"},
    {doubling_in_a_row, "as if doubling had P - 1 stages: it has log2(P)"},
};

// ---- which one -----------------------------------------------------------------------------------------------------

// The cells of one algorithm, or of both.
static bool is_of(struct h4_question cell, int algorithm)
{
    return algorithm == BOTH || (int)cell.algorithm == algorithm;
}

// How far the student's times are from those with a mistake (NULL: from the right ones): the mean of |ln ratio|.
static double distance(const struct h4_round *round, const struct mistake *mistake, int algorithm)
{
    double sum = 0;
    int n = 0;
    for (int i = 0; i < H4_CELLS; i++)
        if (is_of(round->cells[i], algorithm)) {
            const double other = mistake ? mistake->seconds(&round->machine, round->cells[i]) : round->right[i];
            sum += fabs(log(round->foreseen[i] / other));
            n++;
        }
    return sum / n;
}

static bool explain_by_mistake(const struct h4_round *round, int algorithm, char why[H4_WHY])
{
    static const char *const names[] = {
        [H4_RING] = "ring's times are", [H4_DOUBLING] = "doubling's times are", [BOTH] = "times are"};
    const double wrong = distance(round, NULL, algorithm);
    const struct mistake *best = NULL;
    // Right formulas are 0.02 off, since a ring across hosts hides a part of its additions.
    double least = fmin(0.1, wrong / 3);
    for (size_t i = 0; wrong > 0.03 && i < sizeof mistakes / sizeof *mistakes; i++) {
        const double d = distance(round, &mistakes[i], algorithm);
        if (d < least) {
            least = d;
            best = &mistakes[i];
        }
    }
    if (best)
        snprintf(why, H4_WHY, "your %s %s", names[algorithm], best->text);
    return best != NULL;
}

// ---- what shows without a machine ----------------------------------------------------------------------------------

// A cell as people say it.
static const char *cell_text(struct h4_question cell, char text[64])
{
    char bytes[CLAB_TEXT];
    snprintf(text, 64, "%s of %s among %d ranks", h4_algorithm_name(cell.algorithm), clab_size_text(cell.bytes, bytes),
             cell.ranks);
    return text;
}

static bool explain_no_time(const struct h4_round *round, char why[H4_WHY])
{
    char cell[64];
    for (int i = 0; i < H4_CELLS; i++) {
        const double t = round->foreseen[i];
        if (isfinite(t) && t > 0)
            continue;
        snprintf(why, H4_WHY,
                 "%s: you foresee %g s, which is no time. Is your alpha or your beta negative, or did you divide by 0? "
                 "Print what you fit",
                 cell_text(round->cells[i], cell), t);
        return true;
    }
    return false;
}

// Times that are a thousand, a million or a billion times too large or small.
static bool explain_unit(const struct h4_round *round, char why[H4_WHY])
{
    static const struct {
        double factor;
        const char *text;
    } units[] = {{1e3, "in ms"},
                 {1e6, "in us"},
                 {1e9, "in ns"},
                 {1e-3, "in units of 1000 s"},
                 {1e-6, "in units of 1e6 s"},
                 {1e-9, "in units of 1e9 s"}};
    double ratios[H4_CELLS];
    for (int i = 0; i < H4_CELLS; i++)
        ratios[i] = round->foreseen[i] / round->right[i];
    const double median = clab_quantile(ratios, H4_CELLS, 0.5);
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (median > units[i].factor / 5 && median < units[i].factor * 5) {
            snprintf(why, H4_WHY,
                     "your times are %.3g times the right ones: are they %s? h4_foresee returns seconds, as the "
                     "answers have them",
                     median, units[i].text);
            return true;
        }
    return false;
}

// A time that falls as the bytes grow, everything else alike.
static bool explain_falling(const struct h4_round *round, char why[H4_WHY])
{
    for (int a = 0; a < H4_CELLS; a++)
        for (int b = 0; b < H4_CELLS; b++) {
            const struct h4_question *x = &round->cells[a], *y = &round->cells[b];
            if (x->algorithm != y->algorithm || x->ranks != y->ranks || y->bytes < 4 * x->bytes ||
                round->foreseen[b] >= 0.9 * round->foreseen[a])
                continue;
            char less[CLAB_TEXT], more[CLAB_TEXT], s[CLAB_TEXT], t[CLAB_TEXT];
            snprintf(why, H4_WHY,
                     "%s among %d ranks: you foresee %s for %s, but less, %s, for %s: your beta is negative",
                     h4_algorithm_name(x->algorithm), x->ranks, clab_seconds_text(round->foreseen[a], s),
                     clab_size_text(x->bytes, less), clab_seconds_text(round->foreseen[b], t),
                     clab_size_text(y->bytes, more));
            return true;
        }
    return false;
}

bool h4_round_explain(const struct h4_round *round, char why[H4_WHY])
{
    return explain_no_time(round, why) || explain_unit(round, why) || explain_falling(round, why) ||
           explain_by_mistake(round, BOTH, why) || explain_by_mistake(round, H4_RING, why) ||
           explain_by_mistake(round, H4_DOUBLING, why);
}
