// SPDX-License-Identifier: MIT
// Who comes late to a message whose sender has failed, and has put its buffer to another use: it gets the message, or
// an error, and never what lies there now. Each way of a message by itself (shm.h). Waits long.

#include "tests/fixtures/comm_fixture.h"

#include <stdint.h>

enum memory { OF_MALLOC, OF_ALLOC, OF_MAP };

// How rank 0 sends its message, and what becomes of the buffer.
static struct way {
    enum memory memory;
    size_t count;
    bool is_reduced; // the message is part of a sum
    int answer;      // of rank 1
} way;

static float *get(void)
{
    void *memory = NULL;
    const size_t bytes = way.count * sizeof(float);
    if (way.memory == OF_MALLOC)
        memory = malloc(bytes);
    else if (way.memory == OF_ALLOC)
        must(clab_alloc(job, bytes, &memory));
    else
        memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (size_t i = 0; i < way.count; i++)
        ((float *)memory)[i] = 1 + (float)i;
    return memory;
}

static void put_to_another_use(float *memory)
{
    if (way.memory == OF_ALLOC)
        clab_free(job, memory); // zeros, from now on
    else if (way.memory == OF_MAP)
        munmap(memory, way.count * sizeof *memory);
    else
        memset(memory, 0, way.count * sizeof *memory);
}

static int send_fail_and_forget(struct clab_comm *comm)
{
    struct clab_work *work;
    float *memory = get(), nothing;
    if (way.is_reduced)
        CLAB_TRY(clab_allreduce_start(comm, memory, out, way.count, CLAB_F32, CLAB_SUM, &work));
    else
        CLAB_TRY(clab_send_start(comm, memory, way.count, CLAB_F32, 1, &work));
    const int err = clab_recv(comm, &nothing, 1, CLAB_F32, 1); // which is never sent
    put_to_another_use(memory);
    told->ready++;
    stay_away(2); // until rank 1 has answered: memory of who has gone is gone, too
    return err;
}

static bool is_right(const float *got)
{
    bool right = true;
    for (size_t i = 0; i < way.count; i++)
        right &= got[i] == (1 + (float)i) * (way.is_reduced ? 2 : 1);
    return right;
}

static int be_late_at_1(struct clab_comm *comm, int rank)
{
    clab_comm_set_algorithm(comm, CLAB_ALLREDUCE, "doubling", 1); // each gets all of the other's
    if (rank == 0)
        return send_fail_and_forget(comm);
    stay_away(1);
    float *mine = get();
    const int err = way.is_reduced ? clab_allreduce(comm, mine, out, way.count, CLAB_F32, CLAB_SUM)
                                   : clab_recv(comm, out, way.count, CLAB_F32, 0);
    return err == CLAB_OK && !is_right(out) ? CLAB_EWRONG : err;
}

static void run_late(struct way how)
{
    forget(NULL);
    way = how;
    const char *text = run_all(2, just_act, be_late_at_1, "500ms", 0);
    if (told->values[0] != CLAB_ETIMEOUT || told->values[1] != how.answer)
        fail_msg("%s and %s: %s", clab_strerror(told->values[0]), clab_strerror(told->values[1]), text);
}

// What was copied into queues is there.
static void test_a_late_receiver_gets_what_lies_in_a_line(void **state)
{
    run_late((struct way){.count = 8, .answer = CLAB_OK});
    run_late((struct way){.count = 8, .is_reduced = true, .answer = CLAB_OK});
}

static void test_a_late_receiver_gets_what_lies_in_slots(void **state)
{
    run_late((struct way){.count = 4000, .answer = CLAB_OK});
    run_late((struct way){.count = 4000, .is_reduced = true, .answer = CLAB_OK});
}

static void test_a_late_receiver_does_not_take_what_is_in_shared_memory_now(void **state)
{
    run_late((struct way){.memory = OF_ALLOC, .count = 5000, .answer = CLAB_ETIMEOUT});
    run_late((struct way){.memory = OF_ALLOC, .count = LARGE, .answer = CLAB_ETIMEOUT});
    run_late((struct way){.memory = OF_ALLOC, .count = LARGE, .is_reduced = true, .answer = CLAB_ETIMEOUT});
}

static void test_a_late_receiver_does_not_take_what_is_in_private_memory_now(void **state)
{
    run_late((struct way){.memory = OF_MALLOC, .count = LARGE, .answer = CLAB_ETIMEOUT});
    run_late((struct way){.memory = OF_MALLOC, .count = LARGE, .is_reduced = true, .answer = CLAB_ETIMEOUT});
    run_late((struct way){.memory = OF_MAP, .count = LARGE, .answer = CLAB_ETIMEOUT});
    run_late((struct way){.memory = OF_MAP, .count = LARGE, .is_reduced = true, .answer = CLAB_ETIMEOUT});
}

// The sender fails while its message is being read, at any moment of it.
static int race(struct clab_comm *comm, int rank)
{
    for (int i = 0; i < 100; i++) {
        struct clab_comm *next;
        struct clab_work *work;
        float *memory = get(), nothing;
        CLAB_TRY(clab_comm_create(job, &next));
        CLAB_TRY(clab_barrier(next));
        if (rank == 0) {
            CLAB_TRY(clab_send_start(next, memory, way.count, CLAB_F32, 1, &work));
            for (volatile int wait = 0; wait < 1000 * i; wait++)
                ;
            if (clab_recv(next, &nothing, 1, CLAB_F32, 1) == CLAB_OK) // rank 1 sends 2
                return CLAB_EWRONG;
            memset(memory, 0, way.count * sizeof *memory);
        } else {
            const float two[2] = {0};
            CLAB_TRY(clab_send_start(next, two, 2, CLAB_F32, 0, &work));
            if (clab_recv(next, out, way.count, CLAB_F32, 0) == CLAB_OK && !is_right(out))
                return CLAB_EWRONG;
        }
        clab_comm_destroy(next);
        put_to_another_use(memory);
    }
    return CLAB_OK;
}

static void test_a_sender_that_fails_meanwhile_is_never_believed(void **state)
{
    static const enum memory memories[] = {OF_MALLOC, OF_ALLOC};
    for (int i = 0; i < 2; i++) {
        way = (struct way){.memory = memories[i], .count = LARGE};
        const char *text = run_all(2, just_act, race, "20s", 0);
        for (int rank = 0; rank < 2; rank++)
            if (told->values[rank] != CLAB_OK)
                fail_msg("rank %d: %s: %s", rank, clab_strerror(told->values[rank]), text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        fresh_test(test_a_late_receiver_gets_what_lies_in_a_line),
        fresh_test(test_a_late_receiver_gets_what_lies_in_slots),
        fresh_test(test_a_late_receiver_does_not_take_what_is_in_shared_memory_now),
        fresh_test(test_a_late_receiver_does_not_take_what_is_in_private_memory_now),
        fresh_test(test_a_sender_that_fails_meanwhile_is_never_believed),
    };
    return cmocka_run_group_tests(tests, share_told, NULL);
}
