// SPDX-License-Identifier: MIT
// What a step of Slurm's says about itself: its first host, and a port that is its own.
// Source: hostlist expressions, scontrol(1) "show hostnames"; environment of tasks, srun(1).

#include "core/job/launchers/launcher.h"

#include <ctype.h>
#include <string.h>

#include "core/base/mix.h"

static bool is_of_a_name(char c)
{
    return isalnum((unsigned char)c) || c == '-' || c == '_' || c == '.';
}

// The first of "01-03,7]..." and where its text ends, at '-', ',' or ']'. NULL: there is no ']'.
static const char *skip_range(const char *range, size_t *first_p)
{
    const char *end = strchr(range, ']');
    *first_p = strspn(range, "0123456789");
    return end && *first_p > 0 && strspn(range, "0123456789-,") == (size_t)(end - range) ? end + 1 : NULL;
}

int launcher_slurm_host(const char *list, char host_p[CLAB_HOST_BYTES])
{
    char host[CLAB_HOST_BYTES];
    size_t length = 0;
    while (*list && *list != ',') {
        size_t taken = 1;
        const char *from = list++;
        if (*from == '[') {
            from = list;
            list = skip_range(list, &taken);
        } else if (!is_of_a_name(*from)) {
            return CLAB_EPARSE;
        }
        if (!list || length + taken >= sizeof host)
            return CLAB_EPARSE;
        memcpy(host + length, from, taken);
        length += taken;
    }
    if (length == 0)
        return CLAB_EPARSE;
    host[length] = '\0';
    memcpy(host_p, host, length + 1);
    return CLAB_OK;
}

int launcher_slurm_port(unsigned job, unsigned step)
{
    enum { FIRST = 20000, END = 32768 };
    return FIRST + (int)(clab_mix(job, step) % (END - FIRST));
}
