// SPDX-License-Identifier: MIT
// Memory that stays where it is, on a host: the slots `pin` and `unpin` of backends that move bytes by the processor.
//
// - Pages are locked in RAM (mlock), which is what a card's driver does with them first. What a card would note beside
//   that, where each page lies, is not done.
// - A process without CAP_IPC_LOCK may lock RLIMIT_MEMLOCK bytes. Beyond that the call fails, and the log names the
//   limit.

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "core/transport/backend.h"
#include "core/base/log.h"

static void say_why_not(size_t bytes, int reason)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
        clab_error("%zu bytes can not be registered: %s; this process may lock %llu bytes in all (ulimit -l)", bytes,
                   strerror(reason), (unsigned long long)limit.rlim_cur);
    else
        clab_error("%zu bytes can not be registered: %s", bytes, strerror(reason));
}

int clab_host_pin(struct clab_domain *domain, void *memory, size_t bytes, struct clab_registration **registration_p)
{
    (void)domain;
    struct clab_registration *registration = malloc(sizeof *registration);
    if (!registration)
        return CLAB_ENOMEM;
    if (mlock(memory, bytes) != 0) {
        say_why_not(bytes, errno);
        free(registration);
        return CLAB_EUNSUPPORTED;
    }
    *registration = (struct clab_registration){memory, bytes};
    *registration_p = registration;
    return CLAB_OK;
}

void clab_host_unpin(struct clab_domain *domain, struct clab_registration *registration)
{
    (void)domain;
    munlock(registration->memory, registration->bytes);
    free(registration);
}
