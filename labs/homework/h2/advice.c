// SPDX-License-Identifier: MIT
// Advice about mistakes (advice.h).

#include "labs/homework/h2/advice.h"

#include <stdint.h>
#include <stdio.h>

#include "core/base/text.h"

// ---- wrong results -----------------------------------------------------------------------------------------------------

static const char *const about[CLAB_FLAW_COUNT] = {
    [CLAB_FLAW_PEER] =
        "A peer is a rank from 0 to nranks-1, and not the rank itself. Is a host's number used as a rank, or "
        "does rank + 1 lack mod(..., nranks)?",
    [CLAB_FLAW_SPAN] =
        "A chunk's number is 0 to chunks_per_lane()-1. Is it a rank's or a host's number, of which there are more than "
        "chunks?",
    [CLAB_FLAW_OVERLAP] =
        "Two receives of one stage go to the same chunk. Receive them in two stages, one after the other.",
    [CLAB_FLAW_UNDEFINED] =
        "The rank sends or adds a chunk that it does not have yet. Scratch is empty until a receive or a copy has filled it.",
    [CLAB_FLAW_LENGTH] =
        "Sender and receiver name different numbers of chunks for one message. Messages of two ranks match in "
        "order: compare the first stages of both in which they talk.",
    [CLAB_FLAW_SIZE] =
        "Chunks are not all of one size: 10 numbers in 4 chunks are 3, 3, 2 and 2 of them. So chunk 3 may only come to a "
        "chunk 3, in data or in scratch. Name the same chunk in the send and in its recv, and in a copy twice.",
    [CLAB_FLAW_MIXED] =
        "Two different chunks are added up. The receiver must name the chunk that the sender sends; are both "
        "counted from the same rank or host?",
    [CLAB_FLAW_DOUBLE_COUNT] =
        "An array is added twice: the sum that comes in has it already. Does a rank send a complete sum to one "
        "that takes it by recv_reduce instead of recv, or does a ring reduce for one turn too long?",
    [CLAB_FLAW_DEADLOCK] =
        "Each waits for a message that the other would send only later. A stage ends when all its steps are "
        "done, so put the send and the receive of an exchange into one stage.",
    [CLAB_FLAW_UNMATCHED] =
        "One side has a message more than the other. Count for both ranks how often they send to and "
        "receive from each other; perhaps stage() returns CLAB_DONE too early.",
    [CLAB_FLAW_ENDLESS] = "stage() must return CLAB_DONE behind the last stage.",
};

static int count_ranks(uint64_t set)
{
    return __builtin_popcountll(set);
}

static void add_ranks(struct clab_text *text, uint64_t set)
{
    clab_text_add(text, count_ranks(set) == 1 ? "rank" : "ranks");
    for (int rank = 0; rank < H2_RANKS; rank++)
        if (set >> rank & 1)
            clab_text_add(text, " %d", rank);
}

// The host that has all ranks of the set, and no others; -1: none.
static int whole_host(uint64_t set, const struct h2_cluster *cluster)
{
    for (int host = 0; host < cluster->nhosts; host++) {
        uint64_t there = 0;
        for (int rank = 0; rank < cluster->nranks; rank++)
            there |= (uint64_t)(cluster->host[rank] == host) << rank;
        if (there == set)
            return host;
    }
    return -1;
}

static void add_lost(struct clab_text *text, const struct h2_missing *m)
{
    clab_text_add(text, "Rank %d's own chunk %d, which it has sent to nobody, is overwritten in its stage %d by ",
                  m->lost_rank, m->lost_chunk, m->lost_stage);
    if (m->lost_from >= 0)
        clab_text_add(text, "a recv from rank %d: did you mean recv_reduce, which adds?", m->lost_from);
    else
        clab_text_add(text, "a copy: is the order of its arguments right? It is copy(to, from).");
}

static void add_missing(struct clab_text *text, const struct h2_missing *m, const struct h2_cluster *cluster)
{
    const uint64_t all = (UINT64_C(1) << cluster->nranks) - 1;
    if (m->only_last_chunk) {
        clab_text_add(text, "Only the last chunk is not complete, all others are. Does a loop over chunks end one too early?");
    } else if (m->silent == all) {
        clab_text_add(text, "No rank receives anything: stage() returns CLAB_DONE at once. Write its stages.");
    } else if (m->lost_rank >= 0) {
        add_lost(text, m);
    } else if (m->early_rank >= 0) {
        clab_text_add(text, "In stage %d, rank %d sends chunk %d while it adds to it: a stage's sends carry what was there "
                            "before the stage, so the sum that it sends is not complete. Send in the next stage.",
                      m->early_stage, m->early_rank, m->early_chunk);
    } else if (m->silent && !(m->ranks & ~m->silent)) {
        clab_text_add(text, "Nothing ever comes to ");
        add_ranks(text, m->silent & m->ranks);
        clab_text_add(text, ": stage() returns CLAB_DONE too early there, before the sum is sent to them and received.");
    } else if (m->everywhere) {
        clab_text_add(text, "The arrays of ");
        add_ranks(text, m->everywhere);
        clab_text_add(text, " reach nobody else");
        const int host = whole_host(m->everywhere, cluster);
        if (host >= 0)
            clab_text_add(text, ": these are all ranks of host %d", host);
        clab_text_add(text, ". To whom do they send, and does that rank receive it before it sends its sum on?");
    } else {
        clab_text_add(text, "A sum is sent on before all of it has come, or somebody never gets the complete one. It is "
                            "incomplete on ");
        add_ranks(text, m->ranks);
        clab_text_add(text, ".");
    }
}

