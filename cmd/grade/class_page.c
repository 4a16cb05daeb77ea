// SPDX-License-Identifier: MIT
// The page of a class: one file without scripts and without anything from elsewhere (class.h).
//
// - First what a teacher has to act on: who is rejected or not graded, and why. Then how the class did, what most stumbled
//   over, and a row per student with the messages folded away.
// - Nothing in it depends on a clock or a machine: the same class gives the same bytes.

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/grade/class.h"
#include "core/base/err.h"
#include "core/base/order.h"
#include "core/base/files/output.h"
#include "core/base/stats.h"
#include "core/base/text.h"
#include "core/base/vector.h"

static const char style[] =
    "<style>\n"
    ":root { color-scheme: light dark; --soft: #666; --line: #ccc; --full: #2a7; --part: #c92; --none: #b44; --bad: #fee }\n"
    "@media (prefers-color-scheme: dark) { :root { --soft: #aaa; --line: #555; --bad: #422 } }\n"
    "body { font: 16px/1.45 system-ui, sans-serif; max-width: 76rem; margin: 1.5rem auto; padding: 0 1rem }\n"
    "h1 { font-size: 1.5rem } h2 { font-size: 1.15rem; margin-top: 2rem } .soft { color: var(--soft) }\n"
    "table { border-collapse: collapse; width: 100% }\n"
    "th, td { text-align: left; vertical-align: top; padding: .2rem .5rem; border-bottom: 1px solid var(--line) }\n"
    "thead th { position: sticky; top: 0; background: Canvas } td.n, th.n { text-align: right; white-space: nowrap }\n"
    "td.id { white-space: nowrap; font-weight: 600 } tr.bad td { background: var(--bad) }\n"
    ".bar { display: inline-block; height: .8rem; vertical-align: middle }\n"
    ".full { background: var(--full) } .part { background: var(--part) } .none { background: var(--none) }\n"
    "pre { white-space: pre-wrap; overflow-wrap: anywhere; margin: .2rem 0 .6rem; font-size: .85rem }\n"
    "summary { cursor: pointer; overflow-wrap: anywhere } dt { font-weight: 600; margin-top: .4rem } dd { margin-left: 1rem }\n"
    "svg text { font: 12px system-ui, sans-serif; fill: currentColor } svg { max-width: 100% }\n"
    "@media print { thead th { position: static } tr { break-inside: avoid } }\n"
    "</style>\n";

// ---- text ----------------------------------------------------------------------------------------------------------

// All of it is somebody else's, or may be. most: bytes; a cut text ends in "…", with a whole character
static void put_most(FILE *out, const char *text, size_t most)
{
    size_t n = strlen(text);
    const bool is_cut = n > most;
    for (n = is_cut ? most : n; is_cut && n > 0 && ((unsigned char)text[n] & 0xc0) == 0x80;)
        n--;
    clab_put_escaped(out, text, n);
    fputs(is_cut ? "…" : "", out);
}

static void put(FILE *out, const char *text)
{
    put_most(out, text, (size_t)-1);
}

// The first line alone.
static void put_line(FILE *out, const char *text, size_t most)
{
    char *line = strndup(text, strcspn(text, "\n"));
    put_most(out, line ? line : "", most);
    free(line);
}

// Points without zeros behind: 12, 7.5.
static void put_points(FILE *out, double points)
{
    if (isnan(points))
        fputs("–", out);
    else
        fprintf(out, "%.4g", points);
}

// ---- the class in numbers --------------------------------------------------------------------------------------

struct summary {
    int count[3]; // by status
    int ngraded;
    double *sums;        // (ngraded) of those that are graded
    double quartiles[5]; // least, quarters, most
};

static int summarize(const struct class *class, struct summary *s)
{
    *s = (struct summary){.sums = calloc((size_t) class->nstudents + 1, sizeof *s->sums)};
    for (int i = 0; s->sums && i < class->nstudents; i++) {
        s->count[class->students[i].status]++;
        if (class->students[i].status == CLASS_GRADED)
            s->sums[s->ngraded++] = class->students[i].sum;
    }
    for (int i = 0; s->sums && s->ngraded && i <= 4; i++)
        s->quartiles[i] = clab_quantile(s->sums, s->ngraded, i / 4.0);
    return s->sums ? CLAB_OK : CLAB_ENOMEM;
}

