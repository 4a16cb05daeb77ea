// SPDX-License-Identifier: MIT
// What the ofi backend promises beyond what all backends do (test_conformance.c): an endpoint can be closed at once,
// and what was sent arrives all the same; messages that nobody receives yet keep no others from coming.
// - CLAB_OFI_JOBS and CLAB_OFI_COMMS (3 and 40 unless told) say how often endpoints are opened and closed at once.

#include "tests/fixtures/load_libfabric.h"
#include "tests/fixtures/needs.h"
#include "tests/fixtures/working_job.h"

#ifdef HAVE_LIBFABRIC

#include "backends/ofi/wire.h"
#include "core/comm/job.h"

// ---- names on the wire ---------------------------------------------------------------------------------------

static void test_numbers_wrap(void **state)
{
    assert_int_equal(ofi_ahead(5, 5), 0);
    assert_int_equal(ofi_ahead(7, 5), 2);
    assert_int_equal(ofi_ahead(5, 7), -2);
    assert_int_equal(ofi_ahead(1, OFI_NUMBERS - 1), 2);
    assert_int_equal(ofi_ahead(1, 10 * OFI_NUMBERS - 1), 2);
    assert_int_equal(ofi_ahead(OFI_NUMBERS - 1, 10 * OFI_NUMBERS + 1), -2);
}

static void test_immediate_data_keep_call_and_bytes(void **state)
{
    const size_t bytes = (UINT64_C(1) << 48) - 1;
    assert_int_equal(ofi_immediate_bytes(ofi_immediate(0xffff, bytes)), bytes);
    assert_int_equal(ofi_immediate_call(ofi_immediate(0xffff, bytes)), 0xffff);
    assert_int_equal(ofi_immediate_bytes(ofi_immediate(0xffff, 0)), 0);
    assert_int_equal(ofi_immediate_call(ofi_immediate(0, bytes)), 0);
}

static void test_endpoints_share_no_tags(void **state)
{
    struct ofi_key first, second;
    const uint64_t one = ofi_mark(1, 64), other = ofi_mark(2, 64);
    assert_int_not_equal(one, other);
    assert_int_equal(ofi_key_draw(64, &first), CLAB_OK);
    assert_int_equal(ofi_key_draw(64, &second), CLAB_OK);
    assert_int_not_equal(first.word, second.word);
    assert_int_not_equal(first.mark, second.mark); // once in a million runs they are the same
    assert_int_equal(one & ((UINT64_C(1) << OFI_TAG_BITS) - 1), 0);
    assert_int_equal(ofi_mark(1, OFI_TAG_BITS), 0); // a provider with no bit to spare
}

// ---- members that break the rules ----------------------------------------------------------------------------

// What of an endpoint is needed to hear from rank 1.
struct hearer {
    struct ofi_endpoint endpoint;
    struct ofi_peer peers[2];
    struct ofi_lane lanes[2 * CLAB_LANES];
};

static struct hearer *hearer(void)
{
    struct hearer *h = calloc(1, sizeof *h);
    assert_non_null(h);
    h->endpoint.nranks = 2;
    h->endpoint.peers = h->peers;
    h->endpoint.lanes = h->lanes;
    h->peers[1].job_rank = 1;
    return h;
}

static int forget_early(struct ofi_early *early)
{
    int n = 0;
    for (struct ofi_early *next; early; early = next, n++) {
        next = early->next;
        free(early);
    }
    return n;
}

enum how_early { EAGER, READIES };

static void hear(struct hearer *h, enum how_early what, int number)
{
    if (what == EAGER)
        ofi_receive_eager(&h->endpoint, 1, 3, (uint32_t)number, ofi_immediate(0, 4), "abcd", 4);
    else
        ofi_send_ready(&h->endpoint, 1, 3, (uint32_t)number, ofi_immediate(0, 1 << 20));
}

