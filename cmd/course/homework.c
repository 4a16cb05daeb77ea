// SPDX-License-Identifier: MIT
// The homework that a student has begun (homework.h).

#include "cmd/course/homework.h"

#include <stdio.h>
#include <unistd.h>

#include "cmd/grade/seed.h"
#include "cmd/kit/kit.h"
#include "core/base/machine/called.h"
#include "core/base/err.h"

enum { MOST = 9 };

static bool is_there(const struct course *course, const char *file)
{
    char path[PATH_MAX];
    return kit_path(course->root, file, "", path) == CLAB_OK && access(path, R_OK) == 0;
}

static void say(const struct course *course, const char *id)
{
    char sheet[48], folder[PATH_MAX], owner[HOMEWORK_STUDENT];
    snprintf(sheet, sizeof sheet, "labs/homework/%s/%s.md", id, id);
    if (!is_there(course, sheet) || kit_work_path(course->root, id, "", folder) != CLAB_OK || access(folder, R_OK) != 0)
        return;
    const bool is_owned = homework_student_of(folder, owner);
    clab_say("Homework %s is begun (%s). Its points: ./commlab grade %s work/%s%s\n", id, sheet, id, id,
             is_owned ? "" : " --student ID");
}

void course_say_homework(const struct course *course)
{
    for (int i = 1; i <= MOST; i++)
        say(course, (const char[]){'h', (char)('0' + i), 0});
}
