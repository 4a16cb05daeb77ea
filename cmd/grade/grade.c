// SPDX-License-Identifier: MIT
// commlab grade HW FILE: the points that a machine gives to a student's homework.
//
// - Points come from proofs, counts and virtual time: the same submission gets the same on every machine, busy or not.
// - The exit status is 0 if the submission was graded, whatever its points are.

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/command.h"
#include "cmd/grade/homeworks.h"
#include "cmd/grade/inside.h"
#include "cmd/grade/seed.h"
#include "cmd/kit/child.h"
#include "cmd/kit/kit.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/options.h"

struct request {
    const char *words[2]; // HW, FILE
    int nwords;
    const char *student, *salt;
    bool without_walls;
    struct grade_files files;
};

static int take_word(const char *text, void *into)
{
    struct request *request = into;
    if (request->nwords == 2) {
        clab_error("grade: '%s' is one word too many: it takes a homework and a file, as in: grade h2 work/h2/mine.c", text);
        return CLAB_EINVAL;
    }
    request->words[request->nwords++] = text;
    return CLAB_OK;
}

// Homework and file are there, or the one that is missing is named.
static int check_words(const struct request *request)
{
    const char *word = request->nwords ? request->words[0] : "";
    const bool is_file = *word && access(word, F_OK) == 0;
    const char *student = request->student ? request->student : "ada";
    if (request->nwords == 2)
        return CLAB_OK;
    if (!*word)
        clab_error(
            "grade: a homework and a file are missing: type, for example: ./commlab grade h2 work/h2 --student %s",
            student);
    else if (is_file)
        clab_error("grade: the homework is missing before %s: type, for example: ./commlab grade h2 %s --student %s",
                   word, word, student);
    else
        clab_error("grade: the file of %s is missing: type, for example: ./commlab grade %s work/%s --student %s", word,
                   word, word, student);
    return CLAB_EINVAL;
}

static int read_line(int argc, char **argv, struct request *request)
{
    static const struct clab_option options[] = {
        {"student", 0, "ID",
         "whose it is: the seeds come from this ID; without it and --salt, student.txt beside the file says so",
         CLAB_TEXT_AT(struct request, student)},
        {"salt", 0, "FILE", "the class's secret, for hidden tests; without it, it is practice",
         CLAB_TEXT_AT(struct request, salt)},
        {"csv", 0, "FILE", "write a row per test", CLAB_TEXT_AT(struct request, files.csv)},
        {"json", 0, "FILE", "the same as JSON", CLAB_TEXT_AT(struct request, files.json)},
        {"junit", 0, "FILE", "the same as JUnit's XML", CLAB_TEXT_AT(struct request, files.junit)},
        {"gradescope", 0, "FILE", "write Gradescope's results.json", CLAB_TEXT_AT(struct request, files.gradescope)},
        {"without-walls", 0, NULL,
         "limits alone, as on hosts without namespaces, Landlock and seccomp: for your own code",
         CLAB_ON(struct request, without_walls)},
        {0},
    };
    static const struct clab_command_line line = {
        .options = options,
        .arguments = "HW FILE",
        .about = "Grade a homework: HW is h1 to h5, FILE what was handed in, a file or the folder that it lies in. The "
                 "student's code is compiled and run apart, with limits, and only makes data. This program proves, counts "
                 "and prices the data in virtual time, so the points are the same on every machine.",
        .argument = take_word,
    };
    CLAB_TRY(clab_options_parse(&line, argc, argv, request));
    CLAB_TRY(check_words(request));
    return request->student ? homework_check_student("grade", request->student) : CLAB_OK;
}

// The file that is handed in, or the folder: an exact path.
static int find_submission(const struct request *request, struct grading *g)
{
    const char *wanted = g->homework->file;
    const bool is_folder = wanted[strlen(wanted) - 1] == '/';
    char path[PATH_MAX];
    struct stat there;
    snprintf(path, sizeof path, "%s", request->words[1]);
    if (stat(path, &there) == 0 && S_ISDIR(there.st_mode) && !is_folder)
        snprintf(path, sizeof path, "%s/%s", request->words[1], wanted);
    if (!is_folder && lstat(path, &there) == 0 && S_ISLNK(there.st_mode)) {
        clab_error("grade: %s is a link, maybe to somebody else's file: hand in the file itself", path);
        return CLAB_ENOENT;
    }
    if (stat(path, &there) == 0 && (is_folder ? S_ISDIR(there.st_mode) : S_ISREG(there.st_mode)) &&
        realpath(path, g->submission))
        return CLAB_OK;
    if (!is_folder && lstat(path, &there) == 0 && !S_ISDIR(there.st_mode)) {
        clab_error("grade: %s is no plain file: hand in %s as a file", path, wanted);
        return CLAB_ENOENT;
    }
    clab_error("grade: %s: there is no such %s; %s is what you hand in for %s", path, is_folder ? "folder" : "file", wanted,
               g->id);
    return CLAB_ENOENT;
}

// The guest inherits nothing of ours but where programs and its files lie.
static int clean_environment(const char *box)
{
    return clearenv() == 0 && setenv("PATH", "/usr/local/bin:/usr/bin:/bin", 1) == 0 && setenv("LC_ALL", "C.UTF-8", 1) == 0 &&
                   setenv("TMPDIR", box, 1) == 0 && setenv("HOME", box, 1) == 0
               ? CLAB_OK
               : CLAB_ENOMEM;
}

