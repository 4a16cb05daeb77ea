// SPDX-License-Identifier: MIT
// base/files/conf.h: lines rise, a refusal is said once and names its line, and settings that are written down plainly are
// read as the same settings.

#include "tests/fuzz/fuzz.h"

#include <ctype.h>

#include "core/base/files/conf.h"
#include "core/base/err.h"

static const char path[] = "a.conf";

struct seen {
    FILE *plain; // the settings, written down
    char *text;
    size_t size;
    char section[64];
    int line, count, refuse_at;
};

static bool is_trimmed(const char *text)
{
    return !*text || (!isspace((unsigned char)text[0]) && !isspace((unsigned char)text[strlen(text) - 1]));
}

static int note(void *context, const struct clab_setting *s)
{
    struct seen *seen = context;
    must_hold(strcmp(s->path, path) == 0);
    must_hold(s->line > seen->line);
    must_hold(is_trimmed(s->name) && is_trimmed(s->value));
    must_hold(strlen(s->section) < sizeof seen->section && strlen(s->name) + strlen(s->value) < 198);
    if (strcmp(s->section, seen->section))
        fprintf(seen->plain, "[%s]\n", strcpy(seen->section, s->section));
    fprintf(seen->plain, "%s=%s\n", s->name, s->value);
    seen->line = s->line;
    return ++seen->count == seen->refuse_at ? CLAB_EWRONG : CLAB_OK;
}

// The settings of `text`; seen_p->text is for the caller to free.
static int read_text(const void *text, size_t size, int refuse_at, struct seen *seen_p)
{
    struct seen seen = {.refuse_at = refuse_at};
    seen.plain = open_memstream(&seen.text, &seen.size);
    must_hold(seen.plain);
    fputc('\n', seen.plain); // the mark of UTF-8 has a meaning on the first line only
    FILE *file = fuzz_file(text, size);
    fuzz_log_clear();
    const int err = clab_conf_read(file, path, note, &seen);
    fclose(file);
    fclose(seen.plain);
    *seen_p = seen;
    return err;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct seen first, again, stopped;
    const int err = read_text(data, size, 0, &first);
    must_hold(err == CLAB_OK || err == CLAB_EPARSE || err == CLAB_EUNSUPPORTED);
    if (err)
        must_say_once(path);
    else
        must_hold(fuzz_log_errors == 0);
    must_hold(read_text(first.text, first.size, 0, &again) == err || err == CLAB_EPARSE);
    must_hold(first.size == again.size && memcmp(first.text, again.text, first.size) == 0);
    if (first.count) { // whoever refuses a setting has said why
        must_hold(read_text(data, size, first.count, &stopped) == CLAB_EWRONG);
        must_hold(fuzz_log_errors == 0 && stopped.count == first.count);
        free(stopped.text);
    }
    free(first.text);
    free(again.text);
    return 0;
}
