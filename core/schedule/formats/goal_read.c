// SPDX-License-Identifier: MIT
// Reading GOAL, statement by statement. What an operation requires is known when its rank ends.

#include "core/schedule/formats/goal.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/log.h"
#include "core/base/vector.h"
#include "core/schedule/formats/goal_binary.h"
#include "core/schedule/formats/goal_build.h"
#include "core/schedule/formats/goal_labels.h"
#include "core/schedule/formats/goal_words.h"

enum { MOST_RANKS = 1 << 24, MOST_PLACES = 255, SHOWN_LABEL = 64 };

// A requirement, in labels.
struct requirement {
    uint32_t label, on;
    bool begun;
};

struct reader {
    struct goal_words words;
    struct goal_builder builder;
    struct goal_labels labels; // of the rank at hand
    struct requirement *requirements;
    size_t nrequirements, requirement_room;
    int nranks; // 0: not said yet
    int rank;   // at hand, or -1
    char head[GOAL_HEAD];
};

// ---- operations ----------------------------------------------------------------------------------------------

// "cpu 3"; without the word it is 0.
static int take_place(struct reader *r, const char *name, uint8_t *place_p)
{
    uint64_t place;
    *place_p = 0;
    if (!goal_words_take(&r->words, name))
        return CLAB_OK;
    CLAB_TRY(goal_words_number(&r->words, MOST_PLACES, "a whole number from 0 to 255", &place));
    *place_p = (uint8_t)place;
    return CLAB_OK;
}

// A receive's "-1".
static bool takes_any(struct goal_words *w, const struct clab_goal_op *op)
{
    goal_words_skip_blanks(w);
    if (op->type != CLAB_GOAL_RECV || w->at[0] != '-' || w->at[1] != '1' || goal_is_digit(w->at[2]))
        return false;
    w->at += 2;
    return true;
}

static int take_peer(struct reader *r, struct clab_goal_op *op)
{
    struct goal_words *w = &r->words;
    const bool sends = op->type == CLAB_GOAL_SEND;
    uint64_t peer;
    if (!goal_words_take(w, sends ? "to" : "from"))
        return goal_words_fail(w, sends ? "'to'" : "'from'");
    op->peer = CLAB_GOAL_ANY_PEER;
    if (takes_any(w, op))
        return CLAB_OK;
    CLAB_TRY(goal_words_number(w, (uint64_t)r->nranks - 1, "one of the ranks that there are", &peer));
    op->peer = (int32_t)peer;
    return CLAB_OK;
}

static int take_tag(struct reader *r, struct clab_goal_op *op)
{
    struct goal_words *w = &r->words;
    uint64_t tag;
    op->tag = CLAB_GOAL_ANY_TAG;
    if (takes_any(w, op))
        return CLAB_OK;
    CLAB_TRY(goal_words_number(w, CLAB_GOAL_ANY_TAG - 1, "a whole number below 2^32 - 1", &tag));
    op->tag = (uint32_t)tag;
    return CLAB_OK;
}

static int take_message(struct reader *r, struct clab_goal_op *op)
{
    static const char wanted[] = "a size in bytes, such as 8b";
    struct goal_words *w = &r->words;
    uint64_t size;
    CLAB_TRY(goal_words_number(w, CLAB_GOAL_SIZE_MAX, wanted, &size));
    if (!goal_words_take(w, "b"))
        return goal_words_fail(w, wanted);
    op->size = size;
    CLAB_TRY(take_peer(r, op));
    return goal_words_take(w, "tag") ? take_tag(r, op) : CLAB_OK;
}

static int take_calculation(struct reader *r, struct clab_goal_op *op)
{
    uint64_t size;
    CLAB_TRY(goal_words_number(&r->words, CLAB_GOAL_SIZE_MAX, "nanoseconds", &size));
    op->size = size;
    return CLAB_OK;
}

