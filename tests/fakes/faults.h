// SPDX-License-Identifier: MIT
// Faults that the fakes are asked for: CLAB_FAKE_FAULT=KIND@RANK:OP, where RANK is that of the environment (RANK, or 0)
// and OP counts from 1: allocations of device memory for KIND memory, NCCL's operations for the others.
#pragma once

enum fake_fault { FAKE_NONE, FAKE_ASYNC, FAKE_HANG, FAKE_ABORT, FAKE_STUCK, FAKE_FULL, FAKE_MEMORY };

// What is to befall the operation that begins now, which is counted: an allocation, or an operation of NCCL.
enum fake_fault fake_fault_of_allocation(void);
enum fake_fault fake_fault_of_operation(void);
