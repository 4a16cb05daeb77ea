// SPDX-License-Identifier: MIT
// Arithmetic with units (quantity.h): a parser by recursive descent.
//   list: sum (, sum)*   sum: term (+|- term)*   term: power (*|/ power)*   power: unary (^ unary)?
//   unary: -unary | number [unit] | name | function(list) | (sum)

#include "cmd/audit/quantity.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/units.h"

enum { NAME = 48, MOST_DEPTH = 16 };

struct reader {
    const char *at;
    const struct audit_names *names;
    char *why;
    int depth; // of brackets
};

static int parse_list(struct reader *r, struct audit_value *value_p);
static int parse_unary(struct reader *r, struct audit_value *value_p);

__attribute__((format(printf, 2, 3))) static int refuse(const struct reader *r, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(r->why, AUDIT_WHY, format, args);
    va_end(args);
    return CLAB_EPARSE;
}

static bool take(struct reader *r, char c)
{
    r->at += strspn(r->at, " \t");
    if (*r->at != c)
        return false;
    r->at++;
    return true;
}

// ---- units ---------------------------------------------------------------------------------------------------

static const struct unit {
    const char *name;
    double factor;
    int bytes, seconds;
} units[] = {
    {"B", 1, 1, 0},
    {"kB", 1e3, 1, 0},
    {"MB", 1e6, 1, 0},
    {"GB", 1e9, 1, 0},
    {"TB", 1e12, 1, 0},
    {"KiB", 1024, 1, 0},
    {"MiB", 1048576, 1, 0},
    {"GiB", 1073741824, 1, 0},
    {"b", 0.125, 1, 0},
    {"kb", 125, 1, 0},
    {"Mb", 125e3, 1, 0},
    {"Gb", 125e6, 1, 0},
    {"Tb", 125e9, 1, 0},
    {"s", 1, 0, 1},
    {"ms", 1e-3, 0, 1},
    {"us", 1e-6, 0, 1},
    {"ns", 1e-9, 0, 1},
    {"min", 60, 0, 1},
    {"h", 3600, 0, 1},
    {"%", 0.01, 0, 0},
};

static size_t unit_length(const char *text)
{
    size_t n = 0;
    while (isalpha((unsigned char)text[n]) || text[n] == '%')
        n++;
    return n;
}

// What follows a number, if it is a unit; "/s" right behind it belongs to it.
static int take_unit(struct reader *r, struct audit_value *v)
{
    const char *text = r->at + strspn(r->at, " ");
    const size_t length = unit_length(text);
    if (!length)
        return CLAB_OK;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        const struct unit *u = &units[i];
        if (strlen(u->name) != length || strncmp(u->name, text, length) != 0)
            continue;
        v->v[0] *= u->factor;
        v->bytes = u->bytes;
        v->seconds = u->seconds;
        v->percent = *text == '%';
        r->at = text + length;
        if (r->at[0] == '/' && r->at[1] == 's' && !isalnum((unsigned char)r->at[2]) && u->bytes) {
            v->seconds--;
            r->at += 2;
        }
        return CLAB_OK;
    }
    return refuse(r, "there is no unit '%.*s'; there are B kB MB GB TB KiB MiB GiB, b kb Mb Gb Tb (bits), these /s, s ms us "
                     "ns min h, and %%", (int)(length < 12 ? length : 12), text);
}

// ---- operators -----------------------------------------------------------------------------------------------

bool audit_is_alike(const struct audit_value *a, const struct audit_value *b)
{
    return a->bytes == b->bytes && a->seconds == b->seconds;
}

static double apply(char op, double a, double b)
{
    switch (op) {
    case '+': return a + b;
    case '-': return a - b;
    case '*': return a * b;
    case '/': return a / b;
    default: return pow(a, b);
    }
}

