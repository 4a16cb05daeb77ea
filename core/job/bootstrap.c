// SPDX-License-Identifier: MIT
// Joining a job: which kind it is, and how long its waits may last (bootstrap.h).

#include "core/job/bootstrap.h"

#include <float.h>

#include "core/base/log.h"
#include "core/base/units.h"
#include "core/base/variables.h"

int clab_timeout_parse(const char *text, double *seconds_p)
{
    static const double most = 30 * 24 * 3600;
    return clab_parse_seconds_within(text, DBL_MIN, most, seconds_p);
}

int clab_timeout_read(double *seconds_p)
{
    const char *text = clab_variable_text(CLAB_VARIABLE_TIMEOUT);
    double seconds = CLAB_TIMEOUT_DEFAULT;
    if (text && clab_timeout_parse(text, &seconds) != CLAB_OK) {
        clab_error("CLAB_TIMEOUT is '%s', not " CLAB_TIMEOUT_RANGE, text);
        return CLAB_EPARSE;
    }
    *seconds_p = seconds;
    return CLAB_OK;
}

static int join(double timeout, struct membership **member_p)
{
    struct clab_launched launched;
    CLAB_TRY(clab_launcher_find(&launched));
    clab_log_set_rank(launched.rank);
    return (clab_variable_given(CLAB_VARIABLE_JOB_FD) ? clab_pages_join : clab_store_join)(&launched, timeout,
                                                                                           member_p);
}

int clab_bootstrap_open(struct clab_bootstrap **boot_p)
{
    double timeout;
    struct membership *member;
    CLAB_TRY(clab_timeout_read(&timeout));
    CLAB_TRY(join(timeout, &member));
    *boot_p = &member->boot;
    return CLAB_OK;
}

void clab_bootstrap_close(struct clab_bootstrap *boot)
{
    struct membership *member = (struct membership *)boot;
    if (member)
        member->leave(member);
}
