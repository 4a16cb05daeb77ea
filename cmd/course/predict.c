// SPDX-License-Identifier: MIT
// commlab predict NN: asks for what a student expects of a lab, blank by blank, or opens the file in an editor; then checks
// the file.
//
// - Each answer is checked and written at once, so that nothing is lost whenever the student stops.
// - Once a lab has run with predictions they are locked (cmd/predict/files.h).

#include "cmd/command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/machine/called.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/options.h"
#include "cmd/lab/asked.h"
#include "cmd/predict/files.h"
#include "cmd/kit/journal.h"
#include "cmd/course/unit.h"
#include "cmd/kit/child.h"
#include "cmd/kit/kit.h"

enum { ANSWER = 512 };

struct request {
    const char *id;
    bool check, edit, again;
};

struct session {
    struct request request;
    struct course course;
    const struct course_unit *unit;
    struct asked asked;
    struct predict_files files;
    struct predictions *locked; // NULL: nothing is yet
    bool asks_all;              // not the blanks alone
};

// ---- the dialogue --------------------------------------------------------------------------------------------

static const char *example(const struct prediction *asked)
{
    switch (asked->kind) {
    case PREDICTION_ORDER: return "put these in order, that of the smallest value first, as in x < y";
    case PREDICTION_YES_NO: return "yes or no";
    default: return asked->asks_range ? "a range as in 5..10, or a number" : "a number, or a range as in 5..10";
    }
}

static void print_question(const struct prediction *item, const struct prediction *asked, int number, int of)
{
    char now[ANSWER];
    printf("\n%d of %d: %s", number, of, asked->title);
    if (*asked->unit)
        printf(", in %s", asked->unit);
    if (*asked->comment)
        printf("\n    %s", asked->comment);
    printf("\n    ("); // the words of an order may be numbers, which look like values
    for (int i = 0; asked->kind == PREDICTION_ORDER && i < asked->nwords; i++)
        printf("%s%s", asked->words[i], i + 1 < asked->nwords ? ", " : ": ");
    printf("%s%s%s)\n", example(asked), item->is_blank ? "" : "; now ",
           item->is_blank ? "" : prediction_text(item, now, sizeof now));
}

// One line of the terminal without its end. False: Ctrl-D.
static bool read_line(char line[ANSWER])
{
    printf("> ");
    fflush(stdout);
    if (!fgets(line, ANSWER, stdin)) {
        printf("\n");
        return false;
    }
    line[strcspn(line, "\r\n")] = 0;
    return true;
}

// An answer without a unit is in the one that was asked for.
static int take_answer(const struct session *s, const struct prediction *asked, const char *line,
                       struct prediction *answer_p)
{
    CLAB_TRY(prediction_answer(asked, line, "predict", answer_p));
    if (answer_p->kind == PREDICTION_NUMBER && !*answer_p->unit)
        snprintf(answer_p->unit, sizeof answer_p->unit, "%s", asked->unit);
    return prediction_check(&s->asked.conf, answer_p, asked, &s->asked.limits[asked->section], "predict");
}

// Ask until the answer is possible or empty. *ends_p: Ctrl-D
static int ask(const struct session *s, const struct prediction *item, const struct prediction *asked, bool *ends_p)
{
    char line[ANSWER], text[ANSWER];
    struct prediction answer;
    for (;;) {
        *ends_p = !read_line(line);
        if (*ends_p || !line[strspn(line, " \t")])
            return CLAB_OK;
        if (take_answer(s, asked, line, &answer) == CLAB_OK)
            return predict_write_answer(s->files.given, item->line, prediction_text(&answer, text, sizeof text));
    }
}

// A blank, or any of them after --again; not of a command that has run with answers.
static bool is_question(const struct session *s, const struct predictions *p, const struct prediction *item)
{
    return (item->is_blank || s->asks_all) &&
           !(s->locked && predictions_answers(s->locked, p->sections[item->section].command));
}

static int count_questions(const struct session *s, const struct predictions *p)
{
    int count = 0;
    for (int i = 0; i < p->count; i++)
        count += is_question(s, p, &p->items[i]);
    return count;
}