static int combine(const struct reader *r, char op, struct audit_value *a, const struct audit_value *b)
{
    const int n = a->n > b->n ? a->n : b->n;
    if ((op == '+' || op == '-') && !audit_is_alike(a, b))
        return refuse(r, "'%c' of different things: one counts bytes^%d seconds^%d, the other bytes^%d seconds^%d", op,
                      a->bytes, a->seconds, b->bytes, b->seconds);
    if (op == '^' && (b->n != 1 || b->bytes || b->seconds || a->bytes || a->seconds))
        return refuse(r, "'^' takes numbers without a unit");
    if (a->n != b->n && a->n != 1 && b->n != 1)
        return refuse(r, "'%c' of lists of %d and %d values", op, a->n, b->n);
    for (int i = n - 1; i >= 0; i--)
        a->v[i] = apply(op, a->v[a->n == 1 ? 0 : i], b->v[b->n == 1 ? 0 : i]);
    a->n = n;
    if (op == '*' || op == '/') {
        a->bytes += op == '*' ? b->bytes : -b->bytes;
        a->seconds += op == '*' ? b->seconds : -b->seconds;
        a->percent = false;
    }
    return CLAB_OK;
}

// ---- functions -----------------------------------------------------------------------------------------------

static void reduce(struct audit_value *v, char op)
{
    double total = v->v[0];
    for (int i = 1; i < v->n; i++)
        total = op == '<' ? fmin(total, v->v[i]) : op == '>' ? fmax(total, v->v[i]) : apply(op, total, v->v[i]);
    v->v[0] = total;
    v->n = 1;
}

static int call(struct reader *r, const char *name, struct audit_value *v)
{
    const int n = v->n;
    const bool is_number = !v->bytes && !v->seconds;
    if (!strcmp(name, "sum"))
        reduce(v, '+');
    else if (!strcmp(name, "product") && is_number)
        reduce(v, '*');
    else if (!strcmp(name, "min"))
        reduce(v, '<');
    else if (!strcmp(name, "max"))
        reduce(v, '>');
    else if (!strcmp(name, "mean")) {
        reduce(v, '+');
        v->v[0] /= n;
    } else if (is_number && (!strcmp(name, "log2") || !strcmp(name, "ceil") || !strcmp(name, "floor"))) {
        for (int i = 0; i < n; i++)
            v->v[i] = *name == 'l' ? log2(v->v[i]) : *name == 'c' ? ceil(v->v[i]) : floor(v->v[i]);
    } else
        return refuse(r, "there is no function '%s' of such values; there are sum product mean min max, and of numbers log2 "
                         "ceil floor", name);
    return CLAB_OK;
}

// ---- the parser ----------------------------------------------------------------------------------------------

static int take_name(struct reader *r, struct audit_value *value_p)
{
    char name[NAME];
    size_t n = 0;
    while ((isalnum((unsigned char)r->at[n]) || r->at[n] == '_') && n + 1 < NAME)
        n++;
    snprintf(name, sizeof name, "%.*s", (int)n, r->at);
    r->at += n;
    if (take(r, '(')) {
        CLAB_TRY(parse_list(r, value_p));
        return take(r, ')') ? call(r, name, value_p) : refuse(r, "')' is missing behind %s(", name);
    }
    if (r->names->depth >= MOST_DEPTH)
        return refuse(r, "'%s' is said by itself, or by too many names", name);
    if (--*r->names->steps < 0)
        return refuse(r, "this takes more than %d steps: names use names too often", AUDIT_STEPS);
    const struct audit_names inner = {r->names->find, r->names->of, r->names->depth + 1, r->names->steps};
    const int err = inner.find(&inner, name, value_p, r->why);
    return err == CLAB_ENOENT ? refuse(r, "nothing says what '%s' is: add a line %s = ...", name, name) : err;
}

static int take_number(struct reader *r, struct audit_value *value_p)
{
    char *end;
    *value_p = (struct audit_value){.n = 1, .v = {strtod(r->at, &end)}};
    if (end == r->at)
        return *r->at ? refuse(r, "'%.20s' is no number and no name", r->at) : refuse(r, "a value is missing at the end");
    r->at = end;
    return take_unit(r, value_p);
}

static int parse_primary(struct reader *r, struct audit_value *value_p)
{
    r->at += strspn(r->at, " \t");
    if (isalpha((unsigned char)*r->at) || *r->at == '_')
        return take_name(r, value_p);
    if (!take(r, '('))
        return take_number(r, value_p);
    CLAB_TRY(parse_list(r, value_p));
    return take(r, ')') ? CLAB_OK : refuse(r, "')' is missing");
}

