// SPDX-License-Identifier: MIT
// commlab trace: check and summarize trace files, and join several, so that a viewer shows a prediction below a
// measurement.

#include "cmd/command.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/options.h"
#include "core/base/files/table.h"
#include "cmd/trace/file.h"

enum { FILES_AT_MOST = 16 };

static const char doc[] =
    "Check trace files, say what each process did, and put several into one.\v"
    "`commlab bench --trace m.json`, CLAB_TRACE=m.json with any program, and `commlab sim --trace s.json` write them; "
    "so does NCCL, with NCCL_PROFILER_PLUGIN=build/backends/libnccl-profiler-commlab.so CLAB_NCCL_TRACE=n.json. Each "
    "begins at 0. `commlab trace m.json s.json -o both.json` puts rank 0 simulated below rank 0 measured; look at it "
    "with https://ui.perfetto.dev, which reads it in the browser; otherData.files[] has what each said of itself. "
    "Exposed is what no compute span covers (clab_span_begin); overlap is the rest of the communication.";

struct request {
    const char *files[FILES_AT_MOST], *output;
    int n;
};

static const struct clab_option options[] = {
    {"output", 'o', "FILE", "write all of them into one file", CLAB_TEXT_AT(struct request, output)},
    {0},
};

static int take_file(const char *text, void *into)
{
    struct request *r = into;
    if (r->n == FILES_AT_MOST) {
        clab_error("trace: %d files at most", FILES_AT_MOST);
        return CLAB_EINVAL;
    }
    r->files[r->n++] = text;
    return CLAB_OK;
}

static int print(const struct trace_process *processes, int n)
{
    static const struct clab_column columns[] = {
        {"process", NULL, NULL, CLAB_KIND_TEXT, -24, 0, NULL},
        {"calls", NULL, NULL, CLAB_KIND_INTEGER, 8, 0, NULL},
        {"stages", NULL, NULL, CLAB_KIND_INTEGER, 8, 0, NULL},
        {"messages", NULL, NULL, CLAB_KIND_INTEGER, 8, 0, NULL},
        {"time", NULL, "ms", CLAB_KIND_REAL, 12, 3, NULL},
        {"communication", NULL, "ms", CLAB_KIND_REAL, 13, 3, NULL},
        {"exposed", NULL, "ms", CLAB_KIND_REAL, 12, 3, NULL},
        {"overlap", NULL, "%", CLAB_KIND_REAL, 8, 1, NULL},
    };
    struct clab_table table;
    int err = CLAB_OK;
    clab_table_init(&table, columns, sizeof columns / sizeof *columns);
    for (int i = 0; i < n && !err; i++) {
        const struct trace_process *p = &processes[i];
        const struct clab_cell row[] = {
            clab_cell_text(p->name),
            clab_cell_integer(p->calls),
            clab_cell_integer(p->stages),
            clab_cell_integer(p->arrows),
            clab_cell_real(1e3 * p->seconds),
            clab_cell_real(1e3 * p->communication),
            clab_cell_real(1e3 * p->exposed),
            p->communication > 0 ? clab_cell_real(100 * (1 - p->exposed / p->communication)) : clab_cell_none(),
        };
        err = clab_table_add_row(&table, row);
    }
    if (!err)
        clab_table_print(&table, stdout);
    clab_table_free(&table);
    return err;
}

// Print what the file says is missing from it.
static void print_lacks(const struct trace_file *file)
{
    static const char *const keys[] = {"overwritten", "missing", "stages"};
    for (size_t i = 0; i < trace_file_parts(file); i++)
        for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
            const char *text = trace_file_about(file, i, keys[k]), *name = trace_file_about(file, i, "file");
            if (text)
                printf("# %s%s%s: %s\n", name ? name : "", name ? ": " : "", keys[k], text);
        }
}

static int sum_up(const char *path, const struct trace_file *file)
{
    struct trace_process *processes;
    int n;
    CLAB_TRY(trace_file_sum_up(file, &processes, &n));
    printf("# %s\n", path);
    print_lacks(file);
    int err = print(processes, n);
    free(processes);
    return err;
}

// Read them all, and join them to the first.
static int join(const struct request *r)
{
    struct trace_file *first = NULL;
    int err = CLAB_OK;
    for (int i = 0; i < r->n && !err; i++) {
        struct trace_file *file;
        if ((err = trace_file_load(r->files[i], &file)))
            break;
        err = sum_up(r->files[i], file);
        if (!first) {
            first = file;
            continue;
        }
        if (!err && r->output)
            err = trace_file_add(first, file);
        trace_file_free(file);
    }
    if (!err && r->output)
        err = trace_file_write(first, r->output);
    if (first)
        trace_file_free(first);
    return err;
}

static int run(int argc, char **argv)
{
    static const struct clab_command_line line = {
        .options = options, .arguments = "FILE...", .about = doc, .argument = take_file};
    struct request request = {0};
    if (clab_options_parse(&line, argc, argv, &request))
        return STATUS_USAGE;
    if (!request.n) {
        clab_error("trace: no file given: ./commlab trace FILE..., or --help");
        return STATUS_USAGE;
    }
    return command_status(join(&request));
}

const struct clab_command cmd_trace = {"trace", "summarize trace files, and merge several into one", run};
