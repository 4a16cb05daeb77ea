// SPDX-License-Identifier: MIT
// Command lines by tables (options.h).
//
// - We read the words ourselves, so that each mistake gets one line with the nearest flag. argp (glibc) prints --help.

#include "core/base/options.h"

#include <argp.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/nearest.h"
#include "core/base/vector.h"

enum { KEY_FIRST = 256 }; // argp's keys for flags without a letter: KEY_FIRST + row

// A flag of the table, or of a table in it.
struct row {
    const struct clab_option *option;
    char *member; // that it sets, or the struct that its call gets
    int group;    // of --help
};

struct parsing {
    const struct clab_command_line *line;
    const char *name, *short_name; // "commlab bench", "bench"
    bool is_shared;                // the program has words of its own, which may begin with '-'
    void *into;
    char **argv;
    int argc, at; // argv[at] is read
    struct row *rows;
    int n, room;
    char **words; // that are no flags
    int nwords, words_room;
};

// ---- help ----------------------------------------------------------------------------------------------------

// The flag's help and its variable. Nobody frees it: the program ends once it is printed.
static const char *help_text(const struct clab_option *o)
{
    char *longer;
    if (!o->help || !o->variable || asprintf(&longer, "%s (%s)", o->help, clab_variable_name(o->variable)) < 0)
        return o->help ? o->help : "";
    return longer;
}

static struct argp_option as_argp(const struct row *row, int number)
{
    const struct clab_option *o = row->option;
    return (struct argp_option){.name = o->name,
                                .key = !o->name    ? 0
                                       : o->letter ? o->letter
                                                   : KEY_FIRST + number,
                                .arg = o->value,
                                .flags = o->help ? 0 : OPTION_HIDDEN,
                                .doc = help_text(o),
                                .group = row->group};
}

static int print_help(const struct parsing *p, unsigned flags)
{
    const char *slash = strrchr(p->name, '/');
    struct argp_option *options = calloc((size_t)p->n + 1, sizeof *options);
    if (!options)
        return CLAB_ENOMEM;
    for (int i = 0; i < p->n; i++)
        options[i] = as_argp(&p->rows[i], i);
    const struct argp argp = {.options = options, .args_doc = p->line->arguments, .doc = p->line->about};
    argp_help(&argp, stdout, flags, (char *)(uintptr_t)(slash ? slash + 1 : p->name));
    exit(EXIT_SUCCESS);
}

static int take_help(const char *flag, const char *text, void *parsing)
{
    (void)flag, (void)text;
    return print_help(parsing, ARGP_HELP_STD_HELP);
}

static int take_usage(const char *flag, const char *text, void *parsing)
{
    (void)flag, (void)text;
    return print_help(parsing, ARGP_HELP_USAGE);
}

static const struct clab_option help_flags[] = {
    {"help", '?', NULL, "give this help list", CLAB_CALL(take_help)},
    {"usage", 0, NULL, "give a short usage message", CLAB_CALL(take_usage)},
    {0},
};

// ---- rows ----------------------------------------------------------------------------------------------------

static int add_rows(struct parsing *p, const struct clab_option *options, char *into, int *group_p)
{
    for (const struct clab_option *o = options; o->name || o->help || o->table; o++) {
        char *member = o->type == CLAB_OPTION_CALL ? into : into + o->at;
        *group_p += !o->name && !o->table;
        CLAB_TRY(o->table ? add_rows(p, o->table, member, group_p)
                          : CLAB_PUSH(p->rows, p->n, p->room, (struct row){o, member, *group_p}));
    }
    return CLAB_OK;
}

// The flags that begin with the `length` characters of `name`: how many. *row_p: one that is just that, or the last.
static int find_name(const struct parsing *p, const char *name, size_t length, const struct row **row_p)
{
    int n = 0;
    for (const struct row *row = p->rows; row < p->rows + p->n; row++) {
        if (!row->option->name || strncmp(row->option->name, name, length) != 0)
            continue;
        *row_p = row;
        n++;
        if (!row->option->name[length])
            return 1;
    }
    return n;
}

