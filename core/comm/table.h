// SPDX-License-Identifier: MIT
// A table of choices that the user has measured: it goes before the library's own (select.c). CLAB_TUNER names the file.
//
//   allreduce,65536,4194303,hierarchical,-1,-1,-1,16     CLAB_TUNER=tune.csv ./commlab bench allreduce -n 16
//
// - The layout is that of NCCL's tables (core/schedule/formats/choices.h). Rows with a protocol are NCCL's, and passed
//   over. channels are lanes; -1: the algorithm's own.
// - The first row that fits is taken: its collective, the range of its bytes, its nodes and its ranks. A row whose
//   algorithm does not support the problem is passed over. If no row fits, the library's own choice stays.
// - `commlab tune` writes such files.
#pragma once

#include "core/schedule/schedule.h"

struct clab_table_row {
    enum clab_collective collective;
    const struct clab_algorithm *algorithm;
    size_t first, last; // bytes of the whole buffer, both included
    int lanes;          // 0: the algorithm's own
    int nodes, ranks;   // CLAB_CHOICE_ANY: any
    int line;           // of the file
};

struct clab_choice_table {
    struct clab_table_row *rows;
    int n, room;
};

// Read the file that CLAB_TUNER names; without one, the table is empty.
//   errors: CLAB_ENOENT, CLAB_EPARSE, CLAB_ENOMEM, logged
int clab_choice_table_load(struct clab_choice_table *table_p);
// The same of the file `path`.
int clab_choice_table_read(const char *path, struct clab_choice_table *table_p);
void clab_choice_table_free(struct clab_choice_table *table);

// The first row from `from` on that fits; NULL: none.
//   bytes: of the whole buffer, as bench counts it
const struct clab_table_row *clab_choice_table_find(const struct clab_choice_table *table,
                                                    const struct clab_table_row *from,
                                                    const struct clab_problem *problem, size_t bytes, int nodes);
