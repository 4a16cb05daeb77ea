// SPDX-License-Identifier: MIT
// Logging by level (log.h). A line is written in one call, so that lines of several ranks do not mix.

#include "core/base/log.h"
#include "core/base/machine/called.h"
#include "core/base/variables.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LINE_BYTES = 4095 }; // longer messages are cut: what fits PIPE_BUF with its line's end, a pipe takes whole

static const char *const level_names[] = {"error", "warn", "info", "debug"};

static atomic_int signed_rank = -1;
static _Thread_local struct clab_log_held *holding;
static _Thread_local struct clab_log_said *shared;

void clab_log_set_rank(int rank)
{
    signed_rank = rank;
}

// CLAB_LOG, read once. An unknown level is warn: a wrong letter must not hide warnings.
static enum clab_log_level threshold(void)
{
    static atomic_int known = -1;
    if (known >= 0)
        return (enum clab_log_level)known;
    const char *wish = clab_variable_text(CLAB_VARIABLE_LOG);
    int level = CLAB_LOG_WARN;
    for (int i = CLAB_LOG_ERROR; wish && i <= CLAB_LOG_DEBUG; i++)
        if (strcmp(wish, level_names[i]) == 0)
            level = i;
    known = level;
    return (enum clab_log_level)level;
}

// Keep the message on one line, whatever was quoted in it. A control character could also be a command to the terminal.
static void one_line(char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < ' ' || *text == 0x7f)
            *text = ' ';
}

static size_t clipped(int printed, size_t room)
{
    return printed < 0 ? 0 : (size_t)printed < room ? (size_t)printed : room - 1;
}

static void write_all(const char *bytes, size_t count)
{
    while (count > 0) {
        ssize_t written = write(STDERR_FILENO, bytes, count);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return; // there is nowhere left to say so
        bytes += written;
        count -= (size_t)written;
    }
}

void clab_log_hold(struct clab_log_held *held)
{
    *held = (struct clab_log_held){.around = holding};
    holding = held;
}

void clab_log_release(struct clab_log_held *held)
{
    holding = held->around;
}

void clab_log_share(struct clab_log_said *said)
{
    shared = said;
}

// Fowler, Noll and Vo's hash, 64 bits.
static uint64_t hash(const char *text)
{
    uint64_t h = UINT64_C(14695981039346656037);
    for (; *text; text++)
        h = (h ^ (unsigned char)*text) * UINT64_C(1099511628211);
    return h ? h : 1;
}

static bool is_said(struct clab_log_said *said, const char *text)
{
    const uint64_t line = hash(text);
    for (size_t i = 0; i < sizeof said->lines / sizeof *said->lines; i++) {
        uint64_t there = 0;
        if (__atomic_compare_exchange_n(&said->lines[i], &there, line, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
            return false;
        if (there == line)
            return true;
    }
    return false;
}

// An installed kit is called otherwise than one that stands in its folder. Returns the length.
static size_t name_program(char *text, size_t room)
{
    char copy[LINE_BYTES + 1];
    if (!strstr(text, "./commlab"))
        return strlen(text);
    snprintf(copy, sizeof copy, "%s", text);
    return clab_called_copy(copy, text, room);
}

static void keep(struct clab_log_held *held, const char *format, va_list values)
{
    if (*held->text)
        return;
    vsnprintf(held->text, sizeof held->text, format, values);
    name_program(held->text, sizeof held->text);
    one_line(held->text);
}

void clab_log_at(enum clab_log_level level, const char *format, ...)
{
    if (level > threshold())
        return;
    int error = errno; // for %m, and left as it was
    va_list values;
    va_start(values, format);
    if (holding && level == CLAB_LOG_ERROR) {
        keep(holding, format, values);
        va_end(values);
        errno = error;
        return;
    }
    char line[LINE_BYTES + 1];
    int rank = signed_rank;
    size_t used = clipped(snprintf(line, LINE_BYTES, "commlab: %s: ", level_names[level]), LINE_BYTES);
    if (rank >= 0)
        used += clipped(snprintf(line + used, LINE_BYTES - used, "rank %d: ", rank), LINE_BYTES - used);
    errno = error;
    char *message = line + used;
    vsnprintf(message, LINE_BYTES - used, format, values);
    va_end(values);
    used += name_program(message, LINE_BYTES - used);
    errno = error;
    one_line(line);
    if (level != CLAB_LOG_ERROR || !shared || !is_said(shared, message)) {
        line[used++] = '\n';
        write_all(line, used);
    }
    errno = error;
}