// The operation of a label is the next one.
static int define(struct reader *r, const char *text, size_t length)
{
    uint32_t label;
    if (length == 0)
        return CLAB_OK;
    CLAB_TRY(goal_labels_find(&r->labels, text, length, r->words.line, &label));
    if (r->labels.all[label].op != GOAL_UNDEFINED) {
        clab_error("%s:%u: rank %d has a label %.*s already", r->words.path, r->words.line, r->rank,
                   (int)(length < SHOWN_LABEL ? length : SHOWN_LABEL), text);
        return CLAB_EPARSE;
    }
    r->labels.all[label].op = goal_build_count(&r->builder);
    return CLAB_OK;
}

// The rest of a line after `send`, `recv` or `calc`. length: of its label, or 0
static int take_operation(struct reader *r, enum clab_goal_type type, const char *label, size_t length)
{
    struct clab_goal_op op = {.type = (uint64_t)type & 3, .peer = CLAB_GOAL_ANY_PEER, .line = r->words.line};
    CLAB_TRY(type == CLAB_GOAL_CALC ? take_calculation(r, &op) : take_message(r, &op));
    CLAB_TRY(take_place(r, "cpu", &op.cpu));
    CLAB_TRY(take_place(r, "nic", &op.nic));
    if (!goal_words_ends(&r->words))
        return goal_words_fail(&r->words, "the end of the line");
    CLAB_TRY(define(r, label, length));
    return goal_build_add(&r->builder, &op);
}

// ---- requirements --------------------------------------------------------------------------------------------

static int take_requirement(struct reader *r, const char *label, size_t length, bool begun)
{
    struct goal_words *w = &r->words;
    struct requirement requirement = {.begun = begun};
    goal_words_skip_blanks(w);
    const char *other = w->at;
    const size_t other_length = goal_is_letter(*other) ? goal_words_length(other) : 0;
    if (other_length == 0)
        return goal_words_fail(w, "a label, such as l1");
    w->at += other_length;
    if (!goal_words_ends(w))
        return goal_words_fail(w, "the end of the line");
    CLAB_TRY(goal_labels_find(&r->labels, label, length, w->line, &requirement.label));
    CLAB_TRY(goal_labels_find(&r->labels, other, other_length, w->line, &requirement.on));
    return CLAB_PUSH(r->requirements, r->nrequirements, r->requirement_room, requirement);
}

static int refuse_undefined(const struct reader *r, uint32_t label)
{
    char text[SHOWN_LABEL];
    goal_labels_text(&r->labels, label, text, sizeof text);
    clab_error("%s:%u: rank %d has no operation %s", r->words.path, r->labels.all[label].line, r->rank, text);
    return CLAB_EPARSE;
}

static int end_rank(struct reader *r)
{
    const struct goal_label *labels = r->labels.all;
    for (uint32_t i = 0; i < r->labels.n; i++)
        if (labels[i].op == GOAL_UNDEFINED)
            return refuse_undefined(r, i);
    for (size_t i = 0; i < r->nrequirements; i++) {
        const struct requirement *this = &r->requirements[i];
        CLAB_TRY(
            goal_build_need(&r->builder, (uint32_t)labels[this->label].op, (uint32_t)labels[this->on].op, this->begun));
    }
    CLAB_TRY(goal_build_end_rank(&r->builder));
    goal_labels_clear(&r->labels);
    r->nrequirements = 0;
    r->rank = -1;
    return CLAB_OK;
}

// ---- statements ----------------------------------------------------------------------------------------------

// The type that a word of four letters names, or -1.
static int type_of(const char *word, size_t length)
{
    return length != 4                ? -1
           : !memcmp(word, "send", 4) ? CLAB_GOAL_SEND
           : !memcmp(word, "recv", 4) ? CLAB_GOAL_RECV
           : !memcmp(word, "calc", 4) ? CLAB_GOAL_CALC
                                      : -1;
}

