// SPDX-License-Identifier: MIT
// Reading GOAL, line by line. Labels are looked up among those of their rank that came before.

#include "core/schedule/formats/goal.h"

#include <ctype.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/mix.h"
#include "core/base/vector.h"

enum { MOST_RANKS = 1 << 12, MOST_OPS = 1 << 26, LABEL_ROOM = 32, HEAD_ROOM = 4096 };

struct label {
    char text[LABEL_ROOM];
    int op, next; // in its bucket, or -1
};

enum { BUCKETS = 1 << 12 }; // of a rank at first

struct reader {
    struct clab_goal *goal;
    FILE *file;
    int line;
    char *text; // the line at hand, from `at` on still to be read
    size_t room;
    const char *at;
    bool in_comment;
    int rank;             // at hand, or -1
    int next_rank;        // that must come next
    struct label *labels; // of the rank at hand
    int nlabels, label_room, op_room, need_room;
    int *buckets, bucket_room; // (nbuckets) the last label of each, or -1
    int nbuckets;              // at least as many as labels, a power of two
    uint64_t seed;             // of this reader's hashes: so no file can be made whose labels all share a bucket
    long nops;
    char head[HEAD_ROOM];
};

static int fail(const struct reader *r, const char *wanted)
{
    clab_error("%s:%d: '%.40s' where there should be %s", r->goal->path, r->line, r->at, wanted);
    return CLAB_EPARSE;
}

// ---- words ---------------------------------------------------------------------------------------------------

static void skip_blanks(struct reader *r)
{
    while (*r->at == ' ' || *r->at == '\t' || *r->at == '\r')
        r->at++;
}

static bool ends(struct reader *r)
{
    skip_blanks(r);
    return *r->at == '\0' || (r->at[0] == '/' && (r->at[1] == '/' || r->at[1] == '*'));
}

// Whether the next word is `word`, which is then passed.
static bool takes(struct reader *r, const char *word)
{
    size_t n = strlen(word);
    skip_blanks(r);
    if (strncmp(r->at, word, n) != 0 ||
        (isalpha((unsigned char)word[0]) && (isalnum((unsigned char)r->at[n]) || r->at[n] == '_')))
        return false;
    r->at += n;
    return true;
}

static int take_number(struct reader *r, size_t most, const char *wanted, size_t *number_p)
{
    size_t number = 0;
    skip_blanks(r);
    if (!isdigit((unsigned char)*r->at))
        return fail(r, wanted);
    for (const char *c = r->at; isdigit((unsigned char)*c); c++) {
        size_t digit = (size_t)(*c - '0');
        if (digit > most || number > (most - digit) / 10)
            return fail(r, wanted);
        number = 10 * number + digit;
    }
    while (isdigit((unsigned char)*r->at))
        r->at++;
    *number_p = number;
    return CLAB_OK;
}

static int take_int(struct reader *r, int most, const char *wanted, int *number_p)
{
    size_t number;
    CLAB_TRY(take_number(r, (size_t)most, wanted, &number));
    *number_p = (int)number;
    return CLAB_OK;
}

static int take_label(struct reader *r, char label[LABEL_ROOM])
{
    size_t n = 0;
    skip_blanks(r);
    if (!isalpha((unsigned char)*r->at))
        return fail(r, "a label, such as l1");
    while (isalnum((unsigned char)r->at[n]) || r->at[n] == '_')
        n++;
    if (n >= LABEL_ROOM)
        return fail(r, "a label of at most 31 letters");
    memcpy(label, r->at, n);
    label[n] = '\0';
    r->at += n;
    return CLAB_OK;
}

// ---- labels --------------------------------------------------------------------------------------------------

static int *bucket_of(struct reader *r, const char *label)
{
    uint64_t hash = r->seed;
    for (; *label; label++)
        hash = clab_mix(hash, (unsigned char)*label);
    return &r->buckets[hash & ((unsigned)r->nbuckets - 1)];
}

// Put the labels that there are into so many buckets.
static int spread_labels(struct reader *r, int nbuckets)
{
    CLAB_TRY(CLAB_RESERVE(r->buckets, r->bucket_room, nbuckets));
    r->nbuckets = nbuckets;
    memset(r->buckets, 0xff, (size_t)nbuckets * sizeof *r->buckets);
    for (int i = 0; i < r->nlabels; i++) {
        int *bucket = bucket_of(r, r->labels[i].text);
        r->labels[i].next = *bucket;
        *bucket = i;
    }
    return CLAB_OK;
}

// The operation of that label, or -1.
static int find_label(struct reader *r, const char *label)
{
    int i = *bucket_of(r, label);
    while (i >= 0 && strcmp(r->labels[i].text, label) != 0)
        i = r->labels[i].next;
    return i < 0 ? -1 : r->labels[i].op;
}

