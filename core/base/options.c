// SPDX-License-Identifier: MIT
// Command lines by tables (options.h).
//
// - argp's own errors do not suggest the nearest flag: argp stays silent (ARGP_NO_ERRS), and `explain` reads the word
//   at which it stopped.

#include "core/base/options.h"

#include <argp.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/nearest.h"

enum { KEY_USAGE = 256, KEY_FIRST }; // keys of flags without a letter: KEY_FIRST + row

// A flag of the table, or of a table in it.
struct row {
    const struct clab_option *option;
    char *member; // that it sets, or the struct that its call is given
    int group;    // of --help
};

struct parsing {
    const struct clab_command_line *line;
    const char *name, *short_name; // "commlab bench", "bench"
    void *into;
    struct row *rows;
    int n;
    int next; // the word behind that at which argp stopped
    int err;  // has been said
};

// ---- rows ----------------------------------------------------------------------------------------------------

static bool is_end(const struct clab_option *o)
{
    return !o->name && !o->help && !o->table;
}

static int count_rows(const struct clab_option *options)
{
    int n = 0;
    for (const struct clab_option *o = options; !is_end(o); o++)
        n += o->table ? count_rows(o->table) : 1;
    return n;
}

static void add_rows(struct parsing *p, const struct clab_option *options, char *into, int *group_p)
{
    for (const struct clab_option *o = options; !is_end(o); o++) {
        *group_p += !o->name && !o->table;
        if (o->table)
            add_rows(p, o->table, into + o->at, group_p);
        else
            p->rows[p->n++] = (struct row){o, o->type == CLAB_OPTION_CALL ? into : into + o->at, *group_p};
    }
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
                                .doc = o->help ? o->help : "",
                                .group = row->group};
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

static const struct row *row_of(const struct parsing *p, int key)
{
    if (key >= KEY_FIRST)
        return key < KEY_FIRST + p->n ? &p->rows[key - KEY_FIRST] : NULL;
    for (int i = 0; i < p->n; i++)
        if (p->rows[i].option->name && p->rows[i].option->letter == key)
            return &p->rows[i];
    return NULL;
}

// As it was typed: "--ranks" or "-n". Its value is the rest of its word, or the next word.
static const char *flag_text(const struct argp_state *state, const char *value, const struct clab_option *o,
                             char text[64])
{
    const int word = state->next - 1 - (value && value == state->argv[state->next - 1]);
    if (o->letter && strncmp(state->argv[word], "--", 2) != 0)
        snprintf(text, 64, "-%c", o->letter);
    else
        snprintf(text, 64, "--%s", o->name);
    return text;
}

// ---- what is no flag -----------------------------------------------------------------------------------------

static const struct clab_option *option_of_letter(const struct parsing *p, int letter)
{
    const struct row *row = isprint(letter) ? row_of(p, letter) : NULL;
    return row ? row->option : NULL;
}

// The flags that begin with the `length` characters of `name`; *option_p: one that is just that, or the last of them.
static int options_of_name(const struct parsing *p, const char *name, size_t length,
                           const struct clab_option **option_p)
{
    int n = 0;
    for (int i = 0; i < p->n; i++) {
        const struct clab_option *o = p->rows[i].option;
        if (!o->name || strncmp(o->name, name, length) != 0)
            continue;
        *option_p = o;
        n++;
        if (!o->name[length])
            return 1;
    }
    return n;
}

static bool lacks_value(const struct parsing *p, const char *flag, const struct clab_option *o)
{
    clab_error("%s: %s needs a value: %s; `%s --help` says what it is", p->short_name, flag, o->value, p->name);
    return true;
}

static bool is_unknown(const struct parsing *p, const char *word, size_t length)
{
    struct clab_nearest nearest = clab_nearest_to(word, length);
    for (int i = 0; i < p->n; i++)
        if (p->rows[i].option->name && p->rows[i].option->help) {
            char flag[64];
            snprintf(flag, sizeof flag, "--%s", p->rows[i].option->name);
            clab_nearest_offer(&nearest, flag);
        }
    clab_nearest_offer(&nearest, "--help");
    clab_error("%s: there is no flag %.*s%s; `%s --help` lists them", p->short_name, (int)length, word,
               clab_nearest_hint(&nearest), p->name);
    return true;
}