static const struct row *find_letter(const struct parsing *p, int letter)
{
    for (const struct row *row = p->rows; row < p->rows + p->n; row++)
        if (row->option->name && row->option->letter == letter)
            return row;
    return NULL;
}

// ---- one flag ------------------------------------------------------------------------------------------------

static int take_name(const struct clab_option *o, const char *flag, const char *text, int *number_p)
{
    const int number = clab_names_find(o->names, flag, text, strlen(text));
    *number_p = number < 0 ? *number_p : number;
    return number < 0 ? CLAB_EINVAL : CLAB_OK;
}

static int take(const struct row *row, const char *flag, const char *text)
{
    const struct clab_option *o = row->option;
    void *at = row->member;
    switch (o->type) {
    case CLAB_OPTION_ON: *(bool *)at = true; return CLAB_OK;
    case CLAB_OPTION_OFF: *(bool *)at = false; return CLAB_OK;
    case CLAB_OPTION_TEXT: *(const char **)at = text; return CLAB_OK;
    case CLAB_OPTION_INT: return clab_take_int(flag, text, (int)o->low, (int)o->high, at);
    case CLAB_OPTION_SIZE: return clab_take_size(flag, text, (size_t)o->low, at);
    case CLAB_OPTION_SECONDS: return clab_take_seconds(flag, text, o->low, o->high, at);
    case CLAB_OPTION_BARE_SECONDS: return clab_take_bare_seconds(flag, text, o->high, at);
    case CLAB_OPTION_COST: return clab_take_cost(flag, text, at);
    case CLAB_OPTION_NUMBER: return clab_take_number(flag, text, o->low, o->high, at);
    case CLAB_OPTION_PERCENT: return clab_take_percent(flag, text, o->high, at);
    case CLAB_OPTION_SEED: return clab_take_seed(flag, text, at);
    case CLAB_OPTION_NAME: return take_name(o, flag, text, at);
    case CLAB_OPTION_NAMES: return clab_names_take(o->names, flag, text, at);
    case CLAB_OPTION_CALL: return o->take(flag, text, at);
    default: return CLAB_EINVAL;
    }
}

static int refuse_unknown(const struct parsing *p, const char *word, size_t length)
{
    struct clab_nearest nearest = clab_nearest_to(word, length);
    for (const struct row *row = p->rows; row < p->rows + p->n; row++) {
        char flag[64];
        snprintf(flag, sizeof flag, "--%s", row->option->name);
        if (row->option->name && row->option->help)
            clab_nearest_offer(&nearest, flag);
    }
    clab_error("%s: there is no flag %.*s%s; `%s --help` lists them", p->short_name, (int)length, word,
               clab_nearest_hint(&nearest), p->name);
    return CLAB_EINVAL;
}

// text: what the flag's own word says behind it, or NULL: the value is the next word.
static int take_flag(struct parsing *p, const struct row *row, const char *flag, const char *text)
{
    const char *value = row->option->value;
    if (value && !text && p->at + 1 < p->argc)
        text = p->argv[++p->at];
    if (!value == !text)
        return take(row, flag, text);
    if (value)
        clab_error("%s: %s needs a value: %s; `%s --help` explains it", p->short_name, flag, value, p->name);
    else
        clab_error("%s: %s takes no value", p->short_name, flag);
    return CLAB_EINVAL;
}

// "--ranks", "--ranks=4" or "--ran"
static int take_long(struct parsing *p, const char *word)
{
    char flag[64];
    const size_t length = strcspn(word, "=");
    const struct row *row = NULL;
    const int n = find_name(p, word + 2, length - 2, &row);
    if (n == 0)
        return refuse_unknown(p, word, length);
    if (n > 1) {
        clab_error("%s: several flags begin with %.*s: `%s --help` lists them", p->short_name, (int)length, word,
                   p->name);
        return CLAB_EINVAL;
    }
    snprintf(flag, sizeof flag, "--%s", row->option->name);
    return take_flag(p, row, flag, word[length] ? word + length + 1 : NULL);
}