const char *h2_advice_proof(const struct h2_schedule *schedule, const struct h2_cluster *cluster, char text_p[H2_ADVICE])
{
    struct clab_text text = clab_text_begin(text_p, H2_ADVICE);
    if (schedule->flaw == CLAB_FLAW_MISSING_CONTRIBUTOR)
        add_missing(&text, &schedule->missing, cluster);
    else if (schedule->flaw >= 0 && about[schedule->flaw])
        clab_text_add(&text, "%s", about[schedule->flaw]);
    return text_p;
}

static bool only_powers_of_two(const struct h2_pattern *pattern)
{
    for (int P = 3; P <= 16; P++)
        if (pattern->proved[P] != !(P & (P - 1)))
            return false;
    return true;
}

const char *h2_advice_pattern(const struct h2_pattern *pattern, char text_p[H2_ADVICE])
{
    const char *what = "";
    if (only_powers_of_two(pattern))
        what = "It is right for 4, 8 and 16 ranks, and wrong for every number that is no power of two: what do the ranks "
               "do that have no partner?";
    else if (pattern->even && !pattern->dealt)
        what = "It is right where ranks are in the order of hosts, and wrong where they are dealt out: it takes a rank's host from its "
               "number. Use problem->host.";
    else if (pattern->even && pattern->dealt && !pattern->ordered)
        what = "It is right where all hosts have as many ranks, and wrong where they have not: count each host's own ranks.";
    snprintf(text_p, H2_ADVICE, "%s", what);
    return text_p;
}

// ---- right, and slow ---------------------------------------------------------------------------------------------------

// Where to look, and a question. What to do instead is the task.
const char *h2_advice_bytes(const struct h2_schedule *schedule, const struct h2_cluster *cluster, char text_p[H2_ADVICE])
{
    const struct h2_traffic *t = &schedule->traffic;
    text_p[0] = 0;
    if (t->sent <= t->least * (1 + 1e-9))
        return text_p;
    struct clab_text text = clab_text_begin(text_p, H2_ADVICE);
    char ranks[24];
    const bool is_one = cluster->size[t->host] == 1;
    snprintf(ranks, sizeof ranks, is_one ? "1 rank" : "%d ranks", cluster->size[t->host]);
    if (t->is_ring && t->crossings > cluster->nhosts)
        clab_text_add(&text, "This is a ring that passes from host to host %d times, on %d hosts. Which of these passes are needed?",
                      t->crossings, cluster->nhosts);
    else if (t->is_ring)
        clab_text_add(&text, "This is a ring of all %d ranks, and each pass between hosts carries what all ranks need. In the formula of "
                             "task 1, whom do you count: ranks, or hosts?",
                      cluster->nranks);
    else
        clab_text_add(
            &text,
            "Host %d has %s. Look at what %s to other hosts: does the same sum, or a part of it, go there more than "
            "once? What is the least that the other hosts must know of this one?",
            t->host, ranks, is_one ? "it sends" : "they send");
    return text_p;
}

const char *h2_advice_time(const struct h2_schedule *schedule, const struct h2_cluster *cluster, bool is_said,
                           char text_p[H2_ADVICE])
{
    const struct h2_traffic *t = &schedule->traffic;
    text_p[0] = 0;
    if (is_said && t->sent > t->least * (1 + 1e-9))
        snprintf(text_p, H2_ADVICE,
                 "Host %d sends %.2f times the array to other hosts, and %.2f is the least: see the advice above.",
                 t->host, t->sent, t->least);
    else if (t->sent > t->least * (1 + 1e-9))
        h2_advice_bytes(schedule, cluster, text_p);
    else if (!t->exchanges)
        snprintf(text_p, H2_ADVICE, "Bytes are the least, so look at what waits: no rank sends to another host and receives from another in "
                                    "one stage. What does each adapter do meanwhile?");
    return text_p;
}