// ---- what needs somebody -------------------------------------------------------------------------------------------

static bool has_reason(const struct class_student *s, int status, bool is_broken)
{
    return (int)s->status == status && s->is_broken == is_broken && (status != CLASS_GRADED || s->reason);
}

// A table of those with this status; graded ones only if there is something to look at.
static void put_reasons(FILE *out, const struct class *class, int status, bool is_broken, const char *title)
{
    int n = 0;
    for (int i = 0; i < class->nstudents; i++)
        n += has_reason(&class->students[i], status, is_broken);
    if (n)
        fprintf(out, "<h2>%s (%d)</h2>\n<table><tbody>\n", title, n);
    for (int i = 0; i < class->nstudents; i++)
        if (has_reason(&class->students[i], status, is_broken)) {
            fputs("<tr class=\"bad\"><td class=\"id\">", out);
            put(out, class->students[i].id);
            fputs("</td><td>", out);
            put_most(out, class->students[i].reason ? class->students[i].reason : "", 600);
            fputs("</td></tr>\n", out);
        }
    fputs(n ? "</tbody></table>\n" : "", out);
}

// A row per group of students who handed in the same bytes.
static void put_equal(FILE *out, const struct class *class)
{
    int groups = 0;
    for (int i = 0; i < class->nstudents; i++) {
        int next = class_has_same_before(class, i) ? -1 : class_next_same(class, i);
        if (next < 0)
            continue;
        if (!groups++)
            fputs("<h2>Equal byte for byte: ask who wrote it</h2>\n<table><tbody>\n", out);
        fputs("<tr class=\"bad\"><td>", out);
        put(out, class->students[i].id);
        for (; next >= 0; next = class_next_same(class, next)) {
            fputs(", ", out);
            put(out, class->students[next].id);
        }
        fputs("</td></tr>\n", out);
    }
    fputs(groups ? "</tbody></table>\n" : "", out);
}

static void put_to_do(FILE *out, const struct class *class, const struct summary *s)
{
    if (s->count[CLASS_REJECTED] + s->count[CLASS_UNGRADED] == 0)
        fputs("<p>Nobody is rejected, and all are graded.</p>\n", out);
    put_reasons(out, class, CLASS_REJECTED, false, "Rejected: read the file, and talk with the student first");
    put_reasons(out, class, CLASS_UNGRADED, false, "Not graded: no points until somebody mends this");
    put_reasons(out, class, CLASS_GRADED, true, "Graded, but it can not be compiled");
    put_reasons(out, class, CLASS_GRADED, false, "Graded, maybe for the wrong student");
    put_equal(out, class);
}

// ---- the figure ------------------------------------------------------------------------------------------------

enum { BINS = 16, WIDTH = 760, HEIGHT = 200, LEFT = 40, BASE = 160 };

static void put_histogram(FILE *out, const struct class *class, const struct summary *s)
{
    int bins[BINS] = {0}, most = 1;
    const double step = (WIDTH - LEFT - 10) / (double)BINS;
    for (int i = 0; i < s->ngraded; i++) {
        const int bin = (int)(s->sums[i] / class->most * BINS);
        bins[bin < BINS ? bin : BINS - 1]++;
    }
    for (int i = 0; i < BINS; i++)
        most = bins[i] > most ? bins[i] : most;
    fprintf(
        out,
        "<svg viewBox=\"0 0 %d %d\" width=\"%d\" role=\"img\" aria-label=\"How many students have how many points\">\n",
        WIDTH, HEIGHT, WIDTH);
    for (int i = 0; i < BINS; i++) {
        const double height = 130.0 * bins[i] / most, x = LEFT + i * step;
        fprintf(
            out,
            "<rect class=\"full\" style=\"fill:var(--full)\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>\n",
            x + 1, BASE - height, step - 2, height);
        if (bins[i])
            fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%d</text>\n", x + step / 2,
                    BASE - height - 4, bins[i]);
        if (i % 4 == 0)
            fprintf(out, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%.4g</text>\n", x, BASE + 16,
                    class->most * i / BINS);
    }
    const double at = LEFT + BINS * step * s->quartiles[2] / class->most;
    fprintf(out, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%.4g</text>\n", LEFT + BINS * step, BASE + 16,
            class->most);
    fprintf(out,
            "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"14\" y2=\"%d\" stroke=\"currentColor\" stroke-dasharray=\"4 3\"/>\n",
            at, at, BASE);
    fprintf(out, "<text x=\"%.1f\" y=\"10\" text-anchor=\"%s\">median %.4g</text>\n", at,
            at > WIDTH - 60 ? "end" : "middle", s->quartiles[2]);
    fprintf(
        out,
        "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">points by the machine; above each bar, how many students</text>\n</svg>\n",
        WIDTH / 2, HEIGHT - 6);
}

