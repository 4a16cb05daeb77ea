// SPDX-License-Identifier: MIT
// commlab class DIR: grades what every student of a class handed in, and puts the points into one table.
//
// - DIR has a folder per student, named by the ID, with what was handed in. Each is graded by a `commlab grade` of its own
//   (grade.c), which writes DIR/HW.results/ID.csv: what one submission does harms no other.
// - Beside it, ID.key names what that result was made of (class_key.c). Who has the same key is not graded again, so a run
//   that was ended goes on.
// - Who can not be graded has a row and a reason, and the others go on.

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/command.h"
#include "cmd/grade/class.h"
#include "cmd/grade/inside.h"
#include "cmd/grade/seed.h"
#include "cmd/kit/child.h"
#include "cmd/kit/kit.h"
#include "cmd/sandbox/sandbox.h"
#include "core/base/files/csv.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/options.h"
#include "core/base/files/output.h"
#include "core/base/files/table.h"
#include "core/base/text.h"
#include "core/base/vector.h"

const char *const class_status_texts[] = {"graded", "rejected", "not graded"};

static int take_folder(const char *text, void *into)
{
    struct class *class = into;
    if (class->folder) {
        clab_error("class: '%s' is one folder too many: it takes one", text);
        return CLAB_EINVAL;
    }
    class->folder = text;
    return CLAB_OK;
}

static int read_line(int argc, char **argv, struct class *class)
{
    static const struct clab_option options[] = {
        {"homework", 0, "HW", "which homework: h1 to h5", CLAB_TEXT_AT(struct class, id)},
        {"salt", 0, "FILE", "the class's secret, for hidden tests; without it, it is practice",
         CLAB_TEXT_AT(struct class, salt)},
        {0},
    };
    static const struct clab_command_line line = {
        .options = options,
        .arguments = "DIR",
        .about =
            "Grade a homework of a whole class. DIR has a folder per student, named by the ID, with what was handed in. "
            "Writes DIR/HW.html, a page to read; DIR/HW.csv, a row per student; DIR/HW.results/ID.csv and ID.txt, the tests of each; "
            "DIR/HW.questions.csv, two questions to ask each student; and DIR/HW.jplag, folders for JPlag. DIR/HW.person.csv is "
            "a form for the points that a person gives: fill it in and run this again with the same --salt, and DIR/HW.grades.csv has the sums for "
            "your gradebook. What was graded already, and is the same, is not graded again.",
        .argument = take_folder,
    };
    CLAB_TRY(clab_options_parse(&line, argc, argv, class));
    if (!class->folder || !class->id) {
        clab_error("class: %s: type, for example: ./commlab class class/h2 --homework h2 --salt salt",
                   class->folder ? "--homework HW is missing" : "a folder is missing");
        return CLAB_EINVAL;
    }
    class->homework = homework_find(class->id);
    if (class->homework)
        return CLAB_OK;
    clab_error("class: there is no homework '%s' here; labs/homework/README.md lists them", class->id);
    return CLAB_EINVAL;
}

// ---- one student -----------------------------------------------------------------------------------------------

// The student's files in DIR/HW.results. Results lie apart from what students hand in: a forged one in their folder is none.
struct paths {
    char folder[PATH_MAX], result[PATH_MAX], text[PATH_MAX], questions[PATH_MAX], key[PATH_MAX], log[PATH_MAX];
};

static bool name_paths(const struct class *class, const char *id, struct paths *p)
{
    const int room = PATH_MAX, most = room - 2 * NAME_MAX - 32;
    if (strlen(class->folder) >= (size_t)most)
        return false;
    snprintf(p->folder, PATH_MAX, "%.*s/%s", most, class->folder, id);
    snprintf(p->result, PATH_MAX, "%.*s/%s.results/%s.csv", most, class->folder, class->id, id);
    snprintf(p->text, PATH_MAX, "%.*s/%s.results/%s.txt", most, class->folder, class->id, id);
    snprintf(p->questions, PATH_MAX, "%.*s/%s.results/%s.questions", most, class->folder, class->id, id);
    snprintf(p->key, PATH_MAX, "%.*s/%s.results/%s.key", most, class->folder, class->id, id);
    snprintf(p->log, PATH_MAX, "%.*s/%s.results/%s.log", most, class->folder, class->id, id);
    return true;
}

