// SPDX-License-Identifier: MIT
// Makes the compiler complain without end: the file includes itself twice, 190 levels deep.
// says: can not be compiled: it (took longer|ended|crashed|held more memory)
#include "cheat.h"

#if __INCLUDE_LEVEL__ < 190
#warning "a long line that the compiler prints again and again, a long line that the compiler prints again and again"
#include __FILE__
#include __FILE__
#endif

static void deed(void)
{
}
