// SPDX-License-Identifier: MIT
// What the programs of nccl-tests print and write, for scripts that read them: --format and --json-format nccl-tests.
//
// - The screen has 13 columns: size, count, type, redop, root, and time, algbw, busbw and #wrong out of place and in place. A
//   cell is N/A where there is no such placement, or nothing was checked. Then come the lines `# Out of bounds values`
//   (elements that are wrong) and `# Avg bus bandwidth` (the mean of all that is in the column busbw). Rates that fill a
//   column lose decimals, as there. Prediction and interval are in --csv.
// - JSON has the same values, and what each rank measured: an iteration of theirs is a batch of ours, and its time that of
//   a call. Lists hold only batches that count.
// Source: nccl-tests 2.19, what its programs print; tools/analyze_perf_json.py, which reads the JSON.
#pragma once

struct bench;

// Where a rank runs.
struct bench_place {
    int pid, device; // device: its number among the ranks of its host
    char host[60], what[100];
};

// What must hold for a table without a column for collective and algorithm: one of each.  errors: CLAB_EINVAL, logged
int bench_nccl_tests_check(const struct bench *bench);
// Collective.  out: places (nranks), of all ranks at each.  errors: the communicator's
int bench_nccl_tests_places(const struct bench *bench, struct bench_place places[]);

// The name of the program that measures what this bench measures: "all_reduce_perf".
const char *bench_nccl_tests_program(const struct bench *bench);
void bench_nccl_tests_print_header(const struct bench *bench, const struct bench_place places[]);
void bench_nccl_tests_print_row(const struct bench *bench, int index);
void bench_nccl_tests_print_end(const struct bench *bench);

// Wrong elements of all rows, and the mean busbw in GB/s; 0: no time is known.
long long bench_nccl_tests_wrong(const struct bench *bench);
double bench_nccl_tests_average(const struct bench *bench);

// Write the file that --json names.  errors: CLAB_EIO, CLAB_ENOMEM, CLAB_EUNSUPPORTED
int bench_nccl_tests_write_json(const struct bench *bench, const struct bench_place places[]);
