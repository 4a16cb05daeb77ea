// SPDX-License-Identifier: MIT
// Joining a job of one host that our launcher has started: its memory file is inherited (CLAB_JOB_FD).

#include "core/job/bootstrap.h"

#include <stdlib.h>

#include "core/base/log.h"
#include "core/base/units.h"
#include "core/base/variables.h"
#include "core/job/pages/memory.h"

struct pages_member {
    struct membership member; // first, so that a pointer to it is one to all
    struct clab_rank_slot slot;
    struct clab_read_cursor cursor;
    int locals[]; // (nranks)
};

static struct pages_member *pages_of(struct clab_bootstrap *boot)
{
    return (struct pages_member *)boot;
}

static int exchange(struct clab_bootstrap *boot, struct clab_fence fence, const void *mine, size_t bytes, void *all)
{
    struct clab_rank_slot *slot = &pages_of(boot)->slot;
    slot->progress = (struct exchange_progress){boot->meanwhile, boot->meanwhile_of};
    return clab_slot_exchange(slot, fence, mine, bytes, all);
}

static void notify(struct clab_bootstrap *boot, const struct clab_notice *notice)
{
    if (notice->kind == CLAB_NOTICE_LEFT)
        clab_slot_announce(&pages_of(boot)->slot);
    clab_control_notify(pages_of(boot)->slot.control, notice);
}

static bool next_notice(struct clab_bootstrap *boot, struct clab_notice *notice_p)
{
    return clab_control_next_notice(pages_of(boot)->slot.control, &pages_of(boot)->cursor, notice_p);
}

static enum clab_presence presence(struct clab_bootstrap *boot, int rank)
{
    return clab_control_presence(pages_of(boot)->slot.control, rank);
}

static void refuse(struct clab_bootstrap *boot)
{
    clab_slot_refuse(&pages_of(boot)->slot);
}

static void leave(struct membership *member)
{
    struct pages_member *pages = (struct pages_member *)member;
    clab_slot_leave(&pages->slot);
    clab_memory_unmap(pages->slot.control);
    free(pages);
}

static int read_fd(int *fd_p)
{
    const char *text = clab_variable_given(CLAB_VARIABLE_JOB_FD);
    if (clab_parse_int(text, 0, INT32_MAX, fd_p) == CLAB_OK)
        return CLAB_OK;
    clab_error("CLAB_JOB_FD is '%s', not a number: leave it as the launcher set it", text);
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

static struct pages_member *make_member(const struct clab_rank_slot *slot, int nranks, int fd)
{
    struct pages_member *pages = calloc(1, sizeof *pages + (size_t)nranks * sizeof *pages->locals);
    if (!pages)
        return NULL;
    for (int i = 0; i < nranks; i++)
        pages->locals[i] = i;
    pages->slot = *slot;
    pages->member.leave = leave;
    pages->member.boot = (struct clab_bootstrap){
        .rank = slot->rank,
        .nranks = nranks,
        .timeout = slot->timeout,
        .nnodes = 1,
        .local_rank = slot->rank,
        .local_ranks = nranks,
        .locals = pages->locals,
        .cores = clab_cores(),
        .job_cores = clab_cores(),
        .machines = 1,
        .crowded = nranks > clab_cores(),
        .segment_fd = fd,
        .segment_bytes = slot->control->segment_bytes,
        .segment_offset = slot->control->bytes,
        .flights = clab_control_flights(slot->control),
        .exchange = exchange,
        .notify = notify,
        .next_notice = next_notice,
        .presence = presence,
        .refuse = refuse,
    };
    return pages;
}

int clab_pages_join(const struct clab_launched *launched, double timeout, struct membership **member_p)
{
    const int nranks = launched->nranks;
    int fd;
    struct clab_control *control;
    struct clab_rank_slot slot;
    CLAB_TRY(read_fd(&fd));
    CLAB_TRY(map_control(fd, nranks, &control));
    int err = clab_slot_take(control, launched->rank, timeout, &slot);
    struct pages_member *pages = err ? NULL : make_member(&slot, nranks, fd);
    if (!pages) {
        if (!err)
            clab_slot_leave(&slot);
        clab_memory_unmap(control);
        return err ? err : CLAB_ENOMEM;
    }
    *member_p = &pages->member;
    return CLAB_OK;
}
