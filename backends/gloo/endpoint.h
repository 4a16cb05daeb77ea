// SPDX-License-Identifier: MIT
// Shared by the files of the gloo backend.
//
// - gloo.cc      the backend's table: attach, open, close, wait.
// - fence.cc   how the members of a communicator connect: Gloo's rendezvous over the job's exchange.
// - pool.cc      threads that block for us.
// - messages.cc  sends and receives, in tasks of the pool.
// - natives.cc   Gloo's collectives, in a task of the pool.
//
// All of Gloo's calls block. So threads of the pool make them, and a communicator polls for their results. Exceptions
// end in `guarded`. If a connection breaks, all calls under way on it fail.
#pragma once

#include <gloo/rendezvous/context.h>
#include <gloo/transport/device.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>

extern "C" {
#include "core/transport/backend.h"
#include "core/base/log.h"
}
#include "backends/gloo/messages.h"
#include "backends/gloo/pool.h"

namespace clab_gloo
{

struct Domain : clab_domain {
    Domain(clab_bootstrap *boot, std::shared_ptr<gloo::transport::Device> device)
        : clab_domain{}, boot(boot), device(std::move(device))
    {
    }

    clab_bootstrap *boot;
    std::shared_ptr<gloo::transport::Device> device; // its thread moves the bytes of all endpoints
};

// A collective.
struct Native {
    clab_call call;
    int err; // valid when done
    std::atomic<bool> done;
};

struct Endpoint : clab_endpoint {
    explicit Endpoint(Domain *domain) : clab_endpoint{}, domain(domain), messages(this)
    {
    }

    Domain *domain;
    std::shared_ptr<gloo::Context> context; // knows rank and size
    std::chrono::milliseconds timeout;      // of a wait in Gloo
    Messages messages;
    std::unique_ptr<Native> native; // under way
    uint32_t natives = 0;           // that have been started, ever: Gloo's tag
    Pool pool;                      // last: its tasks end before what they use goes
};

// An error of ours on its way through Gloo.
struct Failure {
    int err;
};

// Run `work`, and make what it throws an error: the code of a Failure, CLAB_EPEER of a broken connection, CLAB_ENOMEM,
// or else CLAB_ESYS, which is logged.
int guarded(const std::function<void()> &work);

// ---- fence.cc ------------------------------------------------------------------------------------------------

// Connect to all members.  throws: Failure, Gloo's
std::shared_ptr<gloo::Context> meet(Domain *domain, clab_group *group);

// ---- natives.cc: the slots of the table ----------------------------------------------------------------------

bool has_native(clab_collective collective, clab_type type, clab_op op);
int start_native(clab_endpoint *base, const clab_call *call);
int test_native(clab_endpoint *base, clab_answer *answer_p);

} // namespace clab_gloo
