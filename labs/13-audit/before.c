// SPDX-License-Identifier: MIT
// Before: published figures, believed. Nothing bounds a time, and a speedup is what the table says.
//
//   [-n RANKS] [--backend B] [CLAIMS BYTES...]

#include "claim.h"

static double floor_of(const struct claim *claim)
{
    (void)claim;
    return 0;
}

static bool is_possible(const struct claim *claim)
{
    return claim->time >= floor_of(claim);
}

static double speedup_of_tree(struct clab_comm *comm, size_t bytes)
{
    (void)comm, (void)bytes;
    return 2450.0 / 1234.0; // as published, for 100 MB among 64 GPUs
}

int main(int argc, char **argv)
{
    struct clab_job *job;
    struct clab_comm *comm;
    clab_help(argc, argv, "[CLAIMS BYTES...]", about);
    must(clab_job_open(&argc, argv, &job));
    must(clab_comm_create(job, &comm));
    lab_arguments(&argc, &argv, "8:100000000:2450:100,8:4800000000:2450:7200,8:1073741824:22450.12:2400 64K 4M");
    audit(comm, argv[1]);
    for (int i = 2; i < argc; i++) {
        const size_t bytes = clab_must_size(job, argv[i], sizeof(float), usage);
        double speedup = speedup_of_tree(comm, bytes);
        lab_report(comm, "1", &speedup, 1, "speedup/tree/%zu", bytes);
    }
    clab_comm_destroy(comm);
    must(clab_job_close(job));
    return 0;
}
