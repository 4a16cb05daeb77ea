// SPDX-License-Identifier: MIT
// lab.h: what the programs of all labs share, so that a before.c and its after.c differ by the lesson alone.
//
// - Arguments: lab_arguments gives a program its usual ones when it was started without any.
// - Data: lab_data_make gives every rank an array, and knows the sum of them all. Fill the result with NaN
//   (lab_data_poison) before a call that is checked (lab_data_check).
// - Time: lab_time and lab_sample call a function of the program's again and again, all ranks together.
// - Reports: lab_report reports the slowest or busiest rank's numbers under a name that is put together as by printf.
// - Spans: lab_span_begin opens one under such a name. `commlab check` counts messages and bytes between it and
//   clab_span_end.
// - It does not communicate for a lab: what is timed, and what is compared, is the program's own.
#pragma once

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clab.h"

// ---- arguments -----------------------------------------------------------------------------------------------

enum { LAB_MOST_ARGUMENTS = 64 };

// Without arguments, the program gets the `usual` ones: words with single blanks between them, as in "64K 1 4 16".
static inline void lab_arguments(int *argc, char ***argv, const char *usual)
{
    static char text[256], *words[LAB_MOST_ARGUMENTS];
    if (*argc > 1)
        return;
    must(strlen(usual) < sizeof text ? CLAB_OK : CLAB_EINVAL);
    strcpy(text, usual);
    words[0] = **argv, *argv = words;
    for (char *word = strtok(text, " "); word && *argc < LAB_MOST_ARGUMENTS; word = strtok(NULL, " "))
        words[(*argc)++] = word;
}

// ---- data ----------------------------------------------------------------------------------------------------

// What ranks add up. All arrays: (count).
struct lab_data {
    struct clab_job *job;
    size_t count, bytes;   // of one array
    float *in, *out;       // of clab_alloc, perhaps a GPU's: what this rank gives, and where the sum is to be
    float *expected, *got; // the program's own: the sum, and room for a copy of `out`
};

// Small whole numbers, so that every order of adding gives the same sum.
static inline float lab_value(int rank, size_t i)
{
    return (float)(((unsigned)i * 2654435761u ^ (unsigned)(rank + 1) * 2246822519u) >> 24);
}

// The sum over the elements of all ranks' arrays of `bytes`: what lab_data_check returns where all is right.
static inline double lab_checksum(int ranks, size_t bytes)
{
    double sum = 0;
    for (int rank = 0; rank < ranks; rank++)
        for (size_t i = 0; i < bytes / sizeof(float); i++)
            sum += lab_value(rank, i);
    return sum;
}

// Arrays of `bytes`, a multiple of 4: this rank's values in `in`, the sum of all ranks' in `expected`.
static inline struct lab_data lab_data_make(struct clab_job *job, size_t bytes)
{
    struct lab_data data = {.job = job, .count = bytes / sizeof(float), .bytes = bytes};
    must(clab_alloc(job, bytes, (void **)&data.in));
    must(clab_alloc(job, bytes, (void **)&data.out));
    must((data.expected = calloc(2, bytes)) ? CLAB_OK : CLAB_ENOMEM);
    data.got = data.expected + data.count;
    for (int rank = 0; rank < clab_job_ranks(job); rank++)
        for (size_t i = 0; i < data.count; i++)
            data.expected[i] += lab_value(rank, i);
    for (size_t i = 0; i < data.count; i++)
        data.got[i] = lab_value(clab_job_rank(job), i);
    must(clab_copy(job, data.in, data.got, bytes));
    return data;
}

static inline void lab_data_free(const struct lab_data *data)
{
    free(data->expected);
    clab_free(data->job, data->out);
    clab_free(data->job, data->in);
}

// Every element of `out` becomes NaN, so that one which nobody writes is found.
static inline void lab_data_poison(const struct lab_data *data)
{
    must(clab_set(data->job, data->out, 0xff, data->bytes));
}

// Ends the program at the first element that is not as expected, and says which one. `what` names the array.
static inline void lab_expect(int rank, const char *what, size_t count, const float got[], const float expected[])
{
    size_t wrong = 0; // counted first: compilers compare many at a time where nothing leaves the loop
    for (size_t i = 0; i < count; i++)
        wrong += got[i] != expected[i];
    for (size_t i = 0; wrong && i < count; i++) {
        if (got[i] == expected[i])
            continue;
        fprintf(stderr, "rank %d, index %zu: got %.9g, expected %.9g (%s)\n", rank, i, got[i], expected[i], what);
        must(CLAB_EWRONG);
    }
}