// ---- per test --------------------------------------------------------------------------------------------------

static void put_bar(FILE *out, const char *class, int n, int all)
{
    if (n)
        fprintf(out, "<span class=\"bar %s\" style=\"width:%.2f%%\" title=\"%d\"></span>", class, 100.0 * n / all, n);
}

static void put_test(FILE *out, const struct class *class, const struct summary *s, int test)
{
    const struct homework_test *t = &class->homework->tests[test];
    int full = 0, none = 0;
    double sum = 0;
    for (int i = 0; i < class->nstudents; i++)
        if (class->students[i].status == CLASS_GRADED) {
            full += class->students[i].points[test] >= t->points;
            none += class->students[i].points[test] <= 0;
            sum += class->students[i].points[test];
        }
    fputs("<tr><td class=\"id\">", out);
    put(out, t->key);
    fputs("</td><td>", out);
    put(out, t->title);
    fprintf(
        out,
        "%s</td><td class=\"n\">%.4g of %.4g</td><td class=\"n\">%d</td><td class=\"n\">%d</td><td class=\"n\">%d</td>"
        "<td style=\"width:22%%\">",
        t->hidden ? " <span class=\"soft\">(hidden)</span>" : "", sum / s->ngraded, t->points, full,
        s->ngraded - full - none, none);
    put_bar(out, "full", full, s->ngraded);
    put_bar(out, "part", s->ngraded - full - none, s->ngraded);
    put_bar(out, "none", none, s->ngraded);
    fputs("</td></tr>\n", out);
}

static void put_tests(FILE *out, const struct class *class, const struct summary *s)
{
    fputs(
        "<h2>Test by test</h2>\n<table><thead><tr><th>test</th><th>what holds if it passes</th><th class=\"n\">mean</th>"
        "<th class=\"n\">all points</th><th class=\"n\">a part</th><th class=\"n\">none</th><th></th></tr></thead><tbody>\n",
        out);
    for (int test = 0; test < class->ntests; test++)
        put_test(out, class, s, test);
    fputs("</tbody></table>\n", out);
}

// ---- what most stumbled over -----------------------------------------------------------------------------------

// A line of a message, with its numbers taken away: what several students have in common.
struct lesson {
    char *text;            // without numbers
    const char *example;   // as one student has it
    int test, count, last; // the last student that had it
};

struct lessons {
    struct lesson *items;
    int n, room;
};

// Commands to type are no lesson.
static bool is_lesson(const char *line, size_t length)
{
    return length > 20 && !memmem(line, length, "build/labcc", 11) && !memmem(line, length, "./commlab", 9);
}

// "with 3 ranks on hosts 0 1 2" becomes "with # ranks on hosts #". Freed by the caller.
static char *without_numbers(const char *line, size_t length)
{
    char *text = malloc(length + 1), *to = text;
    for (size_t i = 0; text && i < length;)
        if (isdigit((unsigned char)line[i])) {
            while (i < length && (isalnum((unsigned char)line[i]) || line[i] == '.'))
                i++;
            if (to - text < 2 || to[-1] != ' ' || to[-2] != '#')
                *to++ = '#';
            else
                to--; // one blank for a row of numbers
        } else
            *to++ = line[i++];
    if (text)
        *to = 0;
    return text;
}

static int count_line(struct lessons *lessons, int student, int test, const char *line, size_t length)
{
    char *text = without_numbers(line, length);
    if (!text)
        return CLAB_ENOMEM;
    for (int i = 0; i < lessons->n; i++)
        if (lessons->items[i].test == test && !strcmp(lessons->items[i].text, text)) {
            lessons->items[i].count += lessons->items[i].last != student;
            lessons->items[i].last = student;
            free(text);
            return CLAB_OK;
        }
    return CLAB_PUSH(lessons->items, lessons->n, lessons->room,
                     (struct lesson){.text = text, .example = line, .test = test, .count = 1, .last = student});
}

