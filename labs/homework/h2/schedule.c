// SPDX-License-Identifier: MIT
// A student's schedule as data (schedule.h).

#include "labs/homework/h2/schedule.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/text.h"
#include "labs/homework/h2/wire.h"

void h2_schedule_ask(const struct h2_cluster *cluster, struct clab_text *text)
{
    char hosts[64];
    clab_text_add(text, "%d %d %zu %s\n", cluster->nranks, cluster->nhosts, cluster->bytes,
                  h2_cluster_hosts(cluster, hosts, sizeof hosts));
}

void h2_schedule_free(struct h2_schedule *schedule)
{
    clab_listing_free(schedule->listing);
    schedule->listing = NULL;
}

// ---- reading ---------------------------------------------------------------------------------------------------------

// False: the data end here.
static bool take(struct h2_words *words, int32_t *word_p)
{
    if (words->at >= words->count)
        return false;
    memcpy(word_p, words->data + words->at++ * sizeof *word_p, sizeof *word_p);
    return true;
}

static bool take_span(struct h2_words *words, struct clab_span *span_p)
{
    int32_t buffer, first, count;
    if (!take(words, &buffer) || !take(words, &first) || !take(words, &count))
        return false;
    *span_p = (struct clab_span){(enum clab_buffer)buffer, first, count};
    return true;
}

static bool is_span(struct clab_span span)
{
    const int most = WIRE_MOST_CHUNKS * WIRE_MOST_SCRATCH;
    return (span.buffer == CLAB_DATA || span.buffer == CLAB_SCRATCH) && span.first >= -most && span.first <= most &&
           span.count >= -most && span.count <= most;
}

// What is wrong before there is anything to prove.
static void spoil(struct h2_schedule *schedule, int rank, int stage, const char *what, int number)
{
    if (schedule->text[0])
        return;
    schedule->flaw = -1;
    schedule->rank = rank;
    schedule->stage = stage;
    snprintf(schedule->text, sizeof schedule->text, "rank %d, stage %d: ", rank, stage);
    const size_t used = strlen(schedule->text);
    snprintf(schedule->text + used, sizeof schedule->text - used, what, number);
}

// The zeros that the harness put there.
static bool is_unfilled(const struct clab_step *step)
{
    return step->op == 0 && step->peer == 0 && step->src.count == 0 && step->dst.count == 0 && step->src.first == 0 &&
           step->src.buffer == 0;
}

// Step i of a stage. One that is none becomes a reason, not a part of the schedule.
static bool take_step(struct h2_words *words, struct h2_schedule *schedule, int rank, int stage, int i,
                      struct clab_step *step_p)
{
    int32_t op, peer;
    if (!take(words, &op) || !take(words, &peer) || !take_span(words, &step_p->src) || !take_span(words, &step_p->dst))
        return false;
    step_p->op = (enum clab_step_op)op;
    step_p->peer = peer;
    if (is_unfilled(step_p))
        spoil(schedule, rank, stage,
              "step %d was not filled in: fill out[0], out[1], ... without a gap, and return how many they are", i);
    if (op < CLAB_SEND || op > CLAB_COPY)
        spoil(schedule, rank, stage, "a step has the operation %d, which is none: fill out[0], out[1], ... without a gap, by "
                                     "send, recv, recv_reduce and copy", op);
    if (!is_span(step_p->src) || !is_span(step_p->dst))
        spoil(schedule, rank, stage, "a step names a buffer or a chunk that there is not (its peer is %d): use chunk, chunks "
                                     "and scratch", peer);
    return true;
}

static bool take_steps(struct h2_words *words, struct h2_schedule *schedule, int rank, int stage, int n, int *err_p)
{
    for (int i = 0; i < n; i++) {
        struct clab_step step;
        if (!take_step(words, schedule, rank, stage, i, &step))
            return false;
        if (!schedule->text[0] && !*err_p)
            *err_p = clab_listing_add(schedule->listing, &step);
    }
    return true;
}

// How a program ended, if not by CLAB_DONE.
static void judge_end(struct h2_schedule *schedule, int rank, int stage, int word, int returned)
{
    if (word == WIRE_ENDLESS)
        spoil(schedule, rank, stage, "stage() has not returned CLAB_DONE after %d stages: it must, behind the last one", stage);
    else if (word == WIRE_UNSTEADY)
        spoil(schedule, rank, stage,
              "two calls of stage() with the same arguments gave different steps, first %d of them. It must "
              "depend on its arguments alone: is there a static or global variable?",
              returned);
    else if (word != WIRE_DONE)
        spoil(schedule, rank, stage, "stage() returned %d: return the number of steps, 0 to 64, or CLAB_DONE", returned);
}

