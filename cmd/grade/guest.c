// SPDX-License-Identifier: MIT
// The student's code: compiled and run in the sandbox, in a folder of its own (homework.h).
//
// - Nothing that it does there gives points: the grader judges the data that it leaves. So the walls protect the host and
//   the other students, and no list of forbidden calls is needed.

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/grade/inside.h"
#include "core/base/err.h"

enum { MOST_WORDS = 24, MOST_SOURCE = 1 << 20, MOST_SHOWN = 400 };
static const double compile_seconds = GRADING_RUN_SECONDS;

// Takes every `what` out of the text.
static void leave_out(char *text, const char *what)
{
    const size_t length = strlen(what);
    for (char *at = text; length && (at = strstr(at, what));)
        memmove(at, at + length, strlen(at + length) + 1);
}

// Cut to `most` bytes, behind a whole line or else a whole word, with dots for the rest. No line end is last.
static void shorten(char *text, size_t most)
{
    char *end = text + strlen(text);
    if ((size_t)(end - text) > most) {
        char *line, *word;
        text[most - 4] = 0; // room for the dots
        line = strrchr(text, '\n');
        word = strrchr(text, ' ');
        end = line && line > text + most / 2 ? line : word ? word : text + most - 4;
        strcpy(end, end == line ? "\n..." : " ...");
    }
    for (end = text + strlen(text); end > text && end[-1] == '\n';)
        *--end = 0;
}

// The first lines of what it complained of, in `why` behind what is there. Without our folders, whose names differ between
// machines and runs.
static void add_complaints(struct grading *g, const char *path, char *why, size_t room)
{
    char folder[PATH_MAX + 16];
    size_t bytes = 0;
    const char *because;
    char *text = grading_slurp(g, path, 64 << 20, &bytes, &because);
    const size_t used = strlen(why);
    if (!text || !bytes || used + 16 >= room)
        return;
    text[bytes < 100 * MOST_SHOWN ? bytes : 100 * MOST_SHOWN] = 0;
    snprintf(folder, sizeof folder, "%s/", g->box);
    leave_out(text, folder);
    snprintf(folder, sizeof folder, "%s/build/../", g->root);
    leave_out(text, folder);
    snprintf(folder, sizeof folder, "%s/", g->root);
    leave_out(text, folder);
    shorten(text, room - used - 8 < MOST_SHOWN ? room - used - 8 : MOST_SHOWN);
    snprintf(why + used, room - used, ":\n%s", text);
}

static void say_end(const struct sandbox_result *result, double seconds, char why[512])
{
    if (result->end == SANDBOX_LATE)
        snprintf(why, 512, "it %s (%.3g s; all runs together may take %d s)", sandbox_end_texts[result->end], seconds,
                 GRADING_SECONDS);
    else if (result->end != SANDBOX_ENDED)
        snprintf(why, 512, "it %s", sandbox_end_texts[result->end]);
    else if (WIFSIGNALED(result->status))
        snprintf(why, 512, "it crashed with signal %d (%s)", WTERMSIG(result->status), strsignal(WTERMSIG(result->status)));
    else
        snprintf(why, 512, "it ended with status %d", WEXITSTATUS(result->status));
}

// argv[0] in the box; its time is the submission's. A compiler reads the kit; the student's program has no use for it.
enum guest { COMPILER, PROGRAM };