static int take_labelled(struct reader *r, const char *label, size_t length)
{
    struct goal_words *w = &r->words;
    goal_words_skip_blanks(w);
    if (*w->at == ':') {
        w->at++;
        goal_words_skip_blanks(w);
        const size_t word = goal_words_length(w->at);
        const int type = type_of(w->at, word);
        if (type < 0)
            return goal_words_fail(w, "send, recv or calc");
        w->at += word;
        return take_operation(r, (enum clab_goal_type)type, label, length);
    }
    if (goal_words_take(w, "requires"))
        return take_requirement(r, label, length, false);
    if (goal_words_take(w, "irequires"))
        return take_requirement(r, label, length, true);
    return goal_words_fail(w, "':', 'requires' or 'irequires'");
}

static int take_in_rank(struct reader *r)
{
    struct goal_words *w = &r->words;
    const char *word = w->at;
    const size_t length = goal_words_length(word);
    const int type = type_of(word, length);
    if (*word == '}') {
        w->at++;
        return end_rank(r);
    }
    if (length == 0 || !goal_is_letter(*word))
        return goal_words_fail(w,
                               goal_words_end(w) ? "'}', which ends the rank" : "an operation or a label, such as l1");
    w->at += length;
    return type < 0 ? take_labelled(r, word, length) : take_operation(r, (enum clab_goal_type)type, NULL, 0);
}

static int take_ranks(struct reader *r)
{
    uint64_t nranks;
    if (r->nranks)
        return goal_words_fail(&r->words, "one num_ranks only");
    CLAB_TRY(goal_words_number(&r->words, MOST_RANKS, "a number of ranks, 16777216 at most", &nranks));
    if (nranks == 0)
        return goal_words_fail(&r->words, "at least one rank");
    r->nranks = (int)nranks;
    r->words.head = NULL;
    return CLAB_OK;
}

static int begin_rank(struct reader *r)
{
    uint64_t rank;
    const uint32_t line = r->words.line;
    if (r->nranks == 0)
        return goal_words_fail(&r->words, "num_ranks N before the first rank");
    CLAB_TRY(goal_words_number(&r->words, (uint64_t)r->nranks - 1, "one of the ranks that there are", &rank));
    if (!goal_words_take(&r->words, "{"))
        return goal_words_fail(&r->words, "'{'");
    r->rank = (int)rank;
    return goal_build_rank(&r->builder, r->rank, line);
}

static int take_outside(struct reader *r)
{
    if (goal_words_take(&r->words, "num_ranks"))
        return take_ranks(r);
    if (goal_words_take(&r->words, "rank"))
        return begin_rank(r);
    return goal_words_fail(&r->words, "num_ranks or rank");
}

static int take_all(struct reader *r)
{
    CLAB_TRY(goal_words_next(&r->words));
    while (!goal_words_end(&r->words) || r->rank >= 0) {
        CLAB_TRY(r->rank >= 0 ? take_in_rank(r) : take_outside(r));
        CLAB_TRY(goal_words_next(&r->words));
    }
    if (r->nranks == 0)
        return goal_words_fail(&r->words, "num_ranks N");
    return goal_build_end(&r->builder, r->nranks, r->words.line);
}

static int read_program(struct reader *r)
{
    if (goal_binary_is(&r->words))
        return goal_binary_read(&r->words, &r->builder);
    CLAB_TRY(take_all(r));
    if (*r->head && !(r->builder.goal->head = strdup(r->head)))
        return CLAB_ENOMEM;
    return CLAB_OK;
}

int clab_goal_read(FILE *file, const char *path, struct clab_goal **goal_p)
{
    struct reader *r = calloc(1, sizeof *r);
    if (!r)
        return CLAB_ENOMEM;
    r->rank = -1;
    goal_labels_open(&r->labels);
    int err = goal_words_open(&r->words, file, path);
    r->words.head = r->head;
    if (!err)
        err = goal_build_begin(&r->builder, path);
    if (!err)
        err = read_program(r);
    if (err == CLAB_ENOMEM)
        clab_error("%s:%u: it needs more memory than there is", path, r->words.line);
    if (!err) {
        *goal_p = r->builder.goal;
        r->builder.goal = NULL;
    }
    goal_build_free(&r->builder);
    goal_labels_close(&r->labels);
    goal_words_close(&r->words);
    free(r->requirements);
    free(r);
    return err;
}
