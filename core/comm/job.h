// SPDX-License-Identifier: MIT
// The job as its communicators see it: this process's membership, its backend, and what all communicators share.
#pragma once

#include "core/clab.h"
#include "core/comm/table.h"
#include "core/transport/backend.h"

struct clab_count_log;
struct clab_flight;
struct clab_progress;
struct clab_trace;

enum { CLAB_PENDING_REVOCATIONS = 16 };

// What moves messages on while the program computes: its calls alone, a thread beside it, the described network.
enum clab_progress_kind { CLAB_PROGRESS_MANUAL, CLAB_PROGRESS_THREAD, CLAB_PROGRESS_NETWORK };

// clab_job_open makes it.
struct clab_job {
    struct clab_bootstrap *bootstrap;
    const struct clab_backend *backend;
    struct clab_domain *domain; // the backend's attachment
    const char *backend_name;   // of the backend that moves the bytes, also if another wraps it
    int rank, ranks;
    int *hosts; // (ranks) where they run; NULL before the first communicator

    struct clab_comm *comms;                              // that are open: a wait on one makes progress on all
    unsigned created;                                     // communicators of all ranks, ever
    struct clab_notice pending[CLAB_PENDING_REVOCATIONS]; // revocations of communicators that are not made here yet
    unsigned npending;                                    // ever
    struct clab_flight *flight;                           // this rank's recorder
    struct clab_trace *trace;                             // of CLAB_TRACE, or NULL
    struct clab_progress *progress; // the thread that makes progress, while there is one (progress.h)
    enum clab_progress_kind progress_kind;
    const char *progress_why;
    struct clab_counts counts; // what this rank has done; seconds: when it joined (core/clab/counts.h)
    struct clab_count_log *count_log; // of CLAB_COUNTS, or NULL
    struct clab_choice_table table;   // of CLAB_TUNER; or empty
};
