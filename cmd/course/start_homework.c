// SPDX-License-Identifier: MIT
// Starting a homework (start_homework.h).

#include "cmd/course/start_homework.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/machine/called.h"
#include "core/base/err.h"
#include "core/base/files/input.h"
#include "core/base/log.h"
#include "core/base/options.h"
#include "core/base/files/output.h"
#include "cmd/command.h"
#include "cmd/course/mine.h"
#include "cmd/grade/homeworks.h"
#include "cmd/grade/seed.h"
#include "cmd/kit/kit.h"

struct request {
    const char *id, *student;
    char *root;
    char folder[64];      // labs/homework/h2
    char work[PATH_MAX];  // where the student's files go
};

static bool is_id(const char *word)
{
    return word[0] == 'h' && isdigit((unsigned char)word[1]) && !word[2];
}

bool start_is_homework(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (is_id(argv[i]))
            return true;
    return false;
}

// Copy a file of starter/ to the student's folder, and say so.
static int copy(const struct request *request, const char *name)
{
    char from[PATH_MAX], to[PATH_MAX], file[300];
    struct clab_input text;
    bool is_there;
    snprintf(file, sizeof file, "starter/%s", name);
    CLAB_TRY(kit_path(request->root, request->folder, file, from));
    CLAB_TRY(kit_work_path(request->root, request->id, name, to));
    CLAB_TRY(clab_input_open(from, CLAB_INPUT_LOG, &text));
    const int err = mine_write_new(to, &text, &is_there);
    clab_input_close(&text);
    if (!err)
        printf("  %s%s\n", kit_relative(to), is_there ? " (was there already, and stays as it is)" : "");
    return err;
}

static int is_visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static int copy_all(const struct request *request)
{
    char path[PATH_MAX];
    struct dirent **entries;
    CLAB_TRY(kit_path(request->root, request->folder, "starter", path));
    const int n = scandir(path, &entries, is_visible, alphasort);
    if (n <= 0) {
        clab_error("%s: there is no starter of this homework; unpack the kit again", kit_relative(path));
        return CLAB_ENOENT;
    }
    int err = CLAB_OK;
    for (int i = 0; i < n; i++) {
        if (!err)
            err = copy(request, entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
    return err;
}

static int refuse(const struct request *request)
{
    char path[PATH_MAX];
    CLAB_TRY(kit_path(request->root, "labs/homework", "", path));
    clab_error("start: there is no homework %s; type ls %s to see which there are", request->id, kit_relative(path));
    return CLAB_EINVAL;
}

// One folder holds one student's work: with another ID, the files that follow from the ID would be replaced.
static int check_owner(const struct request *request)
{
    char owner[HOMEWORK_STUDENT];
    if (!homework_student_of(request->work, owner) || !strcmp(owner, request->student))
        return CLAB_OK;
    clab_error("start: work/%s was begun with the ID '%s', and '%s' has another task: type ./commlab start %s --student %s, "
               "or rename work/%s first",
               request->id, owner, request->student, request->id, owner, request->id);
    return CLAB_EINVAL;
}

static int write_owner(const struct request *request)
{
    char path[PATH_MAX], owner[HOMEWORK_STUDENT];
    struct clab_output output;
    if (homework_student_of(request->work, owner))
        return CLAB_OK;
    CLAB_TRY(kit_work_path(request->root, request->id, "student.txt", path));
    CLAB_TRY(clab_output_open(path, &output));
    fprintf(output.file, "# Whose work this is. Your task follows from this ID.\n%s\n", request->student);
    return clab_output_close(&output);
}

static int check(struct request *request)
{
    char path[PATH_MAX], name[16];
    if (!request->student) {
        clab_error("start: whose homework? Type ./commlab start %s --student ID, with the ID that your teacher uses for "
                   "you: each student's task is a little different",
                   request->id);
        return CLAB_EINVAL;
    }
    CLAB_TRY(homework_check_student("start", request->student));
    CLAB_TRY(kit_root(&request->root));
    snprintf(request->folder, sizeof request->folder, "labs/homework/%s", request->id);
    snprintf(name, sizeof name, "%s.md", request->id);
    CLAB_TRY(kit_path(request->root, request->folder, name, path));
    return access(path, R_OK) == 0 ? CLAB_OK : refuse(request);
}

static int start(struct request *request)
{
    const struct homework *homework = homework_find(request->id);
    CLAB_TRY(check(request));
    CLAB_TRY(kit_work_path(request->root, request->id, "", request->work));
    CLAB_TRY(check_owner(request));
    CLAB_TRY(kit_make_work_folder(request->work));
    CLAB_TRY(write_owner(request));
    printf("Homework %s%s%s\n\nYour files:\n", request->id, homework ? " · " : "", homework ? homework->title : "");
    CLAB_TRY(copy_all(request));
    if (homework && homework->start)
        CLAB_TRY(homework->start(request->student, request->work));
    printf("\nThe task:       %s/%s.md (it reads best in a browser, or in your editor's preview)\n", request->folder,
           request->id);
    clab_say("Your points:    ./commlab grade %s work/%s --student %s\n", request->id, request->id, request->student);
    return CLAB_OK;
}

int start_homework(int argc, char **argv)
{
    static const struct clab_option options[] = {
        {"student", 0, "ID", "whose homework: the ID that your teacher uses for you",
         CLAB_TEXT_AT(struct request, student)},
        {0},
    };
    static const struct clab_command_line line = {
        .options = options,
        .arguments = "HOMEWORK",
        .about = "Copy the files of a homework, h1 to h5, to work/HOMEWORK, and write those that are this student's own. "
                 "What is there already stays as it is; your own files are written again, always the same. "
                 "work/HOMEWORK/student.txt keeps the ID: another one is refused.",
        CLAB_ONE(struct request, id, "give one homework")};
    struct request request = {0};
    int err = clab_options_parse(&line, argc, argv, &request);
    if (!err)
        err = start(&request);
    free(request.root);
    return command_status(err);
}
