// SPDX-License-Identifier: MIT
// What is said to the store and by it, as bytes.

#include "tests/fixtures/store_any.h"

static void assert_same(const struct store_message *a, const struct store_message *b)
{
    struct store_message x = *a, y = *b;
    assert_int_equal(x.tail_bytes, y.tail_bytes);
    assert_memory_equal(x.tail, y.tail, x.tail_bytes);
    x.tail = y.tail = NULL;
    assert_int_equal(x.kind, y.kind);
    assert_memory_equal(x.nonce, y.nonce, sizeof x.nonce);
    assert_memory_equal(x.job, y.job, sizeof x.job);
    assert_memory_equal(x.proof, y.proof, sizeof x.proof);
    assert_true(x.nranks == y.nranks && x.nnodes == y.nnodes && x.member == y.member && x.node == y.node);
    assert_true(x.status == y.status && x.refusal == y.refusal && x.number == y.number && x.key == y.key);
    assert_string_equal(x.address, y.address);
    assert_true(x.whole == y.whole && x.n == y.n && x.bytes == y.bytes && x.err == y.err && x.says == y.says);
    assert_int_equal(x.culprit, y.culprit);
    assert_true(x.notice.kind == y.notice.kind && x.notice.reporter == y.notice.reporter);
    assert_true(x.notice.culprit == y.notice.culprit && x.notice.err == y.notice.err && x.notice.comm == y.notice.comm);
}

static void test_messages_come_back_as_they_were(void **state)
{
    for (int i = 0; i < 200; i++)
        for (enum store_kind kind = STORE_HELLO; kind < STORE_KINDS; kind++) {
            const struct store_message said = any(kind);
            struct store_message received;
            size_t size;
            const size_t n = write_whole(&said);
            assert_int_equal(store_message_read(bytes, n, &received, &size), CLAB_OK);
            assert_int_equal(size, n);
            assert_same(&said, &received);
        }
}

static void test_a_part_of_a_message_says_how_long_it_will_be(void **state)
{
    for (enum store_kind kind = STORE_HELLO; kind < STORE_KINDS; kind++) {
        const struct store_message said = any(kind);
        const size_t n = write_whole(&said), step = n < 500 ? 1 : n / 400;
        for (size_t part = 0; part < n; part += step) {
            struct store_message received = {.kind = STORE_KINDS};
            size_t size;
            unsigned char *exact = malloc(part); // so that a sanitizer sees what is read behind it
            memcpy(exact, bytes, part);
            assert_int_equal(store_message_read(exact, part, &received, &size), CLAB_OK);
            assert_int_equal(size, part < STORE_HEADER_BYTES ? STORE_HEADER_BYTES : n);
            assert_int_equal(received.kind, STORE_KINDS);
            free(exact);
        }
    }
}

static void test_bytes_lie_as_they_are_described(void **state)
{
    static const unsigned char expected[] = {'C', 'L', 3, STORE_WITHDRAW, 12, 0, 0, 0, 8, 7, 6, 5, 4,
                                             3,   2,   1, CLAB_ETIMEOUT,  0,  0, 0};
    const struct store_message m = {.kind = STORE_WITHDRAW, .key = UINT64_C(0x0102030405060708), .err = CLAB_ETIMEOUT};
    assert_int_equal(store_message_write(&m, bytes), sizeof expected);
    assert_memory_equal(bytes, expected, sizeof expected);
}

static void assert_refused(size_t n, int err)
{
    struct store_message received;
    size_t size;
    assert_int_equal(store_message_read(bytes, n, &received, &size), err);
}

static void test_what_is_not_of_this_protocol_is_refused(void **state)
{
    struct store_message m = any(STORE_JOIN);
    write_whole(&m);
    bytes[0] ^= 1;
    assert_refused(8, CLAB_EPARSE);
    write_whole(&m);
    bytes[2]++;
    assert_refused(8, CLAB_EUNSUPPORTED);
    write_whole(&m);
    bytes[3] = STORE_KINDS;
    assert_refused(8, CLAB_EPARSE);
    write_whole(&m);
    bytes[4]++;
    assert_refused(8, CLAB_EPARSE);
    m = any(STORE_POST);
    const size_t n = write_whole(&m);
    store_u32_write(STORE_MEMBERS + 1, bytes + STORE_HEADER_BYTES + 20);
    assert_refused(n, CLAB_EPARSE);
    write_whole(&m);
    store_u32_write(UINT32_MAX, bytes + 4);
    assert_refused(n, CLAB_EPARSE);
    m = (struct store_message){.kind = STORE_GATHERED, .culprit = -1, .bytes = 8, .tail = tail}; // of nobody
    assert_refused(write_whole(&m), CLAB_EPARSE);
}

// Whatever comes is refused, or within bounds.
static void test_garbage_is_read_without_harm(void **state)
{
    for (int i = 0; i < 100000; i++) {
        struct store_message m = any((enum store_kind)(STORE_HELLO + chance(STORE_KINDS - 1))), received;
        m.tail_bytes = m.tail_bytes < 300 ? m.tail_bytes : 300;
        const size_t n = write_whole(&m);
        for (uint32_t changes = chance(6); changes > 0; changes--)
            bytes[chance(STORE_FIXED_BYTES)] = (unsigned char)chance(256);
        size_t size = 0;
        if (store_message_read(bytes, n, &received, &size) == CLAB_OK && size <= n) {
            assert_true(received.kind >= STORE_HELLO && received.kind < STORE_KINDS);
            assert_true(received.tail >= bytes && received.tail + received.tail_bytes == bytes + size);
            assert_true(received.n <= STORE_MEMBERS && received.bytes <= STORE_BLOB_BYTES);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_messages_come_back_as_they_were),
        cmocka_unit_test(test_a_part_of_a_message_says_how_long_it_will_be),
        cmocka_unit_test(test_bytes_lie_as_they_are_described),
        cmocka_unit_test(test_what_is_not_of_this_protocol_is_refused),
        cmocka_unit_test(test_garbage_is_read_without_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
