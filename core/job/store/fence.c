// SPDX-License-Identifier: MIT
// Meetings at the store (fence.h).

#include "core/job/store/fence.h"

#include <stdlib.h>
#include <string.h>

enum { REMEMBERED = 1024 }; // failures

struct meeting {
    uint64_t key, whole;
    uint32_t bytes;
    int n, arrived;
    struct meeting *next;
    int members[]; // (n)
};

struct member {
    struct meeting *meeting; // that it has posted in; NULL: none
    unsigned char *bytes;    // (STORE_BLOB_BYTES), from its first post on
    bool lost;
};

struct failure {
    uint64_t key;
    int err, culprit;
};

struct store_meetings {
    int nranks, nmembers;
    store_answer_fn *answer;
    void *of;
    struct meeting *meetings;
    struct failure failures[REMEMBERED];
    unsigned nfailures; // ever
    struct member members[];
};

struct store_meetings *store_meetings_create(int nranks, int nmembers, store_answer_fn *answer, void *of)
{
    struct store_meetings *m = calloc(1, sizeof *m + (size_t)nmembers * sizeof *m->members);
    if (!m)
        return NULL;
    m->nranks = nranks;
    m->nmembers = nmembers;
    m->answer = answer;
    m->of = of;
    return m;
}

void store_meetings_destroy(struct store_meetings *m)
{
    if (!m)
        return;
    for (int i = 0; i < m->nmembers; i++)
        free(m->members[i].bytes);
    for (struct meeting *next; m->meetings; m->meetings = next) {
        next = m->meetings->next;
        free(m->meetings);
    }
    free(m);
}

void store_block_release(struct store_block *block)
{
    if (block && --block->users == 0)
        free(block);
}

// ---- how a meeting ends --------------------------------------------------------------------------------------

static void close_meeting(struct store_meetings *m, struct meeting *meeting)
{
    for (int i = 0; i < meeting->n; i++)
        if (m->members[meeting->members[i]].meeting == meeting)
            m->members[meeting->members[i]].meeting = NULL;
    for (struct meeting **link = &m->meetings; *link; link = &(*link)->next)
        if (*link == meeting) {
            *link = meeting->next;
            break;
        }
    free(meeting);
}

static struct store_block *block_of(size_t bytes)
{
    struct store_block *block = malloc(sizeof *block + bytes);
    if (block)
        *block = (struct store_block){.users = 1, .bytes = bytes}; // us, until all have been answered
    return block;
}

// All have posted: to each what all gave.
static int complete(struct store_meetings *m, struct meeting *meeting)
{
    struct store_block *block = block_of((size_t)meeting->n * meeting->bytes);
    if (!block)
        return CLAB_ENOMEM;
    for (int i = 0; meeting->bytes && i < meeting->n; i++)
        memcpy(block->data + (size_t)i * meeting->bytes, m->members[meeting->members[i]].bytes, meeting->bytes);
    const struct store_message answer = {.kind = STORE_GATHERED,
                                         .key = meeting->key,
                                         .culprit = -1,
                                         .whole = meeting->whole,
                                         .n = (uint32_t)meeting->n,
                                         .bytes = meeting->bytes,
                                         .tail_bytes = block->bytes};
    for (int i = 0; i < meeting->n; i++)
        m->answer(m->of, meeting->members[i], &answer, block);
    store_block_release(block);
    close_meeting(m, meeting);
    return CLAB_OK;
}

static bool has_posted(const struct store_meetings *m, const struct meeting *meeting, int member)
{
    return m->members[member].meeting == meeting;
}

// What has come: a flag for each of those who should meet, and their bytes.
static struct store_block *gather_some(const struct store_meetings *m, const struct meeting *meeting)
{
    const size_t n = (size_t)meeting->n, bytes = meeting->bytes;
    struct store_block *block = block_of(n + n * bytes);
    if (!block)
        return NULL;
    memset(block->data, 0, block->bytes);
    for (size_t i = 0; i < n; i++) {
        block->data[i] = has_posted(m, meeting, meeting->members[i]);
        if (block->data[i] && bytes)
            memcpy(block->data + n + i * bytes, m->members[meeting->members[i]].bytes, bytes);
    }
    return block;
}

static void remember(struct store_meetings *m, uint64_t key, int err, int culprit)
{
    m->failures[m->nfailures++ % REMEMBERED] = (struct failure){key, err, culprit};
}

// To all who have posted the same error. The `speaker` among them says so; -1: the first.
static int fail(struct store_meetings *m, struct meeting *meeting, int err, int culprit, int speaker)
{
    struct store_block *block = gather_some(m, meeting);
    if (!block)
        return CLAB_ENOMEM;
    struct store_message answer = {.kind = STORE_GATHERED,
                                   .key = meeting->key,
                                   .err = err,
                                   .culprit = culprit,
                                   .whole = meeting->whole,
                                   .n = (uint32_t)meeting->n,
                                   .bytes = meeting->bytes,
                                   .tail_bytes = block->bytes};
    for (int i = 0; i < meeting->n; i++) {
        const int member = meeting->members[i];
        if (!has_posted(m, meeting, member) || m->members[member].lost)
            continue;
        speaker = speaker < 0 ? member : speaker;
        answer.says = member == speaker;
        m->answer(m->of, member, &answer, block);
    }
    store_block_release(block);
    remember(m, meeting->key, err, culprit);
    close_meeting(m, meeting);
    return CLAB_OK;
}

