// SPDX-License-Identifier: MIT
// commlab: one program, a subcommand a file.

#include "command.h"

#include <stdio.h>
#include <string.h>

static const struct clab_command *const commands[] = {
    &cmd_doctor,
    &cmd_run,
    &cmd_bench,
    &cmd_verify,
    &cmd_show,
    &cmd_sim,
    &cmd_lab,
    &cmd_report,
    &cmd_nets,
    &cmd_fit,
    &cmd_device,
    &cmd_accuracy,
    &cmd_nccl,
    &cmd_tune,
    &cmd_trace,
    NULL,
};

static void print_usage(FILE *file)
{
    fprintf(file, "usage: commlab COMMAND [OPTION...]\n\n");
    for (size_t i = 0; commands[i]; i++)
        fprintf(file, "  %-8s %s\n", commands[i]->name, commands[i]->summary);
    fprintf(file, "\n`commlab COMMAND --help` lists a command's options.\n");
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        print_usage(stderr);
        return STATUS_USAGE;
    }
    if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "help")) {
        print_usage(stdout);
        return 0;
    }
    for (size_t i = 0; commands[i]; i++)
        if (!strcmp(argv[1], commands[i]->name)) {
            char name[64];
            snprintf(name, sizeof name, "commlab %s", commands[i]->name);
            argv[1] = name;
            return commands[i]->run(argc - 1, argv + 1);
        }
    fprintf(stderr, "commlab: unknown command '%s'; `commlab --help` lists them\n", argv[1]);
    return STATUS_USAGE;
}
