// SPDX-License-Identifier: MIT
// Children of a communicator of the fake libnccl.
//
// - Split: all ranks say color and key in the parent's segment, and each color bootstraps. As with the real one, the
//   caller's pointer is NULL until the split is over, which takes a while: who uses it before then is found out here.
// - Shrink: those that are left bootstrap, and ask the others nothing.
// - The name of a child's bootstrap is the parent's, how many children that has had, and the color, or who is left out.

#include "tests/fakes/nccl_inside.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const struct timespec least = {.tv_nsec = 10000000}; // that a split takes; the real one's is tens of ms

struct birth {
    ncclComm_t child; // NULL: none at this rank
    int color, key;
    ncclComm_t *child_p; // where the caller wants it
};

struct word {
    int color, key;
};

static uint64_t mix(const char *id, unsigned child, int64_t which)
{
    char text[96];
    snprintf(text, sizeof text, "%s %u %lld", id, child, (long long)which);
    uint64_t hash = 14695981039346656037u; // FNV-1a
    for (const char *at = text; *at; at++)
        hash = (hash ^ (unsigned char)*at) * 1099511628211u;
    return hash;
}

static void name_child(ncclComm_t parent, ncclComm_t child, int64_t which)
{
    const unsigned long long high = mix(parent->id, parent->children, which),
                             low = mix(parent->id, ~parent->children, which);
    snprintf(child->id, sizeof child->id, "%016llx%08llx", high, low >> 32);
}

// A child that is as blocking as its parent, unless it is said.
static ncclComm_t new_child(ncclComm_t parent, const ncclConfig_t *config)
{
    ncclComm_t child = comm_new("", 1, 0, config);
    if (child && (!config || config->blocking == NCCL_CONFIG_UNDEF_INT))
        child->blocking = parent->blocking;
    if (child) {
        child->device = parent->device;
        atomic_store(&child->state, ncclInProgress);
    }
    return child;
}

// The child is what it has become, and handed out then; the answer is the parent's.
static ncclResult_t be_born(const struct birth *birth, ncclResult_t result)
{
    ncclComm_t child = birth->child;
    result = result ? result : comm_bootstrap(child);
    child->parent = 0;
    atomic_store(&child->state, (int)result);
    __atomic_store_n(birth->child_p, child, __ATOMIC_RELEASE);
    comm_release(child);
    return result;
}

static ncclResult_t take_places(ncclComm_t parent, const struct birth *birth)
{
    struct word words[MAX_RANKS];
    memcpy(parent->segment->words[parent->rank], &(struct word){birth->color, birth->key}, sizeof *words);
    if (!gate_pass(parent, &parent->segment->talk))
        return ncclRemoteError;
    for (int rank = 0; rank < parent->nranks; rank++)
        memcpy(&words[rank], parent->segment->words[rank], sizeof *words);
    if (!gate_pass(parent, &parent->segment->talk))
        return ncclRemoteError;
    if (!birth->child)
        return ncclSuccess;
    birth->child->nranks = birth->child->rank = 0;
    for (int rank = 0; rank < parent->nranks; rank++) {
        if (words[rank].color != birth->color)
            continue;
        birth->child->nranks++;
        birth->child->rank +=
            words[rank].key < birth->key || (words[rank].key == birth->key && rank < parent->rank) ? 1 : 0;
    }
    name_child(parent, birth->child, birth->color);
    return ncclSuccess;
}

static ncclResult_t split(ncclComm_t parent, void *data)
{
    const struct birth birth = *(struct birth *)data;
    free(data);
    if (birth.child)
        birth.child->parent = parent;
    const ncclResult_t result = take_places(parent, &birth);
    parent->children++;
    if (!birth.child)
        return result;
    nanosleep(&least, 0);
    return be_born(&birth, result);
}

static ncclResult_t shrink(ncclComm_t parent, void *data)
{
    const struct birth birth = *(struct birth *)data;
    free(data);
    birth.child->parent = atomic_load(&parent->aborting) ? 0 : parent;
    return be_born(&birth, ncclSuccess);
}

// Let `work` bring about the child, of which it is given a struct birth.
static ncclResult_t begin_birth(ncclComm_t parent, comm_work *work, struct birth of)
{
    struct birth *birth = malloc(sizeof *birth);
    if (!birth) {
        if (of.child)
            comm_release(of.child);
        return ncclSystemError;
    }
    *birth = of;
    if (of.child)
        comm_hold(of.child);
    *of.child_p = 0;
    return comm_do(parent, work, birth);
}

ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t *child_p, ncclConfig_t *config)
{
    const ncclResult_t ready = comm_ready(comm);
    if (ready)
        return ready;
    if (!child_p || (color < 0 && color != NCCL_SPLIT_NOCOLOR))
        return warn(ncclInvalidArgument, "ncclCommSplit: color %d", color);
    ncclComm_t child = color == NCCL_SPLIT_NOCOLOR ? 0 : new_child(comm, config);
    if (!child && color != NCCL_SPLIT_NOCOLOR)
        return ncclSystemError;
    return begin_birth(comm, split, (struct birth){child, color, key, child_p});
}

#if NCCL_VERSION_CODE >= 22700
static bool excludes(const int *ranks, int n, int rank)
{
    for (int i = 0; i < n; i++)
        if (ranks[i] == rank)
            return true;
    return false;
}

// With NCCL_SHRINK_ABORT what is under way ends first, and the parent can only be destroyed or aborted after that.
ncclResult_t ncclCommShrink(ncclComm_t comm, int *out, int n_out, ncclComm_t *child_p, ncclConfig_t *config, int flags)
{
    if (!comm || !child_p || (n_out && !out) || excludes(out, n_out, comm->rank))
        return warn(ncclInvalidArgument, "ncclCommShrink: called by a rank that is left out, or without what it needs");
    if (flags == NCCL_SHRINK_ABORT)
        comm_stop(comm);
    else if (comm_ready(comm))
        return comm_ready(comm);
    ncclComm_t child = new_child(comm, config);
    if (!child)
        return ncclSystemError;
    child->nranks = child->rank = 0;
    int64_t which = 0;
    for (int rank = 0; rank < comm->nranks; rank++) {
        const bool is_out = excludes(out, n_out, rank);
        child->nranks += !is_out;
        child->rank += !is_out && rank < comm->rank;
        which = which * 3 + 1 + is_out;
    }
    name_child(comm, child, which);
    comm->children++;
    return begin_birth(comm, shrink, (struct birth){.child = child, .child_p = child_p});
}
#endif
