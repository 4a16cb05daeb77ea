// SPDX-License-Identifier: MIT
// Wants to ask a service of this computer to do something outside: one that listens on a Unix socket.
// says: no socket
#include "cheat.h"

static void deed(void)
{
    fprintf(stderr, syscall(SYS_socket, 1 /* AF_UNIX */, 1 /* SOCK_STREAM */, 0) < 0 ? "no socket\n" : "GOT IT\n");
    abort();
}