// The first test that lacks points; -1: none does.
static int first_lack(const struct class *class, const struct class_student *s)
{
    for (int test = 0; test < class->ntests; test++)
        if (!(s->points[test] >= class->homework->tests[test].points))
            return test;
    return -1;
}

// Of the first test that lacks points alone: the others mostly follow from it.
static int count_lines(struct lessons *lessons, const struct class *class, int student)
{
    const struct class_student *s = &class->students[student];
    const int test = s->status == CLASS_GRADED ? first_lack(class, s) : -1;
    for (const char *line = test < 0 || !s->messages[test] ? "" : s->messages[test]; *line;) {
        const size_t length = strcspn(line, "\n");
        if (is_lesson(line, length))
            CLAB_TRY(count_line(lessons, student, test, line, length));
        line += length + (line[length] != 0);
    }
    return CLAB_OK;
}

static int more_frequent(const void *a, const void *b)
{
    const struct lesson *x = a, *y = b;
    return CLAB_ORDER(y->count, x->count) ?: strcmp(x->text, y->text);
}

static int put_lessons(FILE *out, const struct class *class)
{
    enum { MOST_LESSONS = 12 };
    struct lessons lessons = {0};
    int err = CLAB_OK, shown = 0;
    for (int i = 0; i < class->nstudents && !err; i++)
        err = count_lines(&lessons, class, i);
    if (lessons.n)
        qsort(lessons.items, (size_t)lessons.n, sizeof *lessons.items, more_frequent);
    for (int i = 0; i < lessons.n && shown < MOST_LESSONS && lessons.items[i].count >= 2; i++) {
        const struct lesson *l = &lessons.items[i];
        if (!shown++)
            fputs(
                "<h2>What most of them stumbled over</h2>\n<p class=\"soft\">Messages of the first test that lacks points, which "
                "several students have apart from their numbers. The numbers are one student's.</p>\n"
                "<table><thead><tr><th class=\"n\">students</th><th>test</th><th>message"
                "</th></tr></thead><tbody>\n",
                out);
        fprintf(out, "<tr><td class=\"n\">%d</td><td class=\"id\">%s</td><td>", l->count,
                class->homework->tests[l->test].key);
        put_line(out, l->example, 400);
        fputs("</td></tr>\n", out);
    }
    fputs(shown ? "</tbody></table>\n" : "", out);
    for (int i = 0; i < lessons.n; i++)
        free(lessons.items[i].text);
    free(lessons.items);
    return err;
}

// ---- each student ----------------------------------------------------------------------------------------------

static void put_details(FILE *out, const struct class *class, const struct class_student *s)
{
    for (int test = 0; test < class->ntests; test++)
        if (s->status == CLASS_GRADED && s->messages[test]) {
            fprintf(out, "<b>%s</b><pre>", class->homework->tests[test].key);
            put_most(out, s->messages[test], 2500);
            fputs("</pre>\n", out);
        }
    fputs(s->has_questions ? "<b>To ask in person</b><dl>" : "", out);
    for (int i = 0; s->has_questions && i < HOMEWORK_QUESTIONS; i++) {
        fputs("<dt>", out);
        put(out, s->questions[i].question);
        fputs("</dt><dd>", out);
        put(out, s->questions[i].answer);
        fputs("</dd>\n", out);
    }
    fputs(s->has_questions ? "</dl>\n" : "", out);
}

static void put_student(FILE *out, const struct class *class, const struct class_student *s)
{
    const int lack = first_lack(class, s);
    fprintf(out, "<tr%s><td class=\"id\">", s->status == CLASS_GRADED ? "" : " class=\"bad\"");
    put(out, s->id);
    fputs("</td><td class=\"n\">", out);
    put_points(out, s->sum);
    fputs("</td>", out);
    for (int test = 0; test < class->ntests; test++) {
        fputs("<td class=\"n\">", out);
        put_points(out, s->points[test]);
        fputs("</td>", out);
    }
    fputs("<td><details><summary>", out);
    if (s->status != CLASS_GRADED) {
        fprintf(out, "<b>%s</b>: ", class_status_texts[s->status]);
        put_most(out, s->reason ? s->reason : "", 110);
    } else if (lack < 0)
        fputs("all points", out);
    else {
        fprintf(out, "%s: ", class->homework->tests[lack].key);
        put_line(out, s->messages[lack] ? s->messages[lack] : "", 110);
    }
    fputs("</summary>\n", out);
    put_details(out, class, s);
    fputs("</details></td></tr>\n", out);
}