// "-n4" or "-jn4"
static int take_letters(struct parsing *p, const char *word)
{
    for (const char *letter = word + 1; *letter; letter++) {
        const struct row *row = find_letter(p, *letter);
        const char flag[] = {'-', *letter, '\0'};
        if (!row)
            return refuse_unknown(p, letter > word + 1 ? flag : word, letter > word + 1 ? 2 : strlen(word));
        if (row->option->value)
            return take_flag(p, row, flag, letter[1] ? letter + 1 : NULL);
        CLAB_TRY(take(row, flag, NULL));
    }
    return CLAB_OK;
}

// ---- all words -----------------------------------------------------------------------------------------------

// A program with words of its own keeps those that begin with one dash, unless they are a letter of ours and a number:
// -n4, but not -nodes.
static bool is_flag(const struct parsing *p, const char *word)
{
    if (word[0] != '-' || !word[1])
        return false;
    if (word[1] == '-' || !p->is_shared)
        return true;
    const struct row *row = find_letter(p, word[1]);
    return row && (!word[2] || (row->option->value && isdigit((unsigned char)word[2])));
}

static int take_words(struct parsing *p)
{
    p->at = p->argc > 0; // argv[0] is the program
    for (; p->at < p->argc && strcmp(p->argv[p->at], "--") != 0; p->at++) {
        char *word = p->argv[p->at];
        if (is_flag(p, word))
            CLAB_TRY(word[1] == '-' ? take_long(p, word) : take_letters(p, word));
        else if (p->line->has_rest)
            return CLAB_OK;
        else
            CLAB_TRY(CLAB_PUSH(p->words, p->nwords, p->words_room, word));
    }
    if (p->at < p->argc && !p->is_shared)
        p->at++;
    return CLAB_OK;
}

static int take_rest(struct parsing *p)
{
    if (!p->line->has_rest)
        return CLAB_APPEND(p->words, p->nwords, p->words_room, p->argv + p->at, p->argc - p->at);
    if (p->at < p->argc)
        *(char ***)((char *)p->into + p->line->rest_at) = p->argv + p->at;
    return CLAB_OK;
}

static int parse(struct parsing *p)
{
    int group = 0, of_help = -1;
    CLAB_TRY(add_rows(p, p->line->options, p->into, &group));
    CLAB_TRY(add_rows(p, help_flags, (char *)p, &of_help));
    CLAB_TRY(take_words(p));
    return take_rest(p);
}

static int take_argument(const struct parsing *p, const char *text)
{
    if (p->line->argument)
        return p->line->argument(text, p->into);
    clab_error("%s: '%s' is too much: it takes flags only; `%s --help` lists them", p->short_name, text, p->name);
    return CLAB_EINVAL;
}

int clab_options_parse(const struct clab_command_line *line, int argc, char **argv, void *into)
{
    const char *space = strchr(argv[0], ' '), *short_name = space ? space + 1 : argv[0];
    struct parsing p = {
        .line = line, .name = argv[0], .short_name = short_name, .into = into, .argv = argv, .argc = argc};
    int err = parse(&p);
    for (int i = 0; i < p.nwords && !err; i++)
        err = take_argument(&p, p.words[i]);
    free(p.words);
    free(p.rows);
    return err;
}

int clab_options_take(const struct clab_option *options, int *argc, char **argv, void *into)
{
    const struct clab_command_line line = {.options = options};
    struct parsing p = {.line = &line, .is_shared = true, .into = into, .argv = argv, .argc = *argc};
    p.name = *argc > 0 ? argv[0] : "";
    p.short_name = strrchr(p.name, '/') ? strrchr(p.name, '/') + 1 : p.name;
    const int err = parse(&p);
    if (!err && *argc > 0) {
        for (int i = 0; i < p.nwords; i++)
            argv[i + 1] = p.words[i];
        *argc = p.nwords + 1;
        argv[*argc] = NULL;
    }
    free(p.words);
    free(p.rows);
    return err;
}
