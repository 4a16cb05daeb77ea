// SPDX-License-Identifier: MIT
// Keys, and what comes without one (key.h).

#include "backends/ofi/key.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include "core/base/err.h"
#include "core/base/log.h"
#include "backends/ofi/wire.h"

#define FIRST_PAUSE 5.0 // seconds; each is four times the one before
#define PAUSES      4

int ofi_key_draw(int tag_bits, struct ofi_key *key_p)
{
    uint64_t drawn[2];
    do {
        if (getrandom(drawn, sizeof drawn, 0) != (ssize_t)sizeof drawn) { // so few bytes come all at once
            clab_error("ofi: the system gives no random numbers: %s", strerror(errno));
            return CLAB_ESYS;
        }
        drawn[0] &= UINT64_MAX << OFI_CALL_BITS;
    } while (drawn[0] == 0);
    *key_p = (struct ofi_key){.word = drawn[0], .mark = ofi_mark(drawn[1], tag_bits)};
    return CLAB_OK;
}

static void report(struct ofi_refusals *refusals)
{
    clab_warn("ofi: dropped %lu message%s that a process outside of this job sent to this rank's port; commlab doctor "
              "says what else it can do",
              refusals->unreported, refusals->unreported == 1 ? "" : "s");
    refusals->unreported = 0;
}

void ofi_refusals_add(struct ofi_refusals *refusals, double now)
{
    refusals->unreported++;
    if (refusals->pause > 0 && now < refusals->since + refusals->pause)
        return;
    refusals->since = now;
    refusals->pause = refusals->pause > 0 ? PAUSES * refusals->pause : FIRST_PAUSE;
    report(refusals);
}

void ofi_refusals_finish(struct ofi_refusals *refusals)
{
    if (refusals->unreported > 0)
        report(refusals);
}
