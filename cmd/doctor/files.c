// SPDX-License-Identifier: MIT
// Small files of /proc and /sys, below a root (doctor.h).

#include "cmd/doctor/doctor.h"

#include <dirent.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool format_path(const struct doctor *doctor, char path[PATH_MAX], const char *format, va_list values)
{
    const int root = snprintf(path, PATH_MAX, "%s", doctor->root);
    return root < PATH_MAX && vsnprintf(path + root, (size_t)(PATH_MAX - root), format, values) < PATH_MAX - root;
}

static bool read_first_line(const char *path, char *out, size_t room)
{
    FILE *file = fopen(path, "re");
    const bool read = file && fgets(out, (int)room, file);
    if (file)
        fclose(file);
    if (!read)
        *out = '\0';
    size_t length = strlen(out);
    while (length > 0 && strchr(" \t\n", out[length - 1]))
        out[--length] = '\0';
    return read;
}

bool doctor_read(const struct doctor *doctor, char *out, size_t room, const char *format, ...)
{
    char path[PATH_MAX];
    va_list values;
    *out = '\0';
    va_start(values, format);
    const bool fits = format_path(doctor, path, format, values);
    va_end(values);
    return fits && read_first_line(path, out, room);
}

long long doctor_read_number(const struct doctor *doctor, long long other, const char *format, ...)
{
    char path[PATH_MAX], text[64], *end;
    va_list values;
    va_start(values, format);
    const bool fits = format_path(doctor, path, format, values);
    va_end(values);
    if (!fits || !read_first_line(path, text, sizeof text))
        return other;
    const long long number = strtoll(text, &end, 0);
    return end == text || *end ? other : number;
}

bool doctor_read_link(const struct doctor *doctor, char *out, size_t room, const char *format, ...)
{
    char path[PATH_MAX], target[PATH_MAX];
    va_list values;
    *out = '\0';
    va_start(values, format);
    const bool fits = format_path(doctor, path, format, values);
    va_end(values);
    const ssize_t length = fits ? readlink(path, target, sizeof target - 1) : -1;
    if (length < 0)
        return false;
    target[length] = '\0';
    const char *slash = strrchr(target, '/');
    snprintf(out, room, "%s", slash ? slash + 1 : target);
    return true;
}

bool doctor_exists(const struct doctor *doctor, const char *format, ...)
{
    char path[PATH_MAX];
    va_list values;
    va_start(values, format);
    const bool fits = format_path(doctor, path, format, values);
    va_end(values);
    return fits && access(path, F_OK) == 0;
}

static int is_name(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

int doctor_names(const struct doctor *doctor, const char *folder, char ***names_p)
{
    char path[PATH_MAX];
    struct dirent **entries;
    *names_p = NULL;
    if (snprintf(path, sizeof path, "%s%s", doctor->root, folder) >= PATH_MAX)
        return 0;
    const int n = scandir(path, &entries, is_name, versionsort);
    if (n < 0)
        return 0;
    char **names = calloc((size_t)n + 1, sizeof *names);
    int kept = 0;
    for (int i = 0; i < n; i++) {
        if (names && (names[kept] = strdup(entries[i]->d_name)))
            kept++;
        free(entries[i]);
    }
    free(entries);
    *names_p = names;
    return kept;
}

void doctor_names_free(char **names, int n)
{
    for (int i = 0; i < n; i++)
        free(names[i]);
    free(names);
}
