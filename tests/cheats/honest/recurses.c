// SPDX-License-Identifier: MIT
// Behind the reference: calls itself deeply, with an array whose length is not constant.
__attribute__((constructor)) static void recurse(void)
{
    static int depth;
    volatile char array[16 + depth];
    array[0] = 1;
    if (array[0] && ++depth < 2000)
        recurse();
}
