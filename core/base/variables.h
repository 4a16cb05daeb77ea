// SPDX-License-Identifier: MIT
// The environment variables of this kit, CLAB_*, and what each may be. Only variables.c reads them.
//
// - A flag such as --provider overrides its variable: clab_variable_set keeps the value for this process and its forks,
//   and leaves the environment unchanged. clab_variables_export puts it there for programs that are exec'd.
// - Each reader checks the value, and names the variable if it is wrong; `commlab doctor` checks all of them by this
//   table.
#pragma once

#include <stdbool.h>
#include <stddef.h>

// X(VARIABLE, WRITTEN, TYPE, least, most, words, meaning, what a value other than 0 slows down or changes)
//   WRITTEN: MANIFEST, since it changes what is measured; NOWHERE: results files are sent around, and CLAB_TOKEN is a
//            job's secret, as is where its ranks meet
//   TYPE:    TEXT; SWITCH (0 or 1); INTEGER (least to most); WORD (one of `words`); FILE; DURATION (with its unit)
// clang-format off
#define CLAB_VARIABLES(X) \
    X(BACKEND, MANIFEST, TEXT, 0, 0, NULL, "the backend (--backend)", NULL) \
    X(BACKENDS, MANIFEST, TEXT, 0, 0, NULL, "the folder of plugins", NULL) \
    X(CHECK, MANIFEST, TEXT, 0, 0, NULL, \
      "which calls ranks compare: natives (gloo's and mpi's own; bench does not), 1 (all) or 0 (none)", \
      "with 1 each collective sends one more message; with 0 gloo and mpi may give wrong results") \
    X(CORES, MANIFEST, TEXT, 0, 0, NULL, "set by the launcher: cores that ranks share", NULL) \
    X(COUNTS, MANIFEST, TEXT, 0, 0, NULL, "file for what the library has counted: `commlab check` reads it", \
      "labs' programs take one sample") \
    X(EMULATE, MANIFEST, TEXT, 0, 0, NULL, "delays messages as this network would", \
      "all times are those of an emulated network") \
    X(FAKE_FAULT, MANIFEST, TEXT, 0, 0, NULL, "fakes for tests: the fault, its rank and call", NULL) \
    X(FAKE_GPUS, MANIFEST, INTEGER, 0, 1 << 30, NULL, "fakes for tests: number of GPUs", NULL) \
    X(FAKE_MEMORY, NOWHERE, TEXT, 0, 0, NULL, "fakes for tests: bytes per GPU", NULL) \
    X(FAKE_NVML, NOWHERE, TEXT, 0, 0, NULL, "fakes for tests: the machine", NULL) \
    X(FLIGHT, MANIFEST, TEXT, 0, 0, NULL, "file of each rank's last calls; 0: nothing is recorded", NULL) \
    X(HOST, MANIFEST, TEXT, 0, 0, NULL, "ranks with another value count as ranks of another host", \
      "ranks of one machine do not share memory") \
    X(INTERFACE, MANIFEST, TEXT, 0, 0, NULL, "network interface of ofi and gloo", NULL) \
    X(JOB_FD, NOWHERE, TEXT, 0, 0, NULL, "set by the launcher: the job's memory file", NULL) \
    X(LOG, MANIFEST, WORD, 0, 0, "error warn info debug", "how much this kit prints", NULL) \
    X(MODELS, MANIFEST, TEXT, 0, 0, NULL, "folder of model descriptions", NULL) \
    X(NCCL_LAST, NOWHERE, SWITCH, 0, 0, NULL, "set by the backend nccl: our profiler for NCCL keeps what the last call did", \
      NULL) \
    X(NCCL_REGISTER, MANIFEST, INTEGER, 0, 2, NULL, \
      "NCCL's own collectives register their memory (1), in symmetric windows (2), at all ranks alike", NULL) \
    X(NCCL_SHARE, MANIFEST, SWITCH, 0, 0, NULL, "ranks may share a GPU, over the network", "its times mean nothing") \
    X(NCCL_TRACE, MANIFEST, TEXT, 0, 0, NULL, "file for each rank's trace by our profiler for NCCL", NULL) \
    X(NET, MANIFEST, TEXT, 0, 0, NULL, "network of the backend sim (--net)", NULL) \
    X(NETS, MANIFEST, TEXT, 0, 0, NULL, "folder of network descriptions", NULL) \
    X(OFI_LISTEN, NOWHERE, TEXT, 0, 0, NULL, "tests only: anyone can connect to an open communicator of ofi", NULL) \
    X(OFI_REGISTER, MANIFEST, TEXT, 0, 0, NULL, "ofi registers memory even if the provider asks for none", NULL) \
    X(POISON, MANIFEST, SWITCH, 0, 0, NULL, "memory of clab_alloc holds NaN at first", \
      "allocating takes longer") \
    X(PROFILE, MANIFEST, TEXT, 0, 0, NULL, "file of this machine's profile, which fit writes", NULL) \
    X(PACKETS, MANIFEST, WORD, 0, 0, "auto off", "whether short messages of many calls in a row may leave as one", NULL) \
    X(PROGRESS, MANIFEST, WORD, 0, 0, "auto thread manual", "who moves messages while a rank computes", NULL) \
    X(PROVIDER, MANIFEST, TEXT, 0, 0, NULL, "provider of libfabric (--provider)", NULL) \
    X(RESULTS, NOWHERE, TEXT, 0, 0, NULL, "file for the results of programs", NULL) \
    X(STORE, NOWHERE, TEXT, 0, 0, NULL, "set by the launcher: where ranks meet", NULL) \
    X(STRAGGLE, MANIFEST, TEXT, 0, 0, NULL, "RANK=FACTOR: a slow rank of the backend sim", NULL) \
    X(TIMEOUT, MANIFEST, DURATION, 0, 0, NULL, "how long a wait may last (30s)", NULL) \
    X(TOKEN, NOWHERE, TEXT, 0, 0, NULL, "secret that nodes of a job share: 32 hexadecimal digits", NULL) \
    X(TRACE, MANIFEST, TEXT, 0, 0, NULL, "file of the trace of all ranks", NULL) \
    X(TUNER, MANIFEST, FILE, 0, 0, NULL, "table of choices, which commlab tune writes: for auto, and for our tuner of NCCL", \
      "auto takes what that table says")
// clang-format on

#define X(variable, ...) CLAB_VARIABLE_##variable,
enum clab_variable { CLAB_VARIABLE_NONE, CLAB_VARIABLES(X) CLAB_VARIABLES_COUNT };
#undef X

// "CLAB_NET"
const char *clab_variable_name(enum clab_variable variable);
// What it is set to; NULL: it is not set.
const char *clab_variable_text(enum clab_variable variable);
// The same, but NULL also where it is empty.
const char *clab_variable_given(enum clab_variable variable);
// Whether it is set at all, be it to "0".
bool clab_variable_is_set(enum clab_variable variable);
// Whether a switch is on: *is_on_p, false where it is not set or empty.  errors: CLAB_EINVAL (neither 0 nor 1), not
// logged
int clab_variable_switch(enum clab_variable variable, bool *is_on_p);

// Whether results files say what it is set to.
bool clab_variable_is_written(enum clab_variable variable);

// Set it for this process and its forks, over the environment. text: kept, not copied; NULL: the environment's counts
// again
void clab_variable_set(enum clab_variable variable, const char *text);
// Put what was set so into the environment. For a process that is about to exec a program, and has no threads.
void clab_variables_export(void);
