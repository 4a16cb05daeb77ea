// SPDX-License-Identifier: MIT
// Jobs whose ranks a library must start itself (mpirun.h).
//
// - This process's own arguments are read from the kernel, as they were before options were taken out of them.

#include "core/job/launchers/mpirun.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/log.h"
#include "core/base/variables.h"
#include "core/base/vector.h"
#include "core/job/job.h"

// A list of words that grows; always ended by NULL.
struct words {
    char **list;
    int n, room;
};

static int add(struct words *words, const char *word)
{
    CLAB_TRY(CLAB_RESERVE(words->list, words->room, words->n + 2));
    words->list[words->n++] = (char *)(uintptr_t)word; // execv takes them so, and writes none
    words->list[words->n] = NULL;
    return CLAB_OK;
}

// The arguments that this process was started with. The words lie in *text_p, for the caller to free.
static int add_own(struct words *words, char **text_p)
{
    enum { MOST_BYTES = 4 << 20 }; // twice what Linux takes unless told
    static char self[4096];
    const ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    FILE *file = fopen("/proc/self/cmdline", "r");
    *text_p = malloc(MOST_BYTES);
    const size_t bytes = file && *text_p ? fread(*text_p, 1, MOST_BYTES, file) : 0;
    if (file)
        fclose(file);
    if (length < 0 || bytes == 0 || bytes == MOST_BYTES || (*text_p)[bytes - 1]) {
        clab_error("can not read how this process was started: %m");
        return CLAB_ESYS;
    }
    CLAB_TRY(add(words, self));
    for (char *word = *text_p + strlen(*text_p) + 1; word < *text_p + bytes; word += strlen(word) + 1)
        CLAB_TRY(add(words, word));
    return CLAB_OK;
}

static int compose(const struct clab_backend *backend, int nranks, char *const program[], struct words *words,
                   char **text_p)
{
    static char number[16];
    snprintf(number, sizeof number, "%d", nranks);
    for (int i = 0; backend->launcher[i]; i++)
        CLAB_TRY(add(words, backend->launcher[i]));
    CLAB_TRY(add(words, "-n"));
    CLAB_TRY(add(words, number));
    if (!program)
        return add_own(words, text_p);
    for (int i = 0; program[i]; i++)
        CLAB_TRY(add(words, program[i]));
    return CLAB_OK;
}

int clab_mpirun_become(const struct clab_backend *backend, int nranks, char *const program[])
{
    struct words words = {0};
    char *text = NULL;
    if (!backend->launcher[0][0]) {
        clab_error("--backend %s: its library has no launcher: start the ranks with your cluster's own", backend->name);
        return CLAB_EUNSUPPORTED;
    }
    int err = compose(backend, nranks, program, &words, &text);
    if (!err) {
        char cores[16];
        snprintf(cores, sizeof cores, "%d", clab_cores()); // a rank that is bound to one sees no other
        clab_variable_set(CLAB_VARIABLE_CORES, cores);
        clab_variable_set(CLAB_VARIABLE_BACKEND, backend->name);
        clab_variables_export();
        fflush(NULL);
        execvp(words.list[0], words.list);
        clab_error("--backend %s: can not run '%s': %s", backend->name, words.list[0], strerror(errno));
        err = CLAB_ESYS;
    }
    free(words.list);
    free(text);
    return err;
}
