// SPDX-License-Identifier: MIT
// See faults.h. Each library has its own count.

#include "tests/fakes/faults.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    enum fake_event befalls;
} kinds[] = {
    [FAKE_NONE] = {"none", FAKE_OPERATION},      [FAKE_ASYNC] = {"async", FAKE_OPERATION},
    [FAKE_HANG] = {"hang", FAKE_OPERATION},      [FAKE_ABORT] = {"abort", FAKE_OPERATION},
    [FAKE_STUCK] = {"stuck", FAKE_OPERATION},    [FAKE_FULL] = {"full", FAKE_OPERATION},
    [FAKE_MEMORY] = {"memory", FAKE_ALLOCATION}, [FAKE_REGISTER] = {"register", FAKE_REGISTRATION},
    [FAKE_INIT] = {"init", FAKE_BEGINNING},      [FAKE_WAIT] = {"wait", FAKE_OPERATION},
    [FAKE_JAM] = {"jam", FAKE_OPERATION},
};
static pthread_once_t once = PTHREAD_ONCE_INIT;
static enum fake_fault asked;
static int when;
static atomic_int count;

static enum fake_fault kind_of(const char *name)
{
    for (int kind = FAKE_ASYNC; kind <= FAKE_JAM; kind++)
        if (!strcmp(name, kinds[kind].name))
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
                "stuck, full, memory, register, init, wait or jam, OP counts from 1\n",
                text);
        exit(2);
    }
    if (whose == (rank ? atoi(rank) : 0))
        asked = kind_of(name);
}

enum fake_fault fake_fault_of(enum fake_event event)
{
    pthread_once(&once, start);
    if (asked == FAKE_NONE || kinds[asked].befalls != event)
        return FAKE_NONE;
    const int n = atomic_fetch_add(&count, 1) + 1;
    return n == when || (n > when && asked == FAKE_REGISTER) ? asked : FAKE_NONE; // what is used up stays so
}
