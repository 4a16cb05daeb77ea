// SPDX-License-Identifier: MIT
// See faults.h. Each library has its own count.

#include "faults.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[] = {"none", "async", "hang", "abort", "stuck", "full", "memory"};
static pthread_once_t once = PTHREAD_ONCE_INIT;
static enum fake_fault asked;
static int when;
static atomic_int count;

static enum fake_fault kind_of(const char *name)
{
    for (int kind = FAKE_ASYNC; kind <= FAKE_MEMORY; kind++)
        if (!strcmp(name, names[kind]))
            return (enum fake_fault)kind;
    return FAKE_NONE;
}

static void start(void)
{
    const char *text = getenv("CLAB_FAKE_FAULT"), *rank = getenv("RANK");
    if (!text || !*text)
        return;
    char name[16], rest;
    int whose;
    if (sscanf(text, "%15[a-z]@%d:%d%c", name, &whose, &when, &rest) != 3 || !kind_of(name) || when < 1) {
        fprintf(stderr,
                "fake: CLAB_FAKE_FAULT=%s is not KIND@RANK:OP, such as hang@1:3; KIND is async, hang, abort, "
                "stuck, full or memory, OP counts from 1\n",
                text);
        exit(2);
    }
    if (whose == (rank ? atoi(rank) : 0))
        asked = kind_of(name);
}

static enum fake_fault next(int is_memory)
{
    pthread_once(&once, start);
    if (asked == FAKE_NONE || (asked == FAKE_MEMORY) != is_memory)
        return FAKE_NONE;
    return atomic_fetch_add(&count, 1) + 1 == when ? asked : FAKE_NONE;
}

enum fake_fault fake_fault_of_allocation(void)
{
    return next(1);
}

enum fake_fault fake_fault_of_operation(void)
{
    return next(0);
}
