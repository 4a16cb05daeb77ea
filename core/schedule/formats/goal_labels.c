// SPDX-License-Identifier: MIT
// Labels by number, and by a hash of their text.

#include "core/schedule/formats/goal_labels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "core/base/err.h"
#include "core/base/mix.h"
#include "core/base/vector.h"

enum { BUCKETS = 256, SPARE_NUMBERS = 1024, DIGITS = 9 };

void goal_labels_open(struct goal_labels *l)
{
    *l = (struct goal_labels){0};
    if (getrandom(&l->seed, sizeof l->seed, GRND_NONBLOCK) < 0)
        l->seed = 0; // then a hostile file may be read slowly
}

void goal_labels_close(struct goal_labels *l)
{
    free(l->all);
    free(l->by_number);
    free(l->names);
    free(l->buckets);
    free(l->texts);
}

void goal_labels_clear(struct goal_labels *l)
{
    if (l->numbers)
        memset(l->by_number, 0, l->numbers * sizeof *l->by_number);
    if (l->nnames)
        memset(l->buckets, 0, l->nbuckets * sizeof *l->buckets);
    l->n = l->numbers = l->nnames = l->ntext = 0;
}

static int add(struct goal_labels *l, uint32_t line, uint32_t *label_p)
{
    struct goal_label label = {GOAL_UNDEFINED, line};
    if (l->n == UINT32_MAX - 1)
        return CLAB_ENOMEM;
    *label_p = (uint32_t)l->n;
    return CLAB_PUSH(l->all, l->n, l->room, label);
}

// ---- by number -----------------------------------------------------------------------------------------------

// l12 is 12; 0: it is no such label.
static size_t number_of(const char *text, size_t length)
{
    size_t number = 0;
    if (length < 2 || length > DIGITS + 1 || text[0] != 'l' || text[1] == '0')
        return 0;
    for (size_t i = 1; i < length; i++) {
        if (text[i] < '0' || text[i] > '9')
            return 0;
        number = 10 * number + (size_t)(text[i] - '0');
    }
    return number;
}

// Numbers below this are looked up; one may be far beyond the labels that there are, and memory is not.
static size_t numbers_for(const struct goal_labels *l)
{
    return 2 * l->n + SPARE_NUMBERS;
}

static int grow_numbers(struct goal_labels *l, size_t number)
{
    CLAB_TRY(CLAB_RESERVE(l->by_number, l->number_room, number + 1));
    memset(l->by_number + l->numbers, 0, (number + 1 - l->numbers) * sizeof *l->by_number);
    l->numbers = number + 1;
    return CLAB_OK;
}

// ---- by text -------------------------------------------------------------------------------------------------

static uint32_t *bucket_of(const struct goal_labels *l, const char *text, size_t length)
{
    uint64_t hash = l->seed;
    for (size_t i = 0; i < length; i++)
        hash = clab_mix(hash, (unsigned char)text[i]);
    return &l->buckets[hash & (l->nbuckets - 1)];
}

static int spread(struct goal_labels *l, size_t nbuckets)
{
    CLAB_TRY(CLAB_RESERVE(l->buckets, l->bucket_room, nbuckets));
    l->nbuckets = nbuckets;
    memset(l->buckets, 0, nbuckets * sizeof *l->buckets);
    for (size_t i = 0; i < l->nnames; i++) {
        uint32_t *bucket = bucket_of(l, l->texts + l->names[i].text, l->names[i].length);
        l->names[i].next = *bucket;
        *bucket = (uint32_t)i + 1;
    }
    return CLAB_OK;
}

static const struct goal_name *find_name(const struct goal_labels *l, const char *text, size_t length)
{
    uint32_t i = l->nnames ? *bucket_of(l, text, length) : 0;
    while (i && (l->names[i - 1].length != length || memcmp(l->texts + l->names[i - 1].text, text, length) != 0))
        i = l->names[i - 1].next;
    return i ? &l->names[i - 1] : NULL;
}

static int add_name(struct goal_labels *l, const char *text, size_t length, uint32_t label)
{
    if (l->nnames >= l->nbuckets)
        CLAB_TRY(spread(l, l->nbuckets ? 2 * l->nbuckets : BUCKETS));
    uint32_t *bucket = bucket_of(l, text, length);
    struct goal_name name = {.text = l->ntext, .length = length, .label = label, .next = *bucket};
    CLAB_TRY(CLAB_APPEND(l->texts, l->ntext, l->text_room, text, length));
    CLAB_TRY(CLAB_PUSH(l->names, l->nnames, l->name_room, name));
    *bucket = (uint32_t)l->nnames;
    return CLAB_OK;
}

// ---- both ----------------------------------------------------------------------------------------------------

int goal_labels_find(struct goal_labels *l, const char *text, size_t length, uint32_t line, uint32_t *label_p)
{
    const size_t number = number_of(text, length);
    if (number && number < l->numbers && l->by_number[number]) {
        *label_p = l->by_number[number] - 1;
        return CLAB_OK;
    }
    const struct goal_name *name = find_name(l, text, length);
    if (name) {
        *label_p = name->label;
        return CLAB_OK;
    }
    CLAB_TRY(add(l, line, label_p));
    if (number == 0 || number >= numbers_for(l))
        return add_name(l, text, length, *label_p);
    if (number >= l->numbers)
        CLAB_TRY(grow_numbers(l, number));
    l->by_number[number] = *label_p + 1;
    return CLAB_OK;
}

void goal_labels_text(const struct goal_labels *l, uint32_t label, char *text, size_t room)
{
    *text = '\0';
    for (size_t i = 0; i < l->numbers; i++)
        if (l->by_number[i] == label + 1)
            snprintf(text, room, "l%zu", i);
    for (size_t i = 0; i < l->nnames; i++)
        if (l->names[i].label == label)
            snprintf(text, room, "%.*s", (int)(l->names[i].length < room ? l->names[i].length : room - 1),
                     l->texts + l->names[i].text);
}