static int parse_unary(struct reader *r, struct audit_value *value_p)
{
    if (++r->depth > 4 * MOST_DEPTH)
        return refuse(r, "too many brackets");
    const bool is_negative = take(r, '-');
    CLAB_TRY(is_negative ? parse_unary(r, value_p) : parse_primary(r, value_p));
    for (int i = 0; is_negative && i < value_p->n; i++)
        value_p->v[i] = -value_p->v[i];
    r->depth--;
    return CLAB_OK;
}

static int parse_power(struct reader *r, struct audit_value *value_p)
{
    struct audit_value exponent;
    CLAB_TRY(parse_unary(r, value_p));
    if (!take(r, '^'))
        return CLAB_OK;
    CLAB_TRY(parse_unary(r, &exponent));
    return combine(r, '^', value_p, &exponent);
}

static int parse_term(struct reader *r, struct audit_value *value_p)
{
    struct audit_value other;
    CLAB_TRY(parse_power(r, value_p));
    for (char op; (op = take(r, '*') ? '*' : take(r, '/') ? '/' : 0);) {
        CLAB_TRY(parse_power(r, &other));
        CLAB_TRY(combine(r, op, value_p, &other));
    }
    return CLAB_OK;
}

static int parse_sum(struct reader *r, struct audit_value *value_p)
{
    struct audit_value other;
    CLAB_TRY(parse_term(r, value_p));
    for (char op; (op = take(r, '+') ? '+' : take(r, '-') ? '-' : 0);) {
        CLAB_TRY(parse_term(r, &other));
        CLAB_TRY(combine(r, op, value_p, &other));
    }
    return CLAB_OK;
}

static int parse_list(struct reader *r, struct audit_value *value_p)
{
    struct audit_value more;
    CLAB_TRY(parse_sum(r, value_p));
    while (take(r, ',')) {
        CLAB_TRY(parse_sum(r, &more));
        if (!audit_is_alike(value_p, &more))
            return refuse(r, "a list of different things: bytes^%d seconds^%d and bytes^%d seconds^%d", value_p->bytes,
                          value_p->seconds, more.bytes, more.seconds);
        if (value_p->n + more.n > AUDIT_LIST)
            return refuse(r, "a list of more than %d values", AUDIT_LIST);
        memcpy(&value_p->v[value_p->n], more.v, (size_t)more.n * sizeof *more.v);
        value_p->n += more.n;
    }
    return CLAB_OK;
}

int audit_eval(const char *text, const struct audit_names *names, struct audit_value *value_p, char why[AUDIT_WHY])
{
    struct reader r = {.at = text, .names = names, .why = why};
    CLAB_TRY(parse_list(&r, value_p));
    r.at += strspn(r.at, " \t");
    if (*r.at)
        return refuse(&r, "'%.20s' is left over", r.at);
    for (int i = 0; i < value_p->n; i++)
        if (!isfinite(value_p->v[i]))
            return refuse(&r, "this has no finite value: is something divided by 0?");
    return CLAB_OK;
}

// ---- for people ----------------------------------------------------------------------------------------------

static const char *scaled(double v, const char *const names[], double step, const char *behind, char *out, size_t room)
{
    int i = 0;
    while (fabs(v) >= step && names[i + 1]) {
        v /= step;
        i++;
    }
    snprintf(out, room, "%.4g %s%s", v, names[i], behind);
    return out;
}

const char *audit_text(const struct audit_value *value, int i, char *out, size_t room)
{
    static const char *const bytes[] = {"B", "kB", "MB", "GB", "TB", NULL};
    const double v = value->v[i];
    char time[CLAB_TEXT];
    if (value->bytes == 1 && value->seconds == 0)
        return scaled(v, bytes, 1000, "", out, room);
    if (value->bytes == 1 && value->seconds == -1)
        return scaled(v, bytes, 1000, "/s", out, room);
    if (value->bytes == 0 && value->seconds == 1)
        snprintf(out, room, "%s", clab_seconds_text(v, time));
    else if (value->bytes || value->seconds)
        snprintf(out, room, "%.4g B^%d s^%d", v, value->bytes, value->seconds);
    else
        snprintf(out, room, value->percent ? "%.4g %%" : "%.5g", value->percent ? 100 * v : v);
    return out;
}