static int add_label(struct reader *r, const char *text, int op)
{
    if (find_label(r, text) >= 0) {
        clab_error("%s:%d: rank %d has a label %s already", r->goal->path, r->line, r->rank, text);
        return CLAB_EPARSE;
    }
    CLAB_TRY(CLAB_RESERVE(r->labels, r->label_room, r->nlabels + 1));
    if (r->nlabels == r->nbuckets)
        CLAB_TRY(spread_labels(r, 2 * r->nbuckets));
    int *bucket = bucket_of(r, text);
    struct label *label = &r->labels[r->nlabels];
    strcpy(label->text, text);
    label->op = op;
    label->next = *bucket;
    *bucket = r->nlabels++;
    return CLAB_OK;
}

// ---- statements ----------------------------------------------------------------------------------------------

static int take_option(struct reader *r, const char *name, int *number_p)
{
    *number_p = 0;
    if (!takes(r, name))
        return CLAB_OK;
    return take_int(r, INT_MAX - 1, "a whole number (which of several is meant can not be left open here)", number_p);
}

static int take_places(struct reader *r)
{
    int cpu, nic;
    CLAB_TRY(take_option(r, "cpu", &cpu));
    CLAB_TRY(take_option(r, "nic", &nic));
    if (cpu == 0 && nic == 0)
        return CLAB_OK;
    clab_error("%s:%d: cpu %d nic %d: a rank has one core and one adapter here; make them ranks of their own",
               r->goal->path, r->line, cpu, nic);
    return CLAB_EPARSE;
}

static int take_message(struct reader *r, struct clab_goal_op *op)
{
    CLAB_TRY(take_number(r, SIZE_MAX >> 8, "a size in bytes, such as 8b", &op->size));
    if (!takes(r, "b"))
        return fail(r, "a size in bytes, such as 8b");
    if (!takes(r, op->type == CLAB_GOAL_SEND ? "to" : "from"))
        return fail(r, op->type == CLAB_GOAL_SEND ? "'to'" : "'from'");
    CLAB_TRY(
        take_int(r, r->goal->nranks - 1, "one of the ranks that there are (any source can not be priced)", &op->peer));
    if (op->peer == r->rank)
        return fail(r, "something after a message of a rank to another, not to itself");
    CLAB_TRY(take_option(r, "tag", &op->tag));
    return take_places(r);
}

// Read the rest of a line after `send`, `recv` or `calc`.
static int take_operation(struct reader *r, enum clab_goal_type type, const char *label)
{
    struct clab_goal_rank *rank = &r->goal->ranks[r->rank];
    struct clab_goal_op op = {.type = type, .peer = -1, .line = r->line};
    if (type != CLAB_GOAL_CALC) {
        CLAB_TRY(take_message(r, &op));
    } else {
        CLAB_TRY(take_number(r, (size_t)INT_MAX * 1000000000, "nanoseconds", &op.size));
        CLAB_TRY(take_places(r));
    }
    if (!ends(r))
        return fail(r, "the end of the line");
    if (++r->nops > MOST_OPS)
        return CLAB_ENOMEM;
    CLAB_TRY(CLAB_PUSH(rank->ops, rank->nops, r->op_room, op));
    return *label ? add_label(r, label, rank->nops - 1) : CLAB_OK;
}

static int take_need(struct reader *r, const char *label, bool begun)
{
    struct clab_goal_rank *rank = &r->goal->ranks[r->rank];
    char other[LABEL_ROOM];
    CLAB_TRY(take_label(r, other));
    struct clab_goal_need need = {find_label(r, label), find_label(r, other), begun};
    if (need.op < 0 || need.on < 0) {
        clab_error("%s:%d: rank %d has no operation %s above this line", r->goal->path, r->line, r->rank,
                   need.op < 0 ? label : other);
        return CLAB_EPARSE;
    }
    if (need.op <= need.on) {
        clab_error("%s:%d: %s comes before %s, which it waits for: write it below", r->goal->path, r->line, label,
                   other);
        return CLAB_EPARSE;
    }
    CLAB_TRY(CLAB_PUSH(rank->needs, rank->nneeds, r->need_room, need));
    return ends(r) ? CLAB_OK : fail(r, "the end of the line");
}

static int begin_rank(struct reader *r)
{
    int rank;
    if (r->goal->nranks == 0)
        return fail(r, "num_ranks N before the first rank");
    CLAB_TRY(take_int(r, r->goal->nranks - 1, "one of the ranks that there are", &rank));
    if (rank != r->next_rank) {
        clab_error("%s:%d: rank %d where rank %d should come: they are in order", r->goal->path, r->line, rank,
                   r->next_rank);
        return CLAB_EPARSE;
    }
    if (!takes(r, "{"))
        return fail(r, "'{'");
    r->rank = rank;
    r->nlabels = r->op_room = r->need_room = 0;
    return spread_labels(r, BUCKETS);
}

static int take_ranks(struct reader *r)
{
    if (r->goal->nranks)
        return fail(r, "one num_ranks only");
    CLAB_TRY(take_int(r, MOST_RANKS, "a number of ranks, 4096 at most", &r->goal->nranks));
    if (r->goal->nranks == 0)
        return fail(r, "at least one rank");
    r->goal->ranks = calloc((size_t)r->goal->nranks, sizeof *r->goal->ranks);
    return r->goal->ranks ? CLAB_OK : CLAB_ENOMEM;
}

