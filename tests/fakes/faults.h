// SPDX-License-Identifier: MIT
// Faults that the fakes are asked for: CLAB_FAKE_FAULT=KIND@RANK:OP, where RANK is that of the environment (RANK, or 0)
// and OP counts from 1 what the kind befalls: allocations of device memory, registrations, beginnings of communicators,
// or else NCCL's operations.
#pragma once

enum fake_fault {
    FAKE_NONE,
    FAKE_ASYNC,
    FAKE_HANG,
    FAKE_ABORT,
    FAKE_STUCK,
    FAKE_FULL,
    FAKE_MEMORY,
    FAKE_REGISTER,
    FAKE_INIT,
    FAKE_WAIT,
    FAKE_JAM
};

// What a fault can befall.
enum fake_event { FAKE_OPERATION, FAKE_ALLOCATION, FAKE_REGISTRATION, FAKE_BEGINNING };

// What is to befall the event that begins now, which is counted.
enum fake_fault fake_fault_of(enum fake_event event);
