// SPDX-License-Identifier: MIT
// The nearest word (nearest.h).

#include "core/base/nearest.h"

#include <stdio.h>
#include <string.h>

enum { MOST_LETTERS = 63, MOST_DISTANCE = 2 };

static int least(int a, int b)
{
    return a < b ? a : b;
}

int clab_edit_distance(const char *a, const char *b)
{
    int rows[3][MOST_LETTERS + 1];
    const int m = (int)strnlen(a, MOST_LETTERS), n = (int)strnlen(b, MOST_LETTERS);
    for (int i = 0; i <= m; i++) {
        int *row = rows[i % 3], *last = rows[(i + 2) % 3], *before = rows[(i + 1) % 3];
        row[0] = i;
        for (int j = 1; j <= n; j++) {
            row[j] = j;
            if (i == 0)
                continue;
            row[j] = least(least(row[j - 1], last[j]) + 1, last[j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = least(row[j], before[j - 2] + 1);
        }
    }
    return rows[m % 3][n];
}

struct clab_nearest clab_nearest_to(const char *text, size_t length)
{
    struct clab_nearest nearest = {.distance = MOST_DISTANCE + 1};
    snprintf(nearest.text, sizeof nearest.text, "%.*s", (int)length, text);
    return nearest;
}

// A third of the letters may be wrong, and of the shortest words one: else any short word is near to any other.
void clab_nearest_offer(struct clab_nearest *nearest, const char *word)
{
    const int letters = (int)strlen(word), typed = (int)strlen(nearest->text);
    const int distance = clab_edit_distance(nearest->text, word);
    if (distance < nearest->distance && distance < least(letters, typed) && 3 * distance < letters + 3)
        snprintf(nearest->word, sizeof nearest->word, "%s", word);
    else
        return;
    nearest->distance = distance;
}

const char *clab_nearest_hint(struct clab_nearest *nearest)
{
    if (*nearest->word)
        snprintf(nearest->hint, sizeof nearest->hint, " (did you mean '%s'?)", nearest->word);
    return nearest->hint;
}
