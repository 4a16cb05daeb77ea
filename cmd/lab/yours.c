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

enum { LINE = 512 };

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

// Whether what was locked stands otherwise in predict.txt. What can not be read does.
static bool is_edited(const struct lab_yours *yours)
{
    struct clab_log_held held;
    struct predictions *given;
    const struct predictions *locked = yours->counted;
    char was[LINE], is[LINE];
    clab_log_hold(&held);
    bool edited = predictions_load(yours->files.given, &given) != CLAB_OK;
    clab_log_release(&held);
    if (edited)
        return true;
    for (const struct prediction *item = locked->items; item < locked->items + locked->count; item++) {
        const char *command = locked->sections[item->section].command;
        const struct prediction *now = predictions_find(given, command, item);
        if (predictions_answers(locked, command))
            edited |= !now || strcmp(prediction_text(item, was, sizeof was), prediction_text(now, is, sizeof is)) != 0;
    }
    predictions_free(given);
    return edited;
}

// A section that was blank when others were locked is locked by its own first run.
static int find_added(struct lab_yours *yours)
{
    struct predictions *locked = yours->counted;
    yours->counted = NULL;
    const int err = load(yours, yours->files.given);
    if (!err)
        count(yours);
    yours->is_added = !err && yours->answers;
    if (err || yours->is_added) {
        predictions_free(locked);
        return err;
    }
    forget(yours);
    yours->counted = locked;
    count(yours);
    return CLAB_OK;
}

static int find_locked(struct lab_yours *yours, bool is_given)
{
    CLAB_TRY(load(yours, yours->files.locked));
    yours->is_edited = is_given && is_edited(yours);
    count(yours);
    return is_given && !yours->answers && yours->blanks ? find_added(yours) : CLAB_OK;
}

// The locked copy counts. Else predict.txt does, and is to be locked if it says something of this run.
static int find_counted(struct lab_yours *yours)
{
    const bool is_given = access(yours->files.given, F_OK) == 0;
    if (access(yours->files.locked, F_OK) == 0)
        return find_locked(yours, is_given);
    if (!is_given)
        return CLAB_OK;
    CLAB_TRY(load(yours, yours->files.given));
    count(yours);
    yours->is_new = yours->answers;
    if (!yours->is_new)
        forget(yours);
    return CLAB_OK;
}

static int write_added(const struct lab_yours *yours, const struct predictions *locked)
{
    const struct predictions *template = yours->asked.template;
    for (const struct prediction *asked = template->items; asked < template->items + template->count; asked++) {
        char text[LINE];
        const struct prediction *answer = lab_yours_answer(yours, asked);
        if (answer)
            CLAB_TRY(predict_write_answer(
                yours->files.locked, predictions_find(locked, template->sections[asked->section].command, asked)->line,
                prediction_text(answer, text, sizeof text)));
    }
    return CLAB_OK;
}

static int add_to_locked(const struct lab_yours *yours)
{
    struct predictions *locked;
    CLAB_TRY(predictions_load(yours->files.locked, &locked));
    int err = predict_set_mode(yours->files.locked, 0644);
    if (!err)
        err = write_added(yours, locked);
    predictions_free(locked);
    return err ? err : predict_set_mode(yours->files.locked, 0444);
}

int lab_yours_lock(const struct lab_yours *yours)
{
    if (yours->is_added)
        return add_to_locked(yours);
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
