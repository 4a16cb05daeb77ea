// SPDX-License-Identifier: MIT
// Times measured here (tune.h): one run of `commlab bench --algo native` with NCCL's own choice, then one per algorithm
// and protocol, forced by NCCL_ALGO and NCCL_PROTO. If NCCL lacks one, that run fails and we skip it. We do all runs
// twice, in turns, and take the smaller time of each: a disturbance during one run then lets no other choice win.
//
// NCCL's calls wait here (NCCL_COMM_BLOCKING=1, unless the user has set it), as in the programs that will use the
// table. Otherwise NCCL starts a thread per group, and small sizes would be measured too slow.

#include "cmd/nccl/tune.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/err.h"
#include "core/base/variables.h"
#include "cmd/kit/child.h"
#include "cmd/kit/progress.h"

enum { WORDS = 32, ROUNDS = 2 };

// The combinations that NCCL supports, by its model: algorithms other than tree and ring with Simple only, trees and
// CollNet chains for allreduce, PAT for allgather and reduce-scatter.
static bool is_possible(int function, int algorithm, int protocol)
{
    const bool whole_block = function == CLAB_NCCL_ALLGATHER || function == CLAB_NCCL_REDUCE_SCATTER;
    switch (algorithm) {
    case CLAB_NCCL_RING: return true;
    case CLAB_NCCL_TREE: return function == CLAB_NCCL_ALLREDUCE;
    case CLAB_NCCL_COLLNET_CHAIN:
    case CLAB_NCCL_NVLS_TREE: return protocol == CLAB_NCCL_SIMPLE && function == CLAB_NCCL_ALLREDUCE;
    case CLAB_NCCL_PAT: return protocol == CLAB_NCCL_SIMPLE && whole_block;
    default: return protocol == CLAB_NCCL_SIMPLE && (whole_block || function == CLAB_NCCL_ALLREDUCE);
    }
}

// With NCCL's own choice, or the label's, which we force. An existing table must not choose now.
static int run_bench(const struct tune_run *run, int function, struct tune_label label, char *csv, int *status_p)
{
    const struct child_variable variables[] = {
        {"NCCL_ALGO", label.is_own ? NULL : clab_nccl_algorithm_name((enum clab_nccl_algorithm)label.algorithm), false},
        {"NCCL_PROTO", label.is_own ? NULL : clab_nccl_protocol_name((enum clab_nccl_protocol)label.protocol), false},
        {"NCCL_TUNER_PLUGIN", "none", false},
        {"NCCL_COMM_BLOCKING", "1", true},
        {0}};
    char *words[WORDS] = {"commlab", "bench",  NULL,         "--backend", (char *)(uintptr_t)run->backend,
                          "--algo",  "native", "--in-place", "0",         "--csv",
                          csv};
    const struct {
        char *flag;
        const char *value;
    } flags[] = {
        {"-n", run->ranks}, {"-b", run->first}, {"-e", run->last}, {"-f", run->factor}, {"--seconds", run->seconds}};
    int n = 11;
    words[2] =
        function == CLAB_NCCL_REDUCE_SCATTER ? "reduce_scatter" : (char *)(uintptr_t)clab_nccl_function_word(function);
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        if (flags[i].value) {
            words[n++] = flags[i].flag;
            words[n++] = (char *)(uintptr_t)flags[i].value;
        }
    CLAB_TRY(child_run(words, variables, status_p));
    return child_ended_by() ? CLAB_EPEER : CLAB_OK;
}

static void tell(int function, struct tune_label label)
{
    if (label.is_own)
        kit_progress("%s by NCCL's own choice", clab_nccl_function_word(function));
    else
        kit_progress("%s by %s %s", clab_nccl_function_word(function), clab_nccl_algorithm_word(label.algorithm),
                     clab_nccl_protocol_word(label.protocol));
}

static int measure(const struct tune_run *run, int function, struct tune_label label, const char *folder,
                   struct tune_times *times, int *status_p)
{
    char csv[PATH_MAX + 8];
    snprintf(csv, sizeof csv, "%s/a.csv", folder);
    tell(function, label);
    CLAB_TRY(run_bench(run, function, label, csv, status_p));
    kit_progress_clear();
    const int err = *status_p ? CLAB_OK : tune_read(csv, label, (struct tune_missing){-1, 0, run->nodes}, times);
    unlink(csv);
    return err;
}

// NCCL's own choice, then all others. *status_p: of the first
static int measure_all(const struct tune_run *run, int function, const char *folder, struct tune_times *times,
                       int *status_p)
{
    const struct tune_label own = {.is_own = true, .channels = CLAB_NCCL_ANY};
    int status;
    CLAB_TRY(measure(run, function, own, folder, times, status_p));
    for (int a = 0; a < CLAB_NCCL_ALGORITHMS && !*status_p; a++)
        for (int p = 0; p < CLAB_NCCL_PROTOCOLS; p++)
            if (is_possible(function, a, p))
                CLAB_TRY(
                    measure(run, function, (struct tune_label){false, a, p, CLAB_NCCL_ANY}, folder, times, &status));
    return CLAB_OK;
}

int tune_run_registers(void)
{
    const char *how = clab_variable_given(CLAB_VARIABLE_NCCL_REGISTER);
    return how && strcmp(how, "0") != 0;
}

int tune_run(const struct tune_run *run, const bool functions[], struct tune_times *times, int *status_p)
{
    char folder[PATH_MAX];
    int status = 0;
    child_watch();
    int err = child_folder_make(folder);
    const bool has_folder = err == CLAB_OK;
    for (int f = CLAB_NCCL_FUNCTIONS - 1; f >= 0; f--)
        for (int round = 0; round < ROUNDS && functions[f] && !err && !status; round++)
            err = measure_all(run, f, folder, times, &status);
    if (has_folder)
        child_folder_remove(folder);
    const int signo = child_unwatch();
    if (signo)
        raise(signo);
    *status_p = WIFEXITED(status) ? WEXITSTATUS(status) : status ? 1 : 0;
    return err;
}