static bool take_program(struct h2_words *words, struct h2_schedule *schedule, int rank, int *err_p)
{
    int32_t n = 0, returned;
    for (int stage = 0; stage <= WIRE_MOST_STAGES; stage++) {
        if (!take(words, &n))
            return false;
        if (n < 0) {
            if (!take(words, &returned))
                return false;
            judge_end(schedule, rank, stage, n, returned);
            clab_listing_end_program(schedule->listing);
            return true;
        }
        if (n > WIRE_MOST_STEPS)
            return false;
        if (!*err_p)
            *err_p = clab_listing_begin_stage(schedule->listing);
        if (*err_p || !take_steps(words, schedule, rank, stage, n, err_p))
            return false;
    }
    return false;
}

static bool take_shape(struct h2_words *words, const struct h2_cluster *cluster, struct h2_schedule *schedule, int *err_p)
{
    int32_t magic, nranks, lanes, chunks, scratch;
    if (!take(words, &magic) || magic != WIRE_MAGIC || !take(words, &nranks) || nranks != cluster->nranks ||
        !take(words, &lanes) || !take(words, &chunks) || !take(words, &scratch))
        return false;
    if (!wire_is_shape(lanes, chunks, scratch)) {
        snprintf(schedule->text, sizeof schedule->text, WIRE_SHAPE_FORMAT, lanes, chunks, scratch);
        return true;
    }
    const struct clab_problem problem = {
        .collective = CLAB_ALLREDUCE, .nranks = nranks, .lanes = lanes, .count = cluster->bytes / 4};
    *err_p = clab_listing_create(&problem, "mine", &schedule->listing);
    if (*err_p)
        return false;
    schedule->listing->chunks = chunks;
    schedule->listing->scratch = scratch;
    return true;
}

static bool take_schedule(struct h2_words *words, const struct h2_cluster *cluster, struct h2_schedule *schedule,
                          int *err_p)
{
    if (!take_shape(words, cluster, schedule, err_p))
        return false;
    if (!schedule->listing)
        return true;
    for (int i = 0; i < cluster->nranks * schedule->listing->problem.lanes; i++)
        if (!take_program(words, schedule, i / schedule->listing->problem.lanes, err_p))
            return false;
    return true;
}

// ---- what is missing ---------------------------------------------------------------------------------------------------

// Who contributed to each place, as the replay goes on.
struct sums {
    const struct clab_listing *listing;
    struct h2_missing lost; // what is said there of an overwritten chunk
    int chunks, lanes;
    uint64_t *set; // (ranks, lanes, chunks)
    uint64_t heard; // ranks that got something
};

static uint64_t *place(const struct sums *sums, int rank, int lane, int chunk)
{
    return &sums->set[((size_t)rank * (size_t)sums->lanes + (size_t)lane) * (size_t)sums->chunks + (size_t)chunk];
}

static bool overlap(struct clab_span a, struct clab_span b)
{
    return a.buffer == b.buffer && a.first < b.first + b.count && b.first < a.first + a.count;
}

// A stage of a rank: its steps.
static const struct clab_step *stage_steps(const struct clab_listing *l, int program, int stage, int *n_p)
{
    const size_t at = l->programs[program] + (size_t)stage;
    *n_p = 0;
    if (at >= l->programs[program + 1])
        return NULL;
    *n_p = (int)(l->stages[at + 1] - l->stages[at]);
    return l->steps + l->stages[at];
}

// The first stage in which the rank gives its chunk away, by a send or a copy, from `stage` on; -1: none.
static int given_in(const struct clab_listing *l, int program, int stage, struct clab_span chunk)
{
    const struct clab_step *steps;
    for (int n; (steps = stage_steps(l, program, stage, &n)); stage++)
        for (int i = 0; i < n; i++)
            if ((steps[i].op == CLAB_SEND || steps[i].op == CLAB_COPY) && overlap(steps[i].src, chunk))
                return stage;
    return -1;
}

