// SPDX-License-Identifier: MIT
// The backends of this build, and how one is found by name.

#include "backend.h"

#include <string.h>

#include "base/log.h"
#include "shm/shm.h"

const struct clab_backend *const clab_backends[] = {
    &clab_backend_shm,
    NULL,
};

const struct clab_backend *clab_backend_find(const char *name)
{
    char names[256] = "";
    for (int i = 0; clab_backends[i]; i++) {
        if (!strcmp(clab_backends[i]->name, name))
            return clab_backends[i];
        strncat(names, " ", sizeof names - strlen(names) - 1);
        strncat(names, clab_backends[i]->name, sizeof names - strlen(names) - 1);
    }
    clab_error("--backend: there is no '%s' in this build; there is:%s", name, names);
    return NULL;
}

int clab_no_native_start(struct clab_endpoint *endpoint, const struct clab_call *call, struct clab_native **native_p)
{
    (void)endpoint, (void)call, (void)native_p;
    return CLAB_EUNSUPPORTED;
}

int clab_no_native_test(struct clab_endpoint *endpoint, struct clab_native *native, bool *done_p)
{
    (void)endpoint, (void)native, (void)done_p;
    return CLAB_EUNSUPPORTED;
}
