// SPDX-License-Identifier: MIT
// A member's end of its connection to the store, with a store that the test plays, and that then hangs up.

#include "core/job/store/client_inside.h"

#include "tests/fixtures/capture.h"

#include <sys/socket.h>

#include "core/base/mix.h"

enum { RANKS = 2, SELF = 1, KEY = 7 };

// A member that has joined, and to which the store has said `answer`.
static struct store_client *hear_and_be_cut(const struct store_message *answer)
{
    int ends[2];
    unsigned char head[STORE_FIXED_BYTES];
    struct store_client *client = calloc(1, sizeof *client + RANKS * sizeof *client->presence);
    assert_non_null(client);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    client->ticket = (struct store_ticket){.host = "h", .job.nranks = RANKS, .member = SELF, .timeout = 1};
    client->channel.fd = ends[0];
    const size_t n = store_message_write(answer, head);
    assert_int_equal(write(ends[1], head, n), n);
    assert_int_equal(write(ends[1], answer->tail, answer->tail_bytes), answer->tail_bytes);
    close(ends[1]);
    return client;
}

static struct store_message gathered(uint64_t key)
{
    return (struct store_message){.kind = STORE_GATHERED,
                                  .key = key,
                                  .culprit = -1,
                                  .whole = 2,
                                  .n = RANKS,
                                  .bytes = 2,
                                  .tail = (const unsigned char *)"aabb",
                                  .tail_bytes = 4};
}

static int exchange(const struct store_message *answer, char all[5])
{
    struct store_client *client = hear_and_be_cut(answer);
    const struct clab_fence fence = {.n = RANKS, .key = KEY};
    const struct capture capture = capture_begin(STDERR_FILENO);
    strcpy(all, "....");
    const int err = store_client_exchange(client, fence, "bb", 2, all, (struct exchange_progress){0});
    store_client_leave(client);
    capture_end(capture);
    return err;
}

static void test_an_answer_that_came_before_the_end_is_taken(void **state)
{
    char all[5];
    const struct store_message answer = gathered(clab_mix(KEY, 0));
    assert_int_equal(exchange(&answer, all), CLAB_OK);
    assert_string_equal(all, "aabb");
}

// As that to an exchange which was given up for being late.
static void test_an_answer_to_another_fence_is_not_taken(void **state)
{
    char all[5];
    const struct store_message answer = gathered(clab_mix(KEY + 1, 0));
    assert_int_equal(exchange(&answer, all), CLAB_EPEER);
    assert_string_equal(all, "....");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_answer_that_came_before_the_end_is_taken),
        cmocka_unit_test(test_an_answer_to_another_fence_is_not_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
