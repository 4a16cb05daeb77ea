// SPDX-License-Identifier: MIT
// Joining a job: from the environment that the launcher made to a seat at its control pages.

#include "job/job.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/units.h"
#include "job/control.h"

struct membership {
    struct clab_bootstrap boot; // first, so that a pointer to it is one to all
    struct clab_seat seat;
    struct clab_ear ear;
    int locals[];
};

static struct membership *membership_of(struct clab_bootstrap *boot)
{
    return (struct membership *)boot;
}

static int exchange(struct clab_bootstrap *boot, struct clab_meeting meeting, const void *mine, size_t bytes, void *all)
{
    struct clab_seat *seat = &membership_of(boot)->seat;
    seat->meanwhile = boot->meanwhile;
    seat->meanwhile_of = boot->meanwhile_of;
    return clab_seat_exchange(seat, meeting, mine, bytes, all);
}

static void tell(struct clab_bootstrap *boot, const struct clab_notice *notice)
{
    clab_control_tell(membership_of(boot)->seat.control, notice);
}

static bool hear(struct clab_bootstrap *boot, struct clab_notice *notice_p)
{
    return clab_control_hear(membership_of(boot)->seat.control, &membership_of(boot)->ear, notice_p);
}

static enum clab_presence presence(struct clab_bootstrap *boot, int rank)
{
    return clab_control_presence(membership_of(boot)->seat.control, rank);
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

int clab_timeout_read(double *seconds_p)
{
    const char *text = getenv("CLAB_TIMEOUT");
    double seconds = CLAB_TIMEOUT_DEFAULT;
    if (text && (clab_parse_seconds(text, &seconds) != CLAB_OK || seconds <= 0)) {
        clab_error("CLAB_TIMEOUT is '%s', not a duration such as 30s or 500ms", text);
        return CLAB_EPARSE;
    }
    *seconds_p = seconds;
    return CLAB_OK;
}

static int map_control(int fd, int nranks, struct clab_control **control_p)
{
    struct stat status;
    const size_t bytes = clab_control_bytes(nranks);
    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) || (size_t)status.st_size < bytes) {
        clab_error("CLAB_JOB_FD is %d, which is not the job's memory file: was it closed on the way here?", fd);
        return CLAB_ESYS;
    }
    struct clab_control *control = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (control == MAP_FAILED) {
        clab_error("can not map the job's control pages: %m");
        return CLAB_ESYS;
    }
    if (!clab_control_is_valid(control, nranks)) {
        clab_error("CLAB_JOB_FD and WORLD_SIZE do not belong to the same job, or to the same version of commlab");
        munmap(control, bytes);
        return CLAB_EPARSE;
    }
    *control_p = control;
    return CLAB_OK;
}

static int take_seat(struct membership *member, int rank, int nranks, int fd)
{
    double timeout;
    struct clab_control *control;
    CLAB_TRY(clab_timeout_read(&timeout));
    CLAB_TRY(map_control(fd, nranks, &control));
    const int err = clab_seat_take(control, rank, timeout, &member->seat);
    if (err != CLAB_OK) {
        munmap(control, control->bytes);
        return err;
    }
    for (int i = 0; i < nranks; i++)
        member->locals[i] = i;
    member->boot = (struct clab_bootstrap){
        .rank = rank,
        .nranks = nranks,
        .timeout = timeout,
        .nnodes = 1,
        .local_rank = rank,
        .local_ranks = nranks,
        .locals = member->locals,
        .cores = clab_cores(),
        .segment_fd = fd,
        .segment_bytes = control->segment_bytes,
        .segment_offset = control->bytes,
        .flights = clab_control_flights(control),
        .exchange = exchange,
        .tell = tell,
        .hear = hear,
        .presence = presence,
    };
    return CLAB_OK;
}

int clab_bootstrap_open(struct clab_bootstrap **boot_p)
{
    int rank, nranks, fd;
    if (!getenv("CLAB_JOB_FD"))
        return CLAB_ENOENT;
    CLAB_TRY(read_int("CLAB_JOB_FD", 0, INT32_MAX, &fd));
    CLAB_TRY(read_int("WORLD_SIZE", 1, CLAB_MAX_RANKS, &nranks));
    CLAB_TRY(read_int("RANK", 0, nranks - 1, &rank));
    struct membership *member = calloc(1, sizeof *member + (size_t)nranks * sizeof *member->locals);
    if (!member) {
        clab_error("out of memory");
        return CLAB_ENOMEM;
    }
    const int err = take_seat(member, rank, nranks, fd);
    if (err != CLAB_OK) {
        free(member);
        return err;
    }
    *boot_p = &member->boot;
    return CLAB_OK;
}

void clab_bootstrap_close(struct clab_bootstrap *boot)
{
    if (!boot)
        return;
    struct membership *member = (struct membership *)boot;
    clab_seat_leave(&member->seat);
    munmap(member->seat.control, member->seat.control->bytes);
    free(member);
}
