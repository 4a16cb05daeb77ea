// SPDX-License-Identifier: MIT
// Files for trace viewers, event by event (viewer.h).

#include "core/base/files/viewer.h"

#include <math.h>
#include <stdlib.h>

#include "core/base/err.h"
#include "core/base/files/json.h"
#include "core/base/files/output.h"

struct clab_viewer {
    struct clab_output output;
    bool any; // events so far
    int err;
};

int clab_viewer_open(const char *path, struct clab_viewer **viewer_p)
{
    CLAB_TRY(clab_json_check());
    struct clab_viewer *viewer = calloc(1, sizeof *viewer);
    if (!viewer)
        return CLAB_ENOMEM;
    int err = clab_output_announce(path);
    err = err ? err : clab_output_open(path, &viewer->output);
    if (err) {
        free(viewer);
        return err;
    }
    fputs("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[", viewer->output.file);
    *viewer_p = viewer;
    return CLAB_OK;
}

// ---- events --------------------------------------------------------------------------------------------------

// An event to be filled; NULL: something has gone wrong.
static struct clab_json *begin_event(struct clab_viewer *viewer, const char *kind, const char *category, int process,
                                     int row, const char *name)
{
    struct clab_json *event = NULL;
    if (viewer->err || (viewer->err = clab_json_create(&event)))
        return NULL;
    clab_json_add(event, "ph", clab_cell_text(kind));
    clab_json_add(event, "cat", clab_cell_text(category));
    clab_json_add(event, "pid", clab_cell_integer(process + CLAB_VIEWER_FIRST));
    clab_json_add(event, "tid", clab_cell_integer(row + CLAB_VIEWER_FIRST));
    clab_json_add(event, "name", clab_cell_text(name));
    return event;
}

static void end_event(struct clab_viewer *viewer, struct clab_json *event)
{
    if (!event)
        return;
    fputs(viewer->any ? ",\n" : "\n", viewer->output.file);
    viewer->any = true;
    viewer->err = clab_json_write_compact(event, viewer->output.file);
    clab_json_destroy(event);
}

static void name_it(struct clab_viewer *viewer, const char *what, int process, int row, const char *key,
                    struct clab_cell value)
{
    struct clab_json *event = begin_event(viewer, "M", "__metadata", process, row, what);
    clab_json_add(clab_json_add_object(event, "args"), key, value);
    end_event(viewer, event);
}

void clab_viewer_name_process(struct clab_viewer *viewer, int process, const char *name)
{
    name_it(viewer, "process_name", process, 0, "name", clab_cell_text(name));
    name_it(viewer, "process_sort_index", process, 0, "sort_index", clab_cell_integer(process));
}

void clab_viewer_name_row(struct clab_viewer *viewer, int process, int row, const char *name)
{
    name_it(viewer, "thread_name", process, row, "name", clab_cell_text(name));
    name_it(viewer, "thread_sort_index", process, row, "sort_index", clab_cell_integer(row));
}

// In us, rounded down to a tick of 2^-10 us, about a nanosecond. Sums of ticks are exact, so for a reader, too, a slice
// whose end is `ts` + `dur` ends when the next one begins, and no later, which some viewers refuse.
static double in_ticks(double seconds)
{
    return floor(1e6 * seconds * 1024) / 1024;
}

void clab_viewer_slice(struct clab_viewer *viewer, int process, int row, const char *category, const char *name,
                       double begin, double end, const struct clab_viewer_arg args[], int nargs)
{
    struct clab_json *event = begin_event(viewer, "X", category, process, row, name);
    clab_json_add(event, "ts", clab_cell_real(in_ticks(begin)));
    clab_json_add(event, "dur", clab_cell_real(in_ticks(end) - in_ticks(begin)));
    struct clab_json *object = clab_json_add_object(event, "args");
    for (int i = 0; i < nargs; i++)
        if (args[i].value.kind != CLAB_KIND_NONE)
            clab_json_add(object, args[i].key, args[i].value);
    end_event(viewer, event);
}

void clab_viewer_arrow(struct clab_viewer *viewer, bool is_end, const char *id, int process, int row, double when,
                       const char *name)
{
    struct clab_json *event = begin_event(viewer, is_end ? "f" : "s", "message", process, row, name);
    clab_json_add(event, "id", clab_cell_text(id));
    clab_json_add(event, "ts", clab_cell_real(in_ticks(when)));
    if (is_end)
        clab_json_add(event, "bp", clab_cell_text("e"));
    end_event(viewer, event);
}

// ---- the end -------------------------------------------------------------------------------------------------

static int write_about(struct clab_viewer *viewer, const struct clab_manifest *about)
{
    struct clab_json *json;
    CLAB_TRY(clab_json_create(&json));
    for (int i = 0; about && i < about->count; i++)
        clab_json_add(json, about->entries[i].key, clab_cell_text(about->entries[i].value));
    fputs("\n],\"otherData\":", viewer->output.file);
    int err = clab_json_write_compact(json, viewer->output.file);
    fputs("}\n", viewer->output.file);
    clab_json_destroy(json);
    return err;
}

int clab_viewer_close(struct clab_viewer *viewer, const struct clab_manifest *about)
{
    int err = viewer->err ? viewer->err : write_about(viewer, about);
    if (err && !ferror(viewer->output.file))
        clab_output_abandon(&viewer->output);
    else
        err = clab_output_close(&viewer->output); // which names the file that could not be written
    free(viewer);
    return err;
}

void clab_viewer_abandon(struct clab_viewer *viewer)
{
    clab_output_abandon(&viewer->output);
    free(viewer);
}
