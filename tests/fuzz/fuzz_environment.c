// SPDX-License-Identifier: MIT
// What launchers tell their processes, in any combination: lines NAME=VALUE. What is found is a rank of a job, with a
// place for the store or a way to share one; what contradicts itself is refused in one line.

#include "tests/fuzz/fuzz.h"

#include "core/base/err.h"
#include "core/job/launchers/launcher.h"
#include "tests/fixtures/launcher_names.h"

// Only what is known is set: others are the system's.
static void set(char *line)
{
    char *value = strchr(line, '=');
    if (!value)
        return;
    *value++ = '\0';
    for (int i = 0; i < LAUNCHER_NAMES; i++)
        if (strcmp(line, launcher_names[i]) == 0)
            setenv(line, value, 1);
}

static void set_all(char *text)
{
    for (int i = 0; i < LAUNCHER_NAMES; i++)
        unsetenv(launcher_names[i]);
    setenv("CLAB_TOKEN", "00112233445566778899aabbccddeeff", 1); // not the user's file
    for (char *rest, *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
        set(line);
}

static void check_found(const struct clab_launched *l)
{
    must_hold(l->by && l->nranks >= 1 && l->nranks <= CLAB_MAX_RANKS && l->rank >= 0 && l->rank < l->nranks);
    must_hold(l->local_ranks == -1 || (l->local_ranks >= 1 && l->local_ranks <= l->nranks));
    must_hold(l->local_rank >= -1 && l->local_rank < (l->local_ranks < 0 ? l->nranks : l->local_ranks));
    must_hold(memchr(l->host, 0, sizeof l->host));
    must_hold(!*l->host || (l->port >= 1 && l->port <= 65535 && l->share == CLAB_SHARE_NONE));
    must_hold(*l->host || !l->is_running);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct clab_launched launched;
    char *text = fuzz_text(data, size);
    set_all(text);
    fuzz_log_clear();
    const int err = clab_launcher_find(&launched);
    must_hold(err == CLAB_OK || err == CLAB_ENOENT || err == CLAB_EPARSE);
    must_hold(fuzz_log_errors == (err == CLAB_EPARSE));
    if (err == CLAB_OK)
        check_found(&launched);
    free(text);
    return 0;
}
