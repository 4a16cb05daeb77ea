// SPDX-License-Identifier: MIT
// The terminal of `commlab netmon`: a page that is written over itself, and the key that ends it.
//
// - The terminal is as before when screen_end has been called; signals that end programs only end screen_wait.
// - Plain ASCII, and no colour.
#pragma once

#include <stdbool.h>

// Take the terminal (is_page: standard output is one), and the signals.
void screen_begin(bool is_page);
void screen_end(void);

// Go to the top of the page; what was there is erased line by line as new ones are printed by screen_line.
void screen_top(void);
void screen_line(const char *format, ...) __attribute__((format(printf, 1, 2)));
// Erase what is left of the page before, and show it.
void screen_bottom(void);
int screen_columns(void);

// Wait until clab_now reads `until`, or less if q is typed or a signal comes. Whether to go on.
bool screen_wait(double until);

// "#####-----" of `width` signs and a NUL: how much `value` is of `most`. A value above 0 has at least one sign.
void screen_bar(double value, double most, int width, char bar[]);
