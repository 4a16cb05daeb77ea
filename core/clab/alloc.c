// SPDX-License-Identifier: MIT
// Memory that programs ask the backend for, and what is done to it where it lies: by the backend's device.

#include <unistd.h>

#include "core/base/log.h"
#include "core/clab.h"
#include "core/clab/counts.h"
#include "core/comm/progress.h"
#include "core/comm/job.h"
#include "core/trace/buffer.h"

int clab_alloc(struct clab_job *job, size_t bytes, void **memory_p)
{
    clab_job_enter(job);
    const int err = job->backend->alloc(job->domain, bytes, memory_p);
    job->counts.failed_allocations += err == CLAB_ENOMEM;
    if (!err && bytes && clab_count_poisons())
        job->backend->device->set(*memory_p, 0xff, bytes);
    clab_job_leave(job);
    return err;
}

void clab_free(struct clab_job *job, void *memory)
{
    if (!memory)
        return;
    clab_job_enter(job);
    job->backend->free(job->domain, memory);
    clab_job_leave(job);
}

int clab_copy(struct clab_job *job, void *out, const void *in, size_t bytes)
{
    if (bytes && (!in || !out)) {
        clab_error("clab_copy: %zu bytes %s NULL: expected memory of clab_alloc, or the program's own", bytes,
                   in ? "to" : "from");
        return CLAB_EINVAL;
    }
    if (!bytes)
        return CLAB_OK;
    const bool is_traced = job->trace && !clab_time_is_exact(); // there it takes no time
    clab_job_enter(job);
    if (is_traced) {
        clab_trace_span_begin(job->trace, CLAB_SPAN_MEMORY);
        clab_trace_span_bytes(job->trace, 2.0 * (double)bytes);
    }
    job->backend->device->copy(out, in, bytes);
    const int err = job->backend->device->finish();
    if (is_traced) {
        clab_trace_span_stop(job->trace);
        clab_trace_span_end(job->trace);
    }
    clab_job_leave(job);
    return err;
}

// What the device works on, it must reach.
static int check(struct clab_job *job, const char *call, const void *memory)
{
    if (memory && job->backend->reaches(job->domain, memory))
        return CLAB_OK;
    clab_error("%s: %p is no memory of clab_alloc: the device of %s reaches no other", call, memory, job->backend_name);
    return CLAB_EINVAL;
}

int clab_set(struct clab_job *job, void *memory, int byte, size_t bytes)
{
    if (!bytes)
        return CLAB_OK;
    CLAB_TRY(check(job, "clab_set", memory));
    clab_job_enter(job);
    job->backend->device->set(memory, byte, bytes);
    const int err = job->backend->device->finish();
    clab_job_leave(job);
    return err;
}

int clab_reduce_local(struct clab_job *job, const void *in, void *out, size_t count, enum clab_type type,
                      enum clab_op op)
{
    if ((unsigned)type >= CLAB_TYPE_COUNT || (unsigned)op >= CLAB_OP_COUNT || op == CLAB_AVG) {
        clab_error(
            "clab_reduce_local: type %d, operation %d: there is none, or it is an average, which is of all ranks",
            (int)type, (int)op);
        return CLAB_EINVAL;
    }
    if (!count)
        return CLAB_OK;
    CLAB_TRY(check(job, "clab_reduce_local", in));
    CLAB_TRY(check(job, "clab_reduce_local", out));
    clab_job_enter(job);
    job->backend->device->reduce(type, op, out, in, out, count);
    const int err = job->backend->device->finish();
    clab_job_leave(job);
    return err;
}

int clab_register(struct clab_job *job, void *memory, size_t bytes, struct clab_registration **registration_p)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    if (!memory || !bytes || (uintptr_t)memory % page != 0) {
        clab_error("clab_register: %zu bytes at %p: expected some, at the start of a page of %zu bytes", bytes, memory,
                   page);
        return CLAB_EINVAL;
    }
    clab_job_enter(job);
    const int err = job->backend->pin(job->domain, memory, bytes, registration_p);
    job->counts.registrations += !err;
    job->counts.bytes_registered += err ? 0 : bytes;
    clab_job_leave(job);
    return err;
}

void clab_unregister(struct clab_job *job, struct clab_registration *registration)
{
    if (!registration)
        return;
    clab_job_enter(job);
    job->backend->unpin(job->domain, registration);
    clab_job_leave(job);
}
