// SPDX-License-Identifier: MIT
// What a log of NCCL says of itself, and NCCL's own choices in it beside those of its model.
#pragma once

#include "cmd/nccl/given.h"
#include "core/base/files/json.h"

// Two or three lines with #: what was in the log, and what is a default because it was not.
void nccl_said_print(const struct nccl_believed *believed, const char *path);
// The choices of `collective` in the log, a line per size, beside what these costs come to.
void nccl_choices_print(const struct nccl_believed *believed, enum clab_collective collective);
// The same for programs: "log" and its list "choices".
void nccl_said_add(struct clab_json *json, const struct nccl_believed *believed);
