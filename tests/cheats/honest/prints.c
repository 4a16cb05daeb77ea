// SPDX-License-Identifier: MIT
// Behind the reference: prints on stdout.
#include <stdio.h>
__attribute__((constructor)) static void say(void)
{
    puts("not ok 1\nscore: 0");
}
