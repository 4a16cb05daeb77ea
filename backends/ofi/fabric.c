// SPDX-License-Identifier: MIT
// Choosing a provider (fabric.h).
//
// - What is asked for: reliable datagrams that are matched by tags, 8 bytes beside each message, messages between a
//   pair matched in order, progress and locking left to the one thread that calls.
// - `tcp` is the provider that speaks TCP by itself: `tcp` from libfabric 1.18 on, `net` in 1.16 and 1.17, where `tcp`
//   needs the layer ofi_rxm, and twice the time from 64 KiB on. `--provider 'tcp;ofi_rxm'` is that one.

#include "backends/ofi/fabric.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <net/if.h>
#include <netinet/in.h>

#include "core/transport/backend.h"
#include "core/base/log.h"
#include "core/base/variables.h"
#include "backends/ofi/interface.h"

#define API_VERSION FI_VERSION(1, 11) // the oldest that has all that is used here

static const struct fi_info *shape_hints(struct fi_info *hints, const char *provider)
{
    hints->caps = FI_TAGGED;
    hints->mode = FI_CONTEXT | FI_CONTEXT2;
    hints->ep_attr->type = FI_EP_RDM;
    hints->domain_attr->threading = FI_THREAD_DOMAIN;
    hints->domain_attr->control_progress = FI_PROGRESS_MANUAL;
    hints->domain_attr->data_progress = FI_PROGRESS_MANUAL;
    hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
    hints->domain_attr->av_type = FI_AV_TABLE;
    hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
    hints->domain_attr->cq_data_size = sizeof(uint64_t);
    hints->tx_attr->msg_order = FI_ORDER_SAS;
    hints->tx_attr->iov_limit = 2; // a long message's eager part, and its size
    hints->rx_attr->msg_order = FI_ORDER_SAS;
    hints->fabric_attr->prov_name = provider ? strdup(provider) : NULL; // freed with the hints
    return hints;
}

// All that `provider` offers here, NULL: any.  errors: CLAB_EUNSUPPORTED (not logged), CLAB_ENOMEM
static int ask(const struct ofi_library *library, const char *provider, struct fi_info **offers_p)
{
    struct fi_info *hints = library->dupinfo(NULL);
    if (!hints)
        return CLAB_ENOMEM;
    const int err = library->getinfo(API_VERSION, NULL, NULL, 0, shape_hints(hints, provider), offers_p);
    library->freeinfo(hints);
    if (err)
        clab_debug("ofi: provider %s: %s", provider ? provider : "(any)", library->strerror(-err));
    return err ? CLAB_EUNSUPPORTED : CLAB_OK;
}

static void add_name(char *names, size_t room, const char *name)
{
    const char *found = strstr(names, name);
    const size_t length = strlen(name);
    if (found && found > names && found[-1] == ' ' && (found[length] == ' ' || !found[length]))
        return;
    strncat(names, " ", room - strlen(names) - 1);
    strncat(names, name, room - strlen(names) - 1);
}

static int refuse_provider(const struct ofi_library *library, const char *wanted)
{
    struct fi_info *offers = NULL;
    char names[512] = "";
    if (ask(library, NULL, &offers) == CLAB_OK)
        for (const struct fi_info *offer = offers; offer; offer = offer->next)
            add_name(names, sizeof names, offer->fabric_attr->prov_name);
    if (offers)
        library->freeinfo(offers);
    clab_error("--provider (CLAB_PROVIDER) '%s': libfabric %u.%u has none here that can do tagged messages; there "
               "is:%s",
               wanted, FI_MAJOR(library->version()), FI_MINOR(library->version()), names);
    return CLAB_EUNSUPPORTED;
}

static int find_offers(const struct ofi_library *library, const char *wanted, struct fi_info **offers_p)
{
    const uint32_t version = library->version();
    const bool has_net = FI_VERSION_GE(version, FI_VERSION(1, 16)) && FI_VERSION_LT(version, FI_VERSION(1, 18));
    if (!strcmp(wanted, "tcp") && has_net && ask(library, "net", offers_p) == CLAB_OK)
        return CLAB_OK;
    return ask(library, wanted, offers_p) == CLAB_OK ? CLAB_OK : refuse_provider(library, wanted);
}

// ---- which of the offers -------------------------------------------------------------------------------------

static bool has_ip(const struct fi_info *offer)
{
    return offer->src_addr && (offer->addr_format == FI_SOCKADDR || offer->addr_format == FI_SOCKADDR_IN ||
                               offer->addr_format == FI_SOCKADDR_IN6);
}

