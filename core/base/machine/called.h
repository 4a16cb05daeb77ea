// SPDX-License-Identifier: MIT
// How this program is called, for advice that a reader can type.
//
// - Texts of this kit say "./commlab", which is right in the kit's folder. A kit that `make install` has put somewhere has
//   no such file: there it is "commlab", or the path that it was called by. Only this file knows the difference.
// - The log, --help and the functions below say it as it is; others print by them what may hold "./commlab".
// - A name that only begins so, as ./commlab-old or ./commlab/results, stays.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

// For main: the word that the program was called by.
void clab_called_by(const char *argv0);
// "./commlab", "commlab", or "/opt/bin/commlab".
const char *clab_called(void);
// Whether this program is part of an installed kit.
bool clab_is_installed(void);
// What builds the kit again, and what installs the libraries before that: "make" and "./setup.sh", which an installed kit
// lacks.
const char *clab_rebuild(void);
const char *clab_setup(void);

// Copy `text` with the right name, cut to `room` > 0. Returns its length. out: another buffer than text
size_t clab_called_copy(const char *text, char *out, size_t room);
// Likewise, in memory that is freed by the caller; NULL: there is none.
char *clab_called_text(const char *text);
// Write `text` with the right name.
void clab_called_write(FILE *out, const char *text);
// printf to `out`, or to standard output, with the right name.
void clab_say_to(FILE *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
void clab_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