static bool has_key(const char *path, const char *key)
{
    char text[CLASS_KEY] = "";
    FILE *file = fopen(path, "re");
    const bool is_same = file && fread(text, 1, sizeof text - 1, file) == sizeof text - 1 && !strcmp(text, key);
    if (file)
        fclose(file);
    return is_same;
}

static int write_key(const char *path, const char *key)
{
    struct clab_output output;
    CLAB_TRY(clab_output_open(path, &output));
    fprintf(output.file, "%s\n", key);
    return clab_output_close(&output);
}

// What `commlab grade` prints is a file for the student; what it complains of goes to the log.
static int run_grade(char *const words[], const struct paths *p, int *status_p)
{
    const pid_t pid = child_fork();
    if (pid == 0) {
        if (freopen(p->text, "w", stdout) && freopen(p->log, "w", stderr))
            execv("/proc/self/exe", words);
        _exit(EXIT_FAILURE);
    }
    return pid < 0 ? CLAB_ESYS : child_wait(pid, status_p);
}

// Of the student's file: only what stands from the homework's own line on. Above, `commlab grade` speaks of this host.
static int keep_result(const struct class *class, const char *path)
{
    char begin[32], *line = NULL;
    size_t room = 0;
    struct clab_output output;
    bool is_kept = false;
    FILE *file = fopen(path, "re");
    if (!file) {
        clab_error("class: %s can not be read: %m", path);
        return CLAB_EIO;
    }
    int err = clab_output_open(path, &output);
    snprintf(begin, sizeof begin, "%s · ", class->id);
    while (!err && getline(&line, &room, file) >= 0)
        if ((is_kept |= !strncmp(line, begin, strlen(begin))))
            fputs(line, output.file);
    if (!err)
        err = clab_output_close(&output);
    free(line);
    fclose(file);
    return err;
}

static int grade_one(const struct class *class, char *id, struct paths *p, const char *key)
{
    char commlab[] = "commlab", grade[] = "grade", by[] = "--student", csv[] = "--csv", salt[] = "--salt";
    char *const words[] = {commlab, grade,     (char *)class->id,         p->folder,           by,  id,
                           csv,     p->result, class->salt ? salt : NULL, (char *)class->salt, NULL};
    int status;
    remove(p->key);
    remove(p->result);
    remove(p->questions);
    CLAB_TRY(run_grade(words, p, &status));
    if (status && child_ended_by())
        return CLAB_EPEER;
    if (status)
        return CLAB_OK; // the log has the reason
    remove(p->log);
    CLAB_TRY(keep_result(class, p->text));
    return write_key(p->key, key);
}

// The last line of the log, without who says so.
static char *read_reason(const char *log)
{
    char line[1024], *last = NULL;
    FILE *file = fopen(log, "re");
    while (file && fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = 0;
        const char *text = !strncmp(line, "commlab: error: grade: ", 23) ? line + 23 : line;
        if (!*text)
            continue;
        free(last);
        last = strdup(text);
    }
    if (file)
        fclose(file);
    return last ? last : strdup("the grader left no result, and no reason");
}

static int find_test(const struct class *class, const char *key)
{
    for (int i = 0; i < class->ntests; i++)
        if (!strcmp(class->homework->tests[i].key, key))
            return i;
    return -1;
}

// The lines of each test's message: those behind six blanks below the test's own line. A file of results has them in one.
static int read_messages(const struct class *class, const char *path, struct class_student *s)
{
    FILE *file = fopen(path, "re");
    char *line = NULL, *more;
    size_t room = 0;
    int test = -1, err = file ? CLAB_OK : CLAB_EIO;
    while (!err && getline(&line, &room, file) >= 0) {
        test += !strncmp(line, "✓ ", 4) || !strncmp(line, "✗ ", 4);
        if (test < 0 || test >= class->ntests || strncmp(line, "      ", 6))
            continue;
        more = NULL;
        err = asprintf(&more, "%s%s", s->messages[test] ? s->messages[test] : "", line + 6) < 0 ? CLAB_ENOMEM : CLAB_OK;
        free(s->messages[test]);
        s->messages[test] = more;
    }
    free(line);
    if (file)
        fclose(file);
    return err;
}

