// SPDX-License-Identifier: MIT
// How fast a core multiplies matrices.
#pragma once

// Floating-point operations per second of this process's core: the best of several products of two 256 x 256 matrices of
// f32, as the training job computes them. It takes 0.05 s or two products, whichever is longer. NAN: no memory
double probe_flops(void);
