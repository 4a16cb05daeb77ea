// SPDX-License-Identifier: MIT
// What a result was made of (class.h). Times of files tell nothing: archives and copies bring old ones.

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#ifdef HAVE_SODIUM
#include <sodium.h>
#endif

#include "cmd/grade/class.h"
#include "core/base/err.h"
#include "core/base/log.h"

#ifdef HAVE_SODIUM
enum { DIGEST = 32 };
static unsigned char kit[DIGEST]; // of this program and the salt

// With the 0 behind it, so that no two parts can be mistaken for others.
static void add_text(crypto_generichash_state *state, const char *text)
{
    crypto_generichash_update(state, (const unsigned char *)text, strlen(text) + 1);
}

// A plain file's bytes, or that it is none. What is larger than anything that is graded counts by its size.
static void add_file(crypto_generichash_state *state, int above, const char *name)
{
    enum { MOST = 64 << 20 };
    static unsigned char block[1 << 16];
    struct stat there = {0};
    const int file = openat(above, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    const bool is_plain = file >= 0 && fstat(file, &there) == 0 && S_ISREG(there.st_mode) && there.st_nlink == 1;
    add_text(state, name);
    add_text(state, is_plain ? "plain" : file >= 0 ? "other" : "none");
    crypto_generichash_update(state, (const unsigned char *)&there.st_size, sizeof there.st_size);
    for (ssize_t n = 1; is_plain && there.st_size <= MOST && n > 0;) {
        n = read(file, block, sizeof block);
        if (n > 0)
            crypto_generichash_update(state, block, (size_t)n);
    }
    if (file >= 0)
        close(file);
}

static int is_visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

// Whether this is what a student wrote: the homework's file, or all of its folder but student.txt. homework: NULL for any file
static bool is_counted(const struct homework *homework, const char *name)
{
    const char *file = homework ? homework->file : "/";
    return file[strlen(file) - 1] == '/' ? !homework || strcmp(name, "student.txt") : !strcmp(name, file);
}

// Returns how many files it found
static int add_folder(crypto_generichash_state *state, const char *path, const struct homework *homework)
{
    int count = 0;
    struct dirent **entries;
    const int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const int n = folder < 0 ? -1 : scandirat(folder, ".", &entries, is_visible, alphasort);
    for (int i = 0; i < n; i++) {
        if (is_counted(homework, entries[i]->d_name)) {
            add_file(state, folder, entries[i]->d_name);
            count++;
        }
        free(entries[i]);
    }
    if (n >= 0)
        free(entries);
    if (folder >= 0)
        close(folder);
    return count;
}

int class_key_begin(const struct class *class)
{
    crypto_generichash_state state;
    char program[PATH_MAX], salt[PATH_MAX];
    if (sodium_init() < 0 || !realpath("/proc/self/exe", program))
        return CLAB_EIO;
    crypto_generichash_init(&state, NULL, 0, sizeof kit);
    add_file(&state, AT_FDCWD, program);
    if (class->salt && realpath(class->salt, salt))
        add_file(&state, AT_FDCWD, salt);
    add_text(&state, class->salt ? "salt" : "practice");
    crypto_generichash_final(&state, kit, sizeof kit);
    return CLAB_OK;
}

int class_key(const struct class *class, const char *student, const char *folder, char key_p[CLASS_KEY])
{
    crypto_generichash_state state;
    unsigned char digest[DIGEST];
    crypto_generichash_init(&state, kit, sizeof kit, sizeof digest);
    add_text(&state, class->id);
    add_text(&state, student);
    add_folder(&state, folder, NULL);
    crypto_generichash_final(&state, digest, sizeof digest);
    sodium_bin2hex(key_p, CLASS_KEY, digest, sizeof digest);
    return CLAB_OK;
}
void class_content(const struct class *class, const char *folder, char content_p[CLASS_KEY])
{
    crypto_generichash_state state;
    unsigned char digest[DIGEST];
    crypto_generichash_init(&state, NULL, 0, sizeof digest);
    const int count = add_folder(&state, folder, class->homework);
    crypto_generichash_final(&state, digest, sizeof digest);
    sodium_bin2hex(content_p, CLASS_KEY, digest, sizeof digest);
    if (!count)
        *content_p = 0;
}
#else
int class_key_begin(const struct class *class)
{
    (void)class;
    clab_error(
        "class: a student's own numbers need libsodium, and this build has none: ./setup.sh installs it, then make");
    return CLAB_EUNSUPPORTED;
}

int class_key(const struct class *class, const char *student, const char *folder, char key_p[CLASS_KEY])
{
    (void)class, (void)student, (void)folder, (void)key_p;
    return CLAB_EUNSUPPORTED;
}

void class_content(const struct class *class, const char *folder, char content_p[CLASS_KEY])
{
    (void)class, (void)folder;
    *content_p = 0;
}
#endif

// ---- who handed in the same ------------------------------------------------------------------------------------

static bool is_same(const struct class_student *a, const struct class_student *b)
{
    return *a->content && !strcmp(a->content, b->content);
}

int class_next_same(const struct class *class, int i)
{
    for (int next = i + 1; next < class->nstudents; next++)
        if (is_same(&class->students[i], &class->students[next]))
            return next;
    return -1;
}

bool class_has_same_before(const struct class *class, int i)
{
    for (int before = 0; before < i; before++)
        if (is_same(&class->students[i], &class->students[before]))
            return true;
    return false;
}
