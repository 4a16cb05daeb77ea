// SPDX-License-Identifier: MIT
// Homework h1: a benchmark matrix and what it shows. The grader holds the data to be complete and to agree with their own
// samples, and computes five claims anew. It does not score how long anything took.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/grade/homework.h"
#include "cmd/grade/seed.h"
#include "core/base/machine/called.h"
#include "core/base/err.h"
#include "core/base/files/output.h"
#include "labs/homework/h1/check.h"
#include "labs/homework/h1/claims.h"

enum { MOST_MATRIX = 1 << 20, MOST_SAMPLES = 8 << 20, MOST_CLAIM_BYTES = 1 << 16, MOST_NAMED = 5, SEEDS = 1000000 };
static const char seed_name[] = "h1 data";

static const struct homework_test tests[] = {{"complete", "the matrix has all cells", 15, false},
                                             {"consistent", "each row is what its samples give", 15, false},
                                             {"own", "the data are this student's own", 5, false},
                                             {"claims", "five claims are what the rows give", 25, false},
                                             {0}};

// The seed of the data that this student measures with.
static uint64_t data_seed(uint64_t seed)
{
    return 1 + seed % (SEEDS - 1);
}

// ---- rows ----------------------------------------------------------------------------------------------------------

static void grade_cells(struct grading *g, const struct h1_data *data)
{
    char why[H1_WHY] = "";
    const char *backend = h1_main_backend(data);
    const int n = h1_count_cells(data, backend, why);
    if (n == H1_CELLS)
        grading_award(g, "complete", 1, "%s has all %d cells, measured or with a reason", backend, n);
    else
        grading_award(g, "complete", n / (double)H1_CELLS, "%s has %d of %d cells; %s",
                      *backend ? backend : "no backend", n, H1_CELLS, why);
}

// Rows that agree with their samples, and rows that are no copies; the first few others are named.
static void grade_rows(struct grading *g, const struct h1_data *data)
{
    char why[H1_WHY];
    int measured = 0, agree = 0, own = 0;
    for (int i = 0; i < data->nrows; i++)
        measured += h1_row_is_measured(&data->rows[i]);
    if (!measured) {
        grading_fail(g, NULL, "matrix.csv has no measured row of allreduce");
        return;
    }
    for (int i = 0; i < data->nrows; i++)
        if (h1_row_is_measured(&data->rows[i])) {
            agree += h1_row_agrees(&data->rows[i], why);
            own += h1_row_is_own(data, &data->rows[i], why);
        }
    const bool is_mine = data->seed == data_seed(grading_seed(g, seed_name, false));
    grading_award(g, "consistent", agree / (double)measured, "%d of %d rows agree with their samples", agree, measured);
    grading_award(
        g, "own", is_mine ? own / (double)measured : 0,
        is_mine
            ? "%d of %d rows are measurements of their own"
            : "the data have another seed than yours: make them with your own work/h1/measure.sh (%d of %d rows are no copies)",
        own, measured);
}

static void name_rows(struct grading *g, const struct h1_data *data)
{
    char why[H1_WHY];
    int wrong = 0, copies = 0, odd = 0;
    for (int i = 0; i < data->nrows; i++) {
        const struct h1_row *row = &data->rows[i];
        if (!h1_row_is_measured(row))
            continue;
        if (!h1_row_agrees(row, why) && wrong++ < MOST_NAMED)
            grading_note(g, "consistent", "%s", why);
        if (!h1_row_is_own(data, row, why) && copies++ < MOST_NAMED)
            grading_note(g, "own", "%s", why);
        if (h1_row_is_odd(data, row, why) && odd++ < MOST_NAMED)
            grading_note(g, "consistent", "to discuss, without points: %s", why);
    }
}

// ---- claims --------------------------------------------------------------------------------------------------------

static void grade_claims(struct grading *g, const struct h1_data *data)
{
    struct h1_claim claims[H1_MOST_CLAIMS];
    char why[H1_WHY] = "";
    size_t bytes;
    int n;
    const char *text = grading_read(g, "claims.csv", MOST_CLAIM_BYTES, &bytes);
    if (!text) {
        grading_fail(g, "claims", "there is no claims.csv in what you hand in: commlab start h1 gives its form");
        return;
    }
    if (h1_claims_judge(text, bytes, data, claims, &n, why)) {
        grading_fail(g, "claims", "%s", why);
        return;
    }
    const int counted = h1_claims_count(claims, n, why);
    grading_award(g, "claims", counted / (double)H1_CLAIMS, "%d of %d claims count", counted, H1_CLAIMS);
    for (int i = 0; i < n; i++)
        grading_note(g, "claims", "claims.csv:%d: %s: %s", claims[i].line, claims[i].quantity, claims[i].said);
    if (*why)
        grading_note(g, "claims", "%s", why);
}

