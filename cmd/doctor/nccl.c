// SPDX-License-Identifier: MIT
// CUDA's runtime and NCCL: paths, versions, and the ones that the nccl backend loads (doctor.h).
// - A child asks each library, so that a broken one crashes only the child.
// - The fakes that tests load export clab_fake_version: a finding names them, and is never ok.
// - The oldest driver for each CUDA: CUDA Toolkit Release Notes, "CUDA Toolkit and Minimum Required Driver Version
//   for CUDA Minor Version Compatibility".

#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/machine/called.h"
#include "core/transport/backend.h"
#include "core/base/log.h"
#include "cmd/doctor/doctor.h"
#include "cmd/doctor/libraries.h"

static const double patience = 20; // s: CUDA starts every GPU
enum { NO_DEVICE = 100, OLD_DRIVER = 35, NOT_READY = 802, MISMATCH = 803 };

static const struct {
    int cuda;
    const char *driver;
} least_drivers[] = {{13, "580.65.06"}, {12, "525.60.13"}, {11, "450.80.02"}};

static const char *least_driver(int runtime)
{
    for (size_t i = 0; i < sizeof least_drivers / sizeof *least_drivers; i++)
        if (runtime / 1000 >= least_drivers[i].cuda)
            return least_drivers[i].driver;
    return "418.39";
}

static bool is_fake(void *library)
{
    return library && dlsym(library, "clab_fake_version");
}

// A library that is there, with `text`.
static void add_library(struct doctor *doctor, const char *topic, void *library, const char *text)
{
    if (!is_fake(library)) {
        doctor_add(doctor, DOCTOR_OK, topic, "%s", text);
        return;
    }
    doctor_add(doctor, DOCTOR_WARNING, topic, "%s; a fake, for tests: its times are no measurements", text);
    doctor_advise(doctor, "unset LD_LIBRARY_PATH");
}

// ---- CUDA ----------------------------------------------------------------------------------------------------

struct runtime {
    int (*runtime_version)(int *);
    int (*driver_version)(int *);
    int (*count)(int *);
    const char *(*error)(int);
};

// NULL: it does not load, or lacks one of the functions.
static void *load_runtime(const char *path, struct runtime *runtime_p)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL), *found[4];
    static const char *const symbols[] = {"cudaRuntimeGetVersion", "cudaDriverGetVersion", "cudaGetDeviceCount",
                                          "cudaGetErrorString"};
    for (int i = 0; i < 4; i++)
        if (!library || !(found[i] = dlsym(library, symbols[i])))
            return NULL;
    _Static_assert(sizeof(struct runtime) == sizeof found, "four functions");
    memcpy(runtime_p, found, sizeof found);
    return library;
}

static void add_devices(struct doctor *doctor, const struct runtime *cuda, int runtime, int driver, bool fake)
{
    int count = 0, err = cuda->count(&count);
    if (!err && count > 0) {
        doctor_add(doctor, fake ? DOCTOR_WARNING : DOCTOR_OK, "CUDA devices", "%d%s", count,
                   fake ? ", all of them fakes" : "");
        return;
    }
    const bool none = driver == 0 || err == NO_DEVICE || !err;
    const char *why = driver == 0 ? "there is no driver" : err ? cuda->error(err) : "no device is visible";
    doctor_add(doctor, none ? DOCTOR_MISSING : DOCTOR_BROKEN, "CUDA devices", "none: %s", why);
    if (driver == 0)
        return;
    if (err == OLD_DRIVER)
        doctor_advise(doctor, "CUDA %d.%d needs driver %s or newer", runtime / 1000, runtime % 1000 / 10,
                      least_driver(runtime));
    else if (err == NOT_READY)
        doctor_advise(doctor, "the NVLink switches are not set up: systemctl start nvidia-fabricmanager, as root");
    else if (err == MISMATCH)
        doctor_advise(doctor, "the kernel's module and the libraries differ: restart the machine");
    else if (getenv("CUDA_VISIBLE_DEVICES"))
        doctor_advise(doctor, "CUDA_VISIBLE_DEVICES=%s hides others", getenv("CUDA_VISIBLE_DEVICES"));
}

static void ask_runtime(struct doctor *doctor, const void *of)
{
    const struct doctor_library *library = of;
    struct runtime cuda;
    int runtime = 0, driver = 0;
    void *loaded = load_runtime(library->path, &cuda);
    if (!loaded) {
        doctor_add(doctor, DOCTOR_WARNING, "CUDA runtime", "%s does not load: %s", library->path, dlerror());
        return;
    }
    cuda.runtime_version(&runtime);
    cuda.driver_version(&driver);
    // Within a major version a newer runtime runs on an older driver.
    const bool old = driver > 0 && driver / 1000 < runtime / 1000;
    char has[64] = "; there is no driver";
    if (driver > 0)
        snprintf(has, sizeof has, "; the driver is for CUDA %d.%d", driver / 1000, driver % 1000 / 10);
    char text[sizeof library->path + sizeof has + 64];
    snprintf(text, sizeof text, "%d.%d, %s (%s)%s", runtime / 1000, runtime % 1000 / 10, library->path, library->where,
             has);
    if (old) {
        doctor_add(doctor, DOCTOR_BROKEN, "CUDA runtime", "%s", text);
        doctor_advise(doctor, "it needs driver %s or newer, or a toolkit for CUDA %d", least_driver(runtime),
                      driver / 1000);
    } else {
        add_library(doctor, "CUDA runtime", loaded, text);
    }
    add_devices(doctor, &cuda, runtime, driver, is_fake(loaded));
}

