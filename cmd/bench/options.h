// SPDX-License-Identifier: MIT
// The options of the bench: its command line, checked and completed.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cmd/bench/row.h"
#include "cmd/bench/time.h"
#include "core/clab.h"
#include "core/comm/table.h"
#include "core/schedule/formats/listing.h"

struct clab_backend;

enum { BENCH_ALL_ROOTS = -1, BENCH_MOST_SECONDS = 3600 }; // the latter per row

// Our own, or that of the programs of nccl-tests (nccl_tests.h).
enum bench_format { BENCH_TABLE, BENCH_NCCL_TESTS };

// Buffers: of malloc, or of clab_alloc.
enum bench_memory { BENCH_MALLOC, BENCH_ALLOC };

struct bench_options {
    enum clab_collective collectives[CLAB_COLLECTIVE_COUNT]; // in the order of the command line
    int ncollectives;
    const char *msccl;            // a file, instead of an algorithm; NULL: none
    struct clab_listing *listing; // its schedule
    const char *algorithms; // as given: "auto", "all", or names with commas
    bool types[CLAB_TYPE_COUNT], ops[CLAB_OP_COUNT];
    int nranks, cores;                  // cores: those that the ranks share
    bool joins;                         // a job that is running already, and knows the cores and the backend
    struct clab_job_options job;        // as given
    const struct clab_backend *backend; // NULL: several were named
    int lanes;                          // 0: the default of each algorithm
    int root;                           // or BENCH_ALL_ROOTS
    size_t first, last;                 // bytes
    bool is_short;                      // `last` is below the usual default, so that it fits this machine
    size_t step;                        // bytes; 0: sizes grow by `factor`
    int factor;
    enum bench_mode mode;
    int registration; // of memory with NCCL: 0, 1, or 2 in symmetric windows; -1: as CLAB_NCCL_REGISTER says
    int launches;     // of a graph of the calls of a batch, with NCCL; 0: there is none
    int average;      // enum bench_average, in modes throughput and enqueue
    bool placements[BENCH_PLACEMENTS];
    int warmup, iterations; // calls; -1: as many as are needed
    int batches;            // 0: as many as are needed
    int check;              // 0 or 1
    double budget;          // seconds per row and placement
    enum bench_memory memory;
    enum bench_format format, json_format; // of the screen, and of --json
    const char *net, *csv, *json, *samples;
    uint64_t seed;
    char *command;                  // the whole line, for the manifest
    struct clab_choice_table table; // of CLAB_TUNER, for auto
    int nodes;                      // hosts of the job
};

// Ranks that share a core while they check: hundreds with an exact clock, too few to matter elsewhere.
int bench_crowd(const struct bench_options *options);

// The largest size, where none is given. With an exact clock hundreds of ranks share this machine: together their buffers
// of one kind are to have no more than 2 GiB.
size_t bench_last_size(const struct clab_backend *backend, int nranks, size_t first);

// Read `argv`, and check what can be checked before ranks start.
//   errors: CLAB_EINVAL and others, one line logged; wrong syntax exits with 2
int bench_options_parse(int argc, char **argv, struct bench_options *options_p);
