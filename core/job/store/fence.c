// SPDX-License-Identifier: MIT
// Fences at the store (fence.h).

#include "core/job/store/fence.h"

#include <stdlib.h>
#include <string.h>

enum { REMEMBERED = 1024 }; // failures

struct fence {
    uint64_t key, whole;
    uint32_t bytes;
    int n, arrived;
    struct fence *next;
    int members[]; // (n)
};

struct member {
    struct fence *fence;  // in which it has posted; NULL: none
    unsigned char *bytes; // (STORE_BLOB_BYTES), from its first post on
    bool lost;
};

struct failure {
    uint64_t key;
    int err, culprit;
};

struct store_fences {
    int nranks, nmembers;
    store_answer_fn *answer;
    void *of;
    struct fence *fences;
    struct failure failures[REMEMBERED];
    unsigned nfailures; // ever
    struct member members[];
};

struct store_fences *store_fences_create(int nranks, int nmembers, store_answer_fn *answer, void *of)
{
    struct store_fences *m = calloc(1, sizeof *m + (size_t)nmembers * sizeof *m->members);
    if (!m)
        return NULL;
    m->nranks = nranks;
    m->nmembers = nmembers;
    m->answer = answer;
    m->of = of;
    return m;
}

void store_fences_destroy(struct store_fences *m)
{
    if (!m)
        return;
    for (int i = 0; i < m->nmembers; i++)
        free(m->members[i].bytes);
    for (struct fence *next; m->fences; m->fences = next) {
        next = m->fences->next;
        free(m->fences);
    }
    free(m);
}

void store_block_release(struct store_block *block)
{
    if (block && --block->users == 0)
        free(block);
}

// ---- how a fence ends --------------------------------------------------------------------------------------

static void close_fence(struct store_fences *m, struct fence *fence)
{
    for (int i = 0; i < fence->n; i++)
        if (m->members[fence->members[i]].fence == fence)
            m->members[fence->members[i]].fence = NULL;
    for (struct fence **link = &m->fences; *link; link = &(*link)->next)
        if (*link == fence) {
            *link = fence->next;
            break;
        }
    free(fence);
}

static struct store_block *block_of(size_t bytes)
{
    struct store_block *block = malloc(sizeof *block + bytes);
    if (block)
        *block = (struct store_block){.users = 1, .bytes = bytes}; // this function, until it has answered all
    return block;
}

// All have posted: send each the bytes of all.
static int complete(struct store_fences *m, struct fence *fence)
{
    struct store_block *block = block_of((size_t)fence->n * fence->bytes);
    if (!block)
        return CLAB_ENOMEM;
    for (int i = 0; fence->bytes && i < fence->n; i++)
        memcpy(block->data + (size_t)i * fence->bytes, m->members[fence->members[i]].bytes, fence->bytes);
    const struct store_message answer = {.kind = STORE_GATHERED,
                                         .key = fence->key,
                                         .culprit = -1,
                                         .whole = fence->whole,
                                         .n = (uint32_t)fence->n,
                                         .bytes = fence->bytes,
                                         .tail_bytes = block->bytes};
    for (int i = 0; i < fence->n; i++)
        m->answer(m->of, fence->members[i], &answer, block);
    store_block_release(block);
    close_fence(m, fence);
    return CLAB_OK;
}

static bool has_posted(const struct store_fences *m, const struct fence *fence, int member)
{
    return m->members[member].fence == fence;
}

// What has come: one flag per member, then the bytes of all members.
static struct store_block *gather_some(const struct store_fences *m, const struct fence *fence)
{
    const size_t n = (size_t)fence->n, bytes = fence->bytes;
    struct store_block *block = block_of(n + n * bytes);
    if (!block)
        return NULL;
    memset(block->data, 0, block->bytes);
    for (size_t i = 0; i < n; i++) {
        block->data[i] = has_posted(m, fence, fence->members[i]);
        if (block->data[i] && bytes)
            memcpy(block->data + n + i * bytes, m->members[fence->members[i]].bytes, bytes);
    }
    return block;
}

static void remember(struct store_fences *m, uint64_t key, int err, int culprit)
{
    m->failures[m->nfailures++ % REMEMBERED] = (struct failure){key, err, culprit};
}

// Send the same error to all members that have posted. The `speaker` logs it; -1: the first of them.
static int fail(struct store_fences *m, struct fence *fence, int err, int culprit, int speaker)
{
    struct store_block *block = gather_some(m, fence);
    if (!block)
        return CLAB_ENOMEM;
    struct store_message answer = {.kind = STORE_GATHERED,
                                   .key = fence->key,
                                   .err = err,
                                   .culprit = culprit,
                                   .whole = fence->whole,
                                   .n = (uint32_t)fence->n,
                                   .bytes = fence->bytes,
                                   .tail_bytes = block->bytes};
    for (int i = 0; i < fence->n; i++) {
        const int member = fence->members[i];
        if (!has_posted(m, fence, member) || m->members[member].lost)
            continue;
        speaker = speaker < 0 ? member : speaker;
        answer.says = member == speaker;
        m->answer(m->of, member, &answer, block);
    }
    store_block_release(block);
    remember(m, fence->key, err, culprit);
    close_fence(m, fence);
    return CLAB_OK;
}

// ---- posts ---------------------------------------------------------------------------------------------------