static int ask_each(const struct session *s, const struct predictions *p)
{
    int section = -1, number = 0;
    const int of = count_questions(s, p);
    bool ends = false;
    for (const struct prediction *item = p->items; !ends && item < p->items + p->count; item++) {
        const char *command = p->sections[item->section].command;
        const struct prediction *asked = predictions_find(s->asked.template, command, item);
        if (!is_question(s, p, item))
            continue;
        if (item->section != section)
            printf("\nWhat `%s` will measure:\n", command);
        section = item->section;
        print_question(item, asked, ++number, of);
        CLAB_TRY(ask(s, item, asked, &ends));
    }
    return CLAB_OK;
}

static int load_checked(const struct session *s, const char *path, struct predictions **p_p)
{
    CLAB_TRY(predictions_load(kit_relative(path), p_p));
    const int err = predictions_check(*p_p, s->asked.template, &s->asked.conf, s->asked.limits);
    if (err)
        predictions_free(*p_p);
    return err;
}

static int talk(const struct session *s)
{
    struct predictions *p;
    CLAB_TRY(load_checked(s, s->files.given, &p));
    if (count_questions(s, p))
        printf("Lab %s, %d questions. Enter leaves one as it is, Ctrl-D ends; answers are kept in %s.\n", s->unit->id,
               count_questions(s, p), kit_relative(s->files.given));
    const int err = ask_each(s, p);
    predictions_free(p);
    return err;
}

// ---- an editor -----------------------------------------------------------------------------------------------

static const char *editor(void)
{
    const char *visual = getenv("VISUAL"), *usual = getenv("EDITOR");
    return visual && *visual ? visual : usual && *usual ? usual : NULL;
}

// The variable may hold words of its own ("code --wait"), which are a shell's to take apart.
static int open_editor(const struct session *s)
{
    int status = 0;
    const pid_t pid = child_fork();
    if (pid == 0) {
        execl("/bin/sh", "sh", "-c", "exec ${VISUAL:-$EDITOR} \"$0\"", s->files.given, (char *)NULL);
        _exit(127);
    }
    CLAB_TRY(pid < 0 ? CLAB_ESYS : child_wait(pid, &status));
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return CLAB_OK;
    clab_error("predict: the editor '%s' failed; edit %s with another one", editor(), kit_relative(s->files.given));
    return CLAB_EIO;
}

static bool is_dialogue(const struct session *s)
{
    return !s->request.edit && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
}

static int edit(const struct session *s)
{
    struct predictions *p;
    if (is_dialogue(s))
        return talk(s);
    if (editor())
        return open_editor(s);
    CLAB_TRY(load_checked(s, s->files.given, &p));
    predictions_free(p);
    printf("Edit %s: replace each ____ (no editor is set; EDITOR names one).\n", kit_relative(s->files.given));
    return CLAB_OK;
}

// ---- what is there -------------------------------------------------------------------------------------------

// A file with an answer or more is a step of the student's path. So are questions that were asked, and left open.
static int note(const struct session *s, int answers, int of)
{
    char detail[32];
    snprintf(detail, sizeof detail, "%d of %d", answers, of);
    return answers || is_dialogue(s) ? journal_add(s->course.root, s->unit->id, JOURNAL_PREDICTED, detail) : CLAB_OK;
}

static int say_blanks(const struct session *s, const char *path, int *answers_p)
{
    struct predictions *p;
    CLAB_TRY(load_checked(s, path, &p));
    const int blanks = predictions_blanks(p);
    printf("# %s: %d of %d filled in", kit_relative(path), p->count - blanks, p->count);
    printf(blanks ? ", %d blank%s left\n" : "\n", blanks, blanks == 1 ? " is" : "s are");
    *answers_p = p->count - blanks;
    const int err = s->request.check ? CLAB_OK : note(s, *answers_p, p->count);
    predictions_free(p);
    return err;
}

static int check(const struct session *s)
{
    int answers;
    if (access(s->files.locked, F_OK) == 0)
        return say_blanks(s, s->files.locked, &answers);
    if (access(s->files.given, F_OK) == 0)
        return say_blanks(s, s->files.given, &answers);
    clab_error("predict: there is no %s yet; type ./commlab predict %s", kit_relative(s->files.given), s->unit->id);
    return CLAB_ENOENT;
}