static bool explain_name(const struct parsing *p, const char *word)
{
    const size_t length = strcspn(word, "=");
    const struct clab_option *o = NULL;
    const int n = options_of_name(p, word + 2, length - 2, &o);
    if (n == 0)
        return is_unknown(p, word, length);
    if (n > 1)
        clab_error("%s: several flags begin with %.*s: `%s --help` lists them", p->short_name, (int)length, word,
                   p->name);
    else if (o->value && !word[length])
        return lacks_value(p, word, o);
    else if (!o->value && word[length])
        clab_error("%s: --%s takes no value", p->short_name, o->name);
    else
        return false;
    return true;
}

static bool explain_letters(const struct parsing *p, const char *word)
{
    for (const char *letter = word + 1; *letter; letter++) {
        const struct clab_option *o = option_of_letter(p, *letter);
        const char flag[] = {'-', *letter, '\0'};
        if (!o)
            return is_unknown(p, letter > word + 1 ? flag : word, letter > word + 1 ? 2 : strlen(word));
        if (o->value)
            return letter[1] ? false : lacks_value(p, flag, o);
    }
    return false;
}

// Whether `word` is what argp stopped at: then it has been said why.
static bool explain(const struct parsing *p, const char *word)
{
    if (!word || word[0] != '-' || !word[1])
        return false;
    return word[1] == '-' ? explain_name(p, word) : explain_letters(p, word);
}

// ---- argp ----------------------------------------------------------------------------------------------------

// Print help, and end. What is printed for ourselves must not be silent.
static void print_help(struct argp_state *state, unsigned flags)
{
    state->flags &= ~(unsigned)ARGP_NO_ERRS;
    argp_state_help(state, stdout, flags);
}

static int take_argument(struct parsing *p, const char *text, struct argp_state *state)
{
    if (p->line->has_rest) {
        *(char ***)((char *)p->into + p->line->rest_at) = state->argv + state->next - 1;
        state->next = state->argc;
        return CLAB_OK;
    }
    if (p->line->argument)
        return p->line->argument(text, p->into);
    clab_error("%s: '%s' is too much: it takes flags only; `%s --help` lists them", p->short_name, text, p->name);
    return CLAB_EINVAL;
}

static error_t parse_key(int key, char *text, struct argp_state *state)
{
    struct parsing *p = state->input;
    char flag[64];
    if (key == '?')
        print_help(state, ARGP_HELP_STD_HELP);
    else if (key == KEY_USAGE)
        print_help(state, ARGP_HELP_USAGE | ARGP_HELP_EXIT_OK);
    else if (key == ARGP_KEY_ARG)
        p->err = take_argument(p, text, state);
    else if (key == ARGP_KEY_ERROR)
        p->next = state->next;
    else if (key > 0 && key < ARGP_KEY_ARGS && row_of(p, key))
        p->err = take(row_of(p, key), flag_text(state, text, row_of(p, key)->option, flag), text);
    else
        return ARGP_ERR_UNKNOWN;
    return p->err ? EINVAL : 0;
}

// A flag whose variable says the same is listed with that.
static char *add_variable(int key, const char *text, void *input)
{
    const struct row *row = input && key > 0 ? row_of(input, key) : NULL;
    char *longer;
    if (!text || !row || !row->option->variable ||
        asprintf(&longer, "%s (%s)", text, clab_variable_name(row->option->variable)) < 0)
        return (char *)(uintptr_t)text;
    return longer;
}

