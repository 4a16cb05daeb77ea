// SPDX-License-Identifier: MIT
// What the files of `commlab class` share.
//
// - class.c       the command: grades each student, and writes the table.
// - class_key.c   whether a result is still that of what is handed in.
// - class_page.c  the page that a teacher reads.
// - class_more.c  two questions per student, and the folders for JPlag.
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>

#include "cmd/grade/homeworks.h"

enum { CLASS_TESTS = 24, CLASS_KEY = 65 };

enum class_status { CLASS_GRADED, CLASS_REJECTED, CLASS_UNGRADED };
extern const char *const class_status_texts[]; // "graded"

struct class_student {
    char *id; // the folder's name; what can not be shown is a question mark
    enum class_status status;
    double points[CLASS_TESTS]; // NAN where there are none
    double sum;
    char *messages[CLASS_TESTS]; // lines
    char *reason;                // of one that is rejected or not graded; NULL: there is none
    bool has_questions;
    struct homework_question questions[HOMEWORK_QUESTIONS];
};

struct class
{
    const char *folder, *id, *salt; // DIR, "h2", a file or NULL
    const struct homework *homework;
    int ntests;
    double most; // points by the machine
    struct class_student *students;
    int nstudents, room;
};

// A name for what decides a result: the kit, the salt, the student, and all bytes that were handed in.
//   folder: the student's
//   errors: CLAB_EUNSUPPORTED (no libsodium; logged), CLAB_EIO
int class_key_begin(const struct class *class);
int class_key(const struct class *class, const char *student, const char *folder, char key_p[CLASS_KEY]);

// DIR/HW.html.  errors: those of clab_output_open
int class_page_write(const struct class *class, const char *path);

// The two questions of a student: read from the file at `path`, or else written to it.
int class_ask(const struct class *class, const char *path, struct class_student *student);
// All of them: DIR/HW.questions.csv.
int class_questions(const struct class *class, const char *path);
// DIR/HW.jplag: submissions/ID/FILE and base/FILE.
int class_jplag(const struct class *class, const char *root);
// What was handed in of a homework that wants a whole folder: whether people wrote this file.
bool class_is_written(const char *name);
