// SPDX-License-Identifier: MIT
// What the files of `commlab check` share (check.h is for the units).
//
// - check.c        the command: builds the program, lets the unit's check.c run its cases, says what came of it.
// - check_case.c   cases, requirements, and what is asked of a run.
// - check_hosts.c  starts it under a launcher, on one host or two.
// - check_start.c  starts the program, ends it by its deadline, and reads what it leaves.
// - check_why.c    why a run has failed, in the lines of its output that say it.
#pragma once

#include <stdio.h>

#include "cmd/course/check.h"
#include "cmd/course/unit.h"
#include "cmd/lab/lab.h"
#include "core/clab/counts.h"

enum { CHECK_LINE = 512, CHECK_WORDS = 64, CHECK_SPECIAL = 8 };

struct check_run {
    char command[CHECK_LINE];    // what was typed, as it were: "mine -n 4 --backend shm 65536 8"
    int ranks, hosts;            // hosts: of its launcher; 0: it starts its ranks itself
    struct clab_count_row *rows; // of spans and jobs, in the order of the file
    int nrows;
    struct lab_results reports; // of rank 0
};

struct check {
    const char *unit;         // "07"
    char program[PATH_MAX];   // that is run
    char folder[PATH_MAX];    // for its files; removed afterwards
    const char *source;       // what is checked
    bool is_mine, is_ours;    // whether that is work/NN/mine.c, or lies in the unit's own folder
    char file[PATH_MAX];      // check_file's
    char nets[PATH_MAX];      // the kit's networks
    int wanted;               // the only case to be run; 0: all
    int number, passed, left; // of the case that is begun; cases that passed; and that were not run
    bool is_open, failed;
    bool has_crashed; // by a signal that a line of the source has caused
    bool is_patient;  // a rank has come late: runs get more time from now on
    char title[CHECK_LINE];
    const char *advice[CHECK_FAILURES];
    struct check_special {
        enum check_failure failure;
        const char *pattern, *advice;
    } special[CHECK_SPECIAL]; // goes before advice[failure]
    int nspecial;
    struct check_run **runs;  // of the case
    char by_hand[CHECK_LINE]; // the flags of the run that was started last; "": none, or a launcher's
    int nruns, room;
    FILE *out;
    int err; // not the student's fault: CLAB_ENOMEM, CLAB_EIO, CLAB_EPEER (a signal ends us)
};

// Whether this program has the unit's check. Its check.c may be missing: a class is not given it (pack/handout.sh).
bool check_is_linked(const struct course_unit *unit);

// The case that is begun is over: say that it passed.
void check_end_case(struct check *c);

// Run the program as `run->command` says; fill in what it leaves.  out: *failure_p, CHECK_FAILURES: it ended well
//   facts:  of a failure
//   errors: CLAB_ESYS, CLAB_EIO, CLAB_EPEER, CLAB_ENOMEM
int check_start(struct check *c, struct check_run *run, char *const argv[], enum check_failure *failure_p,
                char facts[2 * CHECK_LINE]);

// The same under a launcher, on run->hosts hosts.  words: (CHECK_WORDS) the program and its arguments, ended by NULL
//   errors: the same
int check_hosts_start(struct check *c, struct check_run *run, char *const words[], enum check_failure *failure_p,
                      char facts[2 * CHECK_LINE]);

// Why a run failed: by waitpid's status, the file of what it complained of, and the line that says why it was stopped
// (NULL: it ended by itself).
enum check_failure check_why(const char *complaints, int status, const char *stopped, char facts[2 * CHECK_LINE]);