// ---- grading -------------------------------------------------------------------------------------------------------

static void grade(struct grading *g)
{
    static const char missing[] = "there is no %s in what you hand in: work/h1/measure.sh writes it";
    struct h1_data data;
    char why[H1_WHY] = "";
    size_t matrix_bytes, samples_bytes;
    const char *matrix = grading_read(g, "matrix.csv", MOST_MATRIX, &matrix_bytes);
    const char *samples = grading_read(g, "matrix_samples.csv", MOST_SAMPLES, &samples_bytes);
    if (!matrix || !samples)
        grading_fail(g, NULL, missing, matrix ? "matrix_samples.csv" : "matrix.csv");
    else if (h1_data_read(matrix, matrix_bytes, samples, samples_bytes, &data, why))
        grading_fail(g, NULL, "%s", why);
    else {
        grade_cells(g, &data);
        grade_rows(g, &data);
        name_rows(g, &data);
        grade_claims(g, &data);
        h1_data_free(&data);
    }
}

// ---- starting ------------------------------------------------------------------------------------------------------

static void write_script(FILE *file, uint64_t seed)
{
    const char *called = clab_called();
    fprintf(
        file,
        "#!/bin/sh\n"
        "# SPDX-License-Identifier: MIT\n"
        "# Measures the matrix of homework h1. Close other programs first. It may be stopped at any time; started again, it goes\n"
        "# on, and keeps what is measured. The seed is yours: the grader looks for it.\n"
        "cd \"$(dirname \"$0\")/../..\" || exit 1\n"
        "budget=${1:-15min} # sh work/h1/measure.sh 30min gives it more time\n"
        "%s nets machine >/dev/null 2>&1 || %s fit || exit 1\n"
        "%s bench --matrix --backend gloo,shm --num-processes 2 4 6 --data-sizes 8B 64KiB 1 10 100 1000 \\\n"
        "    --budget \"$budget\" --seed %llu --output work/h1/matrix.csv\n"
        "%s report work/h1\n",
        called, called, called, (unsigned long long)data_seed(seed), called);
}

static int start(const char *student, const char *folder)
{
    char path[4096];
    uint64_t seed;
    struct clab_output output;
    CLAB_TRY(homework_seed(NULL, student, seed_name, &seed));
    snprintf(path, sizeof path, "%s/measure.sh", folder);
    CLAB_TRY(clab_output_open(path, &output));
    write_script(output.file, seed);
    CLAB_TRY(clab_output_close(&output));
    printf("  work/h1/measure.sh (measures, with your own seed)\n");
    return CLAB_OK;
}

// ---- in person -----------------------------------------------------------------------------------------------------

static int ask(const char *student, struct homework_question q[HOMEWORK_QUESTIONS])
{
    static const int ranks[] = {2, 4, 6}, megabytes[] = {1, 10, 100, 1000};
    uint64_t seed;
    CLAB_TRY(homework_seed(NULL, student, seed_name, &seed));
    const int P = ranks[seed % 3], other = ranks[(seed + 1 + seed / 3 % 2) % 3], size = megabytes[seed / 6 % 4];
    snprintf(q[0].question, HOMEWORK_QUESTION,
             "Take the row of %d ranks and %d MB in your matrix. How do you get algbw and busbw from its time, and why is busbw not the same?", P,
             size);
    snprintf(q[0].answer, HOMEWORK_QUESTION,
             "algbw = %d MB by the time. busbw = algbw times 2 (P-1)/P = %.4g, since each rank must send so many times the array, "
             "whatever the algorithm. So busbw compares with what memory or a wire can do.",
             size, 2.0 * (P - 1) / P);
    snprintf(q[1].question, HOMEWORK_QUESTION,
             "Show me 8 bytes with %d and with %d ranks in your matrix. What does the time consist of, and what do more ranks than cores do to it?", P,
             other);
    snprintf(q[1].answer, HOMEWORK_QUESTION,
             "Of the messages one after another, not of bytes: alpha times the rounds, which grow with the ranks. With more ranks than cores a "
             "rank also waits until it gets a core, so the time jumps, and is noisy (the column of the interval).");
    return CLAB_OK;
}

const struct homework HOMEWORK = {
    .title = "A benchmark matrix, and what it shows", .file = "h1/", .tests = tests, .grade = grade, .start = start, .ask = ask};
