// SPDX-License-Identifier: MIT
// Environment variables that NCCL, CUDA and this kit read: the meaning of each, and its allowed values.
#pragma once

#include <stdbool.h>

struct doctor;

enum { DOCTOR_WRONG = 200 }; // bytes of an error text

enum doctor_value {
    VALUE_TEXT,       // anything
    VALUE_SWITCH,     // 0 or 1
    VALUE_INTEGER,    // least to most, in decimal or 0x...
    VALUE_WORD,       // one of `words`
    VALUE_WORDS,      // a list of them, with commas; ^ before it leaves them out
    VALUE_BY_CALL,    // such lists, for all or for a function each: "ring;allreduce:tree,nvls"
    VALUE_FILE,       // a readable file
    VALUE_LIBRARY,    // a readable file, or a name without a folder
    VALUE_INTERFACES, // of the network: "eth" (a prefix), "=eth0,eth1", "^docker"
    VALUE_DEVICES,    // GPUs: numbers or UUIDs with commas
    VALUE_MULTIPLE,   // least to most, a multiple of the number in `words`
    VALUE_ABSENT,     // no program reads this name; `words`: what to use instead
    VALUE_DURATION,   // with a unit, as of this kit
};

struct doctor_variable {
    const char *name, *meaning;
    enum doctor_value value;
    long long least, most; // of an integer
    const char *words;     // with blanks between them; upper and lower case are the same
    const char *slows;     // the harm of a value other than 0; NULL: none
};

// All known ones, by name; NULL after the last.
extern const struct doctor_variable doctor_known_variables[];
// Names that NCCL reads but does not document, with blanks between and around them. Their meaning may change.
extern const char doctor_hidden_variables[];

// The error in the value, for people; "": none.
void doctor_judge(const struct doctor *doctor, const struct doctor_variable *variable, const char *text,
                  char wrong[DOCTOR_WRONG]);