// The first line of a message; of a compiler's, its first error.
static char *reason_of(const char *message, bool is_broken)
{
    char *reason = NULL;
    for (const char *line = message; is_broken && *line; line += strcspn(line, "\n"), line += *line == '\n') {
        const int length = (int)strcspn(line, "\n");
        if (memmem(line, (size_t)length, " error: ", 8) || memmem(line, (size_t)length, "undefined reference", 19))
            return asprintf(&reason, GRADE_NOT_COMPILED ": %.*s", length, line) < 0 ? NULL : reason;
    }
    return strndup(message, strcspn(message, "\n"));
}

static int read_result(const struct class *class, const struct paths *p, struct class_student *s)
{
    struct clab_csv csv;
    CLAB_TRY(read_messages(class, p->text, s));
    CLAB_TRY(clab_csv_load(p->result, &csv));
    s->status = CLASS_GRADED;
    s->sum = 0;
    for (int row = 0; row < csv.nrows; row++) {
        const int test = find_test(class, clab_csv_cell(&csv, row, "test"));
        if (test < 0)
            continue;
        s->points[test] = clab_csv_real(&csv, row, "score");
        s->sum += s->points[test];
        if (!strcmp(clab_csv_cell(&csv, row, "status"), "rejected"))
            s->status = CLASS_REJECTED;
    }
    s->is_broken =
        s->status == CLASS_GRADED && s->messages[0] && strstr(s->messages[0], GRADE_NOT_COMPILED) == s->messages[0];
    if ((s->status == CLASS_REJECTED || s->is_broken) && s->messages[0])
        s->reason = reason_of(s->messages[0], s->is_broken);
    clab_csv_free(&csv);
    return CLAB_OK;
}

// ---- the class -------------------------------------------------------------------------------------------------

// Not what we write: "h2.results", "h2.jplag".
static int is_student(const struct dirent *entry)
{
    const char *name = entry->d_name;
    const bool is_ours = name[0] == 'h' && name[1] && (!strcmp(name + 2, ".results") || !strcmp(name + 2, ".jplag"));
    return name[0] != '.' && !is_ours;
}

// What a terminal and a page can show.
static char *shown(const char *name)
{
    char *copy = strdup(name);
    if (copy)
        clab_make_utf8(copy);
    for (char *c = copy; c && *c; c++)
        if ((unsigned char)*c < ' ' || *c == 127)
            *c = '?';
    return copy;
}

// What was handed in names another student: maybe it lies in the wrong folder, or was made for another task.
static void look_at_owner(const struct paths *p, const char *name, struct class_student *s)
{
    char owner[HOMEWORK_STUDENT], *before = s->reason;
    if (s->status != CLASS_GRADED || !homework_student_of(p->folder, owner) || !strcmp(owner, name))
        return;
    if (asprintf(&s->reason,
                 "%s%sits student.txt names '%s': is it in the right folder? It is graded with the task of '%s'",
                 before ? before : "", before ? "; " : "", owner, name) < 0)
        s->reason = NULL;
    free(before);
}

static int judge(const struct class *class, char *name, struct class_student *s)
{
    struct paths p;
    char key[CLASS_KEY];
    if (!name_paths(class, name, &p))
        return CLAB_EINVAL;
    CLAB_TRY(class_key(class, name, p.folder, key));
    if (!has_key(p.key, key))
        CLAB_TRY(grade_one(class, name, &p, key));
    if (!has_key(p.key, key) || read_result(class, &p, s) != CLAB_OK)
        s->reason = read_reason(p.log);
    look_at_owner(&p, name, s);
    class_content(class, p.folder, s->content);
    if (s->status == CLASS_UNGRADED || !strcmp(s->content, class->starter))
        *s->content = 0;
    return class_ask(class, p.questions, s);
}

