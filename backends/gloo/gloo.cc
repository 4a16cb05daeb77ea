// SPDX-License-Identifier: MIT
// The gloo backend: Gloo's collectives over its TCP transport, as PyTorch uses them on CPUs.
//
// - It listens and connects on 127.0.0.1 if all ranks are on one host, else on the address of the host's name.
//   CLAB_INTERFACE chooses another, by an interface's name or an address.
// - Each process has a thread of Gloo's that moves bytes, and one of ours per call under way. If ranks are pinned, all
//   of them share the rank's core, so a waiting rank sleeps.

#include "backends/gloo/endpoint.h"

#include <gloo/common/error.h>
#include <gloo/transport/tcp/device.h>
#include <gloo/transport/unbound_buffer.h>
#include <net/if.h>
#include <netdb.h>
#include <unistd.h>

#include <cstdlib>
#include <new>

extern "C" {
#include "core/base/clock.h"
#include "core/base/variables.h"
#include "core/transport/plugin.h"
}

namespace clab_gloo
{

int guarded(const std::function<void()> &work)
{
    try {
        work();
        return CLAB_OK;
    } catch (const Failure &failure) {
        return failure.err;
    } catch (const gloo::Exception &lost) {
        clab_debug("gloo: %s", lost.what());
        return CLAB_EPEER;
    } catch (const std::bad_alloc &) {
        return CLAB_ENOMEM;
    } catch (const std::exception &other) {
        clab_error("gloo: %s", other.what());
        return CLAB_ESYS;
    }
}

// ---- domain --------------------------------------------------------------------------------------------------

// Gloo takes for granted that a name has an address.
static bool has_address(const char *host)
{
    addrinfo *found = nullptr;
    if (getaddrinfo(host, nullptr, nullptr, &found) != 0)
        return false;
    freeaddrinfo(found);
    return true;
}

static bool choose_interface(const clab_bootstrap *boot, gloo::transport::tcp::attr &attr)
{
    const char *chosen = clab_variable_text(CLAB_VARIABLE_INTERFACE);
    char name[256] = "127.0.0.1";
    if (chosen && if_nametoindex(chosen)) {
        attr.iface = chosen;
        return true;
    }
    if (!chosen && boot->nnodes > 1)
        gethostname(name, sizeof name - 1);
    attr.hostname = chosen ? chosen : name;
    if (has_address(attr.hostname.c_str()))
        return true;
    clab_error("gloo: '%s' is no interface and no address here; CLAB_INTERFACE names another, such as eth0",
               attr.hostname.c_str());
    return false;
}

static int attach(clab_bootstrap *boot, clab_domain **domain_p)
{
    gloo::transport::tcp::attr attr;
    if (!choose_interface(boot, attr))
        return CLAB_EUNSUPPORTED;
    const int err = guarded([&] { *domain_p = new Domain{boot, gloo::transport::tcp::CreateDevice(attr)}; });
    if (err != CLAB_EPEER) // Gloo's own
        return err;
    clab_error("gloo: it can not use interface '%s%s'; CLAB_INTERFACE names another", attr.iface.c_str(),
               attr.hostname.c_str());
    return CLAB_EUNSUPPORTED;
}

static void detach(clab_domain *domain)
{
    delete static_cast<Domain *>(domain);
}

static int alloc(clab_domain *, size_t bytes, void **memory_p)
{
    void *memory = aligned_alloc(64, (bytes + 63) / 64 * 64 + 64);
    if (!memory) {
        clab_error("gloo: no memory for %zu bytes", bytes);
        return CLAB_ENOMEM;
    }
    *memory_p = memory;
    return CLAB_OK;
}

static void release(clab_domain *, void *memory)
{
    free(memory);
}

// ---- endpoint ------------------------------------------------------------------------------------------------

// Gloo's deadlines come after ours: at its own it closes all connections.
static int open(clab_domain *base, clab_group *group, clab_endpoint **endpoint_p)
{
    auto domain = static_cast<Domain *>(base);
    const double timeout = domain->boot->timeout, start = clab_now();
    const int err = guarded([&] {
        auto endpoint = std::make_unique<Endpoint>(domain);
        endpoint->context = meet(domain, group);
        endpoint->timeout = std::chrono::milliseconds(static_cast<long>(2e3 * timeout) + 1000);
        endpoint->context->setTimeout(endpoint->timeout);
        *endpoint_p = endpoint.release();
    });
    return err == CLAB_EPEER && clab_now() - start >= timeout ? CLAB_ETIMEOUT : err;
}

// Begin a wait that ends by its deadline: Gloo then fails all connections of the context, so all calls on them end,
// also those that a task begins later. On connections that are only closed, they would wait for Gloo's own deadline.
static void close_connections(const std::shared_ptr<gloo::Context> &context)
{
    char nothing;
    try {
        context->createUnboundBuffer(&nothing, sizeof nothing)->waitRecv(std::chrono::milliseconds(1));
    } catch (const std::exception &expected) {
        clab_debug("gloo: %s", expected.what());
    }
}

// Calls under way end with their connections.
static void close(clab_endpoint *base, bool failed)
{
    auto endpoint = static_cast<Endpoint *>(base);
    if (failed)
        close_connections(endpoint->context);
    delete endpoint;
}

static int start(clab_endpoint *base, clab_transfer transfers[], int n)
{
    auto endpoint = static_cast<Endpoint *>(base);
    return guarded([&] {
        for (int i = 0; i < n; i++)
            endpoint->messages.start(&transfers[i]);
    });
}

static int test(clab_endpoint *base, clab_transfer transfers[], int n, bool *done_p)
{
    auto endpoint = static_cast<Endpoint *>(base);
    bool done = true;
    CLAB_TRY(guarded([&] {
        for (int i = 0; i < n; i++) {
            if (!transfers[i].done)
                endpoint->messages.test(&transfers[i]);
            done &= transfers[i].done;
        }
    }));
    *done_p = done;
    return CLAB_OK;
}

static bool idle(clab_endpoint *endpoint, unsigned)
{
    static_cast<Endpoint *>(endpoint)->pool.wait(1e-3);
    return true;
}

static const clab_collectives natives = {false,
                                         0,
                                         has_native,
                                         clab_host_reaches,
                                         start_native,
                                         test_native,
                                         clab_no_recording,
                                         clab_nothing_recorded,
                                         clab_forget_nothing,
                                         clab_ran_unknown,
                                         clab_look_nowhere};

static clab_backend table()
{
    clab_backend backend = {};
    backend.name = "gloo";
    backend.title = "Gloo over TCP, with its own collectives";
    backend.attach = attach;
    backend.detach = detach;
    backend.alloc = alloc;
    backend.free = release;
    backend.reaches = clab_host_reaches;
    backend.pin = clab_host_pin;
    backend.unpin = clab_host_unpin;
    backend.open = open;
    backend.close = close;
    backend.lanes = clab_any_lanes;
    backend.follow = clab_no_stream;
    backend.start = start;
    backend.test = test;
    backend.idle = idle;
    backend.collectives = &natives;
    backend.time = &clab_wall_time;
    backend.describe = clab_no_description;
    backend.device = &clab_device_cpu;
    backend.has_threads = true;
    return backend;
}

static const clab_backend backend = table();

} // namespace clab_gloo

extern "C" CLAB_PLUGIN("gloo", &clab_gloo::backend);
