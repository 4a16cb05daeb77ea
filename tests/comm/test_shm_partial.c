// SPDX-License-Identifier: MIT
// The kernel may read fewer bytes of a peer's memory at a time than it is asked for: messages and sums are whole all
// the same.

#include "tests/fixtures/comm_fixture.h"

#include <errno.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/uio.h>

enum { AT_A_TIME = 12288 }; // bytes

static int cut_short; // reads

// In place of the C library's: reads AT_A_TIME bytes at most, and leaves errno as it was.
ssize_t process_vm_readv(pid_t pid, const struct iovec *local, unsigned long nlocal, const struct iovec *remote,
                         unsigned long nremote, unsigned long flags)
{
    struct iovec to = local[0], from = remote[0];
    if (to.iov_len > AT_A_TIME) {
        to.iov_len = from.iov_len = AT_A_TIME;
        cut_short++;
        errno = ESRCH; // of an earlier call
    }
    return nlocal == 1 && nremote == 1 ? syscall(SYS_process_vm_readv, pid, &to, 1, &from, 1, flags) : -1;
}

static float give(size_t i, int rank)
{
    return (float)((i * 7 + (size_t)rank) % 1000);
}

static int send_and_sum(struct clab_comm *comm, int rank)
{
    for (size_t i = 0; i < LARGE; i++)
        in[i] = give(i, rank);
    int err = rank == 0 ? clab_send(comm, in, LARGE, CLAB_F32, 1) : clab_recv(comm, out, LARGE, CLAB_F32, 0);
    for (size_t i = 0; i < LARGE && rank == 1 && !err; i++)
        err = out[i] == give(i, 0) ? CLAB_OK : CLAB_EWRONG;
    err = err ? err : ring_sum(comm, LARGE);
    for (size_t i = 0; i < LARGE && !err; i++)
        err = out[i] == give(i, 0) + give(i, 1) ? CLAB_OK : CLAB_EWRONG;
    told->signals[rank] = cut_short;
    return err;
}

static void test_messages_that_are_read_in_parts_are_whole(void **state)
{
    (void)state;
    setenv("CLAB_BACKEND", "shm", 1);
    const char *text = run_all(2, just_act, send_and_sum, "20s", 0);
    assert_all_answer(CLAB_OK, 0, 2, -1, clab_now(), text);
    if (!told->signals[1])
        skip(); // the kernel lets no rank read another's memory
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup(test_messages_that_are_read_in_parts_are_whole, forget)};
    return cmocka_run_group_tests(tests, share_told, NULL);
}
