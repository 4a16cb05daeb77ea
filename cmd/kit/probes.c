// SPDX-License-Identifier: MIT
// Reading build/probes.txt (probes.h): "✓ NAME: what it is for", "✗ NAME: the loss; the remedy".

#include "cmd/kit/probes.h"

#include <stdlib.h>
#include <string.h>

#include "cmd/kit/kit.h"
#include "core/base/err.h"

FILE *kit_probes_open(char path_p[PATH_MAX])
{
    char *build;
    *path_p = '\0';
    if (kit_build(&build) != CLAB_OK)
        return NULL;
    snprintf(path_p, PATH_MAX, "%s/probes.txt", build);
    free(build);
    return fopen(path_p, "re");
}

static bool take(struct kit_probe *p)
{
    static const char yes[] = "✓ ", no[] = "✗ ";
    p->has = strncmp(p->line, yes, strlen(yes)) == 0;
    if (!p->has && strncmp(p->line, no, strlen(no)) != 0)
        return false;
    char *name = p->line + (p->has ? strlen(yes) : strlen(no)), *colon = strstr(name, ": ");
    char *remedy = !p->has && colon ? strstr(colon, "; ") : NULL;
    if (!colon)
        return false;
    *colon = '\0';
    if (remedy)
        *remedy = '\0';
    p->name = name;
    p->what = colon + 2;
    p->remedy = remedy ? remedy + 2 : "";
    return true;
}

bool kit_probes_next(FILE *file, struct kit_probe *probe_p)
{
    while (fgets(probe_p->line, sizeof probe_p->line, file)) {
        probe_p->line[strcspn(probe_p->line, "\n")] = '\0';
        if (take(probe_p))
            return true;
    }
    return false;
}
