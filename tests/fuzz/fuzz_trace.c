// SPDX-License-Identifier: MIT
// Trace files: what is read has sums that can be, can be put together with itself, and is then read again with twice as
// many processes; what is refused is said in a line that names the file.

#include "tests/fuzz/fuzz.h"

#include <limits.h>
#include <math.h>

#include "core/base/err.h"
#include "cmd/trace/file.h"

static const char path[] = "a.json";

static int read_text(const void *text, size_t size, struct trace_file **file_p)
{
    fuzz_log_clear();
    return trace_file_read(text, size, path, file_p);
}

static bool is_time(double seconds)
{
    return seconds >= 0; // a sum of large times may be infinite
}

static void check_sums(const struct trace_file *file)
{
    struct trace_process *processes;
    int n;
    must_hold(trace_file_sum_up(file, &processes, &n) == CLAB_OK);
    for (int i = 0; i < n; i++) {
        const struct trace_process *p = &processes[i];
        must_hold(p->calls >= 0 && p->stages >= 0 && p->arrows >= 0 && memchr(p->name, 0, sizeof p->name));
        must_hold(is_time(p->seconds) && is_time(p->communication) && is_time(p->exposed));
    }
    free(processes);
}

static void check_about(const struct trace_file *file)
{
    for (size_t i = 0; i < trace_file_parts(file); i++) {
        const char *about = trace_file_about(file, i, "kind");
        must_hold(!about || strlen(about) < INT_MAX);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct trace_file *file = NULL, *other = NULL;
    const int err = read_text(data, size, &file);
    must_hold(err == CLAB_OK || err == CLAB_EPARSE || err == CLAB_EUNSUPPORTED);
    must_hold((err == CLAB_OK) == (file != NULL));
    if (err) {
        must_hold(fuzz_log_errors == 1);
        return 0;
    }
    must_hold(fuzz_log_errors == 0);
    check_sums(file);
    check_about(file);
    must_hold(read_text(data, size, &other) == CLAB_OK);
    const size_t parts = trace_file_parts(file);
    if (trace_file_add(file, other) == CLAB_OK) {
        must_hold(trace_file_parts(file) == 2 * parts);
        check_about(file);
    }
    trace_file_free(other);
    trace_file_free(file);
    return 0;
}
