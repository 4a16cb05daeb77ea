// SPDX-License-Identifier: MIT
// work/progress.txt: each line that counts is whole, no damaged line is an error, and what was read, written down anew,
// is read as the same.

#include "tests/fuzz/fuzz.h"

#include <time.h>

#include "core/base/err.h"
#include "cmd/course/progress.h"

static const char *const words[] = {"started", "predicted", "ran", "failed", "passed", "hinted", "reset"};

static void check_line(const struct progress_line *line)
{
    must_hold(line->event >= 0 && line->event < PROGRESS_EVENTS);
    must_hold(*line->unit && !strpbrk(line->unit, " \t\n") && !strchr(line->detail, '\n'));
}

static void write_line(FILE *file, const struct progress_line *line)
{
    char when[64];
    struct tm utc;
    const time_t seconds = line->seconds;
    must_hold(gmtime_r(&seconds, &utc) && strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", &utc));
    fprintf(file, "%s %s %s %s\n", when, line->unit, words[line->event], line->detail);
}

static void check_again(const struct progress *progress)
{
    struct progress again = {0};
    char *text;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    must_hold(out);
    for (int i = 0; i < progress->count; i++)
        write_line(out, &progress->lines[i]);
    fclose(out);
    FILE *file = fuzz_file(text, size);
    must_hold(progress_parse(file, "again", &again) == CLAB_OK && again.count == progress->count);
    for (int i = 0; i < again.count; i++)
        must_hold(again.lines[i].seconds == progress->lines[i].seconds &&
                  again.lines[i].event == progress->lines[i].event &&
                  !strcmp(again.lines[i].detail, progress->lines[i].detail));
    fclose(file);
    free(text);
    progress_free(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct progress progress = {0};
    FILE *file = fuzz_file(data, size);
    fuzz_log_clear();
    must_hold(progress_parse(file, "work/progress.txt", &progress) == CLAB_OK && fuzz_log_errors == 0);
    for (int i = 0; i < progress.count; i++)
        check_line(&progress.lines[i]);
    check_again(&progress);
    fclose(file);
    progress_free(&progress);
    return 0;
}
