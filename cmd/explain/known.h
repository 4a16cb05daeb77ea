// SPDX-License-Identifier: MIT
// Known errors: entries as errors.conf describes them, and what a log shows of them.
//
// - A pattern is a text with stars, no regular expression: a line is searched for its parts from left to right, in time
//   that grows with the line alone.
// - Reading needs inih (conf.h).
#pragma once

#include <stdbool.h>
#include <stdio.h>

enum known_kind { KNOWN_CAUSE, KNOWN_SYMPTOM, KNOWN_FOLLOW, KNOWN_SLOW, KNOWN_KINDS };

enum { KNOWN_SHOWN = 240, KNOWN_PATTERNS = 32 }; // bytes of a line that is kept; patterns of an entry

struct known_pattern {
    char *text;  // in lower case
    int first;   // hashes of the first and the last two letters of its first part; -1: that is too short
    int last;
};

struct known_error {
    char *name;
    enum known_kind kind;
    char *seen, *what, *why, *remedy, *source; // NULL: not given
    struct known_pattern match[KNOWN_PATTERNS], unless[KNOWN_PATTERNS];
    int nmatch, nunless;
    // what the log shows
    long first, count; // line number of the first, 0: none; how many lines
    char line[KNOWN_SHOWN];
};

struct known {
    struct known_error *errors;
    int count, room;
    int settled; // entries of files that were read before the last one
};

// Add the entries of `file`, called `path` in messages. An entry that an earlier file has, too, keeps that one's words,
// and gets more patterns.
//   errors: CLAB_EPARSE (logged with its line), CLAB_EUNSUPPORTED (no inih), CLAB_EIO, CLAB_ENOMEM
int known_read(struct known *known, FILE *file, const char *path);
// Add the entries that this program was built with.
int known_read_own(struct known *known);
void known_free(struct known *known);

// Note what the line shows. Returns the entry that has it, or NULL.
const struct known_error *known_look(struct known *known, const char *text, long number);
// Note it for the entry `name`, whatever the line says.
void known_note(struct known *known, const char *name, const char *text, long number);

// The entries that the log shows, causes first, each kind by line. *found_p (known->count) is freed by the caller.
//   errors: CLAB_ENOMEM
int known_found(const struct known *known, const struct known_error ***found_p, int *n_p);

extern const char *const known_kind_names[KNOWN_KINDS];
// What stands between the texts of a list, of patterns and of remedies.
extern const char known_between[];
