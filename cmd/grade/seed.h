// SPDX-License-Identifier: MIT
// Who hands something in, and the numbers that are this student's own.
//
// - What a student sees (the files of `commlab start h2 --student ada`) depends on the ID alone, so a teacher gets the
//   same files. What is hidden depends on the class's salt, too, so nobody without the salt can foresee it.
// - Needs libsodium.
// - Source: Aumasson et al. 2013, BLAKE2, keyed by the salt.
#pragma once

#include <stdbool.h>
#include <stdint.h>

// Whether `student` is an ID: 1 to 64 letters, digits, '.', '_', '-' and '@', the first one no '.' and no '-'.
bool homework_is_student(const char *student);
//   errors: CLAB_EINVAL, logged behind the command's name
int homework_check_student(const char *command, const char *student);

// Whose work a folder holds: the first word of its student.txt, where '#' begins a comment. False: there is no such file, or
// the word is no ID. Nobody trusts the folder: a link or a pipe is no such file.
enum { HOMEWORK_STUDENT = 65 }; // room for an ID
bool homework_student_of(const char *folder, char student_p[HOMEWORK_STUDENT]);

// The class's secret: the first line of the file `path`. Freed by the caller.
//   errors: those of clab_input_open, CLAB_EPARSE (too short), each logged; the latter behind the command's name
int homework_read_salt(const char *command, const char *path, char **salt_p);

// A number that depends on the student, the salt and the name alone, the same on every machine.
//   salt: NULL for what the student sees
//   errors: CLAB_EUNSUPPORTED (built without libsodium; logged)
int homework_seed(const char *salt, const char *student, const char *name, uint64_t *seed_p);
