// SPDX-License-Identifier: MIT
// Processes of this machine, as /proc shows them.
// Source: proc(5).
#pragma once

#include <stdbool.h>
#include <sys/types.h>

struct clab_process {
    pid_t pid, parent, group;
    char state;                 // T: stopped; Z and X: it has ended
    unsigned long long started; // ticks since the machine's start
    char name[16];
};

// From the text of /proc/PID/stat. False: it is none.
bool clab_process_parse(const char *stat, struct clab_process *process_p);
// False: there is no such process, or it may not be seen.
bool clab_process_read(pid_t pid, struct clab_process *process_p);
bool clab_process_has_ended(const struct clab_process *process);

// All that may be seen.
//   out:    *list_p, for the caller to free; *n_p
//   errors: CLAB_ESYS (/proc can not be read, errno says why), CLAB_ENOMEM
int clab_process_list(struct clab_process **list_p, int *n_p);

// The number from 0 to INT_MAX in `variable` of the environment that a process was started with. -1: it has none, or
// may not be read.
int clab_process_variable(pid_t pid, const char *variable);
