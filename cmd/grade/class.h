// SPDX-License-Identifier: MIT
// What the files of `commlab class` share.
//
// - class.c       the command: grades each student, and writes the table.
// - class_key.c   whether a result is still that of what is handed in.
// - class_page.c  the page that a teacher reads.
// - class_person.c  the points that a person gives, and the sums for a gradebook.
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
    char *reason;       // of one that is rejected or not graded, or is graded and has another's student.txt; or NULL
    bool is_read;       // a row of the person's form is this student's
    double person, off; // points by a person, NAN: none yet; points taken off
    char *comment;      // the person's; or NULL
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

// DIR/HW.person.csv: read into the students if it is there, else written as a form.
//   errors: CLAB_EPARSE (a row that can not be, logged), those of clab_table_write_csv
int class_person(struct class *class, const char *path);
// A student's sum of 100: the machine's and the person's points, less what is taken off. NAN: a part is missing
double class_total(const struct class_student *student);
// DIR/HW.grades.csv.
int class_grades(const struct class *class, const char *path);

// The two questions of a student: read from the file at `path`, or else written to it.
int class_ask(const struct class *class, const char *path, struct class_student *student);
// All of them: DIR/HW.questions.csv.
int class_questions(const struct class *class, const char *path);
// DIR/HW.jplag: submissions/ID/FILE and base/FILE.
int class_jplag(const struct class *class, const char *root);
// What was handed in of a homework that wants a whole folder: whether people wrote this file.
bool class_is_written(const char *name);
