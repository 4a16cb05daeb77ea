// SPDX-License-Identifier: MIT
// Lists and ranges of values, as flags of `commlab sim sweep` and `train` take them.

#include "cmd/sim/commands.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/order.h"
#include "core/base/text.h"
#include "core/base/values.h"
#include "core/base/vector.h"

enum { MOST_VALUES = 4096, MOST_RANKS = 1 << 24 };

int sim_take_ranks(const char *flag, const char *text, size_t *value_p)
{
    int ranks;
    CLAB_TRY(clab_take_int(flag, text, 1, MOST_RANKS, &ranks));
    *value_p = (size_t)ranks;
    return CLAB_OK;
}

int sim_take_size(const char *flag, const char *text, size_t *value_p)
{
    return clab_take_size(flag, text, 1, value_p);
}

static int add_value(const char *flag, size_t value, struct sim_list *list)
{
    if (list->n == MOST_VALUES) {
        clab_error("%s: the list has more than %d values", flag, MOST_VALUES);
        return CLAB_EINVAL;
    }
    return CLAB_PUSH(list->values, list->n, list->room, value);
}

// `text` is LOW-HIGH or one value, of `length` bytes.
static int add_range(const char *flag, const char *text, size_t length, sim_value_fn *take, int factor,
                     struct sim_list *list)
{
    size_t low, high;
    char word[128];
    snprintf(word, sizeof word, "%.*s", (int)length, text);
    char *dash = strchr(word, '-');
    if (dash)
        *dash = '\0';
    CLAB_TRY(take(flag, word, &low));
    CLAB_TRY(take(flag, dash ? dash + 1 : word, &high));
    if (low > high) {
        clab_error("%s '%s-%s': a range begins with its smallest value", flag, word, dash + 1);
        return CLAB_EINVAL;
    }
    for (size_t value = low;; value *= (size_t)factor) {
        CLAB_TRY(add_value(flag, value, list));
        if (value > high / (size_t)factor)
            return CLAB_OK;
    }
}

static int by_value(const void *a, const void *b)
{
    const size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return CLAB_ORDER(x, y);
}

static void sort_and_unite(struct sim_list *list)
{
    int n = 0;
    qsort(list->values, (size_t)list->n, sizeof *list->values, by_value);
    for (int i = 0; i < list->n; i++)
        if (i == 0 || list->values[i] != list->values[n - 1])
            list->values[n++] = list->values[i];
    list->n = n;
}

int sim_list_parse(const char *flag, const char *text, sim_value_fn *take, int factor, struct sim_list *list_p)
{
    struct sim_list list = {0};
    size_t length;
    int err = CLAB_OK;
    for (const char *word; !err && (word = clab_list_next(&text, &length));)
        err = add_range(flag, word, length, take, factor, &list);
    if (err) {
        free(list.values);
        return err;
    }
    sort_and_unite(&list);
    *list_p = list;
    return CLAB_OK;
}