// Sort needs by the operation that waits, and keep each once.
static int by_op(const void *a, const void *b)
{
    const struct clab_goal_need *x = a, *y = b;
    if (x->op != y->op)
        return x->op < y->op ? -1 : 1;
    if (x->on != y->on)
        return x->on < y->on ? -1 : 1;
    return x->begun - y->begun;
}

static void end_rank(struct reader *r)
{
    struct clab_goal_rank *rank = &r->goal->ranks[r->rank];
    if (rank->nneeds > 1)
        qsort(rank->needs, (size_t)rank->nneeds, sizeof *rank->needs, by_op);
    r->rank = -1;
    r->next_rank++;
}

static const char *const types[] = {"send", "recv", "calc"};

static int take_statement(struct reader *r)
{
    char label[LABEL_ROOM];
    for (int type = 0; type < 3; type++)
        if (takes(r, types[type]))
            return take_operation(r, (enum clab_goal_type)type, "");
    CLAB_TRY(take_label(r, label));
    if (!takes(r, ":")) {
        bool begun = takes(r, "irequires");
        if (!begun && !takes(r, "requires"))
            return fail(r, "':', 'requires' or 'irequires'");
        return take_need(r, label, begun);
    }
    for (int type = 0; type < 3; type++)
        if (takes(r, types[type]))
            return take_operation(r, (enum clab_goal_type)type, label);
    return fail(r, "send, recv or calc");
}

static int take_line(struct reader *r)
{
    if (r->rank >= 0 && takes(r, "}")) {
        end_rank(r);
    } else if (r->rank >= 0) {
        return take_statement(r);
    } else if (takes(r, "num_ranks")) {
        CLAB_TRY(take_ranks(r));
    } else if (takes(r, "rank")) {
        CLAB_TRY(begin_rank(r));
        return ends(r) ? CLAB_OK : take_line(r);
    } else {
        return fail(r, "num_ranks or rank");
    }
    return ends(r) ? CLAB_OK : take_line(r);
}

// Past what the line has of comments; false: nothing else is in it.
static bool skip_comments(struct reader *r)
{
    for (;;) {
        if (r->in_comment) {
            const char *end = strstr(r->at, "*/");
            if (!end)
                return false;
            r->at = end + 2;
            r->in_comment = false;
        }
        skip_blanks(r);
        if (strncmp(r->at, "/*", 2) != 0)
            return *r->at != '\0' && strncmp(r->at, "//", 2) != 0;
        r->at += 2;
        r->in_comment = true;
    }
}

// A comment line above all else is kept, so that it can be written again.
static void keep_head(struct reader *r)
{
    size_t used = strlen(r->head), n = strlen(r->text);
    if (r->goal->nranks == 0 && strncmp(r->text, "//", 2) == 0 && used + n + 2 < sizeof r->head)
        sprintf(r->head + used, "%s\n", r->text);
}

static int read_lines(struct reader *r)
{
    ssize_t n;
    while ((n = getline(&r->text, &r->room, r->file)) >= 0) {
        if (r->line == INT_MAX)
            return CLAB_ENOMEM;
        r->line++;
        r->text[n > 0 && r->text[n - 1] == '\n' ? n - 1 : n] = '\0';
        r->at = r->text;
        keep_head(r);
        if (skip_comments(r))
            CLAB_TRY(take_line(r));
        if (ends(r) && strncmp(r->at, "/*", 2) == 0)
            skip_comments(r);
    }
    if (r->rank >= 0 || r->goal->nranks == 0 || r->next_rank < r->goal->nranks || r->in_comment) {
        clab_error("%s:%d: the file ends %s", r->goal->path, r->line,
                   r->in_comment          ? "in a comment"
                   : r->goal->nranks == 0 ? "without num_ranks N"
                   : r->rank >= 0         ? "in a rank, without '}'"
                                          : "before the last rank; ranks without operations are 'rank R { }', too");
        return CLAB_EPARSE;
    }
    return CLAB_OK;
}

int clab_goal_read(FILE *file, const char *path, struct clab_listing **listing_p)
{
    struct clab_goal goal = {.path = path};
    struct reader *r = calloc(1, sizeof *r);
    if (!r)
        return CLAB_ENOMEM;
    r->goal = &goal;
    r->file = file;
    r->rank = -1;
    if (getrandom(&r->seed, sizeof r->seed, GRND_NONBLOCK) < 0)
        r->seed = 0; // then a hostile file may be read slowly
    int err = read_lines(r);
    goal.head = *r->head ? r->head : NULL;
    if (!err)
        err = clab_goal_lower(&goal, listing_p);
    if (err == CLAB_ENOMEM)
        clab_error("%s:%d: it needs more memory than there is", path, r->line);
    for (int i = 0; i < goal.nranks && goal.ranks; i++) {
        free(goal.ranks[i].ops);
        free(goal.ranks[i].needs);
    }
    free(goal.ranks);
    free(r->labels);
    free(r->buckets);
    free(r->text);
    free(r);
    return err;
}
