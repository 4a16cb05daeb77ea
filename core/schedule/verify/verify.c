// SPDX-License-Identifier: MIT
// Checks at the end of a replay: every rank has its result, and the stated cost is exact.

#include "core/schedule/verify/verify.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "core/schedule/formats/listing.h"

struct clab_verifier {
    struct clab_replay replay;
    uint64_t *everyone; // the set of all ranks of the problem
    int words;          // that there is room for
};

enum { NOTHING = -1 };

// ---- the end state -------------------------------------------------------------------------------------------

static bool has(const uint64_t *set, int rank)
{
    return set[rank / 64] >> rank % 64 & 1;
}

static bool check_contributors(struct clab_replay *r, int rank, int chunk, const uint64_t *set, int origin)
{
    for (int i = 0; i < r->problem->nranks; i++) {
        bool wanted = origin == CLAB_EVERYONE || i == origin;
        if (has(set, i) && !wanted)
            return clab_replay_fail(r, CLAB_FLAW_WRONG_CHUNK, rank, -1, chunk,
                                    "ends with chunk %d from rank %d, instead of from rank %d", chunk, i, origin);
        if (!has(set, i) && wanted)
            return clab_replay_fail(r, CLAB_FLAW_MISSING_CONTRIBUTOR, rank, -1, chunk,
                                    "ends with chunk %d without the contribution of rank %d", chunk, i);
    }
    return true;
}

static bool check_chunk(const struct clab_verifier *v, struct clab_replay *r, int rank, int chunk)
{
    int input_block, origin = clab_problem_origin(r->problem, rank, chunk / r->chunks, &input_block);
    int wanted = input_block * r->chunks + chunk % r->chunks;
    size_t index = clab_replay_index(r, rank, CLAB_DATA, chunk);
    const uint64_t *set = r->set + index * (size_t)r->words;
    if (r->identity[index] == NOTHING)
        return clab_replay_fail(r, CLAB_FLAW_MISSING_CHUNK, rank, -1, chunk, "ends without chunk %d", chunk);
    if (r->identity[index] != wanted)
        return clab_replay_fail(r, CLAB_FLAW_WRONG_CHUNK, rank, -1, chunk,
                                "ends with input chunk %d as its chunk %d, instead of %d", r->identity[index], chunk,
                                wanted);
    if (origin == CLAB_EVERYONE && !memcmp(set, v->everyone, (size_t)r->words * sizeof *set))
        return true;
    return check_contributors(r, rank, chunk, set, origin);
}

// Of a collective of a file's own, what its result is follows from the schedule: only that each chunk has some.
static bool check_custom_end(struct clab_replay *r)
{
    for (int rank = 0; rank < r->problem->nranks; rank++)
        for (int chunk = 0; chunk < r->problem->listing->outputs[rank]; chunk++)
            if (r->identity[clab_replay_index(r, rank, CLAB_DATA, chunk)] == NOTHING)
                return clab_replay_fail(r, CLAB_FLAW_MISSING_CHUNK, rank, -1, chunk, "ends without chunk %d", chunk);
    return true;
}

static bool check_end(const struct clab_verifier *v, struct clab_replay *r)
{
    int blocks = clab_listing_is_loose(r->problem->listing) ? 0 : clab_problem_blocks(r->problem);
    for (int rank = 0; rank < r->problem->nranks; rank++)
        for (int block = 0; block < blocks; block++) {
            if (!clab_problem_wants(r->problem, rank, block))
                continue;
            for (int chunk = block * r->chunks; chunk < (block + 1) * r->chunks; chunk++)
                if (!check_chunk(v, r, rank, chunk))
                    return false;
        }
    return true;
}

// ---- the cost --------------------------------------------------------------------------------------------------

static void raise_to(long *value, long other)
{
    if (other > *value)
        *value = other;
}

