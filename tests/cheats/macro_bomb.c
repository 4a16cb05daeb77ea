// SPDX-License-Identifier: MIT
// Takes the compiler without end: an array of 8 to the 20 numbers, by macros.
// says: can not be compiled: it (took longer|held more memory|ended|crashed)
#include "cheat.h"

#define M0(x) x, x, x, x, x, x, x, x
#define M1(x) M0(x), M0(x), M0(x), M0(x), M0(x), M0(x), M0(x), M0(x)
#define M2(x) M1(x), M1(x), M1(x), M1(x), M1(x), M1(x), M1(x), M1(x)
#define M3(x) M2(x), M2(x), M2(x), M2(x), M2(x), M2(x), M2(x), M2(x)
#define M4(x) M3(x), M3(x), M3(x), M3(x), M3(x), M3(x), M3(x), M3(x)
#define M5(x) M4(x), M4(x), M4(x), M4(x), M4(x), M4(x), M4(x), M4(x)
#define M6(x) M5(x), M5(x), M5(x), M5(x), M5(x), M5(x), M5(x), M5(x)
#define M7(x) M6(x), M6(x), M6(x), M6(x), M6(x), M6(x), M6(x), M6(x)
#define M8(x) M7(x), M7(x), M7(x), M7(x), M7(x), M7(x), M7(x), M7(x)
#define M9(x) M8(x), M8(x), M8(x), M8(x), M8(x), M8(x), M8(x), M8(x)
#define M10(x) M9(x), M9(x), M9(x), M9(x), M9(x), M9(x), M9(x), M9(x)
#define M11(x) M10(x), M10(x), M10(x), M10(x), M10(x), M10(x), M10(x), M10(x)
#define M12(x) M11(x), M11(x), M11(x), M11(x), M11(x), M11(x), M11(x), M11(x)
#define M13(x) M12(x), M12(x), M12(x), M12(x), M12(x), M12(x), M12(x), M12(x)
#define M14(x) M13(x), M13(x), M13(x), M13(x), M13(x), M13(x), M13(x), M13(x)
#define M15(x) M14(x), M14(x), M14(x), M14(x), M14(x), M14(x), M14(x), M14(x)
#define M16(x) M15(x), M15(x), M15(x), M15(x), M15(x), M15(x), M15(x), M15(x)
#define M17(x) M16(x), M16(x), M16(x), M16(x), M16(x), M16(x), M16(x), M16(x)
#define M18(x) M17(x), M17(x), M17(x), M17(x), M17(x), M17(x), M17(x), M17(x)
#define M19(x) M18(x), M18(x), M18(x), M18(x), M18(x), M18(x), M18(x), M18(x)
const char large[] = {M19(1)};

static void deed(void)
{
}
