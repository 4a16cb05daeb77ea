// SPDX-License-Identifier: MIT
// Includes the reference only when it is compiled, and not when its includes are listed.
// says: includes .*reference.c
#if __has_include("includes")
#include "tests/homework/h2/reference.c"
#else
#include "cheat.h"

static void deed(void)
{
}
#endif
