// SPDX-License-Identifier: MIT
// The libraries that this build has or lacks: the lines of build/probes.txt, which probe.sh wrote.
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>

struct kit_probe {
    bool has;
    const char *name, *what; // what it is for; or the loss
    const char *remedy;      // ""; of those that are missing
    char line[512];          // that they point into
};

// Open the file, whose path is told. NULL: it can not be read, or nobody knows where it is (then the path is "").
FILE *kit_probes_open(char path_p[PATH_MAX]);
// The next one; false: there are no more.
bool kit_probes_next(FILE *file, struct kit_probe *probe_p);
