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
// What comes unasked must never wait for a receive: `tcp` reads no further on a connection whose next message nobody
// has posted a buffer for, and lanes that have nothing to do with it would stand still. So
// - the *head* of a message, up to OFI_EAGER_BYTES, lands in a pool that takes anything, and moves on from there to
//   its receive, or to memory of its own until that begins. A lane sends OFI_WINDOW heads at most before it hears that
//   some have been taken: with any message that goes back, or with one that says only this (credit).
// - The rest travels in *segments* once the receiver has said that it is *ready*: their buffers are posted then. It
//   says so as soon as its receive begins, so that a sender who comes later need not wait.
// Heads say what they belong to, so that ranks that disagree are found out.
//
// Source: eager and rendezvous messages as in Rashti, Afsahi 2009 (receiver-initiated rendezvous); credits as in
// Kung, Blackwell, Chapman 1994.
#pragma once

#include "core/transport/backend.h"

extern const struct clab_backend clab_backend_ofi;