// `most` of them, from `first` on, may come before this rank begins; then `last` is an error, with these words.
static void assert_bounded(enum how_early what, int first, int most, int last, const char *words)
{
    struct hearer *h = hearer();
    struct ofi_lane *lane = ofi_lane(&h->endpoint, 1, 3);
    lane->taken = lane->receives_begun = lane->sends_begun = (uint32_t)first;
    for (int i = most - 1; i >= 0; i--)
        hear(h, what, (first + i) % OFI_NUMBERS);
    assert_int_equal(h->endpoint.err, CLAB_OK);
    const struct capture err = capture_begin(STDERR_FILENO);
    hear(h, what, last % OFI_NUMBERS);
    const char *text = capture_end(err);
    assert_int_equal(h->endpoint.err, CLAB_EMISMATCH);
    assert_one_line_with(text, words);
    assert_int_equal(forget_early(lane->eager) + forget_early(lane->readies), most);
    free(h);
}

static void test_heads_that_are_kept_are_bounded(void **state)
{
    const char words[] = "rank 1 has sent a message twice, or more messages than it may";
    assert_bounded(EAGER, 0, OFI_WINDOW, OFI_WINDOW, words);
    assert_bounded(EAGER, OFI_NUMBERS - 3, OFI_WINDOW, OFI_NUMBERS - 3 + OFI_WINDOW, words);
    assert_bounded(EAGER, 0, 5, 4, words);
    assert_bounded(EAGER, 100, 5, 99, words);
    assert_bounded(EAGER, 100, 0, 100 + OFI_NUMBERS / 2, words);
}

static void test_readies_that_are_kept_are_bounded(void **state)
{
    const char words[] = "rank 1 has been ready for a message twice, or for one that is too far ahead";
    assert_bounded(READIES, 0, OFI_AHEAD, OFI_AHEAD, words);
    assert_bounded(READIES, OFI_NUMBERS - 3, OFI_AHEAD, OFI_NUMBERS - 3 + OFI_AHEAD, words);
    assert_bounded(READIES, 0, 5, 4, words);
}

// ---- ranks ---------------------------------------------------------------------------------------------------

enum { MANY = 1 << 20 }; // bytes

static int number_from(const char *name, int otherwise)
{
    const char *text = getenv(name);
    return text ? atoi(text) : otherwise;
}

static int open_job(struct clab_job **job_p)
{
    char name[] = "ofi", *argv[] = {name, NULL};
    int argc = 1;
    return clab_job_open(&argc, argv, job_p);
}

static bool is_all(const char *data, size_t bytes, char value)
{
    for (size_t i = 0; i < bytes; i++)
        if (data[i] != value)
            return false;
    return true;
}

// The root is done when its data are on the way, and leaves. The others come late.
static int broadcast_and_leave(struct clab_job *job, size_t bytes, int late_ms)
{
    struct clab_comm *comm;
    char *data = calloc(bytes, 1);
    const int rank = clab_job_rank(job);
    if (!data || clab_comm_create(job, &comm))
        return 10;
    if (rank == 0)
        memset(data, 7, bytes);
    else
        usleep((useconds_t)(1000 * late_ms * rank));
    const int err = clab_broadcast(comm, data, data, bytes, CLAB_U8, 0);
    const bool right = is_all(data, bytes, 7);
    clab_comm_destroy(comm);
    free(data);
    return err ? 11 : !right;
}

static int leave_at_once(int rank)
{
    struct clab_job *job;
    if (open_job(&job))
        return 12;
    const int status = broadcast_and_leave(job, 3000, 30);
    clab_job_close(job);
    return status;
}

static void test_what_a_rank_sent_before_it_left_arrives(void **state)
{
    for (int i = 0, n = number_from("CLAB_OFI_JOBS", 3); i < n; i++)
        assert_job("ofi", 3, leave_at_once);
}

static int open_and_close(int rank)
{
    static const size_t sizes[] = {1, 100, 9000, 40000, MANY};
    struct clab_job *job;
    int status = 0;
    if (open_job(&job))
        return 12;
    for (int i = 0, n = number_from("CLAB_OFI_COMMS", 40); i < n && !status; i++)
        status = broadcast_and_leave(job, sizes[i % 5], (i + rank) % 3);
    clab_job_close(job);
    return status;
}

