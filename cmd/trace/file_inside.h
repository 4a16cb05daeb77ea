// SPDX-License-Identifier: MIT
// A trace file as file.c reads it, and sum.c sums it up; with jansson only.
#pragma once

#include <jansson.h>
#include <stddef.h>

// The fields of an event that are used here.
struct event {
    int process, row;
    double begin, end; // s
    char kind;
    const char *name, *id;
    size_t index; // in the file
};

struct trace_file {
    json_t *root, *list;  // the whole, and its events
    struct event *events; // (n) without names; slices first, sorted by row and begin
    size_t n, nslices;
    const char *path; // the caller's
};

// Of a process's spans, those in which nothing but computing is done: they hold no other span, as a whole training step
// does, and no call begins in them.  Returns how many.
//   spans, calls: sorted by begin here; computes: (n)
int trace_find_computes(const struct event *spans[], int n, const struct event *calls[], int ncalls,
                        const struct event *computes[]);
