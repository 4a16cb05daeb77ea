// SPDX-License-Identifier: MIT
// What the student has done so far (journal.h).

#include "cmd/kit/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/base/err.h"
#include "core/base/files/input.h"
#include "core/base/log.h"
#include "core/base/names.h"
#include "core/base/vector.h"
#include "cmd/kit/kit.h"

static const char *const words[JOURNAL_EVENTS] = {"started", "predicted", "ran",  "failed",
                                                   "passed",  "hinted",    "reset"};
static const struct clab_names events = {JOURNAL_EVENTS, words, NULL};

static const char heading[] = "# What you have done, one line per event; commlab adds lines and reads them.\n"
                              "# when                unit event      detail\n";

enum { LINE = 160 }; // bytes of a line that we write

// ---- writing -------------------------------------------------------------------------------------------------

// The file's last line lacks its end: an editor left it out, or the disk was full.
static bool is_cut(int file)
{
    char last;
    const off_t end = lseek(file, 0, SEEK_END);
    return end > 0 && pread(file, &last, 1, end - 1) == 1 && last != '\n';
}

static void format_line(char line_p[LINE], const char *unit, enum journal_event event, const char *detail)
{
    char when[32];
    struct tm utc;
    const time_t now = time(NULL);
    strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
    snprintf(line_p, LINE, "%s  %-4.7s %-9s  %.79s", when, unit, words[event], detail ? detail : "");
    line_p[strcspn(line_p, "\n")] = 0;
    for (size_t end = strlen(line_p); end > 0 && line_p[end - 1] == ' ';)
        line_p[--end] = 0;
    strcat(line_p, "\n");
}

// One write(2) with O_APPEND: lines of two commands do not mix.
static int append(int file, const char *line)
{
    char text[sizeof heading + LINE + 1];
    const bool is_new = lseek(file, 0, SEEK_END) == 0;
    const int length = snprintf(text, sizeof text, "%s%s%s", is_new ? heading : "", is_cut(file) ? "\n" : "", line);
    const ssize_t written = write(file, text, (size_t)length);
    if (written >= 0 && written < length)
        errno = ENOSPC;
    return written == length ? CLAB_OK : CLAB_EIO;
}

int journal_add(const char *root, const char *unit, enum journal_event event, const char *detail)
{
    char path[PATH_MAX], line[LINE];
    CLAB_TRY(kit_work_path(root, "", "progress.txt", path));
    *strrchr(path, '/') = 0;
    CLAB_TRY(kit_make_work_folder(path));
    path[strlen(path)] = '/';
    format_line(line, unit, event, detail);
    const int file = open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    int err = file >= 0 ? append(file, line) : CLAB_EIO;
    if (err)
        clab_error("%s: what you did can not be noted: %s", path, strerror(errno));
    if (file >= 0)
        close(file);
    return err;
}

// ---- reading -------------------------------------------------------------------------------------------------

static bool read_time(const char *text, long long *seconds_p)
{
    struct tm utc = {0};
    const char *end = strptime(text, "%Y-%m-%dT%H:%M:%SZ", &utc);
    if (!end || *end)
        return false;
    *seconds_p = (long long)timegm(&utc);
    return true;
}

// NULL, or what is wrong with the line.
static const char *read_line(const char *text, struct journal_line *line_p)
{
    char when[32], word[16];
    *line_p = (struct journal_line){0};
    if (sscanf(text, "%31s %7s %15s %79[^\n]", when, line_p->unit, word, line_p->detail) < 3)
        return "a line has a time, a unit and an event";
    if (!read_time(when, &line_p->seconds))
        return "the first word is no time such as 2026-11-23T16:44:09Z";
    return clab_names_parse(&events, word, &line_p->event) == CLAB_OK ? NULL : "the third word is no event such as started";
}

static bool is_empty(const char *text)
{
    text += strspn(text, " \t\r\n");
    return !*text || *text == '#';
}

int journal_parse(FILE *file, const char *path, struct journal *journal)
{
    char *text = NULL;
    size_t room = 0;
    int err = CLAB_OK;
    for (int number = 1; !err && getline(&text, &room, file) > 0; number++) {
        struct journal_line line;
        const char *wrong = is_empty(text) ? NULL : read_line(text, &line);
        if (wrong)
            clab_warn("%s:%d: %s; this line does not count, the others do", path, number, wrong);
        else if (!is_empty(text))
            err = CLAB_PUSH(journal->lines, journal->count, journal->room, line);
    }
    free(text);
    return err;
}

int journal_read(const char *root, struct journal *journal_p)
{
    char path[PATH_MAX];
    struct clab_input input;
    *journal_p = (struct journal){0};
    CLAB_TRY(kit_work_path(root, "", "progress.txt", path));
    if (access(path, F_OK) != 0)
        return CLAB_OK;
    CLAB_TRY(clab_input_open(path, CLAB_INPUT_LOG, &input));
    const int err = journal_parse(input.file, kit_relative(path), journal_p);
    clab_input_close(&input);
    return err;
}

void journal_free(struct journal *journal)
{
    free(journal->lines);
    *journal = (struct journal){0};
}

int journal_count(const struct journal *journal, const char *unit, enum journal_event event)
{
    int count = 0;
    for (int i = 0; i < journal->count; i++)
        count += journal->lines[i].event == event && !strcmp(journal->lines[i].unit, unit);
    return count;
}