static void test_communicators_are_closed_at_once(void **state)
{
    assert_job("ofi", 2, open_and_close);
    assert_job("ofi", 5, open_and_close);
}

// Rank 0 sends more than anybody holds back for rank 1, of all sizes; then both do something else first.
static int send_before_anybody_receives(struct clab_comm *comm, int rank)
{
    enum { MESSAGES = 300 };
    static const size_t sizes[] = {0, 1, 100, 5000, 16384, 16385, 300000};
    struct clab_work *works[MESSAGES];
    char *data = malloc((size_t)MESSAGES * 1000 + 300000);
    int sum = 0, status = 0;
    if (!data)
        return 12;
    memset(data, rank == 0 ? 5 : 0, (size_t)MESSAGES * 1000 + 300000);
    for (int i = 0; rank == 0 && i < MESSAGES; i++)
        status |= clab_send_start(comm, data, sizes[i % 7], CLAB_U8, 1, &works[i]);
    for (int i = 0; i < 20; i++)
        status |= clab_allreduce(comm, &rank, &sum, 1, CLAB_I32, CLAB_SUM) || sum != 1;
    for (int i = 0; i < MESSAGES && !status; i++) {
        status |= rank == 0 ? clab_work_wait(works[i]) : clab_recv(comm, data, sizes[i % 7], CLAB_U8, 0);
        status |= rank == 1 && !is_all(data, sizes[i % 7], 5);
    }
    free(data);
    return status;
}

static void test_messages_that_nobody_receives_yet_hold_up_no_collective(void **state)
{
    assert_work("ofi", 2, send_before_anybody_receives);
}

// To rank 1 in packets, and to itself.
static int send_nothing_of_nowhere(struct clab_comm *comm, int rank)
{
    enum { MESSAGES = 300 };
    struct clab_work *own;
    int status = 0;
    for (int i = 0; i < MESSAGES; i++)
        status |= rank == 0 ? clab_send(comm, NULL, 0, CLAB_F32, 1) : clab_recv(comm, NULL, 0, CLAB_F32, 0);
    status |= clab_send_start(comm, NULL, 0, CLAB_F32, rank, &own);
    status |= clab_recv(comm, NULL, 0, CLAB_F32, rank);
    return status ? status : clab_work_wait(own);
}

static void test_messages_without_bytes_have_no_place(void **state)
{
    assert_work("ofi", 2, send_nothing_of_nowhere);
}

// One way only, so that nothing goes back that could tell of what has been taken.
static int send_one_way(struct clab_comm *comm, int rank)
{
    enum { MESSAGES = 5000 };
    char data[200] = {0};
    int status = 0;
    for (int i = 0; i < MESSAGES && !status; i++) {
        data[0] = rank == 0 ? (char)i : 0;
        status |= rank == 0 ? clab_send(comm, data, (size_t)(1 + i % 200), CLAB_U8, 1)
                            : clab_recv(comm, data, (size_t)(1 + i % 200), CLAB_U8, 0);
        status |= data[0] != (char)i;
    }
    return status;
}

static void test_a_lane_may_be_used_one_way(void **state)
{
    assert_work("ofi", 2, send_one_way);
}

// Each rank notices, and does not wait for the job's timeout: the sender of the long message has nothing to send.
static int mean_different_messages(int rank)
{
    struct clab_job *job;
    struct clab_comm *comm;
    char *data = calloc(MANY, 1);
    if (!data || open_job(&job) || clab_comm_create(job, &comm))
        return 12;
    const double start = clab_now();
    const int err = rank == 0 ? clab_send(comm, data, MANY, CLAB_U8, 1) : clab_recv(comm, data, 100, CLAB_U8, 0);
    const double took = clab_now() - start;
    clab_comm_destroy(comm);
    clab_job_close(job);
    free(data);
    return err != CLAB_EMISMATCH ? 13 : took > 10 ? 14 : 0;
}

static void test_who_receives_a_short_message_learns_of_a_long_one(void **state)
{
    (void)state;
    struct clab_launch launch = ranks(2);
    launch.backend = "ofi";
    setenv("CLAB_TIMEOUT", "20s", 1);
    const struct capture err = capture_begin(STDERR_FILENO);
    const int status = run_job(launch, mean_different_messages);
    const char *text = capture_end(err);
    if (status)
        fail_msg("status %d: %s", status, text);
    assert_text_has(text, "ranks disagree");
}

