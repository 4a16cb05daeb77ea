// SPDX-License-Identifier: MIT
// Messages that leave as one over ofi (backends/ofi/packets.c): all arrive, whole and in order; those of a rank that
// then computes, or waits for something else, arrive soon; and nothing waits where the user says so.

#include "tests/fixtures/needs.h"
#include "tests/fixtures/working_job.h"

#ifdef HAVE_LIBFABRIC

#include <unistd.h>

#include "core/comm/comm.h"
#include "backends/ofi/wire.h"

// ---- a packet ------------------------------------------------------------------------------------------------

static uint64_t head_of(size_t bytes, uint64_t number, uint64_t lane, uint64_t call)
{
    return bytes | number << 16 | lane << 28 | call << 48;
}

// What an endpoint says that gets such a packet from rank 1.
static int open_packet(const void *packet, size_t bytes, struct ofi_lane *lanes)
{
    struct ofi_peer peers[2] = {{.job_rank = 0}, {.job_rank = 1}};
    struct ofi_endpoint e = {.nranks = 2, .peers = peers, .lanes = lanes};
    ofi_packets_open(&e, 1, packet, bytes);
    return e.err;
}

static void test_a_packet_is_opened(void **state)
{
    static struct ofi_lane lanes[2 * CLAB_LANES];
    const uint64_t packet[] = {head_of(3, 0, 0, 7), 0x636261, head_of(0, 0, CLAB_LANES - 1, 65535),
                               head_of(9, 1, 0, 8), 1,        2};
    assert_int_equal(open_packet(packet, sizeof packet, lanes), CLAB_OK);
    struct ofi_early *first = lanes[CLAB_LANES].eager, *second = first->next, *other = lanes[2 * CLAB_LANES - 1].eager;
    assert_int_equal(first->bytes, 3);
    assert_memory_equal(first->data, "abc", 3);
    assert_int_equal(first->immediate, ofi_immediate(7, 3));
    assert_int_equal(second->number, 1);
    assert_int_equal(second->immediate, ofi_immediate(8, 9));
    assert_int_equal(other->immediate, ofi_immediate(65535, 0));
    free(first);
    free(second);
    free(other);
}

static void assert_is_refused(const uint64_t packet[], size_t bytes)
{
    static struct ofi_lane lanes[2 * CLAB_LANES];
    const struct capture err = capture_begin(STDERR_FILENO);
    assert_int_equal(open_packet(packet, bytes, lanes), CLAB_EMISMATCH);
    assert_one_line_with(capture_end(err),
                         "rank 1 has sent a packet that is shorter than its messages, or one of a lane");
    assert_null(lanes[CLAB_LANES].eager);
}

static void test_a_packet_that_is_none_is_refused(void **state)
{
    const uint64_t packet[] = {head_of(9, 0, 0, 0), 0}, lane[] = {head_of(0, 0, CLAB_LANES, 0)};
    assert_is_refused(packet, 1);
    assert_is_refused(packet, 8);
    assert_is_refused(packet, 16);
    assert_is_refused(lane, 8);
}

// Such as without a thread: what joins a packet would stay there.
static void test_nothing_joins_where_nothing_may_be_held(void **state)
{
    const struct clab_transfer send = {.op = CLAB_SEND};
    struct ofi_domain domain = {.base.may_hold = true, .sending_since = clab_now() - 1, .sent_last = clab_now()};
    ofi_packets_note(&domain, &send, 1);
    assert_true(domain.joins);
    domain.base.may_hold = false;
    ofi_packets_note(&domain, &send, 1);
    assert_false(domain.joins);
}

// Else the thread would try again for ever, and other endpoints would not part from their peers.
static void test_what_a_failed_endpoint_holds_is_not_tried_again(void **state)
{
    struct ofi_domain domain = {.base.holds = true};
    struct ofi_endpoint failed = {.domain = &domain, .err = CLAB_EPEER, .packets_sent = 1}, other = {.domain = &domain};
    struct ofi_packet packet = {.endpoint = &failed};
    domain.held = &packet;
    domain.endpoints = &failed;
    ofi_packets_flush(&domain.base);
    assert_false(clab_domain_holds(&domain.base));
    assert_true(ofi_packets_wait(&failed));
    assert_false(ofi_packets_wait(&other));
}

// A queue of completions that says once that a request was cancelled, as libfabric does where the peer has left.
static struct ofi_request *cancelled;

static ssize_t read_queue(struct fid_cq *cq, void *entries, size_t n)
{
    return cancelled ? -FI_EAVAIL : -FI_EAGAIN;
}

static ssize_t read_cancelled(struct fid_cq *cq, struct fi_cq_err_entry *entry, uint64_t flags)
{
    *entry = (struct fi_cq_err_entry){.op_context = cancelled, .err = FI_ECANCELED};
    cancelled = NULL;
    return 1;
}

