// SPDX-License-Identifier: MIT
// Environment variables that NCCL, CUDA and this kit read: what each means, and what it may be.
#pragma once

#include <stdbool.h>

struct doctor;

enum { DOCTOR_WRONG = 200 }; // bytes of what is wrong

enum doctor_value {
    VALUE_TEXT,       // anything
    VALUE_SWITCH,     // 0 or 1
    VALUE_INTEGER,    // least to most, in decimal or 0x...
    VALUE_WORD,       // one of `words`
    VALUE_WORDS,      // a list of them, with commas; ^ before it leaves them out
    VALUE_BY_CALL,    // such lists, for all or for a function each: "ring;allreduce:tree,nvls"
    VALUE_FILE,       // one that can be read
    VALUE_LIBRARY,    // likewise, or a name without a folder
    VALUE_INTERFACES, // of the network: "eth" (a prefix), "=eth0,eth1", "^docker"
    VALUE_DEVICES,    // GPUs: numbers or UUIDs with commas
    VALUE_DURATION,   // with a unit, as of this kit
};

struct doctor_variable {
    const char *name, *meaning;
    enum doctor_value value;
    long long least, most; // of an integer
    const char *words;     // with blanks between them; upper and lower case are the same
    const char *slows;     // the value other than 0, if set, makes it slower or switches something off: what; else NULL
};

// All that are known, by their names; NULL after the last.
extern const struct doctor_variable doctor_known_variables[];
// Names that NCCL reads but does not document, with blanks between and around them: what they do may change.
extern const char doctor_hidden_variables[];

// What is wrong with the value, for people; "": nothing.
void doctor_judge(const struct doctor *doctor, const struct doctor_variable *variable, const char *text,
                  char wrong[DOCTOR_WRONG]);
