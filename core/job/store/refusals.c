// SPDX-License-Identifier: MIT
// Which refusals node 0 logs (refusals.h).

#include "core/job/store/refusals.h"

#include <stdio.h>
#include <string.h>

#include "core/base/log.h"

#define FIRST_PAUSE 5.0 // seconds; each later pause is four times as long
#define PAUSES      4

void store_refusals_add(struct store_refusals *r, enum store_refusal refusal, const char *address)
{
    if (r->waiting++ > 0)
        return;
    r->next = (struct store_message){.kind = STORE_TURNED_AWAY, .refusal = refusal};
    snprintf(r->next.address, sizeof r->next.address, "%s", address);
}

bool store_refusals_take(struct store_refusals *r, double now, struct store_message *message_p)
{
    if (r->waiting == 0 || now < r->since + r->pause)
        return false;
    r->next.number = (uint32_t)(r->waiting - 1);
    r->waiting = 0;
    r->since = now;
    r->pause = r->pause > 0 ? PAUSES * r->pause : FIRST_PAUSE;
    *message_p = r->next;
    return true;
}

static const char *what_to_do(uint32_t refusal)
{
    switch ((enum store_refusal)refusal) {
    case STORE_WRONG_TOKEN:
        return "its token is another: let CLAB_TOKEN, or else ~/.config/commlab/token, be the same on all nodes";
    case STORE_OTHER_VERSION: return "it is of another version of commlab: install the same on all nodes";
    case STORE_OTHER_RANKS: return "it has another number of ranks: start all nodes with the same -n";
    case STORE_OTHER_NODES: return "it has another number of nodes: start all nodes with the same --nodes";
    case STORE_TAKEN: return "it is a rank or node that has joined already: each joins once";
    default: return "it is a rank or node that the job does not have: start all nodes with the same -n";
    }
}

void store_refusals_log(const struct store_message *m)
{
    char others[48] = "";
    if (m->number)
        snprintf(others, sizeof others, " (and %u others since then)", (unsigned)m->number);
    clab_warn("a process from %s was refused: %s%s", m->address, what_to_do(m->refusal), others);
}