// After each lane: the makespans.
static void count_lane(const struct clab_replay *r, struct clab_verify_result *result)
{
    for (int rank = 0; rank < r->problem->nranks; rank++) {
        const struct clab_actor *actor = &r->actors[rank];
        raise_to(&result->found.rounds, actor->now.alpha);
        raise_to(&result->found.serial, actor->now.beta);
        raise_to(&result->found.reduced, actor->now.gamma);
        if (actor->busy_stages > result->stages)
            result->stages = actor->busy_stages;
    }
}

// After all lanes: the totals.
static void count_totals(const struct clab_replay *r, struct clab_cost *found)
{
    for (int rank = 0; rank < r->problem->nranks; rank++) {
        const struct clab_actor *actor = &r->actors[rank];
        raise_to(&found->messages_max, actor->messages);
        raise_to(&found->sent_max, actor->sent);
        raise_to(&found->reduced_max, actor->reduced);
        found->sent_total += actor->sent;
    }
}

static bool check_cost(struct clab_replay *r)
{
    struct clab_cost cost = r->algorithm->cost(r->problem);
    const struct clab_cost *found = &r->result->found;
    const struct {
        const char *name;
        long stated, found;
    } fields[] = {
        {"rounds", cost.rounds, found->rounds},
        {"serial", cost.serial, found->serial},
        {"reduced", cost.reduced, found->reduced},
        {"messages_max", cost.messages_max, found->messages_max},
        {"sent_max", cost.sent_max, found->sent_max},
        {"reduced_max", cost.reduced_max, found->reduced_max},
        {"sent_total", cost.sent_total, found->sent_total},
    };
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (fields[i].stated != fields[i].found)
            return clab_replay_fail(r, CLAB_FLAW_COST, -1, -1, -1, "states a cost of %s = %ld, but has %ld",
                                    fields[i].name, fields[i].stated, fields[i].found);
    return true;
}

// ---- interface -----------------------------------------------------------------------------------------------

int clab_verifier_create(struct clab_verifier **verifier_p)
{
    struct clab_verifier *v = calloc(1, sizeof *v);
    if (!v)
        return CLAB_ENOMEM;
    *verifier_p = v;
    return CLAB_OK;
}

void clab_verifier_free(struct clab_verifier *v)
{
    if (!v)
        return;
    clab_replay_free(&v->replay);
    free(v->everyone);
    free(v);
}

static int set_everyone(struct clab_verifier *v, int nranks)
{
    int words = (nranks + 63) / 64;
    if (words > v->words) {
        free(v->everyone);
        v->words = 0;
        if (!(v->everyone = malloc((size_t)words * sizeof *v->everyone)))
            return CLAB_ENOMEM;
        v->words = words;
    }
    memset(v->everyone, 0, (size_t)words * sizeof *v->everyone);
    for (int rank = 0; rank < nranks; rank++)
        v->everyone[rank / 64] |= UINT64_C(1) << rank % 64;
    return CLAB_OK;
}

static bool is_sound(struct clab_verifier *v, struct clab_verify_result *result)
{
    struct clab_replay *r = &v->replay;
    for (int lane = 0; lane < r->problem->lanes; lane++) {
        if (!clab_replay_lane(r, lane) ||
            !(clab_listing_is_custom(r->problem->listing) ? check_custom_end(r) : check_end(v, r)))
            return false;
        count_lane(r, result);
    }
    count_totals(r, &result->found);
    return check_cost(r);
}

int clab_verify_observed(struct clab_verifier *v, const struct clab_problem *problem,
                         const struct clab_algorithm *algorithm, const struct clab_observer *observer,
                         struct clab_verify_result *result_p)
{
    CLAB_TRY(set_everyone(v, problem->nranks));
    CLAB_TRY(clab_replay_begin(&v->replay, problem, algorithm, observer, result_p));
    return is_sound(v, result_p) ? CLAB_OK : CLAB_EWRONG;
}

int clab_verify(struct clab_verifier *v, const struct clab_problem *problem, const struct clab_algorithm *algorithm,
                struct clab_verify_result *result_p)
{
    return clab_verify_observed(v, problem, algorithm, NULL, result_p);
}
