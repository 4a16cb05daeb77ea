// SPDX-License-Identifier: MIT
// commlab device --numa: copies within the memory of each NUMA node by a core of each node.
#pragma once

#include <stddef.h>
#include <stdio.h>

enum { NUMA_NODES = 16 };

// A node with processors that this process may use.
struct numa_node {
    int number, cpu; // of the node; the first of its processors
};

// The nodes below `folder` ("/sys/devices/system/node"), by their number.
//   out:    nodes; returns how many, at most NUMA_NODES; 0: the folder does not say
int numa_find(const char *folder, struct numa_node nodes[NUMA_NODES]);

// The most bytes per second of copies of `bytes` within `seconds`: memory that `home` has written first, copied by `at`.
// The calling thread runs where it did before, afterwards.
//   errors: CLAB_ENOMEM, CLAB_ESYS (logged)
int numa_copy(const struct numa_node *home, const struct numa_node *at, size_t bytes, double seconds, double *rate_p);

// Measure and print the table, or say why there is none.  errors: those of numa_copy
int numa_measure(size_t bytes, double seconds, FILE *out);
