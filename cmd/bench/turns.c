// SPDX-License-Identifier: MIT
// One job after another (turns.h).

#include "cmd/bench/turns.h"

#include <stdlib.h>
#include <sys/wait.h>

#include "cmd/command.h"
#include "cmd/kit/child.h"
#include "core/base/err.h"
#include "core/base/mix.h"
#include "core/base/variables.h"
#include "core/job/store/nested.h"

#define FENCE_KEY UINT64_C(0x7475726e732061ab) // the key of these fences

int bench_turns_open(bool joins, struct bench_turns *turns_p)
{
    *turns_p = (struct bench_turns){0};
    return joins ? clab_bootstrap_open(&turns_p->boot) : CLAB_OK;
}

void bench_turns_close(struct bench_turns *turns)
{
    clab_bootstrap_close(turns->boot);
    turns->boot = NULL;
}

bool bench_turns_tells(const struct bench_turns *turns)
{
    return !turns->boot || turns->boot->rank == 0;
}

// Wrong usage and what is lacking are the cause where they occur, and other failures may follow from them.
static int importance(int status)
{
    if (WIFEXITED(status) && WEXITSTATUS(status) == STATUS_USAGE)
        return 3;
    if (WIFEXITED(status) && WEXITSTATUS(status) == STATUS_LACKING)
        return 2;
    return status != 0;
}

// *status_p: this rank's, and then the one that counts.
static int agree(const struct bench_turns *turns, int *status_p)
{
    struct clab_bootstrap *boot = turns->boot;
    int *all = calloc((size_t)boot->nranks, sizeof *all);
    if (!all)
        return CLAB_ENOMEM;
    const struct clab_fence fence = {.key = clab_mix(FENCE_KEY, (uint64_t)turns->jobs)};
    const int err = boot->exchange(boot, fence, status_p, sizeof *status_p, all);
    for (int rank = 0; !err && rank < boot->nranks; rank++)
        if (importance(all[rank]) > importance(*status_p))
            *status_p = all[rank];
    free(all);
    return err;
}

int bench_turns_run(struct bench_turns *turns, char *const words[], int *status_p)
{
    struct nested_job job;
    if (!turns->boot)
        return child_run(words, NULL, status_p);
    CLAB_TRY(nested_job_open(turns->boot, turns->jobs++, &job));
    const struct child_variable changes[] = {
        {.name = clab_variable_name(CLAB_VARIABLE_STORE), .value = job.place},
        {.name = clab_variable_name(CLAB_VARIABLE_TOKEN), .value = job.token},
        {.name = clab_variable_name(CLAB_VARIABLE_JOB_FD)},
        {.name = "RANK", .value = job.rank},
        {.name = "WORLD_SIZE", .value = job.ranks},
        {.name = "LOCAL_RANK", .value = job.local_rank},
        {.name = "LOCAL_WORLD_SIZE", .value = job.local_ranks},
        {0},
    };
    int err = child_run(words, changes, status_p);
    nested_job_close(&job);
    return err ? err : agree(turns, status_p);
}