static void test_a_packet_to_a_rank_that_has_left_is_free_again(void **state)
{
    struct fi_ops_cq queue = {.size = sizeof queue, .read = read_queue, .readerr = read_cancelled};
    struct fid_cq cq = {.ops = &queue};
    struct ofi_domain domain = {.base.holds = true};
    struct ofi_endpoint e = {.domain = &domain, .cq = &cq, .packets_sent = 1, .sending = 1};
    struct ofi_packet packet = {.endpoint = &e, .request.kind = OFI_PACKET_OUT};
    cancelled = &packet.request;
    domain.endpoints = &e;
    ofi_packets_flush(&domain.base);
    assert_false(clab_domain_holds(&domain.base));
    assert_ptr_equal(e.spare_packets, &packet);
    assert_int_equal(e.sending, 0);
    assert_int_equal(e.err, CLAB_OK);
}

// A registrar that finds no memory.
static int enter_nothing(void *of, const void *start, size_t bytes, void **handle_p)
{
    return CLAB_ENOMEM;
}

static void test_without_memory_for_packets_a_message_goes_by_itself(void **state)
{
    struct ofi_peer peer = {0};
    struct ofi_domain domain = {.registers = true};
    struct ofi_endpoint e = {.domain = &domain, .peers = &peer};
    const struct clab_transfer send = {.op = CLAB_SEND};
    ofi_registrations_init(&domain.registrations, (struct ofi_registrar){.enter = enter_nothing});
    assert_false(ofi_packets_take(&e, &send));
    assert_int_equal(e.err, CLAB_OK);
    assert_true(e.lacks_packets);
    assert_false(clab_domain_holds(&domain.base));
    ofi_registrations_finish(&domain.registrations);
}

static void test_what_a_closed_endpoint_holds_is_tried_again(void **state)
{
    struct fi_ops_cq queue = {.size = sizeof queue, .read = read_queue, .readerr = read_cancelled};
    struct fid_cq cq = {.ops = &queue};
    struct ofi_domain domain = {.base.holds = true};
    struct ofi_endpoint closed = {.domain = &domain, .cq = &cq, .packets_sent = 1, .sending = 1};
    struct ofi_packet packet = {.endpoint = &closed, .request.kind = OFI_PACKET_OUT};
    domain.closing = &closed;
    ofi_packets_flush(&domain.base);
    assert_true(clab_domain_holds(&domain.base));
    cancelled = &packet.request;
    ofi_packets_flush(&domain.base);
    assert_false(clab_domain_holds(&domain.base));
    assert_int_equal(closed.packets_sent, 0);
}

// ---- streams -------------------------------------------------------------------------------------------------

static bool holds(const struct clab_comm *comm)
{
    return clab_domain_holds(comm->job->domain);
}

// Rank 0 sends by all ways that only send, and each rank looks at each element.
static int stream_all_sizes(struct clab_comm *comm, int rank)
{
    enum { CALLS = 20000, MOST = 8193 };
    static const int counts[] = {1, 2, 30, 500, 3000, 8192, MOST, 1100};
    static int data[MOST], blocks[3 * MOST];
    int wrong = 0, held = 0;
    const int n = clab_comm_ranks(comm);
    for (int i = 0; i < CALLS && !wrong; i++) {
        const int count = i < CALLS / 2 ? counts[i % 3] : counts[i % 8];
        for (int k = 0; k < count && rank == 0; k++)
            data[k] = blocks[k] = blocks[(n - 1) * count + k] = i + k;
        if (i % 1000 < 900)
            wrong |= clab_broadcast(comm, data, data, (size_t)count, CLAB_I32, 0);
        else
            wrong |= clab_scatter(comm, blocks, data, (size_t)count, CLAB_I32, 0);
        for (int k = 0; k < count && (rank == n - 1 || i % 1000 < 900); k++)
            wrong |= data[k] != i + k;
        held += holds(comm);
    }
    told->values[rank] = held;
    return wrong;
}

static bool have_cores(int nranks)
{
    return sysconf(_SC_NPROCESSORS_ONLN) >= nranks;
}

static void test_messages_of_all_sizes_arrive_whole(void **state)
{
    assert_work("ofi", 2, stream_all_sizes);
    assert_true(told->values[0] > 0 || !have_cores(2)); // else nothing was tested
    assert_int_equal(told->values[1], 0);
    assert_work("ofi", 3, stream_all_sizes);
    assert_int_equal(told->values[1] + told->values[2], 0);
}

// Rank 0 sends until a message is held, but 50 ms at most, and says which is the last. Whether one was held.
static bool stream_until_held(struct clab_comm *comm, int *last_p)
{
    const double end = clab_now() + 0.05;
    for (int i = 1; !*last_p; i++) {
        const bool enough = holds(comm) || clab_now() > end;
        int value = enough ? -i : i;
        if (clab_broadcast(comm, &value, &value, 1, CLAB_I32, 0))
            return false;
        if (enough)
            *last_p = i;
    }
    return holds(comm);
}

static int receive_until_last(struct clab_comm *comm)
{
    int value = 1;
    while (value > 0)
        if (clab_broadcast(comm, &value, &value, 1, CLAB_I32, 0))
            return 1;
    return 0;
}

enum { STREAMS = 20 };

