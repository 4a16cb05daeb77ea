// SPDX-License-Identifier: MIT
// What a core takes from one process to another.
#pragma once

// Seconds from when a process yields its core until another one that shares it has it, by a child that does nothing but
// yield; 0: there is none to be had.
double probe_yield(void);
