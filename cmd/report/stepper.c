// SPDX-License-Identifier: MIT
// Pages beside the report that play the algorithms of lab 07: those of `show --format html`, for four ranks.

#include "cmd/report/report.h"

#include <stdlib.h>

#include "core/base/err.h"
#include "core/base/files/output.h"
#include "core/schedule/draw/draw.h"

enum { RANKS = 4, BYTES = 1 << 20 };

static const char *const names[] = {"naive", "ring", "tree", "doubling", "halving_doubling"};

static int write_to(const char *path, const struct clab_trace *trace)
{
    struct clab_output output;
    CLAB_TRY(clab_output_open(path, &output));
    const int err = clab_draw_html(trace, output.file);
    if (err == CLAB_OK)
        return clab_output_close(&output);
    clab_output_abandon(&output);
    return err;
}

static int write_page(const char *folder, const char *name)
{
    const struct clab_algorithm *algorithm = clab_algorithm_find(CLAB_ALLREDUCE, name);
    const struct clab_problem problem = {
        .collective = CLAB_ALLREDUCE, .nranks = RANKS, .lanes = algorithm->default_lanes, .count = BYTES};
    struct clab_trace trace;
    char *path;
    if (asprintf(&path, "%s/stepper-%s-%d.html", folder, name, RANKS) < 0)
        return CLAB_ENOMEM;
    int err = clab_trace_record(&problem, algorithm, &trace);
    if (err == CLAB_OK) {
        err = write_to(path, &trace);
        clab_trace_free(&trace);
    }
    free(path);
    return err;
}

int report_steppers_write(const char *folder)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        CLAB_TRY(write_page(folder, names[i]));
    return CLAB_OK;
}

void report_steppers_link(FILE *out)
{
    fprintf(out, "<p>Play the algorithms of lab 07 round by round, with %d ranks:", RANKS);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        fprintf(out, "%s <a href=\"stepper-%s-%d.html\">%s</a>", i ? "," : "", names[i], RANKS, names[i]);
    fputs(". These pages lie beside this one, and use JavaScript.</p>\n", out);
}
