// SPDX-License-Identifier: MIT
// expects: and not the sum, in which your own array is
// p4, mended wrongly: it passes the sum on, so that arrays are added more than once.

#include "primer/p4-sum/sum.h"

// All ranks send their array to rank 0. It adds up, and sends the sum to all.
static void through_rank_0(struct sum *s)
{
    if (s->rank != 0) {
        must(clab_send(s->comm, s->in, s->count, CLAB_F32, 0));
        must(clab_recv(s->comm, s->out, s->count, CLAB_F32, 0));
        return;
    }
    copy(s->out, s->in, s->count);
    for (int rank = 1; rank < s->ranks; rank++) {
        must(clab_recv(s->comm, s->other, s->count, CLAB_F32, rank));
        add(s->out, s->other, s->count);
    }
    for (int rank = 1; rank < s->ranks; rank++)
        must(clab_send(s->comm, s->out, s->count, CLAB_F32, rank));
}

// In each round, each rank passes the array that it received last to its right, and adds the one from its left.
static void around_ring(struct sum *s)
{
    const int right = (s->rank + 1) % s->ranks, left = (s->rank + s->ranks - 1) % s->ranks;
    struct clab_work *receive;
    copy(s->out, s->in, s->count);
    copy(s->pass, s->in, s->count);
    for (int round = 0; round < s->ranks - 1; round++) {
        must(clab_recv_start(s->comm, s->other, s->count, CLAB_F32, left, &receive));
        must(clab_send(s->comm, s->pass, s->count, CLAB_F32, right));
        must(clab_work_wait(receive));
        add(s->out, s->other, s->count);
        copy(s->pass, s->out, s->count);
    }
}

int main(int argc, char **argv)
{
    return sum_main(argc, argv, through_rank_0, around_ring);
}