// What a wrong array may come from: works that were started, and that nobody has waited for. "": none.
static inline void lab_name_unwaited(const struct clab_job *job, size_t room, char text_p[])
{
    const struct clab_counts n = clab_job_counts(job);
    *text_p = 0;
    if (n.started != n.waited_for)
        snprintf(text_p, room, "; sends and receives of this rank that were started and have no wait: %zu",
                 n.started - n.waited_for);
}

// Ends the program unless all ranks have rank 0's values. Collective.
static inline void lab_expect_same(struct clab_comm *comm, const char *what, size_t count, const float *values)
{
    const size_t bytes = count * sizeof(float);
    float *got = malloc(bytes), *expected = malloc(bytes);
    must(got && expected ? CLAB_OK : CLAB_ENOMEM);
    must(clab_copy(clab_comm_job(comm), got, values, bytes));
    must(clab_broadcast(comm, got, expected, count, CLAB_F32, 0));
    char text[96];
    snprintf(text, sizeof text, "%s; expected is what rank 0 has", what);
    lab_expect(clab_comm_rank(comm), text, count, got, expected);
    free(expected);
    free(got);
}

// Ends the program unless `out` is the sum of all ranks' `in`. Returns the sum over its elements.
static inline double lab_data_check(const struct lab_data *data, const char *what)
{
    double sum = 0;
    char unwaited[96], text[192];
    lab_name_unwaited(data->job, sizeof unwaited, unwaited);
    snprintf(text, sizeof text, "%s%s", what, unwaited);
    must(clab_copy(data->job, data->got, data->out, data->bytes));
    lab_expect(clab_job_rank(data->job), text, data->count, data->got, data->expected);
    for (size_t i = 0; i < data->count; i++)
        sum += data->got[i];
    return sum;
}

// ---- time ----------------------------------------------------------------------------------------------------

enum { LAB_SAMPLES = 5 }; // of a run; `commlab lab` repeats whole runs, and takes its interval from these

// Each value becomes the largest of all ranks': seconds those of the slowest rank, bytes those of the busiest.
static inline void lab_slowest(struct clab_comm *comm, double values[], int n)
{
    must(clab_allreduce(comm, values, values, (size_t)n, CLAB_F64, CLAB_MAX));
}

// Seconds per call: this rank's mean over `calls` of them, one straight after another. All ranks begin together.
static inline double lab_time(struct clab_comm *comm, int calls, void (*call)(void *), void *context)
{
    must(clab_barrier(comm));
    const double start = clab_seconds();
    for (int i = 0; i < calls; i++)
        call(context);
    return (clab_seconds() - start) / calls;
}

// Seconds per call of the slowest rank: samples that last for about `seconds` each. How many calls these are, the mean
// of `first` calls says. Returns the number of samples: LAB_SAMPLES, in virtual time 1.
static inline int lab_sample(struct clab_comm *comm, double seconds, int first, void (*call)(void *), void *context,
                             double samples[LAB_SAMPLES])
{
    const int n = clab_samples(LAB_SAMPLES);
    double once = lab_time(comm, first, call, context);
    lab_slowest(comm, &once, 1); // so that all ranks make as many calls
    for (int i = 0; i < n; i++)
        samples[i] = lab_time(comm, clab_repeats(seconds, once), call, context);
    lab_slowest(comm, samples, n);
    return n;
}

// For qsort: the smaller number first.
static inline int lab_by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// Sorts the values, and returns the middle one.
static inline double lab_median(double values[], int n)
{
    qsort(values, (size_t)n, sizeof *values, lab_by_size);
    return values[n / 2];
}

// ---- reports and spans ---------------------------------------------------------------------------------------

// Report samples in `unit` ("s", "B", "1"), each the largest of all ranks'. They are changed to that.
//   name: as of printf: "time/%s/%zu", method, bytes
__attribute__((format(printf, 5, 6))) static inline void lab_report(struct clab_comm *comm, const char *unit,
                                                                    double samples[], int n, const char *name, ...)
{
    char text[96];
    va_list list;
    va_start(list, name);
    vsnprintf(text, sizeof text, name, list);
    va_end(list);
    lab_slowest(comm, samples, n);
    must(clab_report(comm, text, unit, samples, n));
}

// Open a span: what follows, up to clab_span_end, is counted and traced under this name of at most 31 characters.
//   name: as of printf: "%s/%zu", method, bytes
__attribute__((format(printf, 2, 3))) static inline void lab_span_begin(struct clab_job *job, const char *name, ...)
{
    char text[32];
    va_list list;
    va_start(list, name);
    vsnprintf(text, sizeof text, name, list);
    va_end(list);
    clab_span_begin(job, text);
}
