// SPDX-License-Identifier: MIT
// A subcommand of the commlab program: one folder each, `cmd/NAME/`, and a row in main.c's table.
#pragma once

// Exit statuses that several commands share; else EXIT_FAILURE.
enum { STATUS_USAGE = 2, STATUS_LACKING = 3 }; // LACKING: the build or the machine lacks something

// The exit status for `err` (core/base/err.h). A wrong request, a missing file and an unreadable one are wrong usage.
int command_status(int err);

struct clab_command {
    const char *name;
    const char *summary;                 // one line for `commlab --help`
    int (*run)(int argc, char **argv);   // argv[0] is "commlab NAME"; returns the exit status, 2 for wrong usage
};

extern const struct clab_command cmd_run, cmd_bench, cmd_verify, cmd_show, cmd_sim, cmd_nets, cmd_fit, cmd_device,
    cmd_lab, cmd_check, cmd_report, cmd_nccl, cmd_trace, cmd_accuracy, cmd_doctor, cmd_tune, cmd_next, cmd_status,
    cmd_start, cmd_hint, cmd_reset, cmd_card, cmd_predict, cmd_netmon, cmd_explain, cmd_audit,
    cmd_bottleneck, cmd_grade, cmd_class, cmd_version;
