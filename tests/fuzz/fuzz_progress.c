// SPDX-License-Identifier: MIT
// work/progress.txt: each line that counts is whole, no damaged line is an error, and what was read, written down anew,
// is read as the same.

#include "tests/fuzz/fuzz.h"

#include <time.h>

#include "core/base/err.h"
#include "cmd/kit/journal.h"

static const char *const words[] = {"started", "predicted", "ran", "failed", "passed", "hinted", "reset"};

static void check_line(const struct journal_line *line)
{
    must_hold(line->event >= 0 && line->event < JOURNAL_EVENTS);
    must_hold(*line->unit && !strpbrk(line->unit, " \t\n") && !strchr(line->detail, '\n'));
}

static void write_line(FILE *file, const struct journal_line *line)
{
    char when[64];
    struct tm utc;
    const time_t seconds = line->seconds;
    must_hold(gmtime_r(&seconds, &utc) && strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", &utc));
    fprintf(file, "%s %s %s %s\n", when, line->unit, words[line->event], line->detail);
}

static void check_again(const struct journal *journal)
{
    struct journal again = {0};
    char *text;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    must_hold(out);
    for (int i = 0; i < journal->count; i++)
        write_line(out, &journal->lines[i]);
    fclose(out);
    FILE *file = fuzz_file(text, size);
    must_hold(journal_parse(file, "again", &again) == CLAB_OK && again.count == journal->count);
    for (int i = 0; i < again.count; i++)
        must_hold(again.lines[i].seconds == journal->lines[i].seconds &&
                  again.lines[i].event == journal->lines[i].event &&
                  !strcmp(again.lines[i].detail, journal->lines[i].detail));
    fclose(file);
    free(text);
    journal_free(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct journal journal = {0};
    FILE *file = fuzz_file(data, size);
    fuzz_log_clear();
    must_hold(journal_parse(file, "work/progress.txt", &journal) == CLAB_OK && fuzz_log_errors == 0);
    for (int i = 0; i < journal.count; i++)
        check_line(&journal.lines[i]);
    check_again(&journal);
    fclose(file);
    journal_free(&journal);
    return 0;
}