// Nothing for a plain file, which a teacher may have put there.
static int add_student(struct class *class, char *name)
{
    struct stat there;
    char path[PATH_MAX];
    struct class_student s = {.status = CLASS_UNGRADED, .sum = NAN, .person = NAN};
    if (snprintf(path, sizeof path, "%s/%s", class->folder, name) >= PATH_MAX)
        return CLAB_EINVAL;
    if (lstat(path, &there) != 0 || (!S_ISDIR(there.st_mode) && !S_ISLNK(there.st_mode)))
        return CLAB_OK;
    for (int i = 0; i < CLASS_TESTS; i++)
        s.points[i] = NAN;
    s.id = shown(name);
    int err = s.id ? CLAB_OK : CLAB_ENOMEM;
    if (S_ISLNK(there.st_mode))
        s.reason = strdup("it is a link, and no folder: put the student's own folder there");
    else if (!homework_is_student(name))
        s.reason = strdup(
            "the folder's name is no ID: an ID has 1 to 64 letters, digits, '.', '_', '-' or '@', and begins with none of "
            "'.' and '-'. Give it the name that the student's files were made with");
    else if (!err)
        err = judge(class, name, &s);
    return err ? err : CLAB_PUSH(class->students, class->nstudents, class->room, s);
}

enum { FIXED = 5 }; // columns before those of tests

static int add_row(const struct class *class, const struct class_student *s, struct clab_table *table)
{
    struct clab_cell cells[FIXED + CLASS_TESTS + 1] = {
        clab_cell_text(s->id), clab_cell_text(class->id), clab_cell_real(s->sum),
        clab_cell_text(class_status_texts[s->status]), clab_cell_real(class->most)};
    for (int i = 0; i < class->ntests; i++)
        cells[FIXED + i] = clab_cell_real(s->points[i]);
    cells[FIXED + class->ntests] = clab_cell_text(s->reason ? s->reason : "");
    CLAB_TRY(clab_table_add_row(table, cells));
    clab_table_print_row(table, clab_table_rows(table) - 1, stdout);
    fflush(stdout);
    return CLAB_OK;
}

// The first column is as wide as the longest ID. (What is longer than an ID may be is none.)
static int width_of(struct dirent *const entries[], int n)
{
    size_t width = 16;
    for (int i = 0; i < n; i++)
        width = strlen(entries[i]->d_name) > width ? strlen(entries[i]->d_name) : width;
    return width < HOMEWORK_STUDENT ? (int)width : HOMEWORK_STUDENT - 1;
}

static int grade_all(struct class *class, struct clab_column *first, struct clab_table *table)
{
    struct dirent **entries;
    const int n = scandir(class->folder, &entries, is_student, alphasort);
    int err = CLAB_OK;
    if (n < 0) {
        clab_error("class: %s: there is no such folder; it has a folder per student, named by the ID", class->folder);
        return CLAB_ENOENT;
    }
    first->width = -width_of(entries, n);
    clab_table_print_header(table, stdout);
    for (int i = 0; i < n; i++) {
        const int before = class->nstudents;
        err = err ? err : add_student(class, entries[i]->d_name);
        if (!err && class->nstudents > before)
            err = add_row(class, &class->students[before], table);
        free(entries[i]);
    }
    free(entries);
    if (!err && !class->nstudents) {
        clab_error("class: %s has no folder of a student: put what each one handed in into a folder, named by the ID",
                   class->folder);
        return CLAB_ENOENT;
    }
    return err;
}

static int path_to(const struct class *class, const char *end, char path_p[PATH_MAX])
{
    return snprintf(path_p, PATH_MAX, "%s/%s%s", class->folder, class->id, end) < PATH_MAX ? CLAB_OK : CLAB_EINVAL;
}