// A rank's own data are overwritten. The first time is kept that nobody else has them, if the rank sends the chunk on later: one
// that never sends it has forgotten that, and takes the result rightly.
static void note_lost(struct sums *sums, const struct clab_write *write)
{
    const struct clab_span chunk = {CLAB_DATA, write->chunk, 1};
    const int program = write->rank * sums->lanes + write->lane;
    int n;
    if (sums->lost.lost_rank >= 0 || given_in(sums->listing, program, 0, chunk) <= write->stage)
        return;
    const struct clab_step *steps = stage_steps(sums->listing, program, write->stage, &n);
    for (int i = 0; i < n; i++)
        if ((steps[i].op == CLAB_RECV || steps[i].op == CLAB_COPY) && overlap(steps[i].dst, chunk))
            sums->lost = (struct h2_missing){.lost_rank = write->rank,
                                             .lost_stage = write->stage,
                                             .lost_chunk = write->chunk,
                                             .lost_from = steps[i].op == CLAB_RECV ? steps[i].peer : -1};
}

static void write_seen(void *context, const struct clab_write *write)
{
    struct sums *sums = context;
    sums->heard |= UINT64_C(1) << write->rank;
    if (write->buffer != CLAB_DATA || write->chunk >= sums->chunks)
        return;
    uint64_t *set = place(sums, write->rank, write->lane, write->chunk);
    if (*set & ~write->set[0] & UINT64_C(1) << write->rank)
        note_lost(sums, write);
    *set = write->set[0];
}

static int begin_sums(const struct h2_schedule *schedule, struct sums *sums_p)
{
    const struct clab_listing *l = schedule->listing;
    *sums_p = (struct sums){.listing = l, .lost.lost_rank = -1, .chunks = l->chunks, .lanes = l->problem.lanes};
    const size_t places = (size_t)l->problem.nranks * (size_t)l->problem.lanes * (size_t)l->chunks;
    sums_p->set = calloc(places, sizeof *sums_p->set);
    if (!sums_p->set)
        return CLAB_ENOMEM;
    for (size_t i = 0; i < places; i++)
        sums_p->set[i] = UINT64_C(1) << i / ((size_t)l->problem.lanes * (size_t)l->chunks);
    return CLAB_OK;
}

// The chunk that a stage sends while it adds to it what somebody else sends; -1: none. (Two that exchange may do so.)
static int sent_early(const struct clab_step *steps, int n)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            if (steps[i].op == CLAB_SEND && steps[j].op == CLAB_RECV_REDUCE && steps[i].peer != steps[j].peer &&
                overlap(steps[i].src, steps[j].dst))
                return steps[i].src.first;
    return -1;
}

static void find_early(const struct clab_listing *l, struct h2_missing *missing)
{
    const int lanes = l->problem.lanes;
    missing->early_rank = -1;
    for (int program = 0; program < l->problem.nranks * lanes; program++)
        for (int stage = 0, n; ; stage++) {
            const struct clab_step *steps = stage_steps(l, program, stage, &n);
            if (!steps)
                break;
            const int chunk = sent_early(steps, n);
            if (chunk >= 0 && missing->early_rank < 0) {
                missing->early_rank = program / lanes;
                missing->early_stage = stage;
                missing->early_chunk = chunk;
            }
        }
}

static void find_missing(const struct h2_schedule *schedule, const struct sums *sums, struct h2_missing *missing)
{
    const struct clab_listing *l = schedule->listing;
    const uint64_t all = (UINT64_C(1) << l->problem.nranks) - 1;
    *missing = sums->lost;
    missing->only_last_chunk = l->chunks > 1;
    missing->everywhere = all;
    missing->silent = all & ~sums->heard;
    for (int rank = 0; rank < l->problem.nranks; rank++)
        for (int lane = 0; lane < sums->lanes; lane++)
            for (int chunk = 0; chunk < sums->chunks; chunk++) {
                const uint64_t lacks = all & ~*place(sums, rank, lane, chunk);
                missing->everywhere &= lacks | UINT64_C(1) << rank;
                if (!lacks)
                    continue;
                missing->places++;
                missing->ranks |= UINT64_C(1) << rank;
                missing->only_last_chunk &= chunk == sums->chunks - 1;
            }
    find_early(l, missing);
}

// ---- what goes between hosts -------------------------------------------------------------------------------------------

struct counts {
    long chunks[H2_HOSTS];
    int messages[H2_HOSTS];
    int target[H2_RANKS]; // whom a rank sends to: -1 nobody yet, -2 several
};

