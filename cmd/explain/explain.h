// SPDX-License-Identifier: MIT
// What `commlab explain` has found in a log, printed for people and as JSON.
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "cmd/explain/known.h"
#include "cmd/explain/nccl.h"

struct explained {
    const char *name;           // of the log
    long lines, cut;            // pieces that were cut off
    bool is_over;               // only the first GiB was read
    const struct known_error **found;
    int n;
    const struct nccl_log *nccl;
};

void explain_print(const struct explained *e, bool all, FILE *out);       // (print.c)
int explain_print_json(const struct explained *e, FILE *out);             // errors: CLAB_EUNSUPPORTED, CLAB_ENOMEM, CLAB_EIO
void explain_print_nccl(const struct nccl_log *log, bool all, FILE *out); // (print_nccl.c)
struct clab_json;
void explain_add_nccl(struct clab_json *json, const struct nccl_log *log);

// The entries that a person may meet, as a table in Markdown: that of cmd/doctor/README.md.
void explain_print_table(const struct known *known, FILE *out);
// All entries, one line each.
void explain_print_list(const struct known *known, FILE *out);
