// SPDX-License-Identifier: MIT
// The network that before.c and after.c train, and whose gradients model.c prices: LAYERS of WIDTH inputs and outputs,
// and a rank's batch of ROWS samples.
#pragma once

enum { LAYERS = 8, WIDTH = 384, ROWS = 2 };
