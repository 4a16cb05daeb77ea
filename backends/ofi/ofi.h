// SPDX-License-Identifier: MIT
// A fabric through libfabric: TCP between any hosts, and libfabric's other providers (verbs, efa, shm, ...).
//
// - library.c, fabric.c, interface.c   load libfabric, choose a provider and an interface, open its domain.
// - registrations.c, memory.c          memory, and its registration with the fabric.
// - wire.c       how our messages are named, and how they are handed to the provider.
// - packets.c    short messages that leave as one.
// - send.c, receive.c                  the two halves of a transfer.
// - progress.c   completions, and requests that the provider could not take before.
// - endpoint.c   a communicator's endpoint: opened, and freed when no peer needs it any more.
// - ofi.c        the backend.
//
// An unexpected message must never wait for its receive: `tcp` stops reading a connection whose next message has no
// posted buffer, and all other lanes of that connection would stop, too. So
// - the *eager part* of a message, all of up to OFI_EAGER_BYTES and OFI_HEAD_BYTES of a longer one, lands in a pool that
//   takes any message. From there it goes to its receive, or to memory of its own until that receive begins. A lane
//   sends at most OFI_WINDOW KiB of eager parts before the receiver acknowledges some: with any message back, or with
//   one for that alone (credit).
// - The rest travels in *segments* once the receiver has posted their buffers and sent READY. It sends READY as soon as
//   its receive begins, so that a later sender need not wait. Where two ranks exchange messages, it goes with the eager
//   part of the one that is sent back (wire.h).
// An eager part names its call and length, so that the receiver notices if the two ranks disagree.
//
// Source: eager and rendezvous messages as in Rashti, Afsahi 2009 (receiver-initiated rendezvous); credits as in
// Kung, Blackwell, Chapman 1994.
#pragma once

#include "core/transport/backend.h"

extern const struct clab_backend clab_backend_ofi;
