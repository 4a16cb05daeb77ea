// SPDX-License-Identifier: MIT
// A GOAL file in pieces, and what lies between its statements.

#include "core/schedule/formats/goal_words.h"

#include <stdlib.h>

#include "core/base/log.h"

enum { PIECE = 1 << 18, SHOWN = 40 };
static const uint64_t most_bytes = UINT64_C(4) << 30;

int goal_words_open(struct goal_words *w, FILE *file, const char *path)
{
    *w = (struct goal_words){.file = file, .path = path, .line = 1};
    w->buffer = calloc(PIECE + GOAL_SLACK, 1);
    w->at = w->end = w->buffer;
    return w->buffer ? CLAB_OK : CLAB_ENOMEM;
}

void goal_words_close(struct goal_words *w)
{
    free(w->buffer);
}

void goal_words_log(const struct goal_words *w, const char *wanted)
{
    int n = 0;
    while (n < SHOWN && (unsigned char)w->at[n] >= ' ')
        n++;
    clab_error("%s:%u: '%.*s' where there should be %s", w->path, w->line, n, w->at, wanted);
}

// What is left moves to the front, and as much of the file as fits comes behind it.
static void refill(struct goal_words *w)
{
    const size_t left = (size_t)(w->end - w->at), room = PIECE - left;
    memmove(w->buffer, w->at, left);
    const size_t got = fread(w->buffer + left, 1, room, w->file);
    w->bytes += got;
    w->is_last = got < room || w->bytes > most_bytes;
    w->at = w->buffer;
    w->end = w->buffer + left + got;
    memset(w->buffer + left + got, 0, GOAL_SLACK);
}

// At least so many bytes are at hand, but for the last ones.
static void have(struct goal_words *w, size_t bytes)
{
    if ((size_t)(w->end - w->at) < bytes && !w->is_last)
        refill(w);
}

static int refuse_bytes(const struct goal_words *w)
{
    clab_error("%s:%u: larger than 4 GiB, the most that is read of a program: write it for fewer ranks or chunks",
               w->path, w->line);
    return CLAB_EPARSE;
}

int goal_words_bytes(struct goal_words *w, void *to, size_t n)
{
    have(w, n);
    if (w->bytes > most_bytes)
        return refuse_bytes(w);
    if ((size_t)(w->end - w->at) < n) {
        clab_error("%s: the file ends too early, behind %llu bytes", w->path, (unsigned long long)w->bytes);
        return CLAB_EPARSE;
    }
    memcpy(to, w->at, n);
    w->at += n;
    return CLAB_OK;
}

bool goal_words_begin_with(struct goal_words *w, const void *bytes, size_t n)
{
    have(w, n);
    return (size_t)(w->end - w->at) >= n && !memcmp(w->at, bytes, n);
}

static int end_line(struct goal_words *w)
{
    if (w->line == UINT32_MAX) {
        clab_error("%s:%u: a file of more lines is not read", w->path, w->line);
        return CLAB_EPARSE;
    }
    w->line++;
    w->at++;
    return CLAB_OK;
}

// A comment line above all else is kept, so that it can be written again.
static void keep_comment(struct goal_words *w, size_t length)
{
    const size_t used = strlen(w->head);
    if (used + length + 2 < GOAL_HEAD && !memchr(w->at, '\0', length)) {
        memcpy(w->head + used, w->at, length);
        memcpy(w->head + used + length, "\n", 2);
    }
}

// From the two slashes to before the end of the line.
static void skip_line(struct goal_words *w)
{
    bool is_whole = false;
    for (bool is_first = true; !is_whole && !goal_words_end(w); is_first = false) {
        have(w, GOAL_STATEMENT);
        const char *end = memchr(w->at, '\n', (size_t)(w->end - w->at));
        is_whole = end;
        if (is_first && w->head && (end || w->is_last))
            keep_comment(w, (size_t)((end ? end : w->end) - w->at));
        w->at = end ? end : w->end;
    }
}

// From behind the slash and star to behind their ends.
static int skip_remark(struct goal_words *w)
{
    for (have(w, 2); !goal_words_end(w); have(w, 2))
        if (w->at[0] == '*' && w->at[1] == '/') {
            w->at += 2;
            return CLAB_OK;
        } else if (*w->at == '\n') {
            CLAB_TRY(end_line(w));
        } else {
            w->at++;
        }
    clab_error("%s:%u: the file ends in a comment", w->path, w->line);
    return CLAB_EPARSE;
}

int goal_words_next(struct goal_words *w)
{
    for (;;) {
        have(w, GOAL_STATEMENT);
        goal_words_skip_blanks(w);
        have(w, GOAL_STATEMENT);
        if (*w->at == '\n') {
            CLAB_TRY(end_line(w));
        } else if (w->at[0] == '/' && w->at[1] == '/') {
            skip_line(w);
        } else if (w->at[0] == '/' && w->at[1] == '*') {
            w->at += 2;
            CLAB_TRY(skip_remark(w));
        } else if (w->bytes > most_bytes) {
            return refuse_bytes(w);
        } else if (w->at < w->end || w->is_last) {
            return CLAB_OK;
        }
    }
}