static int parse_rows(struct parsing *p, int argc, char **argv)
{
    struct argp_option *options = calloc((size_t)p->n + 4, sizeof *options);
    if (!options)
        return CLAB_ENOMEM;
    int n = 0;
    for (; n < p->n; n++)
        options[n] = as_argp(&p->rows[n], n);
    options[n++] = (struct argp_option){"help", '?', NULL, 0, "give this help list", -1};
    options[n++] = (struct argp_option){"usage", KEY_USAGE, NULL, 0, "give a short usage message", -1};
    const struct argp argp = {options, parse_key, p->line->arguments, p->line->about, NULL, add_variable, NULL};
    const unsigned flags = ARGP_NO_HELP | ARGP_NO_ERRS | (p->line->has_rest ? ARGP_IN_ORDER : 0);
    const error_t failed = argp_parse(&argp, argc, argv, flags, NULL, p);
    free(options);
    if (failed && !p->err && !(p->next > 1 && explain(p, argv[p->next - 1])) &&
        !(p->next < argc && explain(p, argv[p->next])))
        clab_error("%s: these words can not be read; `%s --help` lists what it takes", p->short_name, p->name);
    return failed && !p->err ? CLAB_EINVAL : p->err;
}

static int open_rows(const struct clab_command_line *line, const char *name, void *into, struct parsing *parsing_p)
{
    const char *space = strchr(name, ' ');
    struct parsing p = {.line = line, .name = name, .short_name = space ? space + 1 : name, .into = into};
    int group = 0;
    p.rows = calloc((size_t)count_rows(line->options) + 1, sizeof *p.rows);
    if (!p.rows)
        return CLAB_ENOMEM;
    add_rows(&p, line->options, into, &group);
    *parsing_p = p;
    return CLAB_OK;
}

int clab_options_parse(const struct clab_command_line *line, int argc, char **argv, void *into)
{
    struct parsing p;
    CLAB_TRY(open_rows(line, argv[0], into, &p));
    const int err = parse_rows(&p, argc, argv);
    free(p.rows);
    return err;
}

// ---- flags among others' words -------------------------------------------------------------------------------

// The value of flag `name` at argv[*i]: as in `-n4` or `--backend=shm`, or the next word, onto which *i moves. NULL: it
// is another word.
static const char *value_of(const char *name, int argc, char **argv, int *i)
{
    const char *word = argv[*i];
    const size_t length = strlen(name);
    if (strncmp(word, name, length) != 0)
        return NULL;
    if (word[length] == '\0')
        return *i + 1 < argc ? argv[++*i] : "";
    if (name[1] != '-') // -n4, but not -nodes
        return isdigit((unsigned char)word[length]) ? word + length : NULL;
    return word[length] == '=' ? word + length + 1 : NULL;
}

// Whether argv[*i] is one of our flags, with its value.
static bool take_word(const struct parsing *p, int argc, char **argv, int *i, int *err_p)
{
    for (int r = 0; r < p->n; r++) {
        const struct clab_option *o = p->rows[r].option;
        char name[64], letter[] = {'-', (char)o->letter, '\0'};
        snprintf(name, sizeof name, "--%s", o->name);
        const char *flag = name, *text = value_of(name, argc, argv, i);
        if (!text && o->letter)
            text = value_of(flag = letter, argc, argv, i);
        if (!text)
            continue;
        *err_p = take(&p->rows[r], flag, text);
        return true;
    }
    return false;
}

int clab_options_take(const struct clab_option *options, int *argc, char **argv, void *into)
{
    const struct clab_command_line line = {.options = options};
    struct parsing p;
    CLAB_TRY(open_rows(&line, argv[0], into, &p));
    int kept = *argc > 0, i = kept, err = CLAB_OK; // argv[0] is the program
    for (; i < *argc && strcmp(argv[i], "--") != 0 && !err; i++)
        if (!take_word(&p, *argc, argv, &i, &err))
            argv[kept++] = argv[i];
    while (i < *argc && !err)
        argv[kept++] = argv[i++];
    free(p.rows);
    if (!err) {
        argv[kept] = NULL;
        *argc = kept;
    }
    return err;
}
