// SPDX-License-Identifier: MIT
// commlab doctor: say what this build and this machine have and lack, and what to do.

#include "cmd/command.h"
#include "cmd/doctor/doctor.h"
#include "cmd/kit/progress.h"

#include <stdlib.h>
#include <unistd.h>

#include "core/base/err.h"
#include "core/base/files/json.h"
#include "core/base/log.h"
#include "core/base/options.h"

static const char doc[] =
    "Say what this build and this machine have, what they lack, and what to do about it.\v"
    "One screen says what to do first, and the facts of this machine. With --all each line is a finding: ok; missing, which the kit does without; warning, where it works, but not as well, or "
    "not as one would think; or broken. Nothing is changed, and nothing needs "
    "root.\n\n"
    "Exit status: 0, the kit works here, even if much is missing; 1, something is broken: the backend shm can not be "
    "used, or a GPU, driver or library is here and does not work; 2, wrong usage; 3, --json in a build without "
    "jansson.\n\n"
    "Examples:\n  ./commlab doctor\n  ./commlab doctor --all --gpu";

struct request {
    bool gpu, json, all;
    const char *root;
};

static const struct clab_option options[] = {
    {"gpu", 0, NULL, "only GPUs: driver, devices, CUDA, NCCL, network, environment", CLAB_ON(struct request, gpu)},
    {"all", 0, NULL, "list all findings, by subject", CLAB_ON(struct request, all)},
    {"json", 0, NULL, "print JSON: all findings", CLAB_ON(struct request, json)},
    {"root", 0, "DIR", "read DIR/proc, DIR/sys and DIR/dev, copies of another machine's",
     CLAB_TEXT_AT(struct request, root)},
    {0},
};

static void look_at_all(struct doctor *doctor, bool gpu_only)
{
    if (!gpu_only) {
        doctor_build(doctor);
        doctor_backends(doctor);
        doctor_machine(doctor);
        doctor_timing(doctor);
        doctor_results(doctor);
    }
    doctor_network(doctor);
    doctor_gpus(doctor);
    doctor_nccl(doctor);
    doctor_environment(doctor);
}

static int run(int argc, char **argv)
{
    static const struct clab_command_line line = {.options = options, .about = doc};
    struct request request = {.root = ""};
    if (clab_options_parse(&line, argc, argv, &request))
        return STATUS_USAGE;
    if (request.json && clab_json_check() != CLAB_OK)
        return STATUS_LACKING;
    if (*request.root && access(request.root, X_OK) != 0) {
        clab_error("--root %s: %m", request.root);
        return STATUS_USAGE;
    }
    struct doctor doctor = {.root = request.root, .pipe = -1};
    kit_progress("doctor: looking at the build, the machine, the network and GPUs");
    look_at_all(&doctor, request.gpu);
    kit_progress_clear();
    if (doctor.incomplete)
        clab_error("no memory for all findings");
    int err = doctor.incomplete ? CLAB_ENOMEM : CLAB_OK;
    if (request.json)
        err = doctor_print_json(&doctor, stdout) ? CLAB_EIO : err;
    else
        (request.all ? doctor_print : doctor_print_short)(&doctor, stdout);
    const int broken = doctor_count(&doctor, DOCTOR_BROKEN);
    doctor_free(&doctor);
    return err || broken ? EXIT_FAILURE : EXIT_SUCCESS;
}

const struct clab_command cmd_doctor = {"doctor", "list what this machine has and lacks, with remedies", run};
