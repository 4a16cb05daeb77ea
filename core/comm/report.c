// SPDX-License-Identifier: MIT
// What a lab program says about itself: its clock, its results, and its end when something failed.
//
// - A reported quantity is one line for people, and one row of the file that CLAB_RESULTS names:
//   quantity,unit,ranks,n,median,low,high. A lab run (cmd/lab/session.c) reads that file; by hand there is none.
// - Rows are appended, so that a program may report as it goes, and one that dies leaves what it had.

#include "core/clab.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/log.h"
#include "core/base/stats.h"
#include "core/base/units.h"
#include "core/base/variables.h"
#include "core/comm/job.h"
#include "core/flight/flight.h"

enum { STATUS_USAGE = 2 };

void clab_must(int err, const char *text, const char *file, int line)
{
    if (err == CLAB_OK)
        return;
    // These calls have said which option is wrong. The user does not care where the program calls them.
    static const char *const speakers[] = {"clab_job_open", "clab_job_options_take"};
    bool is_said = false;
    for (size_t i = 0; i < sizeof speakers / sizeof *speakers && err != CLAB_ENOMEM; i++)
        is_said |= !strncmp(text, speakers[i], strlen(speakers[i]));
    if (!is_said)
        clab_error("%s:%d: %s: %s", file, line, text, clab_strerror(err));
    exit(is_said && err == CLAB_EINVAL ? STATUS_USAGE : EXIT_FAILURE);
}

// A number above 0 that `text` has, at most `most`, a multiple of `unit`.
static size_t must_number(const struct clab_job *job, const char *text, size_t unit, size_t most, const char *usage)
{
    size_t number;
    if (text && clab_parse_size(text, &number) == CLAB_OK && number && number <= most && number % unit == 0)
        return number;
    char why[1024];
    const char *quote = text && *text ? "'" : "";
    snprintf(why, sizeof why, "%s: %s%s%s: %s", program_invocation_short_name, quote,
             *quote ? text : "an argument is missing", quote, usage);
    clab_flight_refuse(job->bootstrap, why);
    exit(STATUS_USAGE);
}

size_t clab_must_size(const struct clab_job *job, const char *text, size_t unit, const char *usage)
{
    return must_number(job, text, unit, (size_t)1 << 30, usage);
}

int clab_must_count(const struct clab_job *job, const char *text, int most, const char *usage)
{
    return (int)must_number(job, text, 1, (size_t)most, usage);
}

// ---- a row for people ----------------------------------------------------------------------------------------

static const char *value_text(double value, const char *unit, char out[CLAB_TEXT])
{
    if (!strcmp(unit, "s"))
        return clab_seconds_text(value, out);
    if (!strcmp(unit, "B") && value >= 0)
        return clab_size_text((size_t)value, out);
    const int digits = fabs(value) < 1e12 && value == floor(value) ? 12 : 6; // a count is whole: 1010000, not 1.01e+06
    snprintf(out, CLAB_TEXT, strcmp(unit, "1") ? "%.*g %s" : "%.*g", digits, value, unit);
    return out;
}

static void print_row(const char *quantity, const char *unit, const struct clab_summary *summary)
{
    char median[CLAB_TEXT], low[CLAB_TEXT], high[CLAB_TEXT];
    printf("%-34s %12s", quantity, value_text(summary->median, unit, median));
    if (summary->n > 1)
        printf("  [%s .. %s], %d samples", value_text(summary->low, unit, low), value_text(summary->high, unit, high),
               summary->n);
    printf("\n");
    fflush(stdout);
}

// ---- a row for programs --------------------------------------------------------------------------------------

static int append_row(const char *path, const char *quantity, const char *unit, int ranks,
                      const struct clab_summary *summary)
{
    FILE *file = fopen(path, "a");
    bool failed = !file;
    if (file) {
        fprintf(file, "%s,%s,%d,%d,%.9g,%.9g,%.9g\n", quantity, unit, ranks, summary->n, summary->median, summary->low,
                summary->high);
        failed = ferror(file);
        failed |= fclose(file) != 0;
    }
    if (failed)
        clab_error("CLAB_RESULTS: '%s' can not be written", path);
    return failed ? CLAB_EIO : CLAB_OK;
}

static int check_names(const char *quantity, const char *unit)
{
    if (quantity && unit && *quantity && *unit && !strpbrk(quantity, ",\"\n") && !strpbrk(unit, ",\"\n"))
        return CLAB_OK;
    clab_error("clab_report: a quantity and its unit are words without commas and quotes");
    return CLAB_EINVAL;
}

int clab_report(struct clab_comm *comm, const char *quantity, const char *unit, const double *samples, int n)
{
    struct clab_summary summary;
    const char *path = clab_variable_text(CLAB_VARIABLE_RESULTS);
    CLAB_TRY(check_names(quantity, unit));
    CLAB_TRY(clab_summarize(samples, n, &summary));
    if (clab_comm_rank(comm) != 0)
        return CLAB_OK;
    print_row(quantity, unit, &summary);
    return path && *path ? append_row(path, quantity, unit, clab_comm_ranks(comm), &summary) : CLAB_OK;
}
