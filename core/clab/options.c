// SPDX-License-Identifier: MIT
// The options of a job, and the help of programs that open one (options.h).

#include "core/clab/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/transport/backend.h"

#define OPTIONS struct clab_job_options

const struct clab_option clab_job_flags[] = {
    {"ranks", 'n', "N", "number of ranks (2); mpirun and srun set it themselves",
     CLAB_INT(OPTIONS, nranks, 1, CLAB_MAX_RANKS)},
    {"backend", 0, "NAME", "what moves the bytes: shm, ofi, gloo, mpi, nccl, sim (shm; among several hosts ofi)",
     CLAB_TEXT_AT(OPTIONS, backend), .variable = CLAB_VARIABLE_BACKEND},
    {"net", 0, "NAME|FILE", "with --backend sim: the simulated network (dgx-h100); `commlab nets` lists them",
     CLAB_TEXT_AT(OPTIONS, net), .variable = CLAB_VARIABLE_NET},
    {"straggle", 0, "RANK=FACTOR", "with --backend sim: RANK computes FACTOR times as long",
     CLAB_TEXT_AT(OPTIONS, straggle), .variable = CLAB_VARIABLE_STRAGGLE},
    {"emulate", 0, "NAME|FILE", "delay messages as this network would; `commlab nets` lists them",
     CLAB_TEXT_AT(OPTIONS, emulate), .variable = CLAB_VARIABLE_EMULATE},
    {"provider", 0, "NAME", "with --backend ofi: libfabric's provider, such as tcp, verbs or efa (tcp)",
     CLAB_TEXT_AT(OPTIONS, provider), .variable = CLAB_VARIABLE_PROVIDER},
    {"interface", 0, "NAME|ADDRESS", "the network interface of the ranks, such as eth1 or 10.0.0.7",
     CLAB_TEXT_AT(OPTIONS, interface), .variable = CLAB_VARIABLE_INTERFACE},
    {"trace", 0, "FILE", "write a timeline of all ranks' last calls, for Perfetto (`commlab trace`)",
     CLAB_TEXT_AT(OPTIONS, trace), .variable = CLAB_VARIABLE_TRACE},
    {0},
};

void clab_job_options_apply(const struct clab_job_options *options)
{
    for (const struct clab_option *o = clab_job_flags; o->name; o++) {
        const bool applies = o->variable && o->variable != CLAB_VARIABLE_BACKEND; // clab_job_open_with's
        const char *text = applies ? *(const char *const *)((const char *)options + o->at) : NULL;
        if (text)
            clab_variable_set(o->variable, text);
    }
}

int clab_job_options_take(int *argc, char **argv, struct clab_job_options *options)
{
    return clab_options_take(clab_job_flags, argc, argv, options);
}

void clab_help(int argc, char **argv, const char *arguments, const char *about)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (!strcmp(argv[i], "--help")) {
            char *words[] = {argv[0], argv[i], NULL};
            struct clab_job_options options;
            const struct clab_command_line line = {.options = clab_job_flags, .arguments = arguments, .about = about};
            exit(clab_options_parse(&line, 2, words, &options) ? EXIT_FAILURE : EXIT_SUCCESS);
        }
}
