// SPDX-License-Identifier: MIT
// A rank as a machine: its cores and the two directions of its adapters, and what waits for them.
// - What waits for the same core and adapter waits in one *line*. Among those at the heads of their lines that can
//   start, the first is the one whose cause is oldest.
// - A rank has as many as it uses: memory grows with the program, not with the numbers in it.
// Source: Fredman, Sedgewick, Sleator and Tarjan 1986, "The pairing heap".
#pragma once

#include <stddef.h>
#include <stdint.h>

enum host_kind { HOST_CORE, HOST_OUT, HOST_IN };
enum { HOST_NONE = -1 };

// A core, or an adapter's port, by its number; `inter`: the port to other nodes.
static inline int host_port(enum host_kind kind, int inter, int number)
{
    return (int)kind << 9 | inter << 8 | number;
}

struct host_resource {
    int id;
    double free; // s: from then on
};

// What it is that waits.
// Of the same cause, messages go first, then sends, then calculations.
enum host_work { HOST_TAKE, HOST_RECEIVE, HOST_SEND, HOST_CALC, HOST_WORKS };

struct host_line {
    enum host_work work;
    int16_t a, b; // the resources that it needs, both at once; HOST_NONE
    int32_t head; // of those that wait, a pairing heap; HOST_NONE
};

struct host_waiting {
    uint64_t turn, order; // the lower is before the higher, and among equal turns the lower order
    uint32_t item;
    int32_t child, sibling; // in its line
};

struct host_pool {
    struct host_waiting *all;
    size_t used, room;
    int32_t spare;
};

enum host_part { HOST_LATENCY, HOST_BANDWIDTH, HOST_REDUCE, HOST_PARTS };

struct host {
    struct host_resource *resources;
    struct host_line *lines;
    uint16_t nresources, resource_room, nlines, line_room;
    int is_dirty;             // something may be able to start
    double begin;             // s: before that it does nothing
    double wake;              // s: it is looked at then
    double spent[HOST_PARTS]; // s; time in which two things go on counts once
    double seen, end;         // s: counted until then; its last operation has ended
};

void host_free(struct host *h);

// The resource of that id.  errors: CLAB_ENOMEM
int host_find(struct host *h, int id, int *resource_p);
// The line of that work and those resources' ids (HOST_NONE: none).  errors: CLAB_ENOMEM
int host_find_line(struct host *h, enum host_work work, int a, int b, struct host_line **line_p);

int host_wait(struct host_pool *pool, struct host_line *line, struct host_waiting waiting); // CLAB_ENOMEM
struct host_waiting host_leave(struct host_pool *pool, struct host_line *line);             // that is not empty

// Of the time from `begin` to `end` what has not been counted yet.
void host_spend(struct host *h, enum host_part part, double begin, double end);
