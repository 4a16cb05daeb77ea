// SPDX-License-Identifier: MIT
// The units of the course (unit.h).

#include "cmd/course/unit.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/nearest.h"
#include "core/base/options.h"
#include "core/base/text.h"
#include "core/base/vector.h"
#include "cmd/command.h"
#include "cmd/kit/kit.h"

// ---- one unit ------------------------------------------------------------------------------------------------

static bool starts_with(const char *name, bool is_primer)
{
    return (is_primer ? name[0] == 'p' : isdigit((unsigned char)name[0])) && isdigit((unsigned char)name[1]) &&
           name[2] == '-';
}

static int is_primer_folder(const struct dirent *entry)
{
    return starts_with(entry->d_name, true);
}

static int is_lab_folder(const struct dirent *entry)
{
    return starts_with(entry->d_name, false);
}

static const char *folder_name(const struct course_unit *unit)
{
    return strrchr(unit->folder, '/') + 1;
}

// The first heading of a page, behind its number: "# Lab 07 · Everyone to everyone" is "Everyone to everyone".
static char *read_title(FILE *page)
{
    static const char separator[] = " · ";
    char *line = NULL, *title = NULL;
    size_t room = 0;
    while (!title && getline(&line, &room, page) > 0) {
        const char *number = strstr(line, separator);
        line[strcspn(line, "\n")] = 0;
        if (!strncmp(line, "# ", 2))
            title = strdup(number ? number + strlen(separator) : line + 2);
    }
    free(line);
    return title;
}

static int add_title(const struct course *course, struct course_unit *unit)
{
    char path[PATH_MAX];
    CLAB_TRY(course_unit_path(course, unit, "lab.md", path));
    FILE *page = fopen(path, "r");
    if (page) {
        unit->title = read_title(page);
        fclose(page);
    }
    if (!unit->title)
        unit->title = strdup(folder_name(unit) + 3);
    return unit->title ? CLAB_OK : CLAB_ENOMEM;
}

static void count_hints(const struct course *course, struct course_unit *unit)
{
    char name[32], path[PATH_MAX];
    do
        snprintf(name, sizeof name, "hints/%d.md", unit->nhints + 1);
    while (course_unit_path(course, unit, name, path) == CLAB_OK && access(path, R_OK) == 0 && ++unit->nhints);
}

static int add_unit(struct course *course, const char *parent, const char *name)
{
    struct course_unit unit = {.is_primer = name[0] == 'p'};
    snprintf(unit.id, sizeof unit.id, "%.2s", name);
    if (asprintf(&unit.folder, "%s/%s", parent, name) < 0)
        return CLAB_ENOMEM;
    int err = add_title(course, &unit);
    if (!err)
        count_hints(course, &unit);
    if (!err)
        err = CLAB_PUSH(course->units, course->nunits, course->room, unit);
    if (err) {
        free(unit.folder);
        free(unit.title);
    }
    return err;
}

// ---- all units -----------------------------------------------------------------------------------------------

// The units that lie in `parent`, a folder seen from the root. A parent that is not there has none.
static int add_units(struct course *course, const char *parent, int (*is_unit)(const struct dirent *))
{
    char path[PATH_MAX];
    struct dirent **entries;
    int err = CLAB_OK;
    if (snprintf(path, sizeof path, "%s/%s", course->root, parent) >= PATH_MAX)
        return CLAB_OK;
    const int n = scandir(path, &entries, is_unit, alphasort);
    for (int i = 0; i < n; i++) {
        if (!err)
            err = add_unit(course, parent, entries[i]->d_name);
        free(entries[i]);
    }
    if (n >= 0)
        free(entries);
    return err;
}

int course_open(struct course *course_p)
{
    *course_p = (struct course){0};
    CLAB_TRY(kit_root(&course_p->root));
    CLAB_TRY(add_units(course_p, "labs/primer", is_primer_folder));
    CLAB_TRY(add_units(course_p, "labs", is_lab_folder));
    if (course_p->nunits > 0)
        return CLAB_OK;
    clab_error("%s/labs: there is no folder of a lab in it; unpack the kit again", course_p->root);
    return CLAB_ENOENT;
}

void course_close(struct course *course)
{
    for (int i = 0; i < course->nunits; i++) {
        free(course->units[i].folder);
        free(course->units[i].title);
    }
    free(course->units);
    free(course->root);
    *course = (struct course){0};
}

// ---- the one that is meant -----------------------------------------------------------------------------------

static bool is_meant(const struct course_unit *unit, const char *id)
{
    const char *name = folder_name(unit);
    return !strcmp(unit->id, id) || !strcmp(name, id) || !strcmp(name + 3, id) ||
           (unit->id[0] == '0' && !strcmp(unit->id + 1, id));
}

