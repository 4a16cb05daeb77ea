// SPDX-License-Identifier: MIT
// commlab lab NN: runs a lab, or one after another.
//
// - What a lab's run is: session.c. A lab that fails does not keep the others from running.
// - The student's journal gets a line for each lab that ran, so that `commlab next` goes on.

#include "cmd/lab/lab.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/base/machine/called.h"
#include "core/base/clock.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "cmd/kit/child.h"
#include "cmd/command.h"
#include "cmd/kit/journal.h"
#include "cmd/kit/kit.h"

// What all of the labs share.
struct labs {
    const struct lab_request *request;
    const char *root, *build; // folders of the kit, and of what was built
    struct lab_words folders;
};

// One of several labs says how long it took, and which others failed does not keep it from running.
static int run_one_of(const struct labs *labs, int i)
{
    const double begin = clab_now();
    const char *folder = labs->folders.words[i];
    const int count = labs->folders.count;
    if (count > 1)
        printf("%s# ---- lab %d of %d: %s\n", i ? "\n" : "", i + 1, count, folder);
    fflush(stdout);
    const int err = lab_session(labs->request, labs->root, labs->build, folder);
    if (count == 1)
        return err;
    if (err && !child_ended_by())
        clab_error("lab %d of %d, %s, failed; going on", i + 1, count, folder);
    else if (!err)
        printf("# took %.1f s\n", clab_now() - begin);
    fflush(stdout);
    return err;
}

// A lab that a student has predicted, and that ran, or can not run here: `commlab next` goes on. Runs of other work, and
// runs whose results go elsewhere, are tries.
static void note_run(const struct labs *labs, const char *folder, int err)
{
    char path[PATH_MAX], unit[8];
    snprintf(unit, sizeof unit, "%.2s", folder);
    if (kit_work_path(labs->root, unit, "predict.txt", path) != CLAB_OK)
        return;
    const bool is_try = labs->request->results || lab_request_is_other(labs->request);
    const char *why = err ? "not: this machine or build lacks what it needs" : NULL;
    if ((err == CLAB_OK || err == CLAB_EUNSUPPORTED) && !is_try && access(path, F_OK) == 0 &&
        journal_add(labs->root, unit, JOURNAL_RAN, why) == CLAB_OK)
        clab_say("# what comes next: ./commlab next\n");
}

// The first error, after all have been tried; what was asked for wrongly, or an end of memory, ends it.
static int run_labs(const struct lab_request *request, const char *root, const char *build)
{
    struct labs labs = {.request = request, .root = root, .build = build};
    CLAB_TRY(lab_select(root, request->lab, &labs.folders));
    const int lacking = request->backend ? lab_attach(request->backend) : CLAB_OK;
    const int count = lacking ? 0 : labs.folders.count;
    int first = lacking;
    for (int i = 0; i < count && first != CLAB_EINVAL && first != CLAB_ENOMEM && !child_ended_by(); i++) {
        const int err = run_one_of(&labs, i);
        note_run(&labs, labs.folders.words[i], err);
        if (!first)
            first = err;
    }
    lab_words_free(&labs.folders);
    return first;
}

static int run(int argc, char **argv)
{
    struct lab_request request;
    char *root = NULL, *build = NULL;
    lab_request_parse(argc, argv, &request);
    int err = request.command ? kit_root(&root) : CLAB_ENOMEM;
    if (!err)
        err = kit_build(&build);
    child_watch();
    if (!err)
        err = run_labs(&request, root, build);
    const int ended_by = child_unwatch();
    free(root);
    free(build);
    free(request.command);
    if (ended_by)
        raise(ended_by);
    return err == CLAB_EPARSE ? EXIT_FAILURE : command_status(err); // a row of a program, or lab.conf
}

const struct clab_command cmd_lab = {"lab", "run a lab's before and after in pairs, predicted and measured", run};