static void put_students(FILE *out, const struct class *class)
{
    fputs(
        "<h2>Each student</h2>\n<p class=\"soft\">A click on the last column shows all messages, and two questions with their answers.</p>\n"
        "<table><thead><tr><th>student</th><th class=\"n\">points</th>",
        out);
    for (int test = 0; test < class->ntests; test++)
        fprintf(out, "<th class=\"n\">%s</th>", class->homework->tests[test].key);
    fputs("<th>the first test that lacks points</th></tr></thead><tbody>\n", out);
    for (int i = 0; i < class->nstudents; i++)
        put_student(out, class, &class->students[i]);
    fputs("</tbody></table>\n", out);
}

// ---- the page --------------------------------------------------------------------------------------------------

static void put_head(FILE *out, const struct class *class, const struct summary *s)
{
    fputs(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">\n<title>",
        out);
    fprintf(out, "%s: %d student%s</title>\n%s</head><body>\n<h1>", class->id, class->nstudents,
            class->nstudents == 1 ? "" : "s", style);
    if (s->ngraded)
        fprintf(out, "Half of the class has %.4g of %.4g points%s", s->quartiles[2], class->most,
                s->quartiles[2] > 0 ? " or more" : "");
    else
        fputs("Nobody is graded", out);
    fprintf(out, "</h1>\n<p>Homework %s, ", class->id);
    put(out, class->homework->title);
    fprintf(out, ": %d student%s, %d graded, %d rejected, %d not graded. ", class->nstudents,
            class->nstudents == 1 ? "" : "s", s->count[CLASS_GRADED], s->count[CLASS_REJECTED],
            s->count[CLASS_UNGRADED]);
    if (s->ngraded)
        fprintf(
            out,
            "Of those graded, the least has %.4g points; a quarter has %.4g or fewer, a quarter %.4g or more; the most is %.4g. ",
            s->quartiles[0], s->quartiles[1], s->quartiles[3], s->quartiles[4]);
    fprintf(
        out,
        "These are the points that a machine gives, %.4g of 100; a person gives the others (labs/homework/%s/rubric.md).%s</p>\n",
        class->most, class->id,
        class->salt ? "" : " <b>Practice: these points were given without the class's salt.</b>");
}

static void put_foot(FILE *out, const struct class *class)
{
    const char *end = strrchr(class->homework->file, '.');
    fprintf(
        out,
        "<h2>Compare their files</h2>\n<p>%s.jplag holds what each student wrote, and the starter. With "
        "<a href=\"https://github.com/jplag/JPlag\">JPlag</a>:</p>\n"
        "<pre>java -jar jplag.jar -l %s -bc %s.jplag/base %s.jplag/submissions</pre>\n"
        "<p class=\"soft\">Files of the same class give the same page. %s.csv has this table, %s.questions.csv the questions; "
        "%s.person.csv is your form, and %s.grades.csv has the sums for a gradebook.</p>\n"
        "</body></html>\n",
        class->id, end && !strcmp(end, ".c") ? "c" : "text", class->id, class->id, class->id, class->id, class->id,
        class->id);
}

int class_page_write(const struct class *class, const char *path)
{
    struct clab_output output;
    struct summary summary;
    CLAB_TRY(summarize(class, &summary));
    int err = clab_output_open(path, &output);
    if (!err) {
        put_head(output.file, class, &summary);
        put_to_do(output.file, class, &summary);
        if (summary.ngraded) {
            fputs("<h2>How points are spread</h2>\n", output.file);
            put_histogram(output.file, class, &summary);
            put_tests(output.file, class, &summary);
        }
        err = put_lessons(output.file, class);
        put_students(output.file, class);
        put_foot(output.file, class);
        if (err)
            clab_output_abandon(&output);
        else
            err = clab_output_close(&output);
    }
    free(summary.sums);
    return err;
}
