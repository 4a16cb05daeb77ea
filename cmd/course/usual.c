// SPDX-License-Identifier: MIT
// How a unit runs unless told otherwise (usual.h).

#include "cmd/course/usual.h"

#include <stdio.h>
#include <string.h>

#include "cmd/lab/lab.h"
#include "core/base/err.h"
#include "core/base/log.h"

// A lab's first backend is its usual one.
static void take(struct lab_conf *conf, struct course_usual *u)
{
    if (conf->backends.count == 0 || lab_conf_use(conf, conf->backends.words[0]) != CLAB_OK)
        return;
    u->ranks = conf->ranks;
    if (!strcmp(conf->backends.words[0], "sim") && conf->net)
        snprintf(u->net, sizeof u->net, "%s", conf->net);
}

void course_usual(const struct course *course, const struct course_unit *unit, struct course_usual *usual_p)
{
    struct lab_conf conf;
    struct clab_log_held held;
    const char *slash = strrchr(unit->folder, '/');
    *usual_p = (struct course_usual){.ranks = 2};
    if (unit->is_primer)
        return;
    clab_log_hold(&held);
    if (lab_conf_load(course->root, slash ? slash + 1 : unit->folder, &conf) == CLAB_OK) {
        take(&conf, usual_p);
        lab_conf_free(&conf);
    }
    clab_log_release(&held);
}

void course_usual_flags(const struct course *course, const struct course_unit *unit, char *text_p, size_t room)
{
    struct course_usual usual;
    course_usual(course, unit, &usual);
    snprintf(text_p, room, "-n %d%s%s", usual.ranks, *usual.net ? " --backend sim --net " : "", usual.net);
}
