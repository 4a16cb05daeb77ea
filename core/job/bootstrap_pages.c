// SPDX-License-Identifier: MIT
// Joining a job of one host that our launcher has started: its memory file is inherited (CLAB_JOB_FD).

#include "core/job/bootstrap.h"

#include <stdlib.h>

#include "core/base/log.h"
#include "core/base/units.h"
#include "core/job/launch/memory.h"

struct sitter {
    struct membership member; // first, so that a pointer to it is one to all
    struct clab_seat seat;
    struct clab_ear ear;
    int locals[]; // (nranks)
};

static struct sitter *sitter_of(struct clab_bootstrap *boot)
{
    return (struct sitter *)boot;
}

static int exchange(struct clab_bootstrap *boot, struct clab_meeting meeting, const void *mine, size_t bytes, void *all)
{
    struct clab_seat *seat = &sitter_of(boot)->seat;
    seat->meanwhile = boot->meanwhile;
    seat->meanwhile_of = boot->meanwhile_of;
    return clab_seat_exchange(seat, meeting, mine, bytes, all);
}

static void tell(struct clab_bootstrap *boot, const struct clab_notice *notice)
{
    if (notice->kind == CLAB_NOTICE_LEFT)
        clab_seat_announce(&sitter_of(boot)->seat);
    clab_control_tell(sitter_of(boot)->seat.control, notice);
}

static bool hear(struct clab_bootstrap *boot, struct clab_notice *notice_p)
{
    return clab_control_hear(sitter_of(boot)->seat.control, &sitter_of(boot)->ear, notice_p);
}

static enum clab_presence presence(struct clab_bootstrap *boot, int rank)
{
    return clab_control_presence(sitter_of(boot)->seat.control, rank);
}

static void leave(struct membership *member)
{
    struct sitter *sitter = (struct sitter *)member;
    if (member->refused)
        clab_seat_refuse(&sitter->seat);
    clab_seat_leave(&sitter->seat);
    clab_memory_unmap(sitter->seat.control);
    free(sitter);
}

static int read_int(const char *name, int low, int high, int *value_p)
{
    const char *text = getenv(name);
    if (text && clab_parse_int(text, low, high, value_p) == CLAB_OK)
        return CLAB_OK;
    clab_error("%s is '%s', not a number from %d to %d: leave it as the launcher set it", name, text ? text : "", low,
               high);
    return CLAB_EPARSE;
}

static int map_control(int fd, int nranks, struct clab_control **control_p)
{
    const int err = clab_memory_map(fd, nranks, control_p);
    if (err == CLAB_EINVAL)
        clab_error("CLAB_JOB_FD is %d, which is not the job's memory file: was it closed on the way here?", fd);
    else if (err == CLAB_EPARSE)
        clab_error("CLAB_JOB_FD and WORLD_SIZE do not belong to the same job, or to the same version of commlab");
    else if (err != CLAB_OK)
        clab_error("can not map the job's control pages: %m");
    return err == CLAB_EINVAL ? CLAB_ESYS : err;
}

static struct sitter *sit_down(const struct clab_seat *seat, int nranks, int fd)
{
    struct sitter *sitter = calloc(1, sizeof *sitter + (size_t)nranks * sizeof *sitter->locals);
    if (!sitter)
        return NULL;
    for (int i = 0; i < nranks; i++)
        sitter->locals[i] = i;
    sitter->seat = *seat;
    sitter->member.leave = leave;
    sitter->member.boot = (struct clab_bootstrap){
        .rank = seat->rank,
        .nranks = nranks,
        .timeout = seat->timeout,
        .nnodes = 1,
        .local_rank = seat->rank,
        .local_ranks = nranks,
        .locals = sitter->locals,
        .cores = clab_cores(),
        .job_cores = clab_cores(),
        .crowded = nranks > clab_cores(),
        .segment_fd = fd,
        .segment_bytes = seat->control->segment_bytes,
        .segment_offset = seat->control->bytes,
        .flights = clab_control_flights(seat->control),
        .exchange = exchange,
        .tell = tell,
        .hear = hear,
        .presence = presence,
    };
    return sitter;
}

int clab_pages_join(double timeout, struct membership **member_p)
{
    int rank, nranks, fd;
    struct clab_control *control;
    struct clab_seat seat;
    CLAB_TRY(read_int("CLAB_JOB_FD", 0, INT32_MAX, &fd));
    CLAB_TRY(read_int("WORLD_SIZE", 1, CLAB_MAX_RANKS, &nranks));
    CLAB_TRY(read_int("RANK", 0, nranks - 1, &rank));
    CLAB_TRY(map_control(fd, nranks, &control));
    int err = clab_seat_take(control, rank, timeout, &seat);
    struct sitter *sitter = err ? NULL : sit_down(&seat, nranks, fd);
    if (!sitter) {
        if (!err)
            clab_seat_leave(&seat);
        clab_memory_unmap(control);
        return err ? err : CLAB_ENOMEM;
    }
    *member_p = &sitter->member;
    return CLAB_OK;
}
