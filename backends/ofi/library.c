// SPDX-License-Identifier: MIT
// Loading libfabric (library.h).

#include "backends/ofi/library.h"

#include <dlfcn.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>

#include "core/base/err.h"
#include "core/base/log.h"

static const char name[] = "libfabric.so.1";

// dlopen, and every signal handled as before. The variable keeps libinfinipath from setting its handlers at all: a signal
// that came while it loads would leave a file NAME.HOST-PID,HOST.btr in the working folder.
static void *load_quietly(void)
{
    struct sigaction before[NSIG];
    setenv("IPATH_NO_BACKTRACE", "1", 0);
    for (int signo = 1; signo < NSIG; signo++)
        if (sigaction(signo, NULL, &before[signo]) != 0)
            before[signo].sa_handler = SIG_ERR; // not ours to know
    void *handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    for (int signo = 1; signo < NSIG; signo++)
        if (before[signo].sa_handler != SIG_ERR)
            sigaction(signo, &before[signo], NULL);
    return handle;
}

// A function's address is found as an object's; C11 has no other way to say that.
static bool find(void *handle, const char *symbol, void *function_p)
{
    return (*(void **)function_p = dlsym(handle, symbol)) != NULL;
}

int ofi_library_load(const struct ofi_library **library_p)
{
    static struct ofi_library library; // the same for all who ask
    if (library.version) {
        *library_p = &library;
        return CLAB_OK;
    }
    struct ofi_library found;
    void *handle = load_quietly();
    if (!handle) {
        clab_error("ofi: %s; install it (Debian: libfabric1), or use --backend shm", dlerror());
        return CLAB_EUNSUPPORTED;
    }
    if (!find(handle, "fi_version", &found.version) || !find(handle, "fi_getinfo", &found.getinfo) ||
        !find(handle, "fi_freeinfo", &found.freeinfo) || !find(handle, "fi_dupinfo", &found.dupinfo) ||
        !find(handle, "fi_fabric", &found.fabric) || !find(handle, "fi_strerror", &found.strerror)) {
        clab_error("ofi: %s lacks a function: %s", name, dlerror());
        dlclose(handle);
        return CLAB_EUNSUPPORTED;
    }
    library = found;
    *library_p = &library;
    return CLAB_OK;
}
