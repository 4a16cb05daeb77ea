// SPDX-License-Identifier: MIT
// The words of a GOAL file, read in pieces: a file may be larger than memory.
// - Before each statement so many bytes of the file are at hand as one may have; within a statement nothing is read.
#pragma once

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "core/base/err.h"

enum { GOAL_STATEMENT = 4096, GOAL_HEAD = 4096, GOAL_SLACK = 16 };

struct goal_words {
    FILE *file;
    const char *path;
    char *buffer;
    const char *at, *end; // still to be read; *end is 0
    uint32_t line;
    uint64_t bytes; // read so far
    bool is_last;   // nothing is left behind `end`
    char *head;     // (GOAL_HEAD) to which // comments are added, or NULL
};

int goal_words_open(struct goal_words *w, FILE *file, const char *path); // CLAB_ENOMEM
void goal_words_close(struct goal_words *w);

// Past blanks, ends of lines and comments. The statement behind them is at hand.
//   errors: CLAB_EPARSE (logged): the file ends in a comment, or has too many lines or bytes
int goal_words_next(struct goal_words *w);

// Pass `n` <= GOAL_STATEMENT bytes as they are.
//   errors: CLAB_EPARSE (logged): the file has no more
int goal_words_bytes(struct goal_words *w, void *to, size_t n);
bool goal_words_begin_with(struct goal_words *w, const void *bytes, size_t n);

// Log what there should be instead of what there is; and answer CLAB_EPARSE.
void goal_words_log(const struct goal_words *w, const char *wanted);
static inline int goal_words_fail(const struct goal_words *w, const char *wanted)
{
    goal_words_log(w, wanted);
    return CLAB_EPARSE;
}

static inline bool goal_words_end(const struct goal_words *w)
{
    return w->at == w->end && w->is_last;
}

static inline void goal_words_skip_blanks(struct goal_words *w)
{
    while (*w->at == ' ' || *w->at == '\t' || *w->at == '\r')
        w->at++;
}

static inline bool goal_is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static inline bool goal_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

// Letters, digits and underscores from `at` on.
static inline size_t goal_words_length(const char *at)
{
    size_t n = 0;
    while (goal_is_letter(at[n]) || goal_is_digit(at[n]) || at[n] == '_')
        n++;
    return n;
}

// Whether the next word is `word`, of at most GOAL_SLACK letters, which is then passed.
static inline bool goal_words_take(struct goal_words *w, const char *word)
{
    const size_t n = strlen(word);
    goal_words_skip_blanks(w);
    if (memcmp(w->at, word, n) != 0 || (goal_is_letter(word[0]) && goal_words_length(w->at + n) > 0))
        return false;
    w->at += n;
    return true;
}

// most < 2^63
static inline int goal_words_number(struct goal_words *w, uint64_t most, const char *wanted, uint64_t *number_p)
{
    goal_words_skip_blanks(w);
    const char *at = w->at;
    uint64_t number = 0;
    for (; goal_is_digit(*at); at++) {
        const bool fits = number <= most / 10;
        number = 10 * number + (uint64_t)(*at - '0');
        if (!fits || number > most)
            return goal_words_fail(w, wanted);
    }
    if (at == w->at)
        return goal_words_fail(w, wanted);
    w->at = at;
    *number_p = number;
    return CLAB_OK;
}

// The statement ends: so does the line or the rank, or a comment begins.
static inline bool goal_words_ends(struct goal_words *w)
{
    goal_words_skip_blanks(w);
    return *w->at == '\n' || *w->at == '}' || goal_words_end(w) ||
           (w->at[0] == '/' && (w->at[1] == '/' || w->at[1] == '*'));
}
