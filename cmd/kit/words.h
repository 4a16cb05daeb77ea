// SPDX-License-Identifier: MIT
// Sentences on a screen of KIT_COLUMNS columns.
#pragma once

#include <stddef.h>
#include <stdio.h>

enum { KIT_COLUMNS = 120 };

// Print the words of `text` from column `at` on, and return the column behind them. A word that would pass the last
// column begins a new line, behind `indent` blanks. Blanks between words stay, so that tables keep their columns.
int kit_print_words(const char *text, int at, int indent, FILE *out);