static bool is_at(const struct fi_info *offer, const struct sockaddr_storage *address)
{
    const struct sockaddr *source = offer->src_addr;
    if (source->sa_family != address->ss_family)
        return false;
    if (source->sa_family == AF_INET)
        return ((const struct sockaddr_in *)source)->sin_addr.s_addr ==
               ((const struct sockaddr_in *)address)->sin_addr.s_addr;
    return !memcmp(&((const struct sockaddr_in6 *)source)->sin6_addr,
                   &((const struct sockaddr_in6 *)address)->sin6_addr, sizeof(struct in6_addr));
}

// A layer over another provider (`tcp;ofi_rxm`) only where there is no other way.
static bool is_layered(const struct fi_info *offer)
{
    return strchr(offer->fabric_attr->prov_name, ';') != NULL;
}

static const struct fi_info *choose_by_address(const struct fi_info *offers, const struct sockaddr_storage *address)
{
    const struct fi_info *layered = NULL;
    for (const struct fi_info *offer = offers; offer; offer = offer->next) {
        if (!has_ip(offer) || !is_at(offer, address))
            continue;
        if (!is_layered(offer))
            return offer;
        layered = layered ? layered : offer;
    }
    return layered;
}

static const struct fi_info *choose_by_domain(const struct fi_info *offers, const char *name)
{
    for (const struct fi_info *offer = offers; offer; offer = offer->next)
        if (!name || !*name || !strcmp(offer->domain_attr->name, name))
            return offer;
    clab_error("--interface (CLAB_INTERFACE) '%s': provider %s has no domain of that name; its first is '%s'", name,
               offers->fabric_attr->prov_name, offers->domain_attr->name);
    return NULL;
}

static int choose(const struct clab_bootstrap *boot, const struct fi_info *offers, const struct fi_info **chosen_p)
{
    const char *wanted = clab_variable_text(CLAB_VARIABLE_INTERFACE);
    char name[IF_NAMESIZE];
    struct sockaddr_storage address;
    *chosen_p = NULL;
    if (has_ip(offers)) {
        CLAB_TRY(ofi_interface_find(boot, &address, name));
        *chosen_p = choose_by_address(offers, &address);
        if (!*chosen_p && wanted && *wanted)
            clab_error("--interface (CLAB_INTERFACE) '%s': provider %s does not reach it", wanted,
                       offers->fabric_attr->prov_name);
        else if (!*chosen_p)
            *chosen_p = offers; // a fabric that has no loopback, such as verbs
    } else {
        *chosen_p = choose_by_domain(offers, wanted);
    }
    return *chosen_p ? CLAB_OK : CLAB_EUNSUPPORTED;
}

// ---- opening -------------------------------------------------------------------------------------------------

static int tag_bits(const struct fi_info *info)
{
    int bits = 0; // mem_tag_format has its highest bit set where the application's part of the tag begins
    while (bits < 64 && info->ep_attr->mem_tag_format >> bits)
        bits++;
    return bits;
}

static int open_domain(struct ofi_fabric *f)
{
    int err = f->library->fabric(f->info->fabric_attr, &f->fabric, NULL);
    if (!err)
        err = fi_domain(f->fabric, f->info, &f->domain, NULL);
    if (!err)
        return CLAB_OK;
    clab_error("ofi: provider %s, domain %s can not be opened: %s", f->info->fabric_attr->prov_name,
               f->info->domain_attr->name, f->library->strerror(-err));
    return CLAB_ESYS;
}

int ofi_fabric_open(const struct clab_bootstrap *boot, struct ofi_fabric *fabric_p)
{
    const char *wanted = clab_variable_text(CLAB_VARIABLE_PROVIDER);
    struct ofi_fabric f = {0};
    struct fi_info *offers;
    const struct fi_info *chosen;
    CLAB_TRY(ofi_library_load(&f.library));
    CLAB_TRY(find_offers(f.library, wanted && *wanted ? wanted : "tcp", &offers));
    int err = choose(boot, offers, &chosen);
    if (err == CLAB_OK && !(f.info = f.library->dupinfo(chosen)))
        err = CLAB_ENOMEM;
    f.library->freeinfo(offers);
    if (err == CLAB_OK)
        err = open_domain(&f);
    if (err != CLAB_OK) {
        ofi_fabric_close(&f);
        return err;
    }
    f.tag_bits = tag_bits(f.info);
    clab_info("ofi: provider %s, domain %s", f.info->fabric_attr->prov_name, f.info->domain_attr->name);
    *fabric_p = f;
    return CLAB_OK;
}

void ofi_fabric_close(struct ofi_fabric *f)
{
    if (f->domain)
        fi_close(&f->domain->fid);
    if (f->fabric)
        fi_close(&f->fabric->fid);
    if (f->info)
        f->library->freeinfo(f->info);
}
