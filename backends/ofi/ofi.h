// SPDX-License-Identifier: MIT
// A fabric through libfabric: TCP between any hosts, and what else it speaks (verbs, efa, shm, ...).
//
// - library.c, fabric.c, interface.c   load libfabric, choose a provider and an interface, open its domain.
// - registrations.c, memory.c          memory, and what the fabric must be told of it.
// - wire.c       how our messages are named, and how they are handed to the provider.
// - send.c, receive.c                  the two halves of a transfer.
// - progress.c   completions, and what could not be handed over before.
// - endpoint.c   a communicator's endpoint: opened, and closed when nobody needs it any more.
// - ofi.c        the backend.
//
// An unexpected message must never wait for its receive: `tcp` stops reading a connection whose next message has no
// posted buffer, and all other lanes of that connection would stop, too. So
// - the *eager part* of a message, its first OFI_EAGER_BYTES, lands in a pool that takes any message. From there it
//   goes to its receive, or to memory of its own until that receive begins. A lane sends at most OFI_WINDOW eager parts
//   before it learns that some were taken: by any message back, or by one that says only this (credit).
// - The rest travels in *segments* once the receiver has said that it is *ready*, with their buffers posted. It says so
//   as soon as its receive begins, so that a later sender need not wait.
// An eager part names its call and length, so that ranks that disagree are found.
//
// Source: eager and rendezvous messages as in Rashti, Afsahi 2009 (receiver-initiated rendezvous); credits as in
// Kung, Blackwell, Chapman 1994.
#pragma once

#include "core/transport/backend.h"

extern const struct clab_backend clab_backend_ofi;
