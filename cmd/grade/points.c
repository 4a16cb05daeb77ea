// SPDX-License-Identifier: MIT
// Points and messages of a submission (homework.h).

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/grade/inside.h"
#include "cmd/grade/seed.h"
#include "core/base/text.h"

int grading_tests(const struct grading *g)
{
    int n = 0;
    while (g->homework->tests[n].key)
        n++;
    return n;
}

double grading_most(const struct grading *g)
{
    double sum = 0;
    for (int i = 0; i < grading_tests(g); i++)
        sum += g->homework->tests[i].points;
    return sum;
}

double grading_score(const struct grading *g)
{
    double sum = 0;
    for (int i = 0; i < grading_tests(g); i++)
        sum += g->results[i].points;
    return *g->rejected ? 0 : sum;
}

uint64_t grading_seed(struct grading *g, const char *name, bool is_hidden)
{
    uint64_t seed = 0;
    const int err = homework_seed(is_hidden ? g->salt : NULL, g->student, name, &seed);
    g->err = g->err ? g->err : err;
    return seed;
}

const char *grading_student(const struct grading *g)
{
    return g->student;
}

// One line; what a terminal or XML can not show becomes a question mark.
static void append(char *text, const char *format, va_list values)
{
    const size_t used = strlen(text);
    if (used && used + 1 < GRADING_TEXT)
        strcat(text, "\n");
    const size_t from = strlen(text);
    vsnprintf(text + from, GRADING_TEXT - from, format, values);
    clab_make_utf8(text + from); // a program may complain in any bytes
    for (char *c = text + from; *c; c++)
        if (((unsigned char)*c < ' ' && *c != '\n') || *c == 127)
            *c = '?';
}

static struct grading_result *result_of(struct grading *g, const char *key)
{
    for (int i = 0; i < grading_tests(g); i++)
        if (!strcmp(g->homework->tests[i].key, key))
            return &g->results[i];
    abort(); // a homework names a test that it does not have
}

void grading_award(struct grading *g, const char *key, double share, const char *format, ...)
{
    struct grading_result *result = result_of(g, key);
    va_list values;
    if (result->is_awarded)
        return;
    va_start(values, format);
    result->is_awarded = true;
    // Hundredths of a point, so that no last digit of a sum depends on the compiler.
    result->points = round(100 * fmin(fmax(share, 0), 1) * g->homework->tests[result - g->results].points) / 100;
    *result->text = 0;
    append(result->text, format, values);
    va_end(values);
}

void grading_fail(struct grading *g, const char *key, const char *format, ...)
{
    for (int i = 0; i < grading_tests(g); i++) {
        va_list values;
        if (g->results[i].is_awarded || (key && strcmp(key, g->homework->tests[i].key)))
            continue;
        va_start(values, format);
        *g->results[i].text = 0;
        append(g->results[i].text, format, values);
        va_end(values);
    }
}

void grading_note(struct grading *g, const char *key, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    append(result_of(g, key)->text, format, values);
    va_end(values);
}

void grading_reject(struct grading *g, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    append(g->rejected, format, values);
    va_end(values);
}

void grading_rank(struct grading *g, double value)
{
    g->is_ranked = true;
    g->rank = value;
}
