// SPDX-License-Identifier: MIT
// For handout.sh: what libraries that are linked in ask of a C library that is newer than a student's. The archive of expat
// calls arc4random_buf, which glibc has since 2.36; Ubuntu 22.04 has 2.35.

#include <stdlib.h>
#include <sys/random.h>

void arc4random_buf(void *bytes, size_t count);

void arc4random_buf(void *bytes, size_t count)
{
    for (size_t done = 0; done < count;) {
        const ssize_t got = getrandom((char *)bytes + done, count - done, 0);
        if (got < 0)
            abort();
        done += (size_t)got;
    }
}
