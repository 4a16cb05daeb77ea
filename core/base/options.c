// SPDX-License-Identifier: MIT
// Command lines by tables (options.h).
//
// - glibc reads the words (getopt_long) and prints --help (argp). We word the mistakes: one line each, with the nearest
//   flag.

#include "core/base/options.h"

#include <argp.h>
#include <ctype.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/machine/called.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/nearest.h"
#include "core/base/vector.h"

enum { KEY_FIRST = 256 }; // a flag's key is its letter, or KEY_FIRST + its row

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
    int argc;
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

// argp frees what is another text.
static char *name_program(int key, const char *text, void *unused)
{
    (void)key, (void)unused;
    char *named = text && clab_is_installed() ? clab_called_text(text) : NULL;
    return named ? named : (char *)(uintptr_t)text;
}

static int print_help(const struct parsing *p, unsigned flags)
{
    const char *slash = strrchr(p->name, '/');
    struct argp_option *options = calloc((size_t)p->n + 1, sizeof *options);
    if (!options)
        return CLAB_ENOMEM;
    for (int i = 0; i < p->n; i++)
        options[i] = as_argp(&p->rows[i], i);
    const struct argp argp = {
        .options = options, .args_doc = p->line->arguments, .doc = p->line->about, .help_filter = name_program};
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

// The rows as getopt_long wants them. '?' stays out of the letters: getopt_long also answers '?' to mistakes.
static void describe_rows(const struct parsing *p, struct option *name, char *letter)
{
    letter = stpcpy(letter, p->line->has_rest ? "+:" : "-:");
    for (int i = 0; i < p->n; i++) {
        const struct clab_option *o = p->rows[i].option;
        if (o->name)
            *name++ = (struct option){o->name, o->value ? required_argument : no_argument, NULL, KEY_FIRST + i};
        if (o->letter && o->letter != '?')
            letter += sprintf(letter, o->value ? "%c:" : "%c", o->letter);
    }
    *name = (struct option){0};
}

static const struct row *find_row(const struct parsing *p, int key)
{
    for (int i = 0; i < p->n; i++)
        if (key == KEY_FIRST + i || (key && key == p->rows[i].option->letter))
            return &p->rows[i];
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

// letter: the unknown one of the word, or 0: the word is a name, unknown or too short.
static int refuse_word(const struct parsing *p, const char *word, int letter)
{
    const char flag[] = {'-', (char)letter, '\0'};
    const size_t length = strcspn(word, "=");
    int n = 0;
    if (letter)
        return letter == word[1] ? refuse_unknown(p, word, strlen(word)) : refuse_unknown(p, flag, 2);
    for (const struct row *row = p->rows; row < p->rows + p->n; row++)
        n += row->option->name && strncmp(row->option->name, word + 2, length - 2) == 0;
    if (n == 0)
        return refuse_unknown(p, word, length);
    clab_error("%s: several flags begin with %.*s: `%s --help` lists them", p->short_name, (int)length, word, p->name);
    return CLAB_EINVAL;
}

// found: getopt_long's answer: a key, ':' (no value) or '?' (another mistake). At a mistake, optopt is the flag's key, the
// unknown letter, or 0.
static int take_flag(const struct parsing *p, int found, const char *word)
{
    const int key = found == '?' || found == ':' ? optopt : found;
    const struct row *row = find_row(p, key);
    char flag[64] = {'-', (char)key};
    if (!row)
        return refuse_word(p, word, key);
    if (key >= KEY_FIRST)
        snprintf(flag, sizeof flag, "--%s", row->option->name);
    if (found == key || key == '?')
        return take(row, flag, optarg);
    if (found == ':')
        clab_error("%s: %s needs a value: %s; `%s --help` explains it", p->short_name, flag, row->option->value,
                   p->name);
    else
        clab_error("%s: %s takes no value", p->short_name, flag);
    return CLAB_EINVAL;
}

// ---- all words -----------------------------------------------------------------------------------------------

// A program with words of its own keeps those that begin with one dash, unless they are a letter of ours and a number:
// -n4, but not -nodes.
static bool is_programs(const struct parsing *p, const char *word)
{
    if (word[0] != '-' || word[1] == '-')
        return false;
    const struct row *row = find_row(p, word[1]);
    return !row || (word[2] && !(row->option->value && isdigit((unsigned char)word[2])));
}

// getopt_long stays at a word until it has read all its letters. It answers 1 to words that are no flags.
static int take_words(struct parsing *p, const struct option *names, const char *letters)
{
    while (optind < p->argc && !(p->is_shared && strcmp(p->argv[optind], "--") == 0)) {
        char *word = p->argv[optind];
        const bool is_own = p->is_shared && is_programs(p, word);
        const int found = is_own ? (optind++, 1) : getopt_long(p->argc, p->argv, letters, names, NULL);
        if (found == -1)
            break;
        CLAB_TRY(found == 1 ? CLAB_PUSH(p->words, p->nwords, p->words_room, word) : take_flag(p, found, word));
    }
    return CLAB_OK;
}

static int take_rest(struct parsing *p)
{
    if (!p->line->has_rest)
        return CLAB_APPEND(p->words, p->nwords, p->words_room, p->argv + optind, p->argc - optind);
    if (optind < p->argc)
        *(char ***)((char *)p->into + p->line->rest_at) = p->argv + optind;
    return CLAB_OK;
}

static int parse(struct parsing *p)
{
    int group = 0, of_help = -1;
    CLAB_TRY(add_rows(p, p->line->options, p->into, &group));
    CLAB_TRY(add_rows(p, help_flags, (char *)p, &of_help));
    struct option names[p->n + 1];
    char letters[2 * p->n + 3];
    describe_rows(p, names, letters);
    // With optind 0, glibc forgets an earlier command line. The first call sets it to 1.
    optind = 0;
    getopt(p->argc > 0, p->argv, letters);
    int err = take_words(p, names, letters);
    err = err ? err : take_rest(p);
    optind = 0; // the program may call getopt too
    return err;
}

static int take_one(const struct parsing *p, const char *text)
{
    const char **one = (const char **)((char *)p->into + p->line->one_at);
    if (*one) {
        clab_error("%s: '%s' and '%s': %s", p->short_name, *one, text, p->line->one);
        return CLAB_EINVAL;
    }
    *one = text;
    return CLAB_OK;
}

static int take_argument(const struct parsing *p, const char *text)
{
    if (p->line->argument)
        return p->line->argument(text, p->into);
    if (p->line->one)
        return take_one(p, text);
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
