// SPDX-License-Identifier: MIT
// What a core takes for a timer.
#pragma once

// Of the time that a core takes to arm a timer and to be interrupted by it, the part for arming it; 0: there is none to
// be had. On a virtual machine both take microseconds.
double probe_arming(void);
