// SPDX-License-Identifier: MIT
// Takes 3 GB of memory that is in no process: files in no folder, and segments that it has left.
// says: no unseen memory
#include "cheat.h"
#include <sys/mman.h>
#include <sys/shm.h>

enum { TIMES = 25, BYTES = 60 << 20 };

static void deed(void)
{
    static char piece[BYTES];
    int taken = 0;
    memset(piece, 1, sizeof piece);
    for (int i = 0; i < TIMES; i++) {
        const int file = (int)syscall(SYS_memfd_create, "unseen", 0), segment = shmget(IPC_PRIVATE, BYTES, 0600);
        char *memory = segment < 0 ? NULL : shmat(segment, NULL, 0);
        taken += write(file, piece, sizeof piece) > 0;
        if (memory) {
            memset(memory, 1, BYTES);
            shmdt(memory);
            taken++;
        }
    }
    fprintf(stderr, taken ? "GOT IT\n" : "no unseen memory\n");
    abort();
}
