// SPDX-License-Identifier: MIT
// commlab check: build a student's program, run it in the cases of its unit, and say what holds.
//
// - A unit's cases are labs/.../check.c. The build finds each one, and lists them all in LAB_CHECKS (the Makefile).
// - The verdict comes from results, from what the library has counted, and from virtual time: never from a stopwatch.

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/command.h"
#include "cmd/course/check_inside.h"
#include "cmd/course/usual.h"
#include "cmd/kit/journal.h"
#include "cmd/kit/child.h"
#include "cmd/kit/kit.h"
#include "cmd/kit/progress.h"
#include "core/base/machine/called.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/options.h"
#include "core/base/variables.h"

// ---- the units' checks ---------------------------------------------------------------------------------------

#define DECLARE(folder, check) extern const struct lab_check check;
#define ENTRY(folder, check)   {folder, &check},
LAB_CHECKS(DECLARE)

static const struct {
    const char *folder;
    const struct lab_check *check;
} checks[] = {LAB_CHECKS(ENTRY){NULL, NULL}};

static const struct lab_check *linked_check(const struct course_unit *unit)
{
    for (size_t i = 0; checks[i].folder; i++)
        if (!strcmp(checks[i].folder, unit->folder))
            return checks[i].check;
    return NULL;
}

bool check_is_linked(const struct course_unit *unit)
{
    return linked_check(unit);
}

static const struct lab_check *find_check(const struct course_unit *unit)
{
    const struct lab_check *check = linked_check(unit);
    if (check)
        return check;
    clab_error("check: unit %s has no check.c in this build", unit->id);
    return NULL;
}

// ---- the command line ----------------------------------------------------------------------------------------

struct request {
    const char *unit, *source; // source: NULL: work/NN/mine.c
    int only;                  // case; 0: all
};

static int take_unit(const char *text, void *into)
{
    struct request *request = into;
    if (request->unit) {
        clab_error("check: one unit at a time, not '%s' and '%s'", request->unit, text);
        return CLAB_EINVAL;
    }
    request->unit = text;
    return CLAB_OK;
}

static const struct clab_option options[] = {
    {"case", 0, "N", "run only case N", CLAB_INT(struct request, only, 1, 99)},
    {"source", 0, "FILE", "check this C file (work/NN/mine.c)", CLAB_TEXT_AT(struct request, source)},
    {0},
};

static const struct clab_command_line line = {
    .options = options,
    .arguments = "UNIT",
    .about =
        "Build your program of a unit, as in `commlab check 07`, and check what it does: its results, and what the\n"
        "library counts while it runs. It is also run in virtual time, so the verdict does not depend on how busy\n"
        "this machine is.",
    .argument = take_unit,
};

// ---- building ------------------------------------------------------------------------------------------------

// The first line of the compiler's messages that holds one of two words.
static bool find_message(const char *path, const char *word, const char *other, char text_p[CHECK_LINE])
{
    FILE *file = fopen(path, "re");
    char *text = NULL;
    size_t room = 0;
    bool found = false;
    while (file && !found && getline(&text, &room, file) > 0)
        if ((found = strstr(text, word) || strstr(text, other)))
            snprintf(text_p, CHECK_LINE, "%.*s", (int)strcspn(text, "\n"), text);
    free(text);
    if (file)
        fclose(file);
    return found;
}

// As the compiler prints it: "work/07/mine.c:63:5: error: ...".
static void print_first_error(const struct check *c, const char *messages, bool is_mine)
{
    char text[CHECK_LINE];
    if (find_message(messages, " error: ", "undefined reference", text))
        printf("  FAIL    it does not compile\n          %s\n", text);
    else
        printf("  FAIL    it does not compile: run build/labcc by hand to see why\n");
    if (is_mine)
        clab_say("Mend that line first. Then type ./commlab check %s\n", c->unit);
}

// A warning often names the mistake, long before a run crashes of it.
static void print_first_warning(const char *messages)
{
    char text[CHECK_LINE], *word;
    if (find_message(messages, ": warning: ", ": warning: ", text) && (word = strstr(text, "warning: ")))
        printf("  warning: %.*s %s\n", (int)(word - text - 1), text, word + strlen("warning: "));
}

// Its messages in English, since they are searched for words.
static int compile(char *const argv[], const char *messages, int *status_p)
{
    static const double most_seconds = 60;
    bool is_late;
    const pid_t pid = child_fork();
    if (pid == 0) {
        setenv("LC_ALL", "C", 1);
        setpgid(0, 0);
        if (freopen("/dev/null", "r", stdin) && freopen(messages, "w", stderr) && freopen("/dev/null", "w", stdout))
            execv(argv[0], argv);
        _exit(127);
    }
    return pid < 0 ? CLAB_ESYS : child_wait_until(pid, most_seconds, status_p, &is_late);
}

