// SPDX-License-Identifier: MIT
// p4: every rank gets the sum of all ranks' arrays (an allreduce): through rank 0, and around a ring.
//
//   before [-n RANKS] [BYTES]

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
    // TODO: in each of ranks - 1 rounds, start to receive `other` from the left (clab_recv_start), send `pass` to the
    // right, and wait for what you receive (clab_work_wait, as in p3). Add it to `out`. It is what you pass on in the next round.
    (void)right, (void)left, (void)receive;
}

int main(int argc, char **argv)
{
    return sum_main(argc, argv, through_rank_0, around_ring);
}
