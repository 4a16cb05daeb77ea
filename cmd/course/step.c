// SPDX-License-Identifier: MIT
// The student's path (step.h).

#include "cmd/course/step.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/machine/called.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "cmd/lab/card.h"
#include "cmd/course/check_inside.h"
#include "cmd/course/page.h"
#include "cmd/course/usual.h"
#include "cmd/kit/kit.h"
#include "sim/net/net.h"

#define SAY(text, ...) snprintf(text, sizeof(text), __VA_ARGS__)

// ---- before the first prediction -----------------------------------------------------------------------------

static bool has_profile(void)
{
    char *path;
    if (clab_net_profile_path("shm", &path) != CLAB_OK)
        return true;
    const bool has = access(path, R_OK) == 0;
    free(path);
    return has;
}

//   net: "": this machine's
static bool has_card(const struct course *course, const char *net)
{
    char path[PATH_MAX], file[64];
    SAY(file, "card%s%s.txt", *net ? "-" : "", net);
    return course_work_path(course, file, path) != CLAB_OK || access(path, R_OK) == 0;
}

// A busy machine may have been measured wrongly. What can not be read is another matter, which `card` names.
static bool is_doubtful(void)
{
    const struct card_request machine = {.backend = "shm"};
    struct clab_log_held held;
    struct card card;
    clab_log_hold(&held);
    const int err = card_read(&machine, &card);
    clab_log_release(&held);
    return !err && card.is_doubtful;
}

static bool prepare_net(const struct course *course, const char *net, struct course_step *s)
{
    if (has_card(course, net))
        return false;
    SAY(s->command, "./commlab card --net %s", net);
    SAY(s->why,
        "It prints how long a message, a byte and an addition take on the lab's network: with these numbers you predict.");
    return true;
}

static bool prepare_machine(const struct course *course, struct course_step *s)
{
    if (!has_profile()) {
        SAY(s->command, "./commlab fit");
        SAY(s->why, "It measures this machine, in 15 seconds at most: all predictions come from what it finds.");
        return true;
    }
    if (is_doubtful()) {
        SAY(s->before, "close other programs");
        SAY(s->command, "./commlab fit");
        SAY(s->why, "What it measured last can not be true (./commlab card says why): the machine was busy.");
        return true;
    }
    if (has_card(course, ""))
        return false;
    SAY(s->command, "./commlab card");
    SAY(s->why,
        "It prints how long a message, a byte and an addition take on this machine: with these numbers you predict.");
    return true;
}

// Whether there is something to do before a prediction. Virtual time needs no measurement of this machine.
static bool prepare(const struct course *course, const struct course_unit *unit, struct course_step *s)
{
    struct course_usual usual;
    course_usual(course, unit, &usual);
    return *usual.net ? prepare_net(course, usual.net, s) : prepare_machine(course, s);
}

// ---- a unit --------------------------------------------------------------------------------------------------

// What the steps of a unit are made of.
struct state {
    const struct course *course;
    const struct course_unit *unit;
    const struct journal *journal;
};

static bool has(const struct state *state, enum journal_event event)
{
    return journal_count(state->journal, state->unit->id, event) > 0;
}

static bool is_in_kit(const struct state *state, const char *file)
{
    char path[PATH_MAX];
    return course_unit_path(state->course, state->unit, file, path) == CLAB_OK && access(path, R_OK) == 0;
}

static bool is_mine(const struct state *state, const char *file)
{
    char path[PATH_MAX];
    return course_mine_path(state->course, state->unit, file, path) == CLAB_OK && access(path, R_OK) == 0;
}

// "labs/07-ring-vs-tree/lab.md", and its section if that has one.
static void say_page(const struct state *state, const char *words, char *text, size_t room)
{
    char path[PATH_MAX], heading[96] = "";
    struct clab_log_held held;
    clab_log_hold(&held);
    if (course_unit_path(state->course, state->unit, "lab.md", path) || !words ||
        page_find_section(state->course, state->unit, words, heading, sizeof heading))
        *heading = 0;
    clab_log_release(&held);
    snprintf(text, room, "%s%s%s%s", kit_relative(path), *heading ? ", section \"" : "", heading, *heading ? "\"" : "");
}

static void step_predict(const struct state *state, struct course_step *s)
{
    char page[256];
    say_page(state, "Predict", page, sizeof page);
    SAY(s->before, "read %s", page);
    SAY(s->command, "./commlab predict %s", state->unit->id);
    SAY(s->why, "You write down what you expect before you measure, so that you notice what surprises you.");
}

static void step_run(const struct state *state, struct course_step *s)
{
    SAY(s->command, "./commlab lab %s", state->unit->id);
    SAY(s->why,
        "It locks your prediction, runs before.c and after.c in turns, and shows your numbers beside the measured ones.");
}

static void step_start(const struct state *state, struct course_step *s)
{
    char page[256];
    say_page(state, state->unit->is_primer ? NULL : PAGE_TASK, page, sizeof page);
    SAY(s->before, "read %s%s", page,
        state->unit->is_primer ? " (best in a browser, or in your editor's preview)" : "");
    SAY(s->command, "./commlab start %s", state->unit->id);
    SAY(s->why, "It copies the program that you will mend to work/%s/mine.c.", state->unit->id);
}

