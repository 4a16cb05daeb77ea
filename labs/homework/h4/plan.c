// SPDX-License-Identifier: MIT
// A student's plan: whether it keeps to the rules, and what it can not see (judge.h).

#include <stdio.h>

#include "core/base/units.h"
#include "labs/homework/h4/judge.h"

static bool is_rank_count(int ranks)
{
    return ranks >= 2 && ranks <= H4_ASKED_RANKS && (ranks & (ranks - 1)) == 0;
}

// What is wrong with a question; NULL: nothing.
static const char *fault(struct h4_question q)
{
    if ((int)q.algorithm != H4_RING && (int)q.algorithm != H4_DOUBLING)
        return "its algorithm is neither H4_RING nor H4_DOUBLING";
    if (!is_rank_count(q.ranks))
        return "it may have 2, 4, 8 or 16 ranks";
    if (q.bytes < 4 || q.bytes > H4_ASKED_BYTES)
        return "it may have 4 bytes to 4 MiB";
    return q.bytes % 4 ? "its bytes are no whole floats: give a multiple of 4" : NULL;
}

bool h4_plan_check(const struct h4_question *questions, int n, char why[H4_WHY])
{
    if (n > H4_QUESTIONS) {
        snprintf(why, H4_WHY, "your plan has %d questions, and %d are allowed: which of them tell you nothing new?", n,
                 H4_QUESTIONS);
        return false;
    }
    if (n < 1) {
        snprintf(why, H4_WHY, "your plan has no question: h4_plan fills in 1 to %d, and returns how many they are",
                 H4_QUESTIONS);
        return false;
    }
    for (int i = 0; i < n; i++) {
        const char *said = fault(questions[i]);
        if (!said)
            continue;
        snprintf(why, H4_WHY, "question %d of your plan (algorithm %d, %d ranks, %zu bytes): %s", i,
                 (int)questions[i].algorithm, questions[i].ranks, questions[i].bytes, said);
        return false;
    }
    return true;
}

bool h4_plan_explain(const struct h4_question *questions, int n, char why[H4_WHY])
{
    size_t least = H4_ASKED_BYTES, most = 0;
    int ranks = 0;
    char text[CLAB_TEXT];
    for (int i = 0; i < n; i++) {
        least = questions[i].bytes < least ? questions[i].bytes : least;
        most = questions[i].bytes > most ? questions[i].bytes : most;
        ranks = questions[i].ranks > ranks ? questions[i].ranks : ranks;
    }
    if (least > 4096)
        snprintf(
            why, H4_WHY,
            "your plan asks nothing below %s: there the bytes take longer than alpha, so alpha does not show. Ask 8 "
            "bytes",
            clab_size_text(least, text));
    else if (most < 1 << 20)
        snprintf(why, H4_WHY, "your plan asks nothing above %s: there alpha takes longer than the bytes. Ask 4 MiB",
                 clab_size_text(most, text));
    else if (ranks < H4_ASKED_RANKS)
        snprintf(why, H4_WHY,
                 "your plan asks nothing above %d ranks: a host can have as many, so you may never have seen a "
                 "message between hosts. Ask 16",
                 ranks);
    else
        return false;
    return true;
}