// Where the program is built. The student's own stays there, so that it can be run by hand.
static int place_program(struct check *c, const struct course *course, const struct course_unit *unit, bool is_mine)
{
    char mine[PATH_MAX];
    CLAB_TRY(course_mine_path(course, unit, "mine", mine));
    if (is_mine)
        snprintf(c->program, sizeof c->program, "%s", mine);
    else
        snprintf(c->program, sizeof c->program, "%.*s/mine", (int)sizeof c->program - 6, c->folder);
    return CLAB_OK;
}

// With build/labcc, which make writes.  out: *is_built_p; a compiler's error has been printed
static int build_program(struct check *c, const struct course *course, const struct course_unit *unit,
                         const char *source, bool is_mine, bool *is_built_p)
{
    char include[PATH_MAX + 8], messages[PATH_MAX + 16], labcc[PATH_MAX + 8], *build;
    int status = 0;
    CLAB_TRY(kit_build(&build));
    snprintf(labcc, sizeof labcc, "%s/labcc", build);
    snprintf(include, sizeof include, "-I%s/%s", course->root, unit->folder);
    snprintf(messages, sizeof messages, "%s/messages", c->folder);
    free(build);
    if (access(labcc, X_OK) != 0) {
        clab_error("check: %s is not there: run %s first", labcc, clab_rebuild());
        return CLAB_ENOENT;
    }
    CLAB_TRY(place_program(c, course, unit, is_mine));
    CLAB_TRY(
        compile((char *[]){labcc, include, "-o", c->program, (char *)kit_relative(source), NULL}, messages, &status));
    kit_progress_clear();
    if (child_ended_by())
        return CLAB_EPEER;
    *is_built_p = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    if (*is_built_p)
        print_first_warning(messages);
    else
        print_first_error(c, messages, is_mine);
    return CLAB_OK;
}

// ---- what comes of it ----------------------------------------------------------------------------------------

static void compare(const struct course *course, const struct course_unit *unit, const char *source)
{
    char after[PATH_MAX], file[PATH_MAX];
    int status;
    if (course_unit_path(course, unit, "after.c", after) || course_mine_path(course, unit, "comparison.diff", file))
        return;
    if (!course_has_solution(course, unit)) {
        printf("Your copy of the kit has no after.c: your teacher shows one solution, and compares it with yours.\n");
        return;
    }
    const pid_t pid = child_fork();
    if (pid == 0) {
        if (freopen(file, "w", stdout))
            execlp("diff", "diff", "-u", source, after, (char *)NULL);
        _exit(127);
    }
    if (pid > 0 && child_wait(pid, &status) == CLAB_OK && WIFEXITED(status) && WEXITSTATUS(status) < 2)
        printf("Compare it with one solution, %s: the differences are in %s\n", kit_relative(after),
               kit_relative(file));
}

static int failed_case(const struct check *c)
{
    return c->wanted ? c->wanted : c->number - c->left;
}

// A signal names no line; the address sanitizer does.
static void print_line_of_crash(const struct check *c, const struct course_unit *unit, const char *source, const char *flags)
{
    const char *program = kit_relative(c->program);
    char *build;
    if (!c->has_crashed || kit_build(&build) != CLAB_OK)
        return;
    clab_say("To see the line of the crash: %s/labcc -fsanitize=address %s%s -o %s %s && %s %s\n", kit_relative(build),
             unit->is_primer ? "-g" : "-I", unit->is_primer ? "" : unit->folder, program, kit_relative(source), program, flags);
    free(build);
}

// How to run only the case that failed, and its last run.
static void print_again(const struct check *c, const struct course *course, const struct course_unit *unit,
                        const char *source)
{
    char flags[96];
    clab_say("Only this case again: ./commlab check %s%s%s --case %d\n", c->unit, source ? " --source " : "",
           source ? source : "", failed_case(c));
    if (source)
        return;
    course_usual_flags(course, unit, flags, sizeof flags);
    const char *by_hand = *c->by_hand ? c->by_hand + 1 : flags;
    clab_say("A hint: ./commlab hint %s. Run it by hand: %s %s\n", c->unit, kit_relative(c->program), by_hand);
    print_line_of_crash(c, unit, c->source, by_hand);
}