static struct grading_run run_boxed(struct grading *g, enum guest guest, char *const argv[], double seconds)
{
    char complaints[PATH_MAX + 16];
    struct grading_run run = {0};
    struct sandbox_result result;
    snprintf(complaints, sizeof complaints, "%s/complaints", g->folder);
    seconds = seconds < g->left ? seconds : g->left;
    if (g->err || seconds <= 0) {
        snprintf(run.why, sizeof run.why, "the %d s that all runs of a submission may take are over", GRADING_SECONDS);
        return run;
    }
    const struct sandbox box = {.folder = g->box, .seconds = seconds, .memory = (size_t)2 << 30, .processes = 40,
                                .file_bytes = 64 << 20, .reads_system_only = guest == PROGRAM, .without = g->without};
    const int output = open(complaints, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    g->err = output < 0 ? CLAB_EIO : sandbox_run(&box, argv, output, &result);
    if (output >= 0)
        close(output);
    if (g->err)
        return run;
    g->left -= result.seconds;
    run.seconds = result.seconds;
    run.ended = result.end == SANDBOX_ENDED && WIFEXITED(result.status) && WEXITSTATUS(result.status) == 0;
    if (!run.ended) {
        say_end(&result, seconds, run.why);
        add_complaints(g, complaints, run.why, sizeof run.why);
    }
    return run;
}

static bool is_given(const struct grading *g, const char *name)
{
    for (int i = 0; i < g->ngiven; i++)
        if (!strcmp(g->given[i], name))
            return true;
    return false;
}

// A run finds nothing of the one before: its files may belong to another user, and would pass for results of this one.
static void clear_box(const struct grading *g)
{
    DIR *box = opendir(g->box);
    for (struct dirent *entry; box && (entry = readdir(box));)
        if (strcmp(entry->d_name, "program") && !is_given(g, entry->d_name))
            unlinkat(dirfd(box), entry->d_name, 0); // folders stay, . and .. too
    if (box)
        closedir(box);
}

void grading_give(struct grading *g, const char *name, const void *data, size_t bytes)
{
    char path[PATH_MAX + 256];
    if (!is_given(g, name) && g->ngiven < GRADING_GIVEN)
        snprintf(g->given[g->ngiven++], sizeof g->given[0], "%s", name);
    snprintf(path, sizeof path, "%s/%s", g->box, name);
    unlink(path);
    const int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    const bool written = file >= 0 && write(file, data, bytes) == (ssize_t)bytes;
    if (file >= 0)
        close(file);
    g->err = g->err || written ? g->err : CLAB_EIO;
}

// ---- what it includes ------------------------------------------------------------------------------------------

// Whether a homework may include the file of this exact path: a header of the system, of core/, of its own folder.
static bool may_include(const struct grading *g, const char *path)
{
    char allowed[3][PATH_MAX + 64];
    snprintf(allowed[0], sizeof allowed[0], "%s/core/", g->root);
    snprintf(allowed[1], sizeof allowed[1], "%s/labs/homework/%s/", g->root, g->id);
    snprintf(allowed[2], sizeof allowed[2], "%s/", g->box);
    bool may = !strncmp(path, "/usr/", 5);
    for (int i = 0; i < 3; i++)
        may = may || !strncmp(path, allowed[i], strlen(allowed[i]));
    return may;
}

// The next file of a compiler's list, which is written for make: "mine.o: mine.c \\", with a backslash before a blank or a
// '#' of a name, and "$$" for a '$'. NULL: there is none. It is taken apart in place.
static char *next_file(char **list)
{
    char *from = *list + strspn(*list, " \n"), *to = from;
    while (from[0] == '\\' && from[1] == '\n')
        from += 2, from += strspn(from, " \n"), to = from;
    char *const name = to;
    while (*from && *from != ' ' && *from != '\n') {
        const bool is_marked = (from[0] == '\\' && from[1] && strchr(" #\\", from[1])) || (from[0] == '$' && from[1] == '$');
        from += is_marked;
        *to++ = *from++;
    }
    *list = from + (*from != 0);
    *to = 0;
    return to > name ? name : NULL;
}

// The compiler's own file for the assembler, which has gone since.
static bool was_in_box(const struct grading *g, const char *path)
{
    const size_t length = strlen(g->box);
    return !strncmp(path, g->box, length) && path[length] == '/' && !strstr(path + length, "..");
}

// Files of the kit by their names in it, which are the same on every machine.
static void reject_include(struct grading *g, const char *path)
{
    const size_t root = strlen(g->root);
    const bool is_ours = !strncmp(path, g->root, root) && path[root] == '/';
    grading_reject(g, "mine.c includes %s, which is no header of its task: solve it without that file", path + (is_ours ? root + 1 : 0));
}

// Another file that is not there for us was there for the compiler in some way that no solution needs.
static bool judge_list(struct grading *g, char *list)
{
    char path[2 * PATH_MAX], exact[PATH_MAX];
    for (char *name; (name = next_file(&list));) {
        if (name[strlen(name) - 1] == ':')
            continue;
        snprintf(path, sizeof path, "%s%s%s", *name == '/' ? "" : g->box, *name == '/' ? "" : "/", name);
        const bool is_there = realpath(path, exact) != NULL;
        if (!is_there)
            snprintf(exact, sizeof exact, "%.*s", PATH_MAX - 1, path);
        if (is_there ? !may_include(g, exact) : !was_in_box(g, path)) {
            reject_include(g, exact);
            return false;
        }
    }
    return true;
}

static bool judge_includes(struct grading *g, const char *file)
{
    size_t bytes;
    char *list = (char *)grading_file(g, file, 1 << 20, &bytes); // ours, so it may be taken apart
    return list && judge_list(g, list);
}

// With argv[0] = labcc. False: all tests say why.
static bool compile(struct grading *g, char *const argv[])
{
    const struct grading_run run = run_boxed(g, COMPILER, argv, compile_seconds);
    if (!run.ended)
        grading_fail(g, NULL, GRADE_NOT_COMPILED ": %s", run.why);
    return run.ended;
}

// Before anything is compiled, since an error would quote a file that others must not read.
static bool check_includes(struct grading *g, char *labcc)
{
    char list[] = "-M", into[] = "-MF", includes[] = "includes", mine[] = "mine.c";
    char *const argv[] = {labcc, list, into, includes, mine, NULL};
    return compile(g, argv) && judge_includes(g, includes);
}

// Once more for what was compiled: code can include by conditions that have changed, and the assembler includes, too.
static bool compile_mine(struct grading *g, char *labcc)
{
    char only[] = "-c", list[] = "-MD", into[] = "-MF", includes[] = "compiled", output[] = "-o", object[] = "mine.o";
    char assembler[] = "-Wa,--MD,assembled", assembled[] = "assembled", mine[] = "mine.c";
    char *const argv[] = {labcc, only, list, into, includes, assembler, output, object, mine, NULL};
    return compile(g, argv) && judge_includes(g, includes) && judge_includes(g, assembled);
}

// ---- compile and run --------------------------------------------------------------------------------------------

bool grading_build(struct grading *g, const char *harness)
{
    char labcc[PATH_MAX], source[PATH_MAX];
    char only[] = "-c", output[] = "-o", program[] = "program", mine[] = "mine.c", object[] = "mine.o", other[] = "harness.o";
    size_t bytes;
    const char *text = grading_read(g, "", MOST_SOURCE, &bytes);
    if (!text || g->err)
        return false;
    grading_give(g, mine, text, bytes);
    if (snprintf(labcc, sizeof labcc, "%s/labcc", g->build) >= PATH_MAX ||
        snprintf(source, sizeof source, "%s/%s", g->root, harness) >= PATH_MAX)
        return false;
    // Objects with names of ours: the linker's messages have them.
    char *const compiled[] = {labcc, only, output, other, source, NULL}, *const linked[] = {labcc, output, program, object, other, NULL};
    return check_includes(g, labcc) && compile_mine(g, labcc) && compile(g, compiled) && compile(g, linked);
}

struct grading_run grading_run(struct grading *g, const char *arguments, double seconds)
{
    char program[PATH_MAX + 16], words[1024], *argv[MOST_WORDS + 2] = {program}, *save;
    int n = 1;
    snprintf(program, sizeof program, "%s/program", g->box);
    snprintf(words, sizeof words, "%s", arguments);
    for (char *word = strtok_r(words, " ", &save); word && n <= MOST_WORDS; word = strtok_r(NULL, " ", &save))
        argv[n++] = word;
    clear_box(g);
    return run_boxed(g, PROGRAM, argv, seconds);
}
