// SPDX-License-Identifier: MIT
// The build: version, commit, compiler, libraries, and the loss without those that it lacks (doctor.h).
// - The build's own probes wrote the lines: build/probes.txt, beside the program.

#include "cmd/doctor/doctor.h"

#include <string.h>

#include "core/base/machine/called.h"
#include "core/base/err.h"
#include "core/base/machine/machine.h"
#include "cmd/kit/kit.h"
#include "cmd/kit/probes.h"

static void add_probes(struct doctor *doctor)
{
    char path[PATH_MAX];
    struct kit_probe probe;
    FILE *file = kit_probes_open(path);
    if (!file && *path) {
        doctor_add(doctor, DOCTOR_WARNING, "libraries", "%s can not be read, so the build's libraries are unknown",
                   kit_relative(path));
        doctor_advise(doctor, "run %s, then ./commlab doctor", clab_rebuild());
    }
    while (file && kit_probes_next(file, &probe)) {
        doctor_add(doctor, probe.has ? DOCTOR_OK : DOCTOR_MISSING, probe.name, "%s", probe.what);
        if (*probe.remedy)
            doctor_advise(doctor, strstr(probe.remedy, "install") ? "%s, then %s" : "%s", probe.remedy, clab_rebuild());
    }
    if (file)
        fclose(file);
}

void doctor_build(struct doctor *doctor)
{
    struct clab_manifest manifest = {0};
    doctor->section = "Build";
    if (clab_machine_describe_build(&manifest) == CLAB_OK)
        doctor_add(doctor, DOCTOR_OK, "commlab", "version %s, commit %s, by %s %s",
                   clab_manifest_get(&manifest, "version"), clab_manifest_get(&manifest, "commit"),
                   clab_manifest_get(&manifest, "compiler"), clab_manifest_get(&manifest, "flags"));
    clab_manifest_free(&manifest);
    add_probes(doctor);
}
