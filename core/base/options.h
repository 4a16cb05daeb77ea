// SPDX-License-Identifier: MIT
// A command line as a table: for each flag its name, letter, type, range and unit, the variable that says the same, its
// help, and where its value goes. --help and all errors come from the table.
//
//   static const struct clab_option options[] = {
//       {"ranks", 'n', "N", "ranks (2)", CLAB_INT(struct request, ranks, 1, 64)},
//       {"json", 0, NULL, "print JSON", CLAB_ON(struct request, json)},
//       {0},
//   };
//
// - A user may shorten a flag, as long as no other flag begins so. If a flag is given several times, the last counts.
// - Each mistake gets one line: the flag, its value, what the flag takes, and the nearest flag or name.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/names.h"
#include "core/base/values.h"
#include "core/base/variables.h"

enum clab_option_type {
    CLAB_OPTION_HEADING,      // its help stands above the flags that follow
    CLAB_OPTION_TABLE,        // the flags of another table, for a struct at `at`
    CLAB_OPTION_ON,           // bool
    CLAB_OPTION_OFF,          // bool: false
    CLAB_OPTION_TEXT,         // const char *, of argv
    CLAB_OPTION_INT,          // int, low to high
    CLAB_OPTION_SIZE,         // size_t, bytes, low or more
    CLAB_OPTION_SECONDS,      // double, low to high, with a unit
    CLAB_OPTION_BARE_SECONDS, // double, 0 to high, with or without a unit
    CLAB_OPTION_COST,         // double, seconds per byte
    CLAB_OPTION_NUMBER,       // double, low to high
    CLAB_OPTION_PERCENT,      // double, "5%" is 0.05; above 0, at most high
    CLAB_OPTION_SEED,         // uint64_t
    CLAB_OPTION_NAME,         // enum: the number of one of `names`
    CLAB_OPTION_NAMES,        // bool[]: those of `names` that a list with commas has, or all
    CLAB_OPTION_CALL,         // `take` is given the whole struct
};

struct clab_option {
    const char *name;  // without its dashes
    int letter;        // of the short flag; 0: there is none
    const char *value; // what --help calls it; NULL: the flag takes none
    const char *help;  // NULL: --help does not list it
    enum clab_option_type type;
    size_t at; // of the member that it sets
    double low, high;
    const struct clab_names *names;
    const struct clab_option *table;
    int (*take)(const char *flag, const char *text, void *into); // text: NULL with a flag that takes none
    enum clab_variable variable; // that says the same where the flag is not given; CLAB_VARIABLE_NONE
};

// The type and the place of a value. They compile only for members of that type.
#define CLAB_AT(s, member, t)   offsetof(s, member) + 0 * sizeof((t *)0 == &((s *)0)->member)
#define CLAB_AT_ENUM(s, member) offsetof(s, member) + 0 * sizeof(char[sizeof((s *)0)->member == sizeof(int) ? 1 : -1])
#define CLAB_ON(s, member)      .type = CLAB_OPTION_ON, .at = CLAB_AT(s, member, bool)
#define CLAB_OFF(s, member)     .type = CLAB_OPTION_OFF, .at = CLAB_AT(s, member, bool)
#define CLAB_TEXT_AT(s, member) .type = CLAB_OPTION_TEXT, .at = CLAB_AT(s, member, const char *)
#define CLAB_INT(s, member, from, to) \
    .type = CLAB_OPTION_INT, .at = CLAB_AT(s, member, int), .low = (from), .high = (to)
#define CLAB_SIZE(s, member, from) .type = CLAB_OPTION_SIZE, .at = CLAB_AT(s, member, size_t), .low = (from)
#define CLAB_SECONDS(s, member, from, to) \
    .type = CLAB_OPTION_SECONDS, .at = CLAB_AT(s, member, double), .low = (from), .high = (to)
#define CLAB_BARE_SECONDS(s, member, to) \
    .type = CLAB_OPTION_BARE_SECONDS, .at = CLAB_AT(s, member, double), .high = (to)
#define CLAB_COST(s, member) .type = CLAB_OPTION_COST, .at = CLAB_AT(s, member, double)
#define CLAB_NUMBER(s, member, from, to) \
    .type = CLAB_OPTION_NUMBER, .at = CLAB_AT(s, member, double), .low = (from), .high = (to)
#define CLAB_PERCENT(s, member, most) .type = CLAB_OPTION_PERCENT, .at = CLAB_AT(s, member, double), .high = (most)
#define CLAB_SEED(s, member)          .type = CLAB_OPTION_SEED, .at = CLAB_AT(s, member, uint64_t)
#define CLAB_NAME(s, member, those)   .type = CLAB_OPTION_NAME, .at = CLAB_AT_ENUM(s, member), .names = (those)
#define CLAB_NAME_LIST(s, member, those) \
    .type = CLAB_OPTION_NAMES, .at = offsetof(s, member) + 0 * sizeof((bool *)0 == ((s *)0)->member), .names = (those)
#define CLAB_CALL(function) .type = CLAB_OPTION_CALL, .take = (function)
#define CLAB_HEADING(text) \
    {                      \
        .help = (text)     \
    }
#define CLAB_TABLE(s, member, rows)                                           \
    {                                                                         \
        .type = CLAB_OPTION_TABLE, .at = offsetof(s, member), .table = (rows) \
    }

// For a command's line: the place of its one word, and what to say to two.
#define CLAB_ONE(s, member, remedy) .one = (remedy), .one_at = CLAB_AT(s, member, const char *)

// A command's line.
struct clab_command_line {
    const struct clab_option *options;             // ended by {0}
    const char *arguments;                         // what --help calls words that are no flags: "[COLLECTIVE...]"
    const char *about;                             // for --help: above the flags, and, behind a \v, below
    int (*argument)(const char *text, void *into); // takes each such word, after all flags; NULL: it refuses them
    // Or one such word at most (CLAB_ONE) becomes the const char * at one_at; `one` is the remedy where there are two.
    const char *one;
    size_t one_at;
    // Or the first such word and all behind it, flags too, become the char ** at rest_at.
    bool has_rest;
    size_t rest_at;
};

// Read argv into the struct that the table describes. Its first word is "commlab NAME". --help ends the program.
//   errors: CLAB_EINVAL, logged; those of the calls of the table
int clab_options_parse(const struct clab_command_line *line, int argc, char **argv, void *into);

// For programs with words of their own: take the table's flags out of argv, up to "--", and leave all other words in
// order, "--" too. Words with one dash may be the program's. One with two dashes that is no flag of the table is a
// mistake, unless it stands behind "--". --help ends the program.
//   errors: as above
int clab_options_take(const struct clab_option *options, int *argc, char **argv, void *into);
