// SPDX-License-Identifier: MIT
// The build: compiler, commit, libraries, and the loss without those that it lacks (doctor.h).
// - The build's own probes wrote the lines: build/probes.txt, beside the program.

#include "cmd/doctor/doctor.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/machine.h"
#include "cmd/kit/kit.h"

// "✗ NAME: the loss; the remedy"
static void add_probe(struct doctor *doctor, char *line)
{
    static const char yes[] = "✓ ", no[] = "✗ ";
    const bool has = strncmp(line, yes, strlen(yes)) == 0;
    if (!has && strncmp(line, no, strlen(no)) != 0)
        return;
    char *name = line + (has ? strlen(yes) : strlen(no)), *colon = strstr(name, ": ");
    char *remedy = !has && colon ? strstr(colon, "; ") : NULL;
    if (!colon)
        return;
    *colon = '\0';
    if (remedy)
        *remedy = '\0';
    doctor_add(doctor, has ? DOCTOR_OK : DOCTOR_MISSING, name, "%s", colon + 2);
    if (remedy)
        doctor_advise(doctor, "%s%s", remedy + 2, strstr(remedy + 2, "install") ? ", then make" : "");
}

static void add_probes(struct doctor *doctor)
{
    char path[PATH_MAX], line[512], *build;
    if (kit_build(&build) != CLAB_OK)
        return;
    snprintf(path, sizeof path, "%s/probes.txt", build);
    free(build);
    FILE *file = fopen(path, "re");
    if (!file) {
        doctor_add(doctor, DOCTOR_WARNING, "libraries", "%s can not be read, so the build's libraries are unknown",
                   kit_relative(path));
        doctor_advise(doctor, "run make, then ./commlab doctor");
        return;
    }
    while (fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = '\0';
        add_probe(doctor, line);
    }
    fclose(file);
}

void doctor_build(struct doctor *doctor)
{
    struct clab_manifest manifest = {0};
    doctor->section = "Build";
    if (clab_machine_describe_build(&manifest) == CLAB_OK)
        doctor_add(doctor, DOCTOR_OK, "commlab", "commit %s, by %s %s", clab_manifest_get(&manifest, "commit"),
                   clab_manifest_get(&manifest, "compiler"), clab_manifest_get(&manifest, "flags"));
    clab_manifest_free(&manifest);
    add_probes(doctor);
}
