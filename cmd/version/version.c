// SPDX-License-Identifier: MIT
// commlab version, or commlab --version: which kit this is, so that two of them can be compared.
//
//   commlab 0.1.0, commit 1a2b3c4d5e6f
//   compiler: gcc 12.2.0, -O3 -g
//   libraries: jansson, inih, ...; not in this build: libfuzzer
//
// The version is that of CITATION.cff, also in `doctor --json` and in the manifest of each result.

#include "cmd/command.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/kit/probes.h"
#include "core/base/machine/machine.h"
#include "core/base/options.h"

static const struct clab_option options[] = {{0}};

static int print_build(void)
{
    struct clab_manifest m = {0};
    const int err = clab_machine_describe_build(&m);
    if (!err)
        printf("commlab %s, commit %s\ncompiler: %s, %s\n", clab_manifest_get(&m, "version"),
               clab_manifest_get(&m, "commit"), clab_manifest_get(&m, "compiler"), clab_manifest_get(&m, "flags"));
    clab_manifest_free(&m);
    return err;
}

// The names of those that the build has, or lacks.
static void print_libraries(const char *title, bool has)
{
    char path[PATH_MAX];
    struct kit_probe probe;
    FILE *file = kit_probes_open(path);
    int n = 0;
    while (file && kit_probes_next(file, &probe))
        if (probe.has == has)
            printf("%s%s", n++ ? ", " : title, probe.name);
    if (file)
        fclose(file);
    else if (has)
        printf("%sunknown, since %s can not be read", title, path);
    fputs(n || (!file && has) ? "\n" : "", stdout);
}

static int run(int argc, char **argv)
{
    static const struct clab_command_line line = {
        .options = options,
        .about = "Print the version, the commit that it was built from, the compiler and the libraries. `commlab --version` "
                 "prints the same.\v"
                 "The commit ends in -dirty if files had been changed. It is unknown where the kit was built outside of git."};
    if (clab_options_parse(&line, argc, argv, NULL))
        return STATUS_USAGE;
    if (print_build())
        return EXIT_FAILURE;
    print_libraries("libraries: ", true);
    print_libraries("not in this build: ", false);
    return EXIT_SUCCESS;
}

const struct clab_command cmd_version = {"version", "print version, commit and libraries", run};