// source: NULL: work/NN/mine.c
static void conclude(const struct check *c, const struct course *course, const struct course_unit *unit, const char *source)
{
    if (!c->failed)
        printf("%d of %d cases pass.\n", c->passed, c->wanted ? 1 : c->number);
    else if (c->left)
        printf("%d passed, 1 failed; %d later case%s not run.\n", c->passed, c->left, c->left > 1 ? "s were" : " was");
    else
        printf("%d passed, 1 failed.\n", c->passed);
    if (c->failed)
        print_again(c, course, unit, source);
}

static void note(const struct course *course, const struct check *c)
{
    char detail[32];
    if (c->number)
        snprintf(detail, sizeof detail, "case %d", failed_case(c));
    else
        snprintf(detail, sizeof detail, "it does not compile");
    if (c->failed)
        journal_add(course->root, c->unit, JOURNAL_FAILED, detail);
    else if (!c->wanted)
        journal_add(course->root, c->unit, JOURNAL_PASSED, "");
}

// Build and run.  out: c->failed
static int judge(struct check *c, const struct course *course, const struct course_unit *unit,
                 const struct lab_check *check, const char *source, bool is_mine)
{
    bool is_built = false;
    kit_progress("  building");
    CLAB_TRY(build_program(c, course, unit, source, is_mine, &is_built));
    c->failed = !is_built;
    if (!is_built)
        return CLAB_OK;
    check->check(c);
    check_end_case(c);
    if (!c->err && c->number < c->wanted) {
        clab_error("check: --case %d: unit %s has %d cases", c->wanted, c->unit, c->number);
        return CLAB_EINVAL;
    }
    return c->err;
}

// Whether a file lies in the unit's own folder, as before.c and after.c do.
static bool is_of_unit(const struct course *course, const struct course_unit *unit, const char *source)
{
    const char *slash = strrchr(source, '/');
    char path[PATH_MAX];
    struct stat a, b;
    return course_unit_path(course, unit, slash ? slash + 1 : source, path) == CLAB_OK && stat(source, &a) == 0 &&
           stat(path, &b) == 0 && a.st_ino == b.st_ino && a.st_dev == b.st_dev;
}

static int check_unit(const struct request *request, const struct course *course, const struct course_unit *unit,
                      bool *failed_p)
{
    struct check c = {.unit = unit->id, .wanted = request->only, .out = stdout};
    char mine[PATH_MAX];
    const struct lab_check *check = find_check(unit);
    CLAB_TRY(course_mine_path(course, unit, "mine.c", mine));
    const char *source = request->source ? request->source : mine;
    if (!check)
        return CLAB_ENOENT;
    if (access(source, R_OK) != 0) {
        clab_error("check: %s can not be read: %s%s%s", kit_relative(source), strerror(errno),
                   request->source ? "" : "; first type ./commlab start ", request->source ? "" : unit->id);
        return CLAB_ENOENT;
    }
    c.source = source, c.is_mine = !request->source, c.is_ours = is_of_unit(course, unit, source);
    snprintf(c.nets, sizeof c.nets, "%.*s/sim/nets", (int)sizeof c.nets - 16, course->root);
    clab_variable_set(CLAB_VARIABLE_NETS, c.nets); // a check may ask the simulator, too
    CLAB_TRY(child_folder_make(c.folder));
    printf("check %s: %s\n", unit->id, kit_relative(source));
    const int err = judge(&c, course, unit, check, source, !request->source);
    child_folder_remove(c.folder);
    if (!err && c.number)
        conclude(&c, course, unit, request->source);
    if (!err && !request->source)
        note(course, &c);
    if (!err && !c.failed && !request->source && !c.wanted)
        compare(course, unit, source);
    if (!err && !c.failed && !request->source)
        clab_say("What comes next: ./commlab next\n");
    free(c.runs);
    *failed_p = c.failed;
    return err;
}

static int run(int argc, char **argv)
{
    struct request request = {0};
    struct course course = {0};
    const struct course_unit *unit;
    bool failed = false;
    if (clab_options_parse(&line, argc, argv, &request) != CLAB_OK)
        return STATUS_USAGE;
    child_watch();
    int err = course_open(&course);
    if (!err)
        err = course_find(&course, "check", request.unit, &unit);
    if (!err)
        err = check_unit(&request, &course, unit, &failed);
    course_close(&course);
    const int signal = child_unwatch();
    if (signal)
        raise(signal);
    return err ? command_status(err) : failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

const struct clab_command cmd_check = {"check", "check your program of a unit: results and counts", run};