// Rank 0 gives up a receive whose buffers the provider has, once rank 1 is connected, too. Then nothing of it is
// registered any more.
static int give_up_a_receive(struct clab_job *job)
{
    struct clab_comm *comm;
    struct clab_work *receive;
    char *data = calloc(8, MANY);
    const struct ofi_registrations *all = &((const struct ofi_domain *)job->domain)->registrations;
    if (!data || clab_comm_create(job, &comm))
        return 12;
    const int rank = clab_job_rank(job);
    int status = rank == 0 ? clab_recv(comm, data, 1, CLAB_U8, 1) : clab_send(comm, data, 1, CLAB_U8, 0);
    if (!status && rank == 0)
        status = clab_recv_start(comm, data, 8 * MANY, CLAB_U8, 1, &receive) ? 13 : all->used ? 0 : 14;
    clab_comm_destroy(comm);
    free(data);
    return status ? status : all->used ? 15 : 0;
}

static int open_and_give_up(int rank)
{
    struct clab_job *job;
    if (open_job(&job))
        return 11;
    const int status = give_up_a_receive(job);
    clab_job_close(job);
    return status;
}

static void test_a_receive_that_is_given_up_is_registered_no_longer(void **state)
{
    setenv("CLAB_OFI_REGISTER", "1", 1);
    assert_job("ofi", 2, open_and_give_up);
    unsetenv("CLAB_OFI_REGISTER");
}

// ---- what is refused -----------------------------------------------------------------------------------------

static int only_open(int rank)
{
    struct clab_job *job;
    const int err = open_job(&job);
    if (!err)
        clab_job_close(job);
    return err == CLAB_EUNSUPPORTED ? 0 : 1;
}

static void assert_refused(const char *variable, const char *value, const char *words)
{
    struct clab_launch launch = ranks(1);
    launch.backend = "ofi";
    setenv(variable, value, 1);
    const struct capture err = capture_begin(STDERR_FILENO);
    const int status = run_job(launch, only_open);
    const char *text = capture_end(err);
    unsetenv(variable);
    assert_int_equal(status, 0);
    assert_one_line_with(text, words);
}

static void test_an_unknown_provider_is_refused(void **state)
{
    assert_refused("CLAB_PROVIDER", "carrier-pigeon", "'carrier-pigeon': libfabric ");
}

static void test_an_unknown_interface_is_refused(void **state)
{
    assert_refused("CLAB_INTERFACE", "nowhere0",
                   "'nowhere0': no interface of that name or address is up, with a carrier, here");
    assert_refused("CLAB_INTERFACE", "203.0.113.77", "'203.0.113.77': no interface of that name or address");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers_wrap),
        cmocka_unit_test(test_immediate_data_keep_call_and_bytes),
        cmocka_unit_test(test_endpoints_share_no_tags),
        cmocka_unit_test(test_heads_that_are_kept_are_bounded),
        cmocka_unit_test(test_readies_that_are_kept_are_bounded),
        cmocka_unit_test(test_what_a_rank_sent_before_it_left_arrives),
        cmocka_unit_test(test_communicators_are_closed_at_once),
        cmocka_unit_test(test_messages_that_nobody_receives_yet_hold_up_no_collective),
        cmocka_unit_test(test_messages_without_bytes_have_no_place),
        cmocka_unit_test(test_a_lane_may_be_used_one_way),
        cmocka_unit_test(test_who_receives_a_short_message_learns_of_a_long_one),
        cmocka_unit_test(test_a_receive_that_is_given_up_is_registered_no_longer),
        cmocka_unit_test(test_an_unknown_provider_is_refused),
        cmocka_unit_test(test_an_unknown_interface_is_refused),
    };
    load_libfabric();
    return cmocka_run_group_tests(tests, share_told, NULL);
}

#else
MAIN_WITHOUT("libfabric")
#endif