// All but the results of each student.
static int write_all(struct class *class, const struct clab_table *table)
{
    struct clab_manifest manifest = {0};
    char path[PATH_MAX], *root;
    CLAB_TRY(path_to(class, ".csv", path));
    CLAB_TRY(clab_table_write_csv(table, &manifest, path));
    CLAB_TRY(path_to(class, ".questions.csv", path));
    CLAB_TRY(class_questions(class, path));
    CLAB_TRY(path_to(class, ".person.csv", path));
    CLAB_TRY(class_person(class, path));
    CLAB_TRY(path_to(class, ".grades.csv", path));
    if (class->salt)
        CLAB_TRY(class_grades(class, path));
    CLAB_TRY(path_to(class, ".html", path));
    CLAB_TRY(class_page_write(class, path));
    CLAB_TRY(kit_root(&root));
    const int err = class_jplag(class, root);
    free(root);
    return err;
}

static void free_students(struct class *class)
{
    for (int i = 0; i < class->nstudents; i++) {
        free(class->students[i].id);
        free(class->students[i].reason);
        free(class->students[i].comment);
        for (int test = 0; test < CLASS_TESTS; test++)
            free(class->students[i].messages[test]);
    }
    free(class->students);
}

static void fill_columns(const struct class *class, struct clab_column columns[])
{
    static const struct clab_column fixed[FIXED] = {
        {.name = "student", .kind = CLAB_KIND_TEXT, .width = -16},
        {.name = "homework", .kind = CLAB_KIND_TEXT, .width = -8},
        {.name = "points", .kind = CLAB_KIND_REAL, .width = 8, .digits = 2},
        {.name = "status", .kind = CLAB_KIND_TEXT, .width = -12},
        CLAB_COLUMN(REAL, "max_points"),
    };
    memcpy(columns, fixed, sizeof fixed);
    for (int i = 0; i < class->ntests; i++)
        columns[FIXED + i] = (struct clab_column){.name = class->homework->tests[i].key, .kind = CLAB_KIND_REAL};
    columns[FIXED + class->ntests] = (struct clab_column)CLAB_COLUMN(TEXT, "reason");
}

// What a starter has is nobody's own.
static int name_starter(struct class *class)
{
    char path[PATH_MAX], *root;
    CLAB_TRY(kit_root(&root));
    if (snprintf(path, sizeof path, "%s/labs/homework/%s/starter", root, class->id) < PATH_MAX)
        class_content(class, path, class->starter);
    free(root);
    return CLAB_OK;
}

static int check_salt(const struct class *class)
{
    char *salt = NULL;
    const int err = class->salt ? homework_read_salt("class", class->salt, &salt) : CLAB_OK;
    free(salt);
    return err;
}

static int grade_class(struct class *class)
{
    struct clab_column columns[FIXED + CLASS_TESTS + 1];
    struct clab_table table;
    char results[PATH_MAX];
    for (const struct homework_test *test = class->homework->tests; test->key && class->ntests < CLASS_TESTS; test++) {
        class->ntests++;
        class->most += test->points;
    }
    CLAB_TRY(check_salt(class));
    CLAB_TRY(class_check_folder(class));
    CLAB_TRY(class_key_begin(class));
    CLAB_TRY(name_starter(class));
    CLAB_TRY(path_to(class, ".results", results));
    CLAB_TRY(kit_make_folder(results));
    fill_columns(class, columns);
    clab_table_init(&table, columns, FIXED + class->ntests + 1);
    sandbox_close_memory(); // a grading of a student is a process of our user, too
    child_watch();
    int err = grade_all(class, &columns[0], &table);
    const int signo = child_unwatch();
    if (!err && !signo)
        err = write_all(class, &table);
    if (!err && !signo)
        class_say(class);
    clab_table_free(&table);
    free_students(class);
    if (signo)
        raise(signo);
    return err;
}

static int run_class(int argc, char **argv)
{
    struct class class = {0};
    int err = read_line(argc, argv, &class);
    if (!err)
        err = grade_class(&class);
    return command_status(err);
}

const struct clab_command cmd_class = {"class", "grade a homework of a whole class", run_class};
