// SPDX-License-Identifier: MIT
// Ranks that call allreduce on 4 MiB again and again, for the check that makes one of them die or stand still meanwhile.
//
//   calls [-n RANKS] [--backend B] SECONDS
//
// - Each says `rank R, process P, has ended N calls` once, as soon as all are well under way.
// - Ends with 1 when a call fails, and says so: `rank R, process P, its call failed: WHY`. If none does, SIGALRM ends it
//   after SECONDS.
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/base/err.h"
#include "core/clab.h"

enum { COUNT = 1 << 20, UNDER_WAY = 20 }; // floats; calls

struct loop {
    struct clab_job *job;
    struct clab_comm *comm;
    float *in, *out; // (COUNT)
};

static void say(const struct loop *loop, const char *what)
{
    printf("rank %d, process %d, %s\n", clab_job_rank(loop->job), (int)getpid(), what);
    fflush(stdout);
}

static int call_until_it_fails(const struct loop *loop)
{
    for (int calls = 1;; calls++) {
        const int err = clab_allreduce(loop->comm, loop->in, loop->out, COUNT, CLAB_F32, CLAB_SUM);
        if (err)
            return err;
        if (calls == UNDER_WAY)
            say(loop, "has ended 20 calls");
    }
}

int main(int argc, char **argv)
{
    struct loop loop = {0};
    char text[256];
    must(clab_job_open(&argc, argv, &loop.job));
    must(argc == 2 && atoi(argv[1]) > 0 ? CLAB_OK : CLAB_EINVAL);
    alarm((unsigned)atoi(argv[1]));
    must(clab_comm_create(loop.job, &loop.comm));
    must(clab_alloc(loop.job, COUNT * sizeof *loop.in, (void **)&loop.in));
    must(clab_alloc(loop.job, COUNT * sizeof *loop.out, (void **)&loop.out));
    must(clab_set(loop.job, loop.in, 0, COUNT * sizeof *loop.in));
    snprintf(text, sizeof text, "its call failed: %s", clab_strerror(call_until_it_fails(&loop)));
    say(&loop, text);
    clab_comm_destroy(loop.comm);
    clab_free(loop.job, loop.out);
    clab_free(loop.job, loop.in);
    clab_job_close(loop.job);
    return EXIT_FAILURE;
}
