// SPDX-License-Identifier: MIT
// expects: Is the count that of one block, BLOCK
// p5, mended wrongly: task 6 gives the elements of the whole as its count, so the root gets blocks of others.

#include "primer/p5-which-one/tasks.h"

// Each task is one call of a collective.
// - A block is BLOCK elements. A whole is one block per rank, in the order of the ranks.
// - `in` is what this rank has. `out` is where what it needs is to be. The elements are floats: CLAB_F32.
static int solve(struct clab_comm *comm, int task, const float *in, float *out)
{
    switch (task) {
    // 1. Each rank has counted votes: one block. Every rank needs the sum of all blocks.
    case 1: return clab_allreduce(comm, in, out, BLOCK, CLAB_F32, CLAB_SUM);
    // 2. Rank 0 has read the settings: one block. Every rank needs them.
    case 2: return clab_broadcast(comm, in, out, BLOCK, CLAB_F32, 0);
    // 3. Each rank has counted errors: one block. Rank 0 prints the sum of all blocks.
    case 3: return clab_reduce(comm, in, out, BLOCK, CLAB_F32, CLAB_SUM, 0);
    // 4. Each rank has drawn a part of a picture: one block. Rank 0 writes the whole picture to a file.
    case 4: return clab_gather(comm, in, out, BLOCK, CLAB_F32, 0);
    // 5. Each rank has moved its own stars: one block. Every rank needs the whole sky.
    case 5: return clab_allgather(comm, in, out, BLOCK, CLAB_F32);
    // 6. Rank 0 has collected all exams: a whole. Rank r marks block r, and needs no other.
    case 6: return clab_scatter(comm, in, out, BLOCK * (size_t)clab_comm_ranks(comm), CLAB_F32, 0);
    // 7. Each rank has counts for all cities: a whole. Rank r needs the sum of all ranks' block r, and no other.
    case 7: return clab_reduce_scatter(comm, in, out, BLOCK, CLAB_F32, CLAB_SUM);
    // 8. Each rank has sorted its letters: block r of its whole is for rank r. Every rank needs its letters.
    case 8: return clab_alltoall(comm, in, out, BLOCK, CLAB_F32);
    // 9. Each rank has written a file. No rank may go on before all files are written.
    default: return clab_barrier(comm);
    }
}

int main(int argc, char **argv)
{
    return tasks_main(argc, argv, solve);
}
