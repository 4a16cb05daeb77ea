// SPDX-License-Identifier: MIT
// A described network on a host backend: a message is delivered when it would arrive there, and not before.
//
// - It wraps the backend that moves the data. Each message is preceded by a stamp that says when its sender's port let
//   it go; from then on both ends reckon by the network's description, as the simulator does (sim/net/net.h).
// - Until a message is due its core is free: who waits sleeps, so that compute overlaps with a slow wire even where
//   ranks have no core to spare.
// - What the data's real way takes is hidden behind the network's time if it is shorter, else it is what counts.
// - Clocks are those of one host. Ports are a rank's own: adapters that the ranks of a node share are not modelled.
#pragma once

#include "core/transport/backend.h"
#include "sim/net/net.h"

extern const struct clab_backend clab_backend_emulate; // its attach is clab_emulate_wrap

// Let `inner_domain` of `inner`, in which rank `boot->rank` of the job is attached, behave as `net`, which is kept and
// freed with the domain.
//   errors: CLAB_EINVAL (the job has more ranks than the network), CLAB_EUNSUPPORTED (several hosts), CLAB_ENOMEM;
//   `net` and `inner_domain` are then the caller's
int clab_emulate_wrap(const struct clab_backend *inner, struct clab_domain *inner_domain, struct clab_bootstrap *boot,
                      struct clab_net *net, struct clab_domain **domain_p);
