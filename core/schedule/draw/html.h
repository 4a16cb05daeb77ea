// SPDX-License-Identifier: MIT
// Between the parts of the stepper's page: html.c writes it, html_count.c counts, html_data.c writes what is played.
#pragma once

#include "core/schedule/draw/draw.h"

// What has happened before a round begins.
struct clab_page_counts {
    long stages; // ended, of all ranks and lanes
    size_t messages, bytes;
    int complete; // chunks that a rank is to get, and has got
};

struct clab_page {
    const struct clab_trace *trace;
    int base[CLAB_BUFFER_COUNT + 1]; // where each buffer's chunks begin among a rank's; the last: how many there are
    struct clab_step *steps;         // (width)
    int *inputs;                     // (P, cells)
    struct clab_page_counts *counts; // (rounds + 1)
    FILE *out;
};

// Count everything into `counts` and `inputs`.
void clab_page_count(const struct clab_page *page);

// How many bytes a message has.
size_t clab_page_bytes(const struct clab_page *page, const struct clab_message *message);

// Whether the collective promises `rank` this chunk of CLAB_DATA; how many it promises to all ranks.
bool clab_page_wants(const struct clab_page *page, int rank, int cell);
int clab_page_wanted(const struct clab_page *page);

// Call `visit` with the time at which each stage of `rank` that has steps ends.
void clab_page_visit_stages(const struct clab_page *page, int rank,
                            void (*visit)(const struct clab_page *page, long end));

// What stepper.js plays, in JSON.
void clab_page_put_data(const struct clab_page *page);