static int begin_again(struct session *s)
{
    char kept[PATH_MAX];
    s->asks_all = true;
    if (access(s->files.locked, F_OK) != 0)
        return CLAB_OK;
    CLAB_TRY(predict_unlock(&s->files, kept));
    printf("# The predictions that counted so far are kept as %s\n", kit_relative(kept));
    return CLAB_OK;
}

static int copy_template(const struct session *s)
{
    if (access(s->files.given, F_OK) == 0)
        return CLAB_OK;
    CLAB_TRY(kit_make_work_folder(s->files.folder));
    return predict_copy(s->locked ? s->files.locked : s->asked.template->path, s->files.given, 0644);
}

// Commands that have not run with an answer. False: there is none.
static bool say_open(const struct session *s)
{
    bool is_open = false;
    for (int i = 0; i < s->locked->nsections; i++)
        if (!predictions_answers(s->locked, s->locked->sections[i].command)) {
            printf("# You can still predict `%s`: nothing of it is locked yet\n", s->locked->sections[i].command);
            is_open = true;
        }
    return is_open;
}

static int predict(struct session *s)
{
    int answers;
    if (s->request.check)
        return check(s);
    if (s->request.again)
        CLAB_TRY(begin_again(s));
    if (access(s->files.locked, F_OK) == 0) {
        CLAB_TRY(load_checked(s, s->files.locked, &s->locked));
        clab_say(
            "# Lab %s has run with your predictions, so they are locked: %s. For others: ./commlab predict %s --again\n",
            s->unit->id, kit_relative(s->files.locked), s->unit->id);
        if (!say_open(s))
            return say_blanks(s, s->files.locked, &answers);
    }
    CLAB_TRY(copy_template(s));
    CLAB_TRY(edit(s));
    CLAB_TRY(say_blanks(s, s->files.given, &answers));
    if (answers)
        clab_say("# Next: ./commlab lab %s\n", s->unit->id);
    else
        clab_say("# Next: fill in %s, then type ./commlab predict %s --check\n", kit_relative(s->files.given),
               s->unit->id);
    return CLAB_OK;
}

// ---- the command ---------------------------------------------------------------------------------------------

static const struct clab_option options[] = {
    {"check", 0, NULL, "only check the file, and say how many blanks are left", CLAB_ON(struct request, check)},
    {"edit", 0, NULL, "open the file in $VISUAL or $EDITOR", CLAB_ON(struct request, edit)},
    {"again", 0, NULL, "begin anew after the lab has run; the locked predictions are kept",
     CLAB_ON(struct request, again)},
    {0},
};

static const char doc[] =
    "Write down what you expect of a lab, before you run it.\v"
    "On a terminal, asks for each blank of labs/NN/predict.txt, and keeps each answer in work/NN/predict.txt. An answer is "
    "refused if its form or its unit is wrong, or if no machine could be so; whether it is right, the lab shows. "
    "Without a terminal, opens that file in your editor. The first run of the lab locks your predictions.\n\n"
    "Example: ./commlab predict 07";

// A unit without a predict.txt asks nothing.
static int load(struct session *s)
{
    char path[PATH_MAX];
    CLAB_TRY(course_open(&s->course));
    CLAB_TRY(course_find(&s->course, "predict", s->request.id, &s->unit));
    CLAB_TRY(course_unit_path(&s->course, s->unit, "predict.txt", path));
    if (access(path, F_OK) != 0) {
        clab_error("predict: %s asks for no predictions; type ./commlab start %s", s->unit->id, s->unit->id);
        return CLAB_EINVAL;
    }
    CLAB_TRY(predict_files(s->course.root, s->unit->id, &s->files));
    return asked_load(s->course.root, strchr(s->unit->folder, '/') + 1, &s->asked);
}

static int run(int argc, char **argv)
{
    static const struct clab_command_line line = {
        .options = options, .arguments = "NN", .about = doc, CLAB_ONE(struct request, id, "give one lab")};
    struct session s = {0};
    if (clab_options_parse(&line, argc, argv, &s.request))
        return STATUS_USAGE;
    int err = load(&s);
    if (!err)
        err = predict(&s);
    predictions_free(s.locked);
    asked_free(&s.asked);
    course_close(&s.course);
    return command_status(err);
}

const struct clab_command cmd_predict = {"predict", "write down what you expect of a lab, before you run it", run};
