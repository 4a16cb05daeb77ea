// SPDX-License-Identifier: MIT
// commlab: one program, with one folder per subcommand.

#include "cmd/command.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/machine/called.h"
#include "core/base/log.h"
#include "core/base/nearest.h"

static const struct clab_command *const commands[] = {
    &cmd_next,
    &cmd_status,
    &cmd_start,
    &cmd_grade,
    &cmd_class,
    &cmd_check,
    &cmd_hint,
    &cmd_reset,
    &cmd_doctor,
    &cmd_explain,
    &cmd_run,
    &cmd_bench,
    &cmd_verify,
    &cmd_show,
    &cmd_sim,
    &cmd_card,
    &cmd_predict,
    &cmd_lab,
    &cmd_report,
    &cmd_nets,
    &cmd_fit,
    &cmd_device,
    &cmd_accuracy,
    &cmd_nccl,
    &cmd_tune,
    &cmd_trace,
    &cmd_audit,
    &cmd_bottleneck,
    &cmd_netmon,
    &cmd_version,
    NULL,
};

static void print_usage(FILE *file)
{
    fprintf(file, "usage: commlab COMMAND [OPTION...]\n\n");
    for (size_t i = 0; commands[i]; i++)
        fprintf(file, "  %-10s %s\n", commands[i]->name, commands[i]->summary);
    fprintf(file, "\n`commlab COMMAND --help` lists a command's options.\n");
}

// A shell may have closed 0, 1 or 2 (>&-). Then the next file that we open would get that number, and our output.
// We open them in the wrong direction: reads and writes fail, as on closed ones.
static void fill_standard_files(void)
{
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd ? O_RDONLY : O_WRONLY) != fd)
            exit(EXIT_FAILURE);
}

// The command fails if its output is lost, for example on a full disk. exit(3) calls this, since --help ends there too.
static void finish(int status, void *unused)
{
    (void)unused;
    errno = 0;
    if (!fflush(stdout) && !ferror(stdout))
        return;
    clab_error("standard output can not be written: %s", errno ? strerror(errno) : "a part of it is missing");
    _exit(status ? status : EXIT_FAILURE);
}

int main(int argc, char **argv)
{
    fill_standard_files();
    clab_called_by(argv[0]);
    if (on_exit(finish, NULL) != 0)
        return EXIT_FAILURE;
    if (argc < 2) {
        print_usage(stderr);
        return STATUS_USAGE;
    }
    if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "help")) {
        print_usage(stdout);
        return EXIT_SUCCESS;
    }
    if (!strcmp(argv[1], "--version"))
        argv[1] = "version";
    for (size_t i = 0; commands[i]; i++)
        if (!strcmp(argv[1], commands[i]->name)) {
            char name[64];
            snprintf(name, sizeof name, "commlab %s", commands[i]->name);
            argv[1] = name;
            return commands[i]->run(argc - 1, argv + 1);
        }
    struct clab_nearest nearest = clab_nearest_to(argv[1], strlen(argv[1]));
    for (size_t i = 0; commands[i]; i++)
        clab_nearest_offer(&nearest, commands[i]->name);
    fprintf(stderr, "commlab: unknown command '%s'%s; `commlab --help` lists them\n", argv[1],
            clab_nearest_hint(&nearest));
    return STATUS_USAGE;
}
