// SPDX-License-Identifier: MIT
// Exit statuses (command.h): one rule for all commands, so that a script can tell its own mistake from the machine's.

#include "cmd/command.h"

#include <stdlib.h>

#include "core/base/err.h"
#include "core/base/log.h"

int command_status(int err)
{
    switch (err) {
    case CLAB_OK: return EXIT_SUCCESS;
    case CLAB_EINVAL:
    case CLAB_ENOENT:
    case CLAB_EPARSE: return STATUS_USAGE;
    case CLAB_EUNSUPPORTED: return STATUS_LACKING;
    case CLAB_ENOMEM: // who finds it has no memory to say more, and mostly says nothing
        clab_error("there is too little memory for this (`free -h` says how much; `ulimit -v` may limit it)");
        return EXIT_FAILURE;
    default: return EXIT_FAILURE;
    }
}