static struct fence *find(const struct store_fences *m, uint64_t key)
{
    struct fence *fence = m->fences;
    while (fence && fence->key != key)
        fence = fence->next;
    return fence;
}

// How the fence of `key` has failed, or NULL. Forget the failure if `member` caused it: it tries again.
static const struct failure *find_failure(struct store_fences *m, uint64_t key, int member)
{
    for (unsigned i = 0; i < REMEMBERED && i < m->nfailures; i++)
        if (m->failures[i].err && m->failures[i].key == key) {
            if (m->failures[i].culprit != member)
                return &m->failures[i];
            m->failures[i].err = CLAB_OK;
        }
    return NULL;
}

static int listed(const struct store_message *post, int i)
{
    return post->n ? (int)store_u32_read(post->tail + 4 * (size_t)i) : i;
}

static struct fence *open_fence(struct store_fences *m, const struct store_message *post, int n)
{
    struct fence *fence = malloc(sizeof *fence + (size_t)n * sizeof *fence->members);
    if (!fence)
        return NULL;
    *fence = (struct fence){.key = post->key, .whole = post->whole, .bytes = post->bytes, .n = n, .next = m->fences};
    for (int i = 0; i < n; i++)
        fence->members[i] = listed(post, i);
    return m->fences = fence;
}

static bool is_valid(const struct store_fences *m, int member, const struct store_message *post, int n)
{
    bool comes = false;
    for (int i = 0; i < n; i++) {
        if (listed(post, i) < 0 || listed(post, i) >= m->nmembers)
            return false;
        comes |= listed(post, i) == member;
    }
    return comes && !m->members[member].fence && !m->members[member].lost;
}

static bool agrees(const struct fence *fence, const struct store_message *post, int n)
{
    if (fence->n != n || fence->whole != post->whole || fence->bytes != post->bytes)
        return false;
    for (int i = 0; i < n; i++)
        if (fence->members[i] != listed(post, i))
            return false;
    return true;
}

static int keep(struct member *member, struct fence *fence, const unsigned char *bytes, size_t n)
{
    if (!member->bytes && !(member->bytes = malloc(STORE_BLOB_BYTES)))
        return CLAB_ENOMEM;
    memcpy(member->bytes, bytes, n);
    member->fence = fence;
    fence->arrived++;
    return CLAB_OK;
}

// A member of the fence that is lost and has not posted, or -1.
static int find_lost(const struct store_fences *m, const struct fence *fence)
{
    for (int i = 0; i < fence->n; i++)
        if (m->members[fence->members[i]].lost && !has_posted(m, fence, fence->members[i]))
            return fence->members[i];
    return -1;
}

// One of the members that have posted, and so agree on the fence.
static int find_posted(const struct store_fences *m, const struct fence *fence)
{
    for (int i = 0; i < fence->n; i++)
        if (has_posted(m, fence, fence->members[i]))
            return fence->members[i];
    return -1;
}

// `member` disagrees with the members that have posted.
static int refuse(struct store_fences *m, struct fence *fence, int member, const struct store_message *post)
{
    const struct store_message answer = {.kind = STORE_GATHERED,
                                         .key = post->key,
                                         .err = CLAB_EMISMATCH,
                                         .says = 1,
                                         .culprit = find_posted(m, fence),
                                         .whole = fence->whole};
    m->answer(m->of, member, &answer, NULL);
    return fail(m, fence, CLAB_EMISMATCH, member, STORE_MEMBERS);
}

static void repeat(struct store_fences *m, int member, const struct failure *failure)
{
    const struct store_message answer = {
        .kind = STORE_GATHERED, .key = failure->key, .err = failure->err, .culprit = failure->culprit};
    m->answer(m->of, member, &answer, NULL);
}

int store_fences_post(struct store_fences *m, int member, const struct store_message *post)
{
    const int n = post->n ? (int)post->n : m->nranks;
    const struct failure *failure = find_failure(m, post->key, member);
    if (!is_valid(m, member, post, n))
        return CLAB_EPARSE;
    if (failure) {
        repeat(m, member, failure);
        return CLAB_OK;
    }
    struct fence *fence = find(m, post->key);
    if (fence && !agrees(fence, post, n))
        return refuse(m, fence, member, post);
    if (!fence && !(fence = open_fence(m, post, n)))
        return CLAB_ENOMEM;
    CLAB_TRY(keep(&m->members[member], fence, post->tail + 4 * (size_t)post->n, post->bytes));
    if (fence->arrived == n)
        return complete(m, fence);
    const int lost = find_lost(m, fence);
    return lost < 0 ? CLAB_OK : fail(m, fence, CLAB_EPEER, lost, -1);
}

void store_fences_withdraw(struct store_fences *m, int member, uint64_t key, int err)
{
    struct fence *fence = find(m, key);
    if (fence && has_posted(m, fence, member))
        fail(m, fence, err, member, member);
}

static bool expects(const struct store_fences *m, const struct fence *fence, int member)
{
    for (int i = 0; i < fence->n; i++)
        if (fence->members[i] == member)
            return !has_posted(m, fence, member);
    return false;
}

void store_fences_lose(struct store_fences *m, int member)
{
    m->members[member].lost = true;
    for (struct fence *next, *fence = m->fences; fence; fence = next) {
        next = fence->next;
        if (expects(m, fence, member))
            fail(m, fence, CLAB_EPEER, member, -1);
    }
}
