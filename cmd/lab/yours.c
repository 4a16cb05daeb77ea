// SPDX-License-Identifier: MIT
// Which predictions of a student count for a run (yours.h).

#include "cmd/lab/yours.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/err.h"
#include "core/base/log.h"
#include "cmd/kit/kit.h"

// ---- which sections this run answers -------------------------------------------------------------------------

static bool has_ranks(const struct lab_conf *conf, const struct lab_yours_run *run, int ranks)
{
    if (ranks == run->run.ranks)
        return true;
    for (int i = 0; run->is_swept && i < conf->sweep.count; i++)
        if (atoi(conf->sweep.words[i]) == ranks)
            return true;
    return false;
}

static bool fits(const struct lab_conf *conf, const struct lab_yours_run *run, const struct asked_run *asked)
{
    return !run->is_other && !strcmp(asked->backend, run->run.backend) && !strcmp(asked->net, run->run.net) &&
           !strcmp(asked->emulate, run->run.emulate) && has_ranks(conf, run, asked->ranks);
}

// ---- which file counts ---------------------------------------------------------------------------------------

static int load(struct lab_yours *yours, const char *path)
{
    int err = predictions_load(kit_relative(path), &yours->counted);
    if (!err)
        err = predictions_check(yours->counted, yours->asked.template, &yours->asked.conf, yours->asked.limits);
    return err == CLAB_EPARSE ? CLAB_EINVAL : err; // a mistake of the student's, not of a program
}

static void count(struct lab_yours *yours)
{
    const struct predictions *template = yours->asked.template;
    yours->answers = yours->blanks = 0;
    for (const struct prediction *asked = template->items; asked < template->items + template->count; asked++)
        if (yours->fits[asked->section])
            ++*(lab_yours_answer(yours, asked) ? &yours->answers : &yours->blanks);
}

static void forget(struct lab_yours *yours)
{
    predictions_free(yours->counted);
    yours->counted = NULL;
}

// The locked copy counts. Else predict.txt does, and is to be locked if it says something of this run.
static int find_counted(struct lab_yours *yours)
{
    const bool is_given = access(yours->files.given, F_OK) == 0;
    if (access(yours->files.locked, F_OK) == 0) {
        yours->is_edited = is_given && !predict_is_same(yours->files.given, yours->files.locked);
        CLAB_TRY(load(yours, yours->files.locked));
        count(yours);
        return CLAB_OK;
    }
    if (!is_given)
        return CLAB_OK;
    CLAB_TRY(load(yours, yours->files.given));
    count(yours);
    if (!yours->answers) {
        forget(yours);
        return CLAB_OK;
    }
    yours->is_new = true;
    return CLAB_OK;
}

int lab_yours_lock(const struct lab_yours *yours)
{
    return yours->is_new ? predict_copy(yours->files.given, yours->files.locked, 0444) : CLAB_OK;
}

// A mistake in the lab's own predict.txt keeps only those from measuring who have predicted.
static int load_asked(struct lab_yours *yours, const char *folder)
{
    struct clab_log_held held;
    if (access(yours->files.given, F_OK) == 0 || access(yours->files.locked, F_OK) == 0) {
        const int err = asked_load(yours->root, folder, &yours->asked);
        return err == CLAB_EPARSE ? CLAB_EINVAL : err;
    }
    clab_log_hold(&held);
    const int err = asked_load(yours->root, folder, &yours->asked);
    clab_log_release(&held);
    return err == CLAB_ENOMEM ? err : CLAB_OK;
}

int lab_yours_open(const char *root, const struct lab_conf *conf, const struct lab_yours_run *run,
                   struct lab_yours *yours_p)
{
    struct lab_yours yours = {.root = root, .id = conf->id, .is_other = run->is_other};
    char path[PATH_MAX];
    *yours_p = yours;
    if (snprintf(path, sizeof path, "%s/labs/%s/predict.txt", root, conf->folder) >= PATH_MAX ||
        access(path, F_OK) != 0)
        return CLAB_OK;
    CLAB_TRY(predict_files(root, conf->id, &yours.files));
    int err = load_asked(&yours, conf->folder);
    if (err || !yours.asked.template)
        return err;
    for (int i = 0; i < yours.asked.template->nsections; i++)
        yours.fits[i] = fits(conf, run, &yours.asked.runs[i]);
    err = find_counted(&yours);
    if (err)
        lab_yours_free(&yours);
    else
        *yours_p = yours;
    return err;
}

void lab_yours_free(struct lab_yours *yours)
{
    forget(yours);
    if (yours->asked.template)
        asked_free(&yours->asked);
}

const struct prediction *lab_yours_answer(const struct lab_yours *yours, const struct prediction *asked)
{
    if (!yours->counted || !yours->fits[asked->section])
        return NULL;
    const struct prediction *answer =
        predictions_find(yours->counted, yours->asked.template->sections[asked->section].command, asked);
    return answer && !answer->is_blank ? answer : NULL;
}
