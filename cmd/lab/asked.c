// SPDX-License-Identifier: MIT
// What a lab asks to predict (asked.h).

#include "cmd/lab/asked.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/log.h"
#include "cmd/lab/card.h"

static const char *given(const char *text)
{
    return *text ? text : NULL;
}

static void keep(const char *text, char out[PREDICTION_WHERE])
{
    snprintf(out, PREDICTION_WHERE, "%s", text ? text : "");
}

// The run of a section, as `commlab lab` would resolve its command line. conf: a fresh one, which this changes
static int resolve(const struct prediction_section *section, struct lab_conf *conf, struct asked_run *run)
{
    const bool no_wire = !strcmp(section->emulate, "none");
    struct lab_request request = {.backend = given(section->backend),
                                  .net = given(section->net),
                                  .emulate = no_wire ? NULL : given(section->emulate),
                                  .no_wire = no_wire};
    const char *name;
    CLAB_TRY(lab_request_backend(&request, conf, &name));
    const struct clab_backend *backend = clab_backend_find(name);
    if (!backend)
        return CLAB_EUNSUPPORTED;
    CLAB_TRY(lab_conf_use(conf, name));
    lab_request_usual_net(&request, conf, backend);
    lab_request_usual_wire(&request, conf, backend);
    CLAB_TRY(request.emulate ? lab_conf_use(conf, "emulate") : CLAB_OK);
    keep(name, run->backend);
    keep(request.net ? request.net : backend->time->net(NULL), run->net);
    keep(request.emulate, run->emulate);
    run->ranks = section->ranks ? section->ranks : conf->ranks;
    return CLAB_OK;
}

static void limit(const struct asked_run *run, struct prediction_limits *limits)
{
    const struct card_request request = {run->backend, given(run->net), given(run->emulate)};
    struct card card;
    *limits = (struct prediction_limits){NAN, NAN, run->ranks};
    if (card_read(&request, &card) == CLAB_OK)
        card_limits(&card, run->ranks, limits);
}

// A backend that this build lacks, and a machine that is not measured, are no mistakes here.
static int resolve_sections(const char *root, const char *folder, struct asked *asked)
{
    struct clab_log_held held;
    int err = CLAB_OK;
    clab_log_hold(&held);
    for (int i = 0; !err && i < asked->template->nsections; i++) {
        struct lab_conf conf;
        asked->limits[i] = (struct prediction_limits){NAN, NAN, 1 << 20};
        err = lab_conf_load(root, folder, &conf);
        if (!err && resolve(&asked->template->sections[i], &conf, &asked->runs[i]) == CLAB_OK)
            limit(&asked->runs[i], &asked->limits[i]);
        if (!err)
            lab_conf_free(&conf);
    }
    clab_log_release(&held);
    return err;
}

int asked_load(const char *root, const char *folder, struct asked *asked_p)
{
    struct asked asked = {0};
    char path[PATH_MAX];
    if (snprintf(path, sizeof path, "%s/labs/%s/predict.txt", root, folder) >= PATH_MAX)
        return CLAB_EINVAL;
    CLAB_TRY(lab_conf_load(root, folder, &asked.conf));
    int err = predictions_load(path, &asked.template);
    if (!err)
        err = predictions_check_template(asked.template, &asked.conf);
    if (!err)
        err = resolve_sections(root, folder, &asked);
    if (err)
        asked_free(&asked);
    else
        *asked_p = asked;
    return err;
}

void asked_free(struct asked *asked)
{
    predictions_free(asked->template);
    lab_conf_free(&asked->conf);
    *asked = (struct asked){0};
}
