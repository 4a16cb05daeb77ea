// SPDX-License-Identifier: MIT
// Exit statuses (command.h): one rule for all commands, so that a script can tell its own mistake from the machine's.

#include "cmd/command.h"

#include <stdlib.h>

#include "core/base/err.h"

int command_status(int err)
{
    switch (err) {
    case CLAB_OK: return EXIT_SUCCESS;
    case CLAB_EINVAL:
    case CLAB_ENOENT:
    case CLAB_EPARSE: return STATUS_USAGE;
    case CLAB_EUNSUPPORTED: return STATUS_LACKING;
    default: return EXIT_FAILURE;
    }
}
