// SPDX-License-Identifier: MIT
// A student's numbers (seed.h).

#include "cmd/grade/seed.h"

#include <ctype.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#ifdef HAVE_SODIUM
#include <sodium.h>
#endif

#include "core/base/machine/called.h"
#include "core/base/err.h"
#include "core/base/files/input.h"
#include "core/base/log.h"

enum { MOST_STUDENT = HOMEWORK_STUDENT - 1 };

bool homework_is_student(const char *student)
{
    const size_t length = strlen(student);
    bool is_id = length > 0 && length <= MOST_STUDENT && student[0] != '.' && student[0] != '-';
    for (size_t i = 0; i < length; i++)
        is_id = is_id && (unsigned char)student[i] < 128 &&
                (isalnum((unsigned char)student[i]) || strchr("._-@", student[i]));
    return is_id;
}

int homework_check_student(const char *command, const char *student)
{
    if (homework_is_student(student))
        return CLAB_OK;
    clab_error("%s: --student: an ID has 1 to %d letters, digits, '.', '_', '-' or '@', and begins with none of '.' "
               "and '-'; type the ID that your teacher uses for you",
               command, MOST_STUDENT);
    return CLAB_EINVAL;
}

// At most the first 4 KiB of a plain file.  Returns the bytes; 0: it is none
static size_t read_plain(const char *path, char text_p[4096])
{
    struct stat there;
    const int file = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    const bool is_plain = file >= 0 && fstat(file, &there) == 0 && S_ISREG(there.st_mode) && there.st_nlink == 1;
    const ssize_t n = is_plain ? read(file, text_p, 4095) : 0;
    if (file >= 0)
        close(file);
    text_p[n > 0 ? n : 0] = 0;
    return n > 0 ? (size_t)n : 0;
}

bool homework_student_of(const char *folder, char student_p[HOMEWORK_STUDENT])
{
    char path[PATH_MAX], text[4096], *rest = text;
    *student_p = 0;
    if (snprintf(path, sizeof path, "%s/student.txt", folder) >= PATH_MAX || !read_plain(path, text))
        return false;
    for (char *line; !*student_p && (line = strsep(&rest, "\n"));) {
        line[strcspn(line, "#\r")] = 0;
        line += strspn(line, " \t");
        line[strcspn(line, " \t")] = 0;
        snprintf(student_p, HOMEWORK_STUDENT, "%.*s", MOST_STUDENT, line);
    }
    return homework_is_student(student_p);
}

int homework_read_salt(const char *command, const char *path, char **salt_p)
{
    struct clab_input input;
    CLAB_TRY(clab_input_open(path, CLAB_INPUT_SETTINGS, &input));
    const size_t length = strcspn(input.text, "\r\n");
    char *salt = strndup(input.text, length);
    clab_input_close(&input);
    if (salt && length >= 8) {
        *salt_p = salt;
        return CLAB_OK;
    }
    free(salt);
    clab_error("%s: %s: the first line is the class's salt, of at least 8 characters: write a long random one there",
               command, path);
    return CLAB_EPARSE;
}

#ifdef HAVE_SODIUM
// Each part with the 0 behind it, so that no two parts can be mistaken for others.
static void add(crypto_generichash_state *state, const char *text)
{
    crypto_generichash_update(state, (const unsigned char *)text, strlen(text) + 1);
}

int homework_seed(const char *salt, const char *student, const char *name, uint64_t *seed_p)
{
    unsigned char key[crypto_generichash_KEYBYTES] = {0}, digest[crypto_generichash_BYTES];
    crypto_generichash_state state;
    if (sodium_init() < 0) {
        clab_error("libsodium can not begin on this machine");
        return CLAB_EUNSUPPORTED;
    }
    if (salt)
        crypto_generichash(key, sizeof key, (const unsigned char *)salt, strlen(salt), NULL, 0);
    crypto_generichash_init(&state, salt ? key : NULL, salt ? sizeof key : 0, sizeof digest);
    add(&state, student);
    add(&state, name);
    crypto_generichash_final(&state, digest, sizeof digest);
    uint64_t seed = 0;
    for (int i = 0; i < 8; i++)
        seed = seed << 8 | digest[i];
    *seed_p = seed;
    return CLAB_OK;
}
#else
int homework_seed(const char *salt, const char *student, const char *name, uint64_t *seed_p)
{
    (void)salt, (void)student, (void)name, (void)seed_p;
    clab_error("a student's own numbers need libsodium, and this build has none: %s installs it, then %s", clab_setup(),
               clab_rebuild());
    return CLAB_EUNSUPPORTED;
}
#endif
