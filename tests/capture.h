// SPDX-License-Identifier: MIT
// What tests share: cmocka, what was written to a stream meanwhile, and a folder that goes with the test.
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
// cmocka needs the above

#include <cmocka.h>
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct capture {
    FILE *file;
    int stream, original;
};

// Collect what this process and its children write to the descriptor `stream` from now on.
static inline struct capture capture_begin(int stream)
{
    fflush(NULL);
    struct capture capture = {tmpfile(), stream, dup(stream)};
    assert_non_null(capture.file);
    dup2(fileno(capture.file), stream);
    return capture;
}

// What it was; the text is good until the next call.
static inline const char *capture_end(struct capture capture)
{
    static char text[1 << 20];
    fflush(NULL);
    dup2(capture.original, capture.stream);
    close(capture.original);
    rewind(capture.file);
    text[fread(text, 1, sizeof text - 1, capture.file)] = '\0';
    fclose(capture.file);
    return text;
}

static inline void assert_text_has(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("no \"%s\" in \"%s\"", part, text);
}

// One line that has `part`: what an error owes its reader.
static inline void assert_one_line_with(const char *text, const char *part)
{
    assert_text_has(text, part);
    assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
}

// In a process that is a copy of the test's: crash, where cmocka's handlers would go on with the test after this one.
static inline void crash_as_others_do(void)
{
    static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGSYS};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        signal(signals[i], SIG_DFL);
}

static char test_folder[] = "/tmp/commlab-test-XXXXXX";

static inline int folder_make(void **state)
{
    (void)state;
    return mkdtemp(test_folder) ? 0 : -1;
}

// How many entries are in the folder; with `empty`, remove them.
static inline int folder_entries(int empty)
{
    DIR *folder = opendir(test_folder);
    assert_non_null(folder);
    int count = 0;
    for (struct dirent *entry; (entry = readdir(folder));) {
        if (entry->d_name[0] == '.')
            continue;
        count++;
        if (empty)
            unlinkat(dirfd(folder), entry->d_name, 0);
    }
    closedir(folder);
    return count;
}

static inline int folder_remove(void **state)
{
    (void)state;
    folder_entries(1);
    return rmdir(test_folder);
}

// The path of `name` in the folder; good until the fourth call from now.
static inline const char *folder_path(const char *name)
{
    static char paths[4][256];
    static int next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", test_folder, name);
    return path;
}

static inline const char *file_text(const char *path)
{
    static char text[1 << 16];
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    return text;
}
