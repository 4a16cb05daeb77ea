// SPDX-License-Identifier: MIT
// Homework h4: what your mine.c defines. You fit a machine that you do not see, and foresee its times.
//
// The machine is a cluster. It does allreduce by two algorithms, in virtual time: the same question has the same answer.
// - h4_plan is called first, alone. It writes down what you want to measure.
// - The grader measures that, on several machines. Your program never sees the machines.
// - h4_foresee is called once for each time to foresee, with all answers of one machine. It must depend on its arguments
//   alone.
#pragma once

#include <stddef.h>

// ring:     each rank sends 2 (P - 1) messages of about bytes / P, one after another.
// doubling: each rank sends log2(P) messages of `bytes`: to rank XOR 1, then to rank XOR 2, XOR 4, ...
enum h4_algorithm { H4_RING, H4_DOUBLING };

// "How long does an allreduce of `bytes` bytes (floats, 4 bytes each) among `ranks` ranks take?"
struct h4_question {
    enum h4_algorithm algorithm;
    int ranks;
    size_t bytes;
};

struct h4_answer {
    struct h4_question question;
    double seconds;
};

// What you may ask: so many questions, of 2, 4, 8 or 16 ranks and 4 bytes to 4 MiB, in steps of 4 bytes.
// What you foresee: 2 to 256 ranks, a power of two; 8 bytes to 64 MiB.
enum { H4_QUESTIONS = 24, H4_ASKED_RANKS = 16, H4_ASKED_BYTES = 4 << 20 };

// Fill in the questions, and return how many they are, 1 to H4_QUESTIONS.
int h4_plan(struct h4_question questions[H4_QUESTIONS]);

// The time of `question` in seconds, by the n answers of one machine: answers[i] is that of your plan's questions[i].
double h4_foresee(const struct h4_answer *answers, int n, struct h4_question question);