// Rank 0 calls nothing until rank 1 has the last.
static int stream_and_compute(struct clab_comm *comm, int rank)
{
    int wrong = 0;
    for (int s = 1; s <= STREAMS && !wrong; s++) {
        int last = 0;
        if (rank == 1) {
            wrong |= receive_until_last(comm);
            told->values[1] = s;
        } else {
            told->values[0] += stream_until_held(comm, &last);
            for (const double end = clab_now() + TIME_LIMIT; told->values[1] < s && clab_now() < end;)
                ;
            wrong |= told->values[1] < s;
        }
    }
    return wrong;
}

static void test_the_last_arrive_while_the_sender_computes(void **state)
{
    assert_work("ofi", 2, stream_and_compute);
    assert_true(told->values[0] > 0 || !have_cores(2));
}

// Rank 0 starts calls that only send while it waits for rank 1, so that they begin in its wait. Then it calls nothing
// until rank 1 has the last.
static int queue_and_compute(struct clab_comm *comm, int rank)
{
    enum { QUEUED = 2000 };
    static struct clab_work *works[QUEUED];
    static int values[QUEUED];
    struct clab_work *first;
    int wrong = 0, sum = 0, one = 1;
    for (int s = 1; s <= STREAMS / 4 && !wrong; s++) {
        if (rank == 1)
            usleep(20000); // rank 0 waits by now
        wrong |= clab_reduce_start(comm, &one, &sum, 1, CLAB_I32, CLAB_SUM, 0, &first);
        for (int i = 0; i < QUEUED && !wrong; i++)
            wrong |= clab_broadcast_start(comm, &values[i], &values[i], 1, CLAB_I32, 0, &works[i]);
        wrong |= clab_work_wait(first);
        for (int i = 0; i < QUEUED && !wrong; i++)
            wrong |= clab_work_wait(works[i]);
        if (rank == 1)
            told->values[1] = s;
        told->values[0] += rank == 0 && holds(comm);
        for (const double end = clab_now() + TIME_LIMIT; told->values[1] < s && clab_now() < end;)
            ;
        wrong |= told->values[1] < s;
    }
    return wrong;
}

static void test_the_last_arrive_that_began_in_a_wait(void **state)
{
    assert_work("ofi", 2, queue_and_compute);
    assert_true(told->values[0] > 0 || !have_cores(2));
}

// Rank 0 waits in another call, which rank 1 comes to when it has the last.
static int stream_and_create(struct clab_comm *comm, int rank)
{
    struct clab_comm *other;
    int wrong = 0;
    for (int s = 0; s < STREAMS / 4 && !wrong; s++) {
        int last = 0;
        if (rank == 0)
            stream_until_held(comm, &last);
        else
            wrong |= receive_until_last(comm);
        wrong |= clab_comm_create(clab_comm_job(comm), &other);
        clab_comm_destroy(other);
    }
    return wrong;
}

static void test_the_last_arrive_while_the_sender_makes_a_communicator(void **state)
{
    assert_work("ofi", 2, stream_and_create);
}

// The communicator is destroyed as soon as something is held.
static int stream_and_leave(struct clab_comm *comm, int rank)
{
    int last = 0;
    if (rank == 1)
        return receive_until_last(comm);
    told->values[0] = stream_until_held(comm, &last);
    return 0;
}

static void test_the_last_arrive_although_the_sender_leaves(void **state)
{
    for (int i = 0; i < 3; i++)
        assert_work("ofi", 2, stream_and_leave);
}

static void test_nothing_is_held_where_the_user_says_so(void **state)
{
    setenv("CLAB_PACKETS", "off", 1);
    assert_work("ofi", 2, stream_and_leave);
    assert_int_equal(told->values[0], 0);
    unsetenv("CLAB_PACKETS");
    setenv("CLAB_PROGRESS", "manual", 1);
    assert_work("ofi", 2, stream_and_leave);
    assert_int_equal(told->values[0], 0);
    unsetenv("CLAB_PROGRESS");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_packet_is_opened),
        cmocka_unit_test(test_a_packet_that_is_none_is_refused),
        cmocka_unit_test(test_nothing_joins_where_nothing_may_be_held),
        cmocka_unit_test(test_what_a_failed_endpoint_holds_is_not_tried_again),
        cmocka_unit_test(test_a_packet_to_a_rank_that_has_left_is_free_again),
        cmocka_unit_test(test_without_memory_for_packets_a_message_goes_by_itself),
        cmocka_unit_test(test_what_a_closed_endpoint_holds_is_tried_again),
        cmocka_unit_test(test_messages_of_all_sizes_arrive_whole),
        cmocka_unit_test(test_the_last_arrive_while_the_sender_computes),
        cmocka_unit_test(test_the_last_arrive_that_began_in_a_wait),
        cmocka_unit_test(test_the_last_arrive_while_the_sender_makes_a_communicator),
        cmocka_unit_test(test_the_last_arrive_although_the_sender_leaves),
        cmocka_unit_test(test_nothing_is_held_where_the_user_says_so),
    };
    return cmocka_run_group_tests(tests, share_told, NULL);
}

#else
MAIN_WITHOUT("libfabric")
#endif
