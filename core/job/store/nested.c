// SPDX-License-Identifier: MIT
// The store of a job inside a job (nested.h).

#include "core/job/store/nested.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "core/base/log.h"
#include "core/base/mix.h"
#include "core/base/variables.h"
#include "core/job/store/proof.h"
#include "core/job/store/socket.h"
#include "core/job/store/store.h"

#define FENCE_KEY UINT64_C(0x6e657374656420ab) // the key of these fences

// What rank 0 sends to all.
struct place {
    int err; // why there is none
    char place[CLAB_HOST_BYTES + 16], token[2 * CLAB_TOKEN_BYTES + 1];
};

// At an address that all ranks can reach.
static int listen_for_all(const struct clab_bootstrap *boot, char host[CLAB_HOST_BYTES], int *listener_p, int *port_p)
{
    const char *interface = clab_variable_text(CLAB_VARIABLE_INTERFACE);
    if (boot->nnodes > 1)
        CLAB_TRY(store_addresses(interface, host));
    else
        strcpy(host, "127.0.0.1");
    return store_listen(boot->nnodes > 1 && !interface ? "" : host, 0, "CLAB_INTERFACE", listener_p, port_p);
}

static int start(const struct clab_bootstrap *boot, struct place *place, int *lifeline_p)
{
    struct store_job job = {.nranks = boot->nranks};
    char host[CLAB_HOST_BYTES];
    int listener, port;
    CLAB_TRY(store_proof_ready());
    if (getrandom(job.token, CLAB_TOKEN_BYTES, 0) != CLAB_TOKEN_BYTES) {
        clab_error("no random bytes for the job's token: %m");
        return CLAB_ESYS;
    }
    CLAB_TRY(listen_for_all(boot, host, &listener, &port));
    launcher_hex(job.token, CLAB_TOKEN_BYTES, place->token);
    snprintf(place->place, sizeof place->place, strchr(host, ':') ? "[%s]:%d" : "%s:%d", host, port);
    const int err = store_start(&job, listener, lifeline_p);
    close(listener);
    return err;
}

static int exchange(struct clab_bootstrap *boot, int number, struct place *place)
{
    struct place *all = calloc((size_t)boot->nranks, sizeof *all);
    if (!all)
        return CLAB_ENOMEM;
    const struct clab_fence fence = {.key = clab_mix(FENCE_KEY, (uint64_t)number)};
    int err = boot->exchange(boot, fence, place, sizeof *place, all);
    if (!err) {
        *place = all[0];
        err = place->err;
    }
    free(all);
    return err;
}

int nested_job_open(struct clab_bootstrap *boot, int number, struct nested_job *job_p)
{
    struct nested_job job = {.lifeline = -1};
    struct place place = {0};
    if (boot->rank == 0)
        place.err = start(boot, &place, &job.lifeline);
    const int err = exchange(boot, number, &place);
    if (err) {
        nested_job_close(&job);
        return err;
    }
    strcpy(job.place, place.place);
    strcpy(job.token, place.token);
    snprintf(job.rank, sizeof job.rank, "%d", boot->rank);
    snprintf(job.ranks, sizeof job.ranks, "%d", boot->nranks);
    snprintf(job.local_rank, sizeof job.local_rank, "%d", boot->local_rank);
    snprintf(job.local_ranks, sizeof job.local_ranks, "%d", boot->local_ranks);
    *job_p = job;
    return CLAB_OK;
}

void nested_job_close(struct nested_job *job)
{
    if (job->lifeline >= 0)
        close(job->lifeline);
    job->lifeline = -1;
}
