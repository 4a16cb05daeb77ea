// SPDX-License-Identifier: MIT
// Includes a file that never ends.
// says: can not be compiled
#include "/dev/zero"
