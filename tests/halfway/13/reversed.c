// SPDX-License-Identifier: MIT
// expects: You divided the tree's time by the ring's
//
// Half a mend of lab 13: a speedup the wrong way around.

#include "claim.h"

static double floor_of(const struct claim *claim)
{
    const double bytes_per_second = 1e9 * claim->link / 8; // 8 bits are a byte
    return 2 * (claim->n - 1) / claim->n * claim->bytes / bytes_per_second;
}

static bool is_possible(const struct claim *claim)
{
    return claim->time >= floor_of(claim);
}

static double speedup_of_tree(struct clab_comm *comm, size_t bytes)
{
    return seconds_of(comm, "tree", bytes) / seconds_of(comm, "ring", bytes);
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