static int judge(struct grading *g)
{
    CLAB_TRY(child_folder_make(g->folder));
    int err = snprintf(g->box, sizeof g->box, "%.*s/box", PATH_MAX - 8, g->folder) < PATH_MAX && mkdir(g->box, 0700) == 0
                  ? clean_environment(g->box)
                  : CLAB_EIO;
    // The guest may be another user, who has to pass through our folder.
    if (!err && (chmod(g->folder, 0711) != 0 || chmod(g->box, 0777) != 0))
        err = CLAB_EIO;
    if (!err) {
        grading_fail(g, NULL, "nothing was found that this test needs");
        g->homework->grade(g);
        err = g->err;
    }
    grading_remove(g->folder);
    return err;
}

static int judge_watched(struct grading *g)
{
    child_watch();
    const int err = judge(g);
    const int signo = child_unwatch();
    if (signo)
        raise(signo);
    return err;
}

static int find_homework(const char *id, const struct homework **homework_p)
{
    *homework_p = homework_find(id);
    if (*homework_p)
        return CLAB_OK;
    clab_error("grade: there is no homework '%s' here; labs/homework/README.md lists them", id);
    return CLAB_EINVAL;
}

// Said before anything runs; nothing does where no code is handed in (h1, h5).
static int say_limits(const struct grading *g)
{
    struct sandbox_walls w;
    const char *end = strrchr(g->homework->file, '.');
    if (!end || strcmp(end, ".c") != 0)
        return CLAB_OK;
    CLAB_TRY(sandbox_try(&w));
    printf("The code is compiled and run apart: each time for at most %d s, %d s in all, with 2 GiB of memory, 40 processes, "
           "files of 64 MiB.\n",
           GRADING_RUN_SECONDS, GRADING_SECONDS);
    printf("Walls here, which hold it off the rest of this computer: Landlock %s, seccomp %s, namespaces %s, not root %s.\n\n", w.files && !g->without.files ? "yes" : "no",
           w.calls && !g->without.calls ? "yes" : "no", w.namespaces && !g->without.namespaces ? "yes" : "no",
           w.user && !g->without.user ? "yes" : "no");
    if (!(w.files && !g->without.files) && !(w.user && !g->without.user && geteuid() == 0))
        printf("Here the code may read and write what you may. For code of others: grade as root, or in a container.\n\n");
    fflush(stdout);
    return CLAB_OK;
}

// The ID in student.txt beside the submission. False: there is none.
static bool find_owner(const struct grading *g, char owner_p[HOMEWORK_STUDENT])
{
    char folder[PATH_MAX], *end;
    const char *wanted = g->homework->file;
    snprintf(folder, sizeof folder, "%s", g->submission);
    if (wanted[strlen(wanted) - 1] != '/' && (end = strrchr(folder, '/')))
        *end = 0;
    return homework_student_of(folder, owner_p);
}

// Practice of one's own needs no --student. Where a salt is given, points count: the file's folder has no say then.
static int find_student(const struct request *request, struct grading *g, char owner[HOMEWORK_STUDENT])
{
    const bool is_owned = find_owner(g, owner);
    if (!is_owned)
        owner[0] = 0;
    if (g->student)
        return CLAB_OK;
    if (!is_owned || request->salt) {
        clab_error("grade: --student ID is missing: type, for example: ./commlab grade %s %s --student %s", g->id,
                   request->words[1], is_owned ? owner : "ada");
        return CLAB_EINVAL;
    }
    g->student = owner;
    return CLAB_OK;
}

// The most frequent reason why points differ: the task of another ID. It stands where errors do, and below the total.
static void warn_of_owner(const struct grading *g, const char *owner)
{
    if (*owner && strcmp(owner, g->student))
        clab_warn("grade: this was begun with the ID '%s' (student.txt beside it), and is graded with the task of '%s': if "
                  "that is not meant, type --student %s",
                  owner, g->student, owner);
}

static void print_owner(const struct grading *g, const char *owner)
{
    if (*owner && strcmp(owner, g->student))
        printf(
            "These points are for the task of '%s', and student.txt names '%s': if that is not meant, type --student %s\n",
            g->student, owner, owner);
}

static int grade(const struct request *request, struct grading *g)
{
    CLAB_TRY(find_homework(g->id, &g->homework));
    char owner[HOMEWORK_STUDENT];
    CLAB_TRY(find_submission(request, g));
    CLAB_TRY(find_student(request, g, owner));
    warn_of_owner(g, owner);
    uint64_t seed; // says now if this build has none
    CLAB_TRY(homework_seed(g->salt, g->student, "", &seed));
    CLAB_TRY(say_limits(g));
    const int err = judge_watched(g);
    if (err)
        return err;
    grade_print(g);
    print_owner(g, owner);
    return grade_write(g, &request->files);
}

static int run_grade(int argc, char **argv)
{
    struct request request = {0};
    char *root = NULL, *build = NULL, *salt = NULL;
    struct grading *g = calloc(1, sizeof *g);
    int err = g ? read_line(argc, argv, &request) : CLAB_ENOMEM;
    if (!err && request.salt)
        err = homework_read_salt("grade", request.salt, &salt);
    if (!err)
        err = kit_root(&root);
    if (!err)
        err = kit_build(&build);
    if (!err) {
        g->id = request.words[0], g->student = request.student, g->salt = salt, g->root = root, g->build = build;
        g->left = GRADING_SECONDS;
        if (request.without_walls)
            g->without = (struct sandbox_walls){true, true, true, true};
        err = grade(&request, g);
    }
    for (int i = 0; g && i < g->nkept; i++)
        free(g->kept[i]);
    free(g);
    free(salt);
    free(build);
    free(root);
    return command_status(err);
}

const struct clab_command cmd_grade = {"grade", "grade a homework: proofs, counts and virtual time", run_grade};