// Homework has commands of its own: start, grade, and what its sheet says.
static bool is_homework(const struct course *course, const char *id)
{
    char path[PATH_MAX], file[32];
    if (!id || id[0] != 'h' || !isdigit((unsigned char)id[1]) || id[2])
        return false;
    snprintf(file, sizeof file, "labs/homework/%s/%s.md", id, id);
    return kit_path(course->root, file, "", path) == CLAB_OK && access(path, R_OK) == 0;
}

static int refuse_homework(const struct course *course, const char *command, const char *id)
{
    char path[PATH_MAX];
    const bool has_begun = kit_work_path(course->root, id, "", path) == CLAB_OK && access(path, R_OK) == 0;
    if (has_begun && !strcmp(command, "reset"))
        clab_error(
            "%s: %s is a homework, not a unit. To begin a file of work/%s anew, rename yours, as in: mv work/%s/mine.c "
            "work/%s/mine.1.c; then ./commlab start %s --student ID writes a fresh one",
            command, id, id, id, id, id);
    else if (has_begun)
        clab_error(
            "%s: %s is a homework, not a unit: ./commlab grade %s work/%s --student ID checks it and names the first "
            "mistake; labs/homework/%s/%s.md says what to do, and how to try it",
            command, id, id, id, id, id);
    else
        clab_error(
            "%s: %s is a homework, not a unit: type ./commlab start %s --student ID, and read labs/homework/%s/%s.md",
            command, id, id, id, id);
    return CLAB_EINVAL;
}

static int refuse(const struct course *course, const char *command, const char *id)
{
    char ids[1024];
    struct clab_text text = clab_text_begin(ids, sizeof ids);
    struct clab_nearest nearest = clab_nearest_to(id ? id : "", id ? strlen(id) : 0);
    for (int i = 0; i < course->nunits; i++) {
        const struct course_unit *unit = &course->units[i];
        clab_text_add(&text, " %s", unit->id);
        clab_nearest_offer(&nearest, unit->id);
        clab_nearest_offer(&nearest, folder_name(unit));
        clab_nearest_offer(&nearest, folder_name(unit) + 3);
    }
    if (id)
        clab_error("%s: there is no unit '%s'%s; there are:%s", command, id, clab_nearest_hint(&nearest), ids);
    else
        clab_error("%s: which unit? There are:%s", command, ids);
    return CLAB_EINVAL;
}

int course_find(const struct course *course, const char *command, const char *id, const struct course_unit **unit_p)
{
    for (int i = 0; id && i < course->nunits; i++)
        if (is_meant(&course->units[i], id)) {
            *unit_p = &course->units[i];
            return CLAB_OK;
        }
    return is_homework(course, id) ? refuse_homework(course, command, id) : refuse(course, command, id);
}

struct request {
    const char *command, *id;
};

static int find_asked(int argc, char **argv, const char *about, bool is_optional, struct course *course_p,
                      const struct course_unit **unit_p)
{
    static const struct clab_option none[] = {{0}};
    const struct clab_command_line line = {.options = none,
                                           .arguments = is_optional ? "[UNIT]" : "UNIT",
                                           .about = about,
                                           CLAB_ONE(struct request, id, "give one unit")};
    const char *name = strchr(argv[0], ' ');
    struct request request = {.command = name ? name + 1 : argv[0]};
    CLAB_TRY(clab_options_parse(&line, argc, argv, &request));
    CLAB_TRY(course_open(course_p));
    if (is_optional && !request.id)
        return CLAB_OK;
    return course_find(course_p, request.command, request.id, unit_p);
}

int course_run(int argc, char **argv, const char *about, bool is_optional,
               int (*act)(const struct course *course, const struct course_unit *unit))
{
    struct course course = {0};
    const struct course_unit *unit = NULL;
    int err = find_asked(argc, argv, about, is_optional, &course, &unit);
    if (!err)
        err = act(&course, unit);
    course_close(&course);
    return command_status(err);
}

// ---- paths ---------------------------------------------------------------------------------------------------

int course_unit_path(const struct course *course, const struct course_unit *unit, const char *file,
                     char path_p[PATH_MAX])
{
    return kit_path(course->root, unit->folder, file, path_p);
}

int course_mine_path(const struct course *course, const struct course_unit *unit, const char *file,
                     char path_p[PATH_MAX])
{
    return kit_work_path(course->root, unit->id, file, path_p);
}

int course_work_path(const struct course *course, const char *file, char path_p[PATH_MAX])
{
    return kit_work_path(course->root, "", file, path_p);
}

bool course_has_solution(const struct course *course, const struct course_unit *unit)
{
    char path[PATH_MAX];
    return course_unit_path(course, unit, "after.c", path) == CLAB_OK && access(path, R_OK) == 0;
}
