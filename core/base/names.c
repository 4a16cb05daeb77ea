// SPDX-License-Identifier: MIT
// Names (names.h).

#include "core/base/names.h"

#include <string.h>

#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/nearest.h"
#include "core/base/text.h"

static const char *name_at(const struct clab_names *names, int i)
{
    return names->words ? names->words[i] : names->name(i);
}

// -1: none is the first `length` characters of `text`.
static int index_of(const struct clab_names *names, const char *text, size_t length)
{
    for (int i = 0; i < names->count; i++)
        if (strlen(name_at(names, i)) == length && !strncmp(name_at(names, i), text, length))
            return i;
    return -1;
}

static void refuse(const struct clab_names *names, const char *flag, const char *text, size_t length)
{
    char room[512];
    struct clab_text there_are = clab_text_begin(room, sizeof room);
    struct clab_nearest nearest = clab_nearest_to(text, length);
    for (int i = 0; i < names->count; i++) {
        clab_nearest_offer(&nearest, name_at(names, i));
        clab_text_add(&there_are, " %s", name_at(names, i));
    }
    clab_error("%s: there is no '%.*s'%s; there are:%s", flag, (int)length, text, clab_nearest_hint(&nearest), room);
}

int clab_names_find(const struct clab_names *names, const char *flag, const char *text, size_t length)
{
    const int i = index_of(names, text, length);
    if (i < 0)
        refuse(names, flag, text, length);
    return i;
}

int clab_names_parse(const struct clab_names *names, const char *text, void *enum_p)
{
    const int i = index_of(names, text, strlen(text));
    if (i < 0)
        return CLAB_ENOENT;
    *(int *)enum_p = i;
    return CLAB_OK;
}

int clab_names_take(const struct clab_names *names, const char *flag, const char *text, bool chosen[])
{
    const bool all = !strcmp(text, "all");
    for (int i = 0; i < names->count; i++)
        chosen[i] = all;
    size_t length;
    for (const char *word, *rest = text; !all && (word = clab_list_next(&rest, &length));) {
        const int i = clab_names_find(names, flag, word, length);
        if (i < 0)
            return CLAB_EINVAL;
        chosen[i] = true;
    }
    return CLAB_OK;
}
