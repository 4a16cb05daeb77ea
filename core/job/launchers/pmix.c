// SPDX-License-Identifier: MIT
// PMIx, as a client: what rank 0 puts, all get after a fence. Without libpmix: one line that says what to do.
//
// - The library is loaded when it is asked for: few programs are started by a launcher that speaks PMIx, and loading it
//   with every program would double the time of its start.
// - Its initialisation counts its users. We are one until the process exits, so that MPI_Init finds it initialised, or
//   finds it at all: libpmix does not start twice in a process.
// Source: PMIx Standard 4.1, sections 5.1, 6.2, 6.3.

#include "core/base/machine/called.h"
#include "core/job/launchers/launcher.h"

#include "core/base/log.h"

#ifdef HAVE_PMIX

#include <dlfcn.h>
#include <math.h>
#include <pmix.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/job/launchers/siblings.h"

const bool launcher_has_pmix = true;

#define CALLS(X) \
    X(PMIx_Init) X(PMIx_Finalize) X(PMIx_Put) X(PMIx_Commit) X(PMIx_Fence_nb) X(PMIx_Get) X(PMIx_Error_string)

// The library, and this process's place with it.
#define X(name) __typeof__(&name) name;
static struct {
    void *library;
    CALLS(X)
    pmix_proc_t self;
    pid_t owner;
    bool is_open;
    int shares; // so far
} lib;
#undef X

// A fence that is over. Static, for it may end after we have given up on it.
static sem_t fence_ended;
static pmix_status_t fence_status;

static int load(void)
{
    lib.library = dlopen("libpmix.so.2", RTLD_NOW | RTLD_GLOBAL); // its plugins need its symbols
    bool is_whole = lib.library;
#define X(name) is_whole = is_whole && (lib.name = (__typeof__(&name))dlsym(lib.library, #name));
    CALLS(X)
#undef X
    if (!is_whole)
        clab_error(
            "can not load libpmix, which this was built with: %s; install it, or set MASTER_ADDR and MASTER_PORT, "
            "rank 0's host and a free port there",
            dlerror());
    return is_whole ? CLAB_OK : CLAB_EUNSUPPORTED;
}

static int complain(const char *call, pmix_status_t status)
{
    clab_error("%s answers %s: set MASTER_ADDR and MASTER_PORT to do without it, rank 0's host and a free port there",
               call, lib.PMIx_Error_string(status));
    return CLAB_ESYS;
}

static void leave(void)
{
    if (lib.is_open && lib.owner == getpid())
        lib.PMIx_Finalize(NULL, 0);
}

static int open_once(void)
{
    if (lib.is_open)
        return CLAB_OK;
    CLAB_TRY(load());
    const pmix_status_t status = lib.PMIx_Init(&lib.self, NULL, 0);
    if (status != PMIX_SUCCESS)
        return complain("PMIx_Init", status);
    lib.is_open = true;
    lib.owner = getpid();
    sem_init(&fence_ended, 0, 0);
    atexit(leave);
    return CLAB_OK;
}

static int put(const char *key, char *text)
{
    pmix_value_t value = {.type = PMIX_STRING};
    value.data.string = text;
    pmix_status_t status = lib.PMIx_Put(PMIX_GLOBAL, key, &value);
    if (status != PMIX_SUCCESS)
        return complain("PMIx_Put", status);
    status = lib.PMIx_Commit();
    return status == PMIX_SUCCESS ? CLAB_OK : complain("PMIx_Commit", status);
}

static void note_end(pmix_status_t status, void *unused)
{
    (void)unused;
    fence_status = status;
    sem_post(&fence_ended);
}

// Whether the fence is over within so many seconds.
static bool is_over_within(double seconds)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += (time_t)seconds;
    until.tv_nsec += (long)(1e9 * (seconds - (double)(time_t)seconds));
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    return sem_timedwait(&fence_ended, &until) == 0; // or a signal has come
}

static int wait_for_fence(double timeout)
{
    const double deadline = clab_now() + timeout;
    bool is_over = false;
    for (double now; !is_over && (now = clab_now()) < deadline;) {
        CLAB_TRY(siblings_check());
        is_over = is_over_within(fmax(fmin(deadline, siblings_next()) - now, 1e-3));
    }
    if (!is_over) {
        clab_error("PMIx's fence was not over within %g s (CLAB_TIMEOUT): have all ranks of the job started?", timeout);
        return CLAB_ETIMEOUT;
    }
    return fence_status == PMIX_SUCCESS ? CLAB_OK : complain("PMIx_Fence_nb", fence_status);
}

// All ranks have put, and what they have put is everywhere.
static int fence(double timeout)
{
    static pmix_info_t collect = {.key = PMIX_COLLECT_DATA, .value = {.type = PMIX_BOOL, .data.flag = true}};
    const pmix_status_t status = lib.PMIx_Fence_nb(NULL, 0, &collect, 1, note_end, NULL);
    return status == PMIX_SUCCESS ? wait_for_fence(timeout) : complain("PMIx_Fence_nb", status);
}

static int get(const char *key, char text_p[CLAB_SHARED_BYTES])
{
    pmix_proc_t first = lib.self;
    pmix_value_t *value;
    first.rank = 0;
    const pmix_status_t status = lib.PMIx_Get(&first, key, NULL, 0, &value);
    if (status != PMIX_SUCCESS)
        return complain("PMIx_Get", status);
    const bool fits = value->type == PMIX_STRING && strlen(value->data.string) < CLAB_SHARED_BYTES;
    if (fits)
        strcpy(text_p, value->data.string);
    if (value->type == PMIX_STRING)
        free(value->data.string);
    free(value);
    return fits ? CLAB_OK : complain("PMIx_Get", PMIX_ERR_TYPE_MISMATCH);
}

int launcher_share_pmix(int rank, double timeout, char text[CLAB_SHARED_BYTES])
{
    char key[32];
    CLAB_TRY(open_once());
    snprintf(key, sizeof key, "commlab-store-%d", lib.shares); // what has been got is kept
    if (rank == 0)
        CLAB_TRY(put(key, text));
    CLAB_TRY(fence(timeout));
    CLAB_TRY(get(key, text));
    lib.shares++;
    return CLAB_OK;
}

#else

const bool launcher_has_pmix = false;

int launcher_share_pmix(int rank, double timeout, char text[CLAB_SHARED_BYTES])
{
    (void)rank, (void)timeout, (void)text;
    clab_error("this launcher speaks PMIx, which commlab was built without: install libpmix-dev (%s) and build "
               "anew, or set MASTER_ADDR and MASTER_PORT for all ranks (mpirun -x MASTER_ADDR=HOST -x MASTER_PORT=N), "
               "rank 0's host and a free port there",
               clab_setup());
    return CLAB_EUNSUPPORTED;
}

#endif