// ---- NCCL ----------------------------------------------------------------------------------------------------

static bool nccl_version(void *library, int *version_p)
{
    int (*ask)(int *) = NULL;
    void *found = library ? dlsym(library, "ncclGetVersion") : NULL;
    memcpy(&ask, &found, sizeof found);
    return ask && ask(version_p) == 0;
}

// 22809 is 2.28.9; before 2.9 it was 2804.
static void version_text(int version, char out[32])
{
    const int major = version < 10000 ? version / 1000 : version / 10000;
    const int rest = version < 10000 ? version % 1000 : version % 10000;
    snprintf(out, 32, "%d.%d.%d", major, rest / 100, rest % 100);
}

static void ask_nccl(struct doctor *doctor, const void *of)
{
    const struct doctor_library *library = of;
    char text[32], all[sizeof library->path + 128];
    int version;
    void *loaded = dlopen(library->path, RTLD_LAZY | RTLD_LOCAL);
    if (!nccl_version(loaded, &version)) {
        doctor_add(doctor, DOCTOR_WARNING, "NCCL", "%s (%s) does not load: %s", library->path, library->where,
                   loaded ? "it has no ncclGetVersion" : dlerror());
        return;
    }
    version_text(version, text);
    snprintf(all, sizeof all, "%s, %s (%s)", text, library->path, library->where);
    add_library(doctor, "NCCL", loaded, all);
}

// The NCCL that the plugin takes: load it, and ask the loader.
static void ask_plugin(struct doctor *doctor, const void *of)
{
    struct clab_log_held held;
    char said[sizeof held.text], text[32], all[PATH_MAX + 64];
    struct link_map *map;
    int version;
    (void)of;
    clab_log_hold(&held);
    const bool loads = clab_backend_find("nccl") != NULL;
    snprintf(said, sizeof said, "%s", held.text);
    clab_log_release(&held);
    void *library = loads ? dlopen("libnccl.so.2", RTLD_LAZY | RTLD_NOLOAD) : NULL;
    if (!loads) {
        const char *flag = "--backend: ", *line = said + (strncmp(said, flag, strlen(flag)) ? 0 : strlen(flag));
        doctor_add(doctor, DOCTOR_MISSING, "the backend nccl", "%s", line);
    } else if (!nccl_version(library, &version) || dlinfo(library, RTLD_DI_LINKMAP, &map) != 0) {
        doctor_add(doctor, DOCTOR_WARNING, "the backend nccl", "it loads, but without a libnccl.so.2");
    } else {
        version_text(version, text);
        snprintf(all, sizeof all, "takes NCCL %s, %s", text, map->l_name);
        add_library(doctor, "the backend nccl", library, all);
    }
}

// ---- all -----------------------------------------------------------------------------------------------------

void doctor_nccl(struct doctor *doctor)
{
    struct doctor_library *found = calloc(DOCTOR_MOST_LIBRARIES, sizeof *found);
    doctor->section = "CUDA and NCCL";
    if (!found)
        return;
    if (doctor_libraries("libcudart.so.1[0-9]", found) > 0) {
        doctor_ask(doctor, "CUDA runtime", patience, ask_runtime, &found[0]);
    } else {
        doctor_add(doctor, DOCTOR_MISSING, "CUDA runtime",
                   "no libcudart.so in the toolkit, the system or Python's packages");
        doctor_advise(doctor, "install the CUDA toolkit; CUDA_HOME says where it is if not in /usr/local/cuda");
    }
    const int n = doctor_libraries("libnccl.so.2", found);
    for (int i = 0; i < n; i++)
        doctor_ask(doctor, "NCCL", patience, ask_nccl, &found[i]);
    if (n == 0) {
        doctor_add(doctor, DOCTOR_MISSING, "NCCL", "no libnccl.so.2 in the toolkit, the system or Python's packages");
        doctor_advise(doctor, "apt-get install libnccl2 libnccl-dev from NVIDIA's repository, or pip install "
                              "nvidia-nccl-cu13; then %s",
                      clab_rebuild());
    }
    doctor_ask(doctor, "the backend nccl", patience, ask_plugin, NULL);
    free(found);
}
