// SPDX-License-Identifier: MIT
// The options of a job (struct clab_job_options) as flags and variables.
#pragma once

#include "core/base/options.h"
#include "core/clab.h"

// Flags of all programs that open a job, for a struct clab_job_options.
extern const struct clab_option clab_job_flags[];

// Let the given options, except the backend, go before their variables, in this process and its ranks.
void clab_job_options_apply(const struct clab_job_options *options);
