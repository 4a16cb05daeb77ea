// SPDX-License-Identifier: MIT
// A host's memory file (memory.h).

#include "core/job/pages/memory.h"

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/log.h"

// Addresses only: pages come when they are touched. Any rank may need most of the machine; each has queues from all.
static size_t segment_bytes(int nranks)
{
    return 2 * (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE) + (size_t)nranks * ((size_t)4 << 30);
}

// Beyond the limit of `ulimit -f` a process gets a signal, by which it would die without a word.
static int set_size(int fd, size_t bytes)
{
    const struct sigaction ignore = {.sa_handler = SIG_IGN};
    struct sigaction before;
    sigaction(SIGXFSZ, &ignore, &before);
    const int result = ftruncate(fd, (off_t)bytes), error = errno;
    sigaction(SIGXFSZ, &before, NULL);
    errno = error;
    return result;
}

int clab_memory_make(int nranks, int cores, bool inherited, int *fd_p, struct clab_control **control_p)
{
    const size_t control_bytes = clab_control_bytes(nranks), segment = segment_bytes(nranks);
    const int fd = memfd_create("commlab", inherited ? 0 : MFD_CLOEXEC);
    struct clab_control *control = MAP_FAILED;
    if (fd >= 0 && set_size(fd, control_bytes + segment) == 0)
        control = mmap(NULL, control_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (control == MAP_FAILED) {
        clab_error("can not make the job's memory file of %zu bytes: %m%s", control_bytes + segment,
                   errno == EFBIG ? " (ulimit -f limits it: set it to unlimited)" : "");
        if (fd >= 0)
            close(fd);
        return CLAB_ESYS;
    }
    clab_control_init(control, nranks, cores, segment);
    *fd_p = fd;
    *control_p = control;
    return CLAB_OK;
}

int clab_memory_map(int fd, int nranks, struct clab_control **control_p)
{
    struct stat status;
    const size_t bytes = clab_control_bytes(nranks);
    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) || (size_t)status.st_size < bytes)
        return CLAB_EINVAL;
    struct clab_control *control = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (control == MAP_FAILED)
        return CLAB_ESYS;
    if (!clab_control_is_valid(control, nranks)) {
        munmap(control, bytes);
        return CLAB_EPARSE;
    }
    *control_p = control;
    return CLAB_OK;
}

void clab_memory_unmap(struct clab_control *control)
{
    munmap(control, control->bytes);
}