static void count_stage(const struct h2_cluster *cluster, int rank, const struct clab_step *steps, int n,
                        struct counts *counts, struct h2_traffic *traffic)
{
    const int host = cluster->host[rank];
    bool sends = false, receives = false;
    for (int i = 0; i < n; i++) {
        const int peer = steps[i].peer;
        if (steps[i].op == CLAB_COPY)
            continue;
        const bool leaves = cluster->host[peer] != host;
        receives |= leaves && steps[i].op != CLAB_SEND;
        if (steps[i].op != CLAB_SEND)
            continue;
        sends |= leaves;
        counts->chunks[host] += leaves ? steps[i].src.count : 0;
        counts->messages[host] += leaves;
        counts->target[rank] = counts->target[rank] == -1 || counts->target[rank] == peer ? peer : -2;
    }
    traffic->exchanges |= sends && receives;
}

static void judge_ring(const struct h2_cluster *cluster, const struct counts *counts, struct h2_traffic *traffic)
{
    uint64_t reached = 0;
    traffic->is_ring = cluster->nranks > 2;
    for (int rank = 0; rank < cluster->nranks; rank++) {
        const int target = counts->target[rank];
        traffic->is_ring &= target >= 0;
        if (target < 0)
            continue;
        reached |= UINT64_C(1) << target;
        traffic->crossings += cluster->host[target] != cluster->host[rank];
    }
    traffic->is_ring &= reached == (UINT64_C(1) << cluster->nranks) - 1;
}

// Of a schedule that is proved, so all its peers and spans are right.
static void count(const struct h2_cluster *cluster, const struct clab_listing *l, struct h2_traffic *traffic)
{
    struct counts counts = {0};
    const int lanes = l->problem.lanes;
    *traffic = (struct h2_traffic){.least = 2.0 * (cluster->nhosts - 1) / cluster->nhosts};
    for (int rank = 0; rank < cluster->nranks; rank++)
        counts.target[rank] = -1;
    for (int program = 0; program < cluster->nranks * lanes; program++)
        for (int stage = 0, n; ; stage++) {
            const struct clab_step *steps = stage_steps(l, program, stage, &n);
            if (!steps)
                break;
            count_stage(cluster, program / lanes, steps, n, &counts, traffic);
        }
    for (int host = 0; host < cluster->nhosts; host++)
        if (counts.chunks[host] > counts.chunks[traffic->host])
            traffic->host = host;
    traffic->sent = (double)counts.chunks[traffic->host] / ((double)l->chunks * lanes);
    traffic->messages = counts.messages[traffic->host];
    judge_ring(cluster, &counts, traffic);
}

// ---- the proof ---------------------------------------------------------------------------------------------------------

static int prove(const struct h2_cluster *cluster, struct clab_verifier *verifier, struct h2_schedule *schedule)
{
    struct clab_listing *l = schedule->listing;
    struct clab_verify_result result;
    struct sums sums;
    CLAB_TRY(begin_sums(schedule, &sums));
    const struct clab_observer observer = {.context = &sums, .write = write_seen};
    const int err = clab_verify_observed(verifier, &l->problem, &l->algorithm, &observer, &result);
    schedule->is_proved = err == CLAB_OK || (err == CLAB_EWRONG && result.flaw == CLAB_FLAW_COST);
    schedule->flaw = result.flaw;
    schedule->rank = result.rank;
    schedule->stage = result.stage;
    if (schedule->is_proved) {
        l->cost = result.found;
        count(cluster, l, &schedule->traffic);
    } else if (err == CLAB_EWRONG) {
        snprintf(schedule->text, sizeof schedule->text, "%s", result.text);
        find_missing(schedule, &sums, &schedule->missing);
    }
    free(sums.set);
    return err == CLAB_EWRONG ? CLAB_OK : err;
}

int h2_schedule_read(struct h2_words *words, const struct h2_cluster *cluster, struct clab_verifier *verifier,
                     struct h2_schedule *schedule_p)
{
    int err = CLAB_OK;
    *schedule_p = (struct h2_schedule){.flaw = -1, .rank = -1, .stage = -1};
    schedule_p->is_there = take_schedule(words, cluster, schedule_p, &err);
    if (!err && schedule_p->is_there && !schedule_p->text[0])
        err = prove(cluster, verifier, schedule_p);
    return err;
}
