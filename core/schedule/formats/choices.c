// SPDX-License-Identifier: MIT
// Tables of choices, read (choices.h).

#include "core/schedule/formats/choices.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/err.h"
#include "core/base/units.h"

enum {
    LINE_BYTES = 512,
    MOST_ROWS = 1 << 16,
    MOST_BYTES = 64 << 20,
    MOST_RANKS = 1 << 24,
    FIELDS = 10,
    WHY = CLAB_CHOICE_WHY
};
enum { COLLECTIVE, FIRST, LAST, ALGORITHM, PROTOCOL, CHANNELS, NODES, RANKS, OPS, REGISTERED };

static const char *const columns[FIELDS] = {"collective_type", "min_bytes", "max_bytes", "algorithm",  "protocol",
                                            "channels",        "nNodes",    "nRanks",    "numPipeOps", "regBuff"};

bool clab_choice_is_named(const char *a, const char *b)
{
    for (;; a++, b++) {
        a += strspn(a, "_");
        b += strspn(b, "_");
        if (tolower((unsigned char)*a) != tolower((unsigned char)*b))
            return false;
        if (!*a)
            return true;
    }
}

int clab_choices_refuse(const struct clab_choices_reader *r, const char *format, ...)
{
    char what[WHY / 2];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    snprintf(r->why, WHY, "%.220s:%d: %s", r->path, r->line, what);
    return CLAB_EPARSE;
}

// ---- a line --------------------------------------------------------------------------------------------------

static int take_int(const struct clab_choices_reader *r, const char *what, const char *text, int low, int high, int *p)
{
    if (clab_parse_int(text, CLAB_CHOICE_ANY, high, p) == CLAB_OK && (*p >= low || *p == CLAB_CHOICE_ANY))
        return CLAB_OK;
    return clab_choices_refuse(r, "%s '%.24s' is not a number from %d to %d, or -1 for any", what, text, low, high);
}

static int take_bytes(const struct clab_choices_reader *r, const char *what, const char *text, bool is_last,
                      size_t *bytes_p)
{
    if (is_last && !strcmp(text, "-1")) {
        *bytes_p = SIZE_MAX;
        return CLAB_OK;
    }
    if (clab_parse_size(text, bytes_p) == CLAB_OK)
        return CLAB_OK;
    return clab_choices_refuse(r, "%s '%.24s' is not a number of bytes", what, text);
}

// Cut a line at its commas, and blanks off its fields. How many there are; only FIELDS of them are kept.
static int cut(char *line, char *fields[FIELDS])
{
    int n = 0;
    for (char *next = line; next; n++) {
        char *field = strsep(&next, ",");
        field += strspn(field, " \t");
        for (size_t length = strlen(field); length && strchr(" \t", field[length - 1]);)
            field[--length] = '\0';
        if (n < FIELDS)
            fields[n] = field;
    }
    return n;
}

// The names of the columns, where a file begins with them.
static int take_heading(const struct clab_choices_reader *r, char *line)
{
    char *fields[FIELDS] = {NULL};
    const int n = cut(line, fields);
    for (int i = 0; i < n && i < FIELDS; i++)
        if (!clab_choice_is_named(fields[i], columns[i]))
            return clab_choices_refuse(r, "column %d is '%.24s', not '%s'", i + 1, fields[i], columns[i]);
    return CLAB_OK;
}

// Whether the line's first field is the name of the first column.
static bool is_heading(const char *line)
{
    char first[32] = "";
    sscanf(line, " %31[^, \t]", first);
    return clab_choice_is_named(first, columns[COLLECTIVE]);
}

static int take_topology(const struct clab_choices_reader *r, char *const fields[FIELDS], struct clab_choice *choice)
{
    CLAB_TRY(take_int(r, "nNodes", fields[NODES], 1, MOST_RANKS, &choice->nodes));
    CLAB_TRY(take_int(r, "nRanks", fields[RANKS], 1, MOST_RANKS, &choice->ranks));
    CLAB_TRY(take_int(r, "numPipeOps", fields[OPS], 1, INT_MAX, &choice->ops));
    return take_int(r, "regBuff", fields[REGISTERED], 0, 1, &choice->registered);
}

