// SPDX-License-Identifier: MIT
// The libfabric backend: attach to the fabric, start and test transfers, wait.

#include "backends/ofi/ofi.h"

#include <sched.h>
#include <stdlib.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/machine/machine.h"
#include "core/base/relax.h"
#include "backends/ofi/connections.h"
#include "backends/ofi/wire.h"

// ---- domain --------------------------------------------------------------------------------------------------

static void detach(struct clab_domain *base)
{
    struct ofi_domain *domain = (struct ofi_domain *)base;
    ofi_closing_finish(domain);
    ofi_refusals_finish(&domain->refusals);
    ofi_memory_close(domain);
    ofi_fabric_close(&domain->fabric);
    free(domain);
}

static int check_limits(const struct ofi_fabric *fabric)
{
    const size_t copies = fabric->info->tx_attr->inject_size;
    if (fabric->tag_bits >= OFI_TAG_BITS && copies >= sizeof(uint64_t))
        return CLAB_OK;
    if (fabric->tag_bits >= OFI_TAG_BITS)
        clab_error(
            "ofi: provider %s injects messages of up to %zu bytes, and we need 8; choose another with --provider",
            fabric->info->fabric_attr->prov_name, copies);
    else
        clab_error("ofi: provider %s has tags of %d bits, and we need %d; choose another with --provider",
                   fabric->info->fabric_attr->prov_name, fabric->tag_bits, OFI_TAG_BITS);
    return CLAB_EUNSUPPORTED;
}

static int attach(struct clab_bootstrap *boot, struct clab_domain **domain_p)
{
    struct ofi_domain *domain = calloc(1, sizeof *domain);
    int err = domain ? ofi_fabric_open(boot, &domain->fabric) : CLAB_ENOMEM;
    if (!err)
        err = check_limits(&domain->fabric);
    if (err) {
        if (domain)
            ofi_fabric_close(&domain->fabric);
        free(domain);
        return err;
    }
    domain->boot = boot;
    if (boot->crowded) // a rank that yields its core to another program has it again after such a slice; the thread keeps it
        clab_machine_short_slices();
    ofi_memory_open(domain);
    *domain_p = &domain->base;
    return CLAB_OK;
}

// ---- transfers -----------------------------------------------------------------------------------------------

static bool awaits(const struct ofi_endpoint *e, const struct clab_transfer *t, bool elsewhere)
{
    return t->op != CLAB_SEND && !t->done && e->peers[t->peer].elsewhere == elsewhere;
}

// Oversubscribed ranks of one core can answer only while they run, and not while this one polls. What is only sent needs
// no answer: the next look mostly finds it done.
static void foresee(struct ofi_endpoint *e, const struct clab_transfer transfers[], int n)
{
    bool here = false;
    e->awaits_elsewhere = false;
    for (int i = 0; i < n; i++) {
        e->awaits_elsewhere |= awaits(e, &transfers[i], true);
        here |= awaits(e, &transfers[i], false);
    }
    e->vain = here && !e->awaits_elsewhere ? OFI_VAIN_POLLS : 0;
}

// Receives first: then READY can go with what is sent to the same peer, or else before the rest of any message.
static int start(struct clab_endpoint *base, struct clab_transfer transfers[], int n)
{
    struct ofi_endpoint *e = (struct ofi_endpoint *)base;
    ofi_packets_note(e->domain, transfers, n);
    for (int i = 0; i < n; i++)
        if (transfers[i].op != CLAB_SEND)
            ofi_receive_start(e, &transfers[i]);
    for (int i = 0; i < n; i++)
        if (transfers[i].op == CLAB_SEND)
            ofi_send_start(e, &transfers[i]);
    ofi_work_push(e);
    if (e->domain->boot->crowded)
        foresee(e, transfers, n);
    return e->err;
}

static bool are_done(const struct clab_transfer transfers[], int n)
{
    for (int i = 0; i < n; i++)
        if (!transfers[i].done)
            return false;
    return true;
}

static int test(struct clab_endpoint *base, struct clab_transfer transfers[], int n, bool *done_p)
{
    struct ofi_endpoint *e = (struct ofi_endpoint *)base;
    bool done = are_done(transfers, n);
    if (!done && e->vain > 0) {
        e->vain--;
    } else if (!done) {
        ofi_packets_note_wait(e->domain);
        ofi_progress(e);
        done = are_done(transfers, n);
    }
    if (e->err)
        return e->err;
    *done_p = done;
    return CLAB_OK;
}

static bool idle(struct clab_endpoint *base, unsigned fruitless)
{
    struct ofi_endpoint *e = (struct ofi_endpoint *)base;
    const unsigned spins = !e->domain->boot->crowded ? OFI_SPINS : e->awaits_elsewhere ? OFI_SPINS_CROWDED : 0;
    e->vain = 0;
    ofi_packets_flush(&e->domain->base);
    if (e->domain->closing)
        ofi_closing_progress(e->domain);
    if (fruitless < spins) {
        clab_relax();
        return false;
    }
    if (fruitless < spins + OFI_YIELDS)
        sched_yield();
    else
        ofi_progress_sleep(e);
    return true;
}

// TCP goes on by itself up to the size of its buffers, so that a queue is not looked at more often than this.
static double arm(struct clab_endpoint *base)
{
    struct ofi_endpoint *e = (struct ofi_endpoint *)base;
    e->vain = 0;
    return clab_now() + 1e-4;
}

static void sleep_until(struct clab_domain *domain, double until)
{
    (void)domain;
    clab_nap_until(until);
}

static const struct clab_nap nap = {arm, sleep_until};

const struct clab_backend clab_backend_ofi = {
    .name = "ofi",
    .title = "any fabric that libfabric speaks, TCP by default",
    .attach = attach,
    .detach = detach,
    .alloc = ofi_memory_alloc,
    .free = ofi_memory_free,
    .reaches = clab_host_reaches,
    .pin = ofi_memory_pin,
    .unpin = ofi_memory_unpin,
    .open = ofi_endpoint_open,
    .close = ofi_endpoint_close,
    .lanes = clab_any_lanes,
    .follow = clab_no_stream,
    .start = start,
    .test = test,
    .idle = idle,
    .collectives = &clab_no_collectives,
    .time = &clab_wall_time,
    .describe = clab_no_description,
    .device = &clab_device_cpu,
    .nap = &nap,
    .flush = ofi_packets_flush,
    .keeps_others_out = ofi_connections_can_keep,
    .sockets = true, // over TCP
    .protocols = {.pull_bytes = OFI_EAGER_BYTES + 1, .crowded_polls = OFI_SPINS_CROWDED},
};
