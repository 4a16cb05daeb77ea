// SPDX-License-Identifier: MIT
// The nearest word to a mistyped one: for messages such as "there is no algorithm 'rign' (did you mean 'ring'?)".
//
//   struct clab_nearest nearest = clab_nearest_to(text, strlen(text));
//   for each word that there is: clab_nearest_offer(&nearest, word);
//   clab_error("there is no '%s'%s", text, clab_nearest_hint(&nearest));
#pragma once

#include <stddef.h>

struct clab_nearest {
    char text[64], word[64]; // word: the nearest so far, or ""
    int distance;            // more than that is not near
    char hint[96];
};

struct clab_nearest clab_nearest_to(const char *text, size_t length);
void clab_nearest_offer(struct clab_nearest *nearest, const char *word);
// " (did you mean 'ring'?)", or "" if no word is near.
const char *clab_nearest_hint(struct clab_nearest *nearest);

// Letters to change, add, take away or swap with their neighbour, that make one word of the other; of words of 63
// letters at most.
//   source: Damerau 1964, in the form that changes no letter twice (optimal string alignment)
int clab_edit_distance(const char *a, const char *b);
