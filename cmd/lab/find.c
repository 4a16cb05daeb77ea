// SPDX-License-Identifier: MIT
// Which labs there are: the folders labs/NN-name.

#include "cmd/lab/lab.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/nearest.h"
#include "core/base/units.h"

static int is_lab(const struct dirent *entry)
{
    const char *name = entry->d_name;
    return isdigit((unsigned char)name[0]) && isdigit((unsigned char)name[1]) && name[2] == '-';
}

static int list(const char *root, struct lab_words *folders)
{
    char path[4096];
    struct dirent **entries;
    int err = CLAB_OK;
    snprintf(path, sizeof path, "%s/labs", root);
    const int n = scandir(path, &entries, is_lab, alphasort);
    if (n < 0) {
        clab_error("the folder %s can not be read", path);
        return CLAB_ENOENT;
    }
    for (int i = 0; i < n; i++) {
        if (!err && folders->count < LAB_MAX_WORDS && (folders->words[folders->count] = strdup(entries[i]->d_name)))
            folders->count++;
        else
            err = CLAB_ENOMEM;
        free(entries[i]);
    }
    free(entries);
    return err;
}

// "07", "7", the folder's whole name, or what stands behind its number.
static bool is_meant(const char *folder, const char *id)
{
    int number = -1;
    return !strcmp(folder, id) || !strcmp(folder + strcspn(folder, "-") + 1, id) || (clab_parse_int(id, 0, 99, &number) == CLAB_OK && number == atoi(folder));
}

static bool is_wanted(const char *folder, const char *id)
{
    return id && (!strcmp(id, "all") || is_meant(folder, id));
}

int lab_select(const char *root, const char *id, struct lab_words *folders)
{
    struct lab_words all = {0}, wanted = {0};
    char names[1024] = "";
    int err = list(root, &all);
    struct clab_nearest nearest = clab_nearest_to(id ? id : "", id ? strlen(id) : 0);
    for (int i = 0; !err && i < all.count; i++) {
        clab_nearest_offer(&nearest, all.words[i]);
        clab_nearest_offer(&nearest, all.words[i] + strcspn(all.words[i], "-") + 1);
        snprintf(names + strlen(names), sizeof names - strlen(names), " %s", all.words[i]);
        if (is_wanted(all.words[i], id) && !(wanted.words[wanted.count++] = strdup(all.words[i])))
            err = CLAB_ENOMEM;
    }
    lab_words_free(&all);
    if (!err && !wanted.count) {
        if (id)
            clab_error("lab: there is no lab '%s'%s; there are:%s, and all", id, clab_nearest_hint(&nearest), names);
        else
            clab_error("lab: which one? There are:%s, and all", names);
        err = CLAB_ENOENT;
    }
    if (err)
        lab_words_free(&wanted);
    else
        *folders = wanted;
    return err;
}