static int take_choice(const struct clab_choices_reader *r, char *line)
{
    char any[] = "-1", *fields[FIELDS] = {NULL, NULL, NULL, NULL, NULL, NULL, any, any, any, any};
    struct clab_choice choice = {.line = r->line};
    const int n = cut(line, fields);
    if (n < CHANNELS + 1 || n == RANKS)
        return clab_choices_refuse(
            r,
            "%d field%s, not 6, 8, 9 or 10: collective_type,min_bytes,max_bytes,algorithm,protocol,channels,"
            "nNodes,nRanks,numPipeOps,regBuff",
            n, n == 1 ? "" : "s");
    choice.collective = fields[COLLECTIVE];
    choice.algorithm = fields[ALGORITHM];
    choice.protocol = fields[PROTOCOL];
    choice.is_short = n == CHANNELS + 1;
    CLAB_TRY(take_bytes(r, "min_bytes", fields[FIRST], false, &choice.first));
    CLAB_TRY(take_bytes(r, "max_bytes", fields[LAST], true, &choice.last));
    if (choice.first > choice.last)
        return clab_choices_refuse(r, "min_bytes %zu is above max_bytes %zu", choice.first, choice.last);
    CLAB_TRY(take_int(r, "channels", fields[CHANNELS], 0, CLAB_CHOICE_MOST_CHANNELS, &choice.channels));
    CLAB_TRY(take_topology(r, fields, &choice));
    return r->take(r, &choice);
}

// ---- a file --------------------------------------------------------------------------------------------------

// Fowler, Noll and Vo's hash, 32 bits.
static uint32_t hash(uint32_t seed, const char *text)
{
    for (; *text; text++)
        seed = (seed ^ (unsigned char)*text) * 16777619u;
    return seed;
}

static int read_line(const struct clab_choices_reader *r, char *line, int *nchoices)
{
    const size_t length = strcspn(line, "\r\n");
    if (!line[length] && length + 1 == LINE_BYTES)
        return clab_choices_refuse(r, "more than %d characters: this is no table of choices", LINE_BYTES - 2);
    line[length] = '\0';
    if (line[0] == '#' || !line[strspn(line, " \t")])
        return CLAB_OK;
    if (is_heading(line))
        return *nchoices ? clab_choices_refuse(r, "a heading below the first row: it stands above all of them")
                         : take_heading(r, line);
    if (++*nchoices > MOST_ROWS)
        return clab_choices_refuse(r, "more than %d rows", MOST_ROWS);
    return take_choice(r, line);
}

int clab_choices_read(FILE *file, struct clab_choices_reader *r)
{
    char line[LINE_BYTES];
    int err = CLAB_OK, n = 0;
    r->line = 0;
    r->fingerprint = 2166136261u;
    while (!err && fgets(line, sizeof line, file)) {
        r->line++;
        r->fingerprint = hash(r->fingerprint, line);
        if ((err = read_line(r, line, &n)) == CLAB_ENOMEM)
            snprintf(r->why, WHY, "%.200s: no memory for it", r->path);
    }
    if (!err && ferror(file))
        return clab_choices_refuse(r, "it can not be read: %s", strerror(errno));
    if (err || n)
        return err;
    snprintf(r->why, WHY, "%.220s: there is no row; `commlab tune` writes some", r->path);
    return CLAB_EPARSE;
}

// A pipe would be waited for, and a device has no end.
static FILE *open_regular(const char *path, char why[WHY])
{
    struct stat about;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    const bool is_file = fd >= 0 && fstat(fd, &about) == 0 && S_ISREG(about.st_mode);
    FILE *file = is_file && about.st_size <= MOST_BYTES ? fdopen(fd, "r") : NULL;
    if (file)
        return file;
    if (fd >= 0 && !is_file)
        snprintf(why, WHY, "%.200s is no file", path);
    else if (is_file && about.st_size > MOST_BYTES)
        snprintf(why, WHY, "%.200s: larger than 64 MiB, the most that is read of a table: give fewer rows", path);
    else
        snprintf(why, WHY, "%.200s: %s", path, strerror(errno));
    if (fd >= 0)
        close(fd);
    return NULL;
}

int clab_choices_load(struct clab_choices_reader *r)
{
    FILE *file = open_regular(r->path, r->why);
    if (!file)
        return CLAB_ENOENT;
    const int err = clab_choices_read(file, r);
    fclose(file);
    return err;
}
