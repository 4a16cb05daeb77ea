// SPDX-License-Identifier: MIT
// Opens a connection.
// says: could not connect
#include "cheat.h"

static void deed(void)
{
    fprintf(stderr, syscall(SYS_socket, 2 /* AF_INET */, 1 /* SOCK_STREAM */, 0) < 0 ? "could not connect\n" : "GOT IT\n");
    abort();
}