static const char *last_failure(const struct state *state)
{
    const char *detail = "";
    for (int i = 0; i < state->journal->count; i++) {
        const struct journal_line *line = &state->journal->lines[i];
        if (line->event == JOURNAL_FAILED && !strcmp(line->unit, state->unit->id))
            detail = line->detail;
    }
    return detail;
}

static void step_check(const struct state *state, struct course_step *s)
{
    char page[256];
    const char *id = state->unit->id;
    say_page(state, PAGE_TASK, page, sizeof page);
    SAY(s->command, "./commlab check %s", id);
    if (!has(state, JOURNAL_FAILED)) {
        SAY(s->before, "edit work/%s/mine.c; the task is in %s", id, page);
        SAY(s->why, "It builds your program, runs it, and names the first thing that does not hold.");
    } else {
        SAY(s->before, "mend work/%s/mine.c", id);
        SAY(s->why, "The last check failed (%s); type ./commlab hint %s for a hint.", last_failure(state), id);
    }
}

// false: the unit has no step left.
static bool find_step(const struct state *state, struct course_step *s)
{
    const bool can_predict = is_in_kit(state, "predict.txt"), is_lab = is_in_kit(state, "lab.conf"),
               can_start = is_in_kit(state, "before.c"),
               can_check = can_start && (is_in_kit(state, "check.c") || check_is_linked(state->unit));
    if (has(state, JOURNAL_PASSED))
        return false;
    const bool predicts = can_predict && !has(state, JOURNAL_PREDICTED);
    const bool measures = is_lab && !has(state, JOURNAL_RAN);
    if ((predicts || measures) && prepare(state->course, state->unit, s))
        return true;
    s->unit = state->unit;
    if (predicts)
        step_predict(state, s);
    else if (measures)
        step_run(state, s);
    else if (can_start && !is_mine(state, "mine.c"))
        step_start(state, s);
    else if (can_check)
        step_check(state, s);
    else
        return false;
    return true;
}

// ---- between units -------------------------------------------------------------------------------------------

static bool is_begun(const struct state *state)
{
    for (int i = 0; i < state->journal->count; i++)
        if (!strcmp(state->journal->lines[i].unit, state->unit->id))
            return true;
    return false;
}

// A unit that is passed ends with a comparison and its questions, before the next one begins.
static void say_end(const struct state *passed, struct course_step *s)
{
    const struct course_unit *unit = passed->unit;
    char page[256];
    say_page(passed, PAGE_EXPLAIN, page, sizeof page);
    if (course_has_solution(passed->course, unit))
        SAY(s->end, "You have passed %s. Compare work/%s/mine.c with %s/after.c,\nand answer the questions in %s.", unit->id,
            unit->id, unit->folder, page);
    else
        SAY(s->end, "You have passed %s. Answer the questions in %s.\nYour teacher shows one solution.", unit->id, page);
}

static bool find_in_course(const struct course *course, const struct journal *journal, struct course_step *s)
{
    for (int i = 0; i < course->nunits; i++) {
        const struct state state = {course, &course->units[i], journal},
                           passed = {course, &course->units[i ? i - 1 : 0], journal};
        if (!find_step(&state, s))
            continue;
        if (i && has(&passed, JOURNAL_PASSED) && !is_begun(&state))
            say_end(&passed, s);
        return true;
    }
    return false;
}

// The unit that was asked for has no step left, so this one is of another.
static void say_done(const struct course_unit *unit, struct course_step *s)
{
    const char *kind = unit->is_primer ? "Primer" : "Lab";
    if (s->unit)
        SAY(s->end, "%s %s has passed. The first unit that is open is %s.", kind, unit->id, s->unit->id);
    else
        SAY(s->end, "%s %s has passed.", kind, unit->id);
}

static void step_end(struct course_step *s)
{
    s->unit = NULL;
    SAY(s->command, "./commlab report");
    SAY(s->why, "Nothing is left to do here; the report puts all figures on one page.");
}

void course_next(const struct course *course, const struct journal *journal, const struct course_unit *unit,
                 struct course_step *s)
{
    *s = (struct course_step){0};
    const struct state state = {course, unit, journal};
    if (unit && find_step(&state, s))
        return;
    if (!find_in_course(course, journal, s))
        step_end(s);
    if (unit && !*s->end)
        say_done(unit, s);
}

void course_state(const struct journal *journal, const struct course_unit *unit, char *text_p, size_t room)
{
    const struct state state = {NULL, unit, journal};
    if (has(&state, JOURNAL_PASSED))
        snprintf(text_p, room, "passed");
    else if (has(&state, JOURNAL_FAILED))
        snprintf(text_p, room, "failed: %s", last_failure(&state));
    else
        snprintf(text_p, room, "%s",
                 has(&state, JOURNAL_STARTED)     ? "started"
                 : has(&state, JOURNAL_RAN)       ? "measured"
                 : has(&state, JOURNAL_PREDICTED) ? "predicted"
                                                   : "not begun");
}

void course_print_step(const struct course_step *step)
{
    clab_say("Next: %s%s%s\n", *step->before ? step->before : "", *step->before ? "; then type " : "", step->command);
}
