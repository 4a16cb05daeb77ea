// SPDX-License-Identifier: MIT
// The findings of `commlab doctor` about a build and its machine. Each file adds those of one subject.
//
// - A finding is one line: topic, state, and a remedy unless all is well.
// - A driver or a library may hang or crash, so a child with a deadline asks it (doctor_ask).
// - /proc and /sys are read below `root`, "" for this machine's own. A test gives made-up ones.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum doctor_level {
    DOCTOR_OK,
    DOCTOR_MISSING, // the kit works without it
    DOCTOR_WARNING, // it works, but slower, or not as expected
    DOCTOR_BROKEN,  // it is there and does not work: status 1
};

struct doctor_finding {
    enum doctor_level level;
    const char *section;         // of the program's constants
    char *topic, *text, *remedy; // remedy: "" if there is none
    bool is_fact;                // that one screen has room for
};

struct doctor {
    const char *root;
    const char *section; // of the findings that are added next
    struct doctor_finding *findings;
    int count, room;
    int told;        // of them, to the pipe of a child
    int pipe;        // of a child, to its parent; -1
    bool incomplete; // for want of memory
};

// ---- findings (findings.c) -------------------------------------------------------------------------------------

void doctor_add(struct doctor *doctor, enum doctor_level level, const char *topic, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
// The remedy of the last one.
void doctor_advise(struct doctor *doctor, const char *format, ...) __attribute__((format(printf, 2, 3)));

// The last one is a fact that belongs on the one screen that people see first.
void doctor_mark_fact(struct doctor *doctor);

// One screen, 120 columns wide: the summary, the first remedies, the facts.
void doctor_print_short(const struct doctor *doctor, FILE *out);
// All, in sections. The summary, which lists the first remedies, is last, where a terminal stands.
void doctor_print(const struct doctor *doctor, FILE *out);
// errors: CLAB_EUNSUPPORTED (built without jansson), CLAB_ENOMEM, CLAB_EIO
int doctor_print_json(const struct doctor *doctor, FILE *out);
// How many have this level.
int doctor_count(const struct doctor *doctor, enum doctor_level level);
void doctor_free(struct doctor *doctor);

// ---- children (ask.c) ------------------------------------------------------------------------------------------

// Let `ask` add its findings in a child, which prints nothing and is ended after `seconds`, or CLAB_TIMEOUT. `of` is
// passed to it. If it hangs or dies, that is a finding of `topic`, DOCTOR_BROKEN. Returns whether it came to its end.
// Exit handlers of the libraries that it has loaded run for two seconds at most.
bool doctor_ask(struct doctor *doctor, const char *topic, double seconds, void (*ask)(struct doctor *, const void *of),
                const void *of);
// In a child: send the new findings to the parent. For doctor_add.
void doctor_tell(struct doctor *doctor);

// ---- files (files.c) -------------------------------------------------------------------------------------------

// The first line of a file below root, without blanks at its end; false, and "", if it can not be read.
bool doctor_read(const struct doctor *doctor, char *out, size_t room, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
// The number in it; `other` if there is none.
long long doctor_read_number(const struct doctor *doctor, long long other, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
// The last part of the target of a symbolic link below root.
bool doctor_read_link(const struct doctor *doctor, char *out, size_t room, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
bool doctor_exists(const struct doctor *doctor, const char *format, ...) __attribute__((format(printf, 2, 3)));
// The names in a folder below root, sorted as people do (eth2 before eth10); 0 if there is none. Freed by
// doctor_names_free.
int doctor_names(const struct doctor *doctor, const char *folder, char ***names_p);
void doctor_names_free(char **names, int n);

// ---- the subjects: one file each -------------------------------------------------------------------------------

void doctor_build(struct doctor *doctor);       // compiler, libraries
void doctor_backends(struct doctor *doctor);    // can one rank open each?
void doctor_machine(struct doctor *doctor);     // cores, memory, limits
void doctor_timing(struct doctor *doctor);      // noise in times
void doctor_network(struct doctor *doctor);     // cards, InfiniBand, TCP
void doctor_gpus(struct doctor *doctor);        // driver, devices, links
void doctor_nccl(struct doctor *doctor);        // CUDA's runtime and NCCL
void doctor_environment(struct doctor *doctor); // NCCL_*, CUDA_*, CLAB_*
void doctor_results(struct doctor *doctor);     // secrets in files that earlier versions wrote