// ---- posts ---------------------------------------------------------------------------------------------------

static struct meeting *find(const struct store_meetings *m, uint64_t key)
{
    struct meeting *meeting = m->meetings;
    while (meeting && meeting->key != key)
        meeting = meeting->next;
    return meeting;
}

// How the meeting of `key` has failed, if it has; NULL for the one by whom it has: it has come to try again.
static const struct failure *find_failure(struct store_meetings *m, uint64_t key, int member)
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

static struct meeting *open_meeting(struct store_meetings *m, const struct store_message *post, int n)
{
    struct meeting *meeting = malloc(sizeof *meeting + (size_t)n * sizeof *meeting->members);
    if (!meeting)
        return NULL;
    *meeting =
        (struct meeting){.key = post->key, .whole = post->whole, .bytes = post->bytes, .n = n, .next = m->meetings};
    for (int i = 0; i < n; i++)
        meeting->members[i] = listed(post, i);
    return m->meetings = meeting;
}

static bool is_valid(const struct store_meetings *m, int member, const struct store_message *post, int n)
{
    bool comes = false;
    for (int i = 0; i < n; i++) {
        if (listed(post, i) < 0 || listed(post, i) >= m->nmembers)
            return false;
        comes |= listed(post, i) == member;
    }
    return comes && !m->members[member].meeting && !m->members[member].lost;
}

static bool agrees(const struct meeting *meeting, const struct store_message *post, int n)
{
    if (meeting->n != n || meeting->whole != post->whole || meeting->bytes != post->bytes)
        return false;
    for (int i = 0; i < n; i++)
        if (meeting->members[i] != listed(post, i))
            return false;
    return true;
}

static int keep(struct member *member, struct meeting *meeting, const unsigned char *bytes, size_t n)
{
    if (!member->bytes && !(member->bytes = malloc(STORE_BLOB_BYTES)))
        return CLAB_ENOMEM;
    memcpy(member->bytes, bytes, n);
    member->meeting = meeting;
    meeting->arrived++;
    return CLAB_OK;
}

// A member of the meeting that is lost and has not posted, or -1.
static int find_lost(const struct store_meetings *m, const struct meeting *meeting)
{
    for (int i = 0; i < meeting->n; i++)
        if (m->members[meeting->members[i]].lost && !has_posted(m, meeting, meeting->members[i]))
            return meeting->members[i];
    return -1;
}

// Others disagree with `member`, which is not among those who have posted.
static int refuse(struct store_meetings *m, struct meeting *meeting, int member, const struct store_message *post)
{
    const struct store_message answer = {.kind = STORE_GATHERED,
                                         .key = post->key,
                                         .err = CLAB_EMISMATCH,
                                         .says = 1,
                                         .culprit = -1,
                                         .whole = meeting->whole};
    m->answer(m->of, member, &answer, NULL);
    return fail(m, meeting, CLAB_EMISMATCH, member, STORE_MEMBERS);
}

static void repeat(struct store_meetings *m, int member, const struct failure *failure)
{
    const struct store_message answer = {
        .kind = STORE_GATHERED, .key = failure->key, .err = failure->err, .culprit = failure->culprit};
    m->answer(m->of, member, &answer, NULL);
}

int store_meetings_post(struct store_meetings *m, int member, const struct store_message *post)
{
    const int n = post->n ? (int)post->n : m->nranks;
    const struct failure *failure = find_failure(m, post->key, member);
    if (!is_valid(m, member, post, n))
        return CLAB_EPARSE;
    if (failure) {
        repeat(m, member, failure);
        return CLAB_OK;
    }
    struct meeting *meeting = find(m, post->key);
    if (meeting && !agrees(meeting, post, n))
        return refuse(m, meeting, member, post);
    if (!meeting && !(meeting = open_meeting(m, post, n)))
        return CLAB_ENOMEM;
    CLAB_TRY(keep(&m->members[member], meeting, post->tail + 4 * (size_t)post->n, post->bytes));
    if (meeting->arrived == n)
        return complete(m, meeting);
    const int lost = find_lost(m, meeting);
    return lost < 0 ? CLAB_OK : fail(m, meeting, CLAB_EPEER, lost, -1);
}

void store_meetings_withdraw(struct store_meetings *m, int member, uint64_t key, int err)
{
    struct meeting *meeting = find(m, key);
    if (meeting && has_posted(m, meeting, member))
        fail(m, meeting, err, member, member);
}

static bool expects(const struct store_meetings *m, const struct meeting *meeting, int member)
{
    for (int i = 0; i < meeting->n; i++)
        if (meeting->members[i] == member)
            return !has_posted(m, meeting, member);
    return false;
}

void store_meetings_lose(struct store_meetings *m, int member)
{
    m->members[member].lost = true;
    for (struct meeting *next, *meeting = m->meetings; meeting; meeting = next) {
        next = meeting->next;
        if (expects(m, meeting, member))
            fail(m, meeting, CLAB_EPEER, member, -1);
    }
}
