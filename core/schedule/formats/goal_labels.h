// SPDX-License-Identifier: MIT
// The labels of a rank of a GOAL file. One may be used before it is defined.
// - l1, l2 ..., which programs write, are looked up by their number. Others are hashed, by a seed of this run's: so no
//   file can be made whose labels all share a bucket.
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { GOAL_UNDEFINED = -1 };

struct goal_label {
    int64_t op;    // or GOAL_UNDEFINED
    uint32_t line; // where it comes first
};

// A label that is not looked up by its number.
struct goal_name {
    size_t text, length; // in `texts`
    uint32_t label, next;
};

struct goal_labels {
    struct goal_label *all; // (n)
    uint32_t *by_number;    // (numbers) the label of l1, l2 ..., plus 1; 0: none
    struct goal_name *names;
    uint32_t *buckets; // (nbuckets) the last name of each, plus 1
    char *texts;
    size_t n, room, number_room, numbers, nnames, name_room, nbuckets, bucket_room, ntext, text_room;
    uint64_t seed;
};

void goal_labels_open(struct goal_labels *l);
void goal_labels_close(struct goal_labels *l);
void goal_labels_clear(struct goal_labels *l); // for the next rank

// The number of the label in `all`; it is new if there is none yet.  errors: CLAB_ENOMEM
int goal_labels_find(struct goal_labels *l, const char *text, size_t length, uint32_t line, uint32_t *label_p);

// Its text, which ends in a zero and is cut to `room`.
void goal_labels_text(const struct goal_labels *l, uint32_t label, char *text, size_t room);
