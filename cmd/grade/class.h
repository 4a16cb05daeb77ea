// SPDX-License-Identifier: MIT
// What the files of `commlab class` share.
//
// - class.c       the command: grades each student, and writes the table.
// - class_folder.c  refuses a folder that is another homework's, before anything is written.
// - class_key.c   whether a result is still that of what is handed in, and who handed in the same bytes.
// - class_page.c  the page that a teacher reads.
// - class_person.c  the points that a person gives, and the sums for a gradebook.
// - class_say.c   what is said on the terminal.
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
    char *reason;                // of one that is rejected or not graded, or is graded but wants a look; or NULL
    bool is_broken;              // graded, but what was handed in can not be compiled
    bool is_read;                // a row of the person's form is this student's
    bool is_new;                 // that row was added by this run
    char content[CLASS_KEY];     // a name for the bytes that were handed in; "" for none, or the starter's
    double person, off;          // points by a person, NAN: none yet; points taken off
    char *comment;               // the person's; or NULL
    bool has_questions;
    struct homework_question questions[HOMEWORK_QUESTIONS];
};

struct class
{
    const char *folder, *id, *salt; // DIR, "h2", a file or NULL
    const struct homework *homework;
    int ntests;
    double most;             // points by the machine
    char starter[CLASS_KEY]; // the content of the starter
    struct class_student *students;
    int nstudents, room;
};

// A name for what decides a result: the kit, the salt, the student, and all bytes that were handed in.
//   folder: the student's
//   errors: CLAB_EUNSUPPORTED (no libsodium; logged), CLAB_EIO
int class_key_begin(const struct class *class);
int class_key(const struct class *class, const char *student, const char *folder, char key_p[CLASS_KEY]);

// Refuses, in one line, a folder that is no class of this homework, or whose grades a run without a salt would replace.
//   errors: CLAB_ENOENT, CLAB_EINVAL (logged)
int class_check_folder(const struct class *class);

// A name for what was handed in, whoever did: the homework's file, or all files of the folder but student.txt. "": nothing
void class_content(const struct class *class, const char *folder, char content_p[CLASS_KEY]);
// The next student who handed in the same bytes as student i; -1: none. And whether a student before i did.
int class_next_same(const struct class *class, int i);
bool class_has_same_before(const struct class *class, int i);

// What came of it, on standard output.
void class_say(const struct class *class);

// DIR/HW.html.  errors: those of clab_output_open
int class_page_write(const struct class *class, const char *path);

// DIR/HW.person.csv: written as a form, or read into the students if it is there. Who has no row gets one at its end.
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
