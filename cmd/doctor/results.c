// SPDX-License-Identifier: MIT
// Secrets in results files: an earlier version wrote a job's CLAB_TOKEN into them (doctor.h).
//
// - Reads results/ of the kit, and report/ and plots/ of the build: files only, no links.
// - One finding per file, eight at most. The secret itself is not shown.

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/err.h"
#include "core/base/log.h"
#include "cmd/doctor/doctor.h"
#include "cmd/kit/kit.h"

enum { SHOWN = 8 };

static const char mark[] = "CLAB_TOKEN=";
enum { MARK = sizeof mark - 1 };

// Whether `bytes` hold the mark and a digit of the secret.
static bool has_secret(const char *bytes, size_t count)
{
    const char *end = bytes + count;
    for (const char *at = bytes; (at = memmem(at, (size_t)(end - at), mark, MARK)); at += MARK)
        if (at + MARK < end && isxdigit((unsigned char)at[MARK]))
            return true;
    return false;
}

// The mark may lie across two readings, so the end of one stays in front of the next.
static bool file_has_secret(FILE *file)
{
    static char bytes[1 << 16];
    size_t kept = 0;
    for (size_t n; (n = fread(bytes + kept, 1, sizeof bytes - kept, file)) > 0;) {
        const size_t count = kept + n;
        if (has_secret(bytes, count))
            return true;
        kept = count < MARK ? count : MARK;
        memmove(bytes, bytes + count - kept, kept);
    }
    return false;
}

static bool path_has_secret(const char *path)
{
    struct stat status;
    const int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    FILE *file = fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode) ? fdopen(fd, "r") : NULL;
    const bool found = file && file_has_secret(file);
    if (file)
        fclose(file);
    else if (fd >= 0)
        close(fd);
    return found;
}

static int is_shown(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static void add(struct doctor *doctor, const char *path, int found)
{
    if (found > SHOWN)
        return;
    doctor_add(doctor, DOCTOR_WARNING, "secret", "%s holds the CLAB_TOKEN of a job", kit_relative(path));
    doctor_advise(doctor, "delete the value or the file, and give the next job another CLAB_TOKEN");
}

static void look_into(struct doctor *doctor, const char *parent, const char *name, int *found)
{
    char folder[PATH_MAX], path[PATH_MAX];
    struct dirent **entries;
    const int n = snprintf(folder, sizeof folder, "%s/%s", parent, name) < PATH_MAX
                      ? scandir(folder, &entries, is_shown, versionsort)
                      : -1;
    for (int i = 0; i < n; i++) {
        if (snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name) < PATH_MAX && path_has_secret(path))
            add(doctor, path, ++*found);
        free(entries[i]);
    }
    if (n >= 0)
        free(entries);
}

void doctor_results(struct doctor *doctor)
{
    struct clab_log_held held;
    char *root = NULL, *build = NULL, home[PATH_MAX];
    int found = 0;
    doctor->section = "Results";
    clab_log_hold(&held); // a program outside of a kit has no results
    const bool has_kit = kit_root(&root) == CLAB_OK && kit_made(&build) == CLAB_OK && kit_home(root, home) == CLAB_OK;
    clab_log_release(&held);
    if (has_kit) {
        look_into(doctor, home, "results", &found);
        look_into(doctor, build, "report", &found);
        look_into(doctor, build, "plots", &found);
        if (found > SHOWN)
            doctor_add(doctor, DOCTOR_WARNING, "secret", "%d more files hold one: look for CLAB_TOKEN=", found - SHOWN);
        else if (!found)
            doctor_add(doctor, DOCTOR_OK, "secrets", "no results file holds a CLAB_TOKEN");
    }
    free(root);
    free(build);
}
