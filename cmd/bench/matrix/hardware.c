// SPDX-License-Identifier: MIT
// What this machine has for ranks, and the cells that it can not run.
//
// - Memory is what is available now within the limit of the control group, which a container or a batch system sets.
//   Likewise cores.
// - GPUs are the devices /dev/nvidiaN that CUDA_VISIBLE_DEVICES leaves. WSL2 has none of these files: there NCCL says
//   whether there are enough.
// - /proc, /sys and /dev are read below a folder, so that a test can describe a machine.

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "cmd/bench/matrix/matrix.h"
#include "core/base/machine/cgroup.h"
#include "core/base/machine/machine.h"
#include "core/base/text.h"
#include "core/base/units.h"
#include "core/base/variables.h"
#include "core/job/job.h"

static const double spare = 1.1; // memory beside the buffers: a tenth

// ---- reading ---------------------------------------------------------------------------------------------------

// A file or folder of the machine below `root`.
static const char *below(const char *root, const char *path, char text[PATH_MAX])
{
    snprintf(text, PATH_MAX, "%s%s", root, path);
    return text;
}

static bool is_wsl2(const char *root)
{
    char path[PATH_MAX], line[256] = "";
    FILE *file = fopen(below(root, "/proc/sys/kernel/osrelease", path), "re");
    if (file && !fgets(line, sizeof line, file))
        *line = '\0';
    if (file)
        fclose(file);
    return strstr(line, "microsoft") || strstr(line, "Microsoft");
}

static int count_devices(const char *root)
{
    char path[PATH_MAX];
    int n = 0;
    DIR *folder = opendir(below(root, "/dev", path));
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        const char *number = entry->d_name + strlen("nvidia");
        n += !strncmp(entry->d_name, "nvidia", strlen("nvidia")) && *number && number[strspn(number, "0123456789")] == 0;
    }
    if (folder)
        closedir(folder);
    return n;
}

static int count_gpus(const char *root, bool wsl2)
{
    char path[PATH_MAX];
    int faked, n = count_devices(root), visible = 0;
    const char *fake = clab_variable_given(CLAB_VARIABLE_FAKE_GPUS), *list = getenv("CUDA_VISIBLE_DEVICES");
    size_t length;
    if (fake && clab_parse_int(fake, 0, MATRIX_LIST, &faked) == CLAB_OK)
        return faked;
    if (n == 0 && wsl2 && access(below(root, "/dev/dxg", path), F_OK) == 0)
        return -1;
    for (const char *rest = list; list && clab_list_next(&rest, &length);)
        visible += length > 0;
    return list && visible < n ? visible : n;
}

// A container's quota may be fewer cores than there are.
static int fit_quota(const char *root, int cores)
{
    struct clab_cgroup cgroup;
    clab_cgroup_read(root, &cgroup);
    if (!(cgroup.cores > 0) || cgroup.cores >= cores)
        return cores;
    return cgroup.cores < 1 ? 1 : (int)cgroup.cores;
}

void matrix_hardware_read(const char *root, struct matrix_hardware *hardware_p)
{
    struct matrix_hardware h = {.cores = clab_cores(), .is_wsl2 = is_wsl2(root)};
    struct statvfs shm;
    char path[PATH_MAX];
    h.cores = fit_quota(root, h.cores);
    h.gpus = count_gpus(root, h.is_wsl2);
    h.memory_bytes = clab_machine_available_bytes_below(root);
    h.has_shm = statvfs(below(root, "/dev/shm", path), &shm) == 0;
    if (h.has_shm)
        h.shm_bytes = (size_t)shm.f_bavail * shm.f_frsize;
    clab_variable_switch(CLAB_VARIABLE_NCCL_SHARE, &h.may_share);
    *hardware_p = h;
}

// ---- fitting ---------------------------------------------------------------------------------------------------

static bool lacks_gpus(const struct matrix_hardware *h, struct matrix_cell *cell)
{
    const int nranks = cell->row.problem.nranks;
    if (matrix_backends[cell->backend].device != MATRIX_CUDA || h->gpus < 0 || (h->gpus > 0 && h->may_share) ||
        nranks <= h->gpus)
        return false;
    if (h->gpus == 0)
        matrix_cell_skip(cell, "each rank needs an NVIDIA GPU, and there is none (no /dev/nvidia0): see commlab doctor");
    else
        matrix_cell_skip(cell, "%d ranks need a GPU each, and there %s %d", nranks, h->gpus == 1 ? "is" : "are",
                         h->gpus);
    return true;
}

// The processor's memory: of GPUs, NCCL itself says when there is too little.
static bool lacks_memory(const struct matrix_hardware *h, struct matrix_cell *cell)
{
    const struct matrix_backend *backend = &matrix_backends[cell->backend];
    const int buffers = (cell->placement == BENCH_IN_PLACE ? 1 : 2) + backend->scratch;
    const double needed =
        spare * buffers * (double)cell->row.problem.nranks * (double)bench_bytes(&cell->row);
    char need[32], have[32];
    if (backend->device == MATRIX_CUDA || h->memory_bytes == 0 || needed <= (double)h->memory_bytes)
        return false;
    matrix_cell_skip(cell, "needs %s of memory, and %s are available", clab_size_text((size_t)needed, need),
                     clab_size_text(h->memory_bytes, have));
    return true;
}

static bool lacks_shm(const struct matrix_hardware *h, struct matrix_cell *cell)
{
    const struct matrix_backend *backend = &matrix_backends[cell->backend];
    const size_t needed = backend->shm_bytes * (size_t)cell->row.problem.nranks;
    char need[CLAB_TEXT], have[CLAB_TEXT];
    if (needed <= h->shm_bytes)
        return false;
    if (h->has_shm)
        matrix_cell_skip(cell, "%s needs about %s of /dev/shm, and %s are free: docker run --shm-size=1g", backend->name,
                         clab_size_text(needed, need), clab_size_text(h->shm_bytes, have));
    else
        matrix_cell_skip(cell, "%s needs /dev/shm, and there is none: mount a tmpfs there", backend->name);
    return true;
}

void matrix_hardware_fit(struct matrix *matrix)
{
    for (int i = 0; i < matrix->ncells; i++) {
        struct matrix_cell *cell = &matrix->cells[i];
        if (cell->status != MATRIX_WAITING)
            continue;
        if (!lacks_gpus(&matrix->hardware, cell) && !lacks_memory(&matrix->hardware, cell))
            lacks_shm(&matrix->hardware, cell);
    }
}
