// SPDX-License-Identifier: MIT
// Has a main of its own.
// says: multiple definition
#include "cheat.h"

static void deed(void)
{
}
int main(void)
{
    return 0;
}
