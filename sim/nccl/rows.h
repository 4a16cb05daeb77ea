// SPDX-License-Identifier: MIT
// Choices for NCCL as a file: which algorithm and protocol a collective of so many bytes shall take.
//
//   allreduce,0,65535,tree,ll,-1,1,8,-1,-1,1.21
//
// - The layout, and what -1 means: core/schedule/formats/choices.h. Lines whose protocol is -1 are for the kit's own
//   algorithms: they are passed over, and counted.
// - Part of the tuner plugin, too: it knows neither NCCL's headers nor the rest of the kit but choices.h, units.h and
//   vector.h.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "core/schedule/formats/choices.h"

// In the order of NCCL's numbers; algorithms and protocols are those of nccl.h.
enum clab_nccl_function {
    CLAB_NCCL_BROADCAST,
    CLAB_NCCL_REDUCE,
    CLAB_NCCL_ALLGATHER,
    CLAB_NCCL_REDUCE_SCATTER,
    CLAB_NCCL_ALLREDUCE,
    CLAB_NCCL_FUNCTIONS
};
enum {
    CLAB_NCCL_ANY = CLAB_CHOICE_ANY,
    CLAB_NCCL_MOST_CHANNELS = CLAB_CHOICE_MOST_CHANNELS,
    CLAB_NCCL_WHY = CLAB_CHOICE_WHY
};

struct clab_nccl_row {
    int function, algorithm, protocol; // numbers, as NCCL has them
    size_t first, last;                // bytes of the whole buffer, both included
    int channels;                      // 1 to 64; 0 or any: NCCL's own
    int nodes, ranks;                  // or any
    int ops;                           // collectives of a group; or any
    int registered;                    // buffers registered: 0, 1; or any
    int line;                          // of the file
};

struct clab_nccl_rows {
    struct clab_nccl_row *rows;
    int n, room, short_rows; // short_rows: those of six fields
    int others;              // rows that are not for NCCL, and not kept
    uint32_t fingerprint; // of the file's bytes: ranks must have read the same
};

// What a row asks for, in files ("reducescatter", "nvls_tree", "ll128").
const char *clab_nccl_function_word(int function);
const char *clab_nccl_algorithm_word(int algorithm);
const char *clab_nccl_protocol_word(int protocol);
// Their numbers, or -1; case and underscores do not count, so that "AllReduce" and "all_reduce" are one.
int clab_nccl_function_find(const char *word);
int clab_nccl_algorithm_find(const char *word);
int clab_nccl_protocol_find(const char *word);

// Read a file. `path` is what it is called in why, which says in one line what is wrong and where; it does not log.
//   out:    *rows_p, on success only; why otherwise
//   errors: CLAB_ENOENT (no such regular file), CLAB_EPARSE, CLAB_ENOMEM
int clab_nccl_rows_load(const char *path, struct clab_nccl_rows *rows_p, char why[CLAB_NCCL_WHY]);
// The same of a file that is open, and stays so.
int clab_nccl_rows_read(FILE *file, const char *path, struct clab_nccl_rows *rows_p, char why[CLAB_NCCL_WHY]);
void clab_nccl_rows_free(struct clab_nccl_rows *rows);

// Whether a row is for communicators of so many nodes and ranks, and for such a call.
bool clab_nccl_row_is_for(const struct clab_nccl_row *row, size_t nodes, size_t ranks);
bool clab_nccl_row_fits(const struct clab_nccl_row *row, int function, size_t bytes, int ops, int registered);

// Write the heading, of rows with gains or without, and a row; gain <= 0: without it. What goes wrong is for ferror to
// tell.
void clab_nccl_rows_write_heading(bool gains, FILE *out);
void clab_nccl_rows_write(const struct clab_nccl_row *row, double gain, FILE *out);
