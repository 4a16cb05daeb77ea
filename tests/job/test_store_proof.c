// SPDX-License-Identifier: MIT
// Proofs that the token is known (core/job/store/proof.h): each is good for one connection, one message and one
// direction.

#include "tests/fixtures/capture.h"


#include "core/job/store/proof.h"
#include "tests/fixtures/needs.h"

static const unsigned char token[CLAB_TOKEN_BYTES] = "0123456789abcde",
                           wrong_token[CLAB_TOKEN_BYTES] = "0123456789abcdx";

static struct store_message joining(int member, int nranks, int nnodes)
{
    return (struct store_message){
        .kind = STORE_JOIN, .member = member, .nranks = (uint32_t)nranks, .nnodes = (uint32_t)nnodes};
}

// A proof is of this connection, this job, and of all that is said with it.
static void test_a_proof_is_good_for_one_connection_and_one_message(void **state)
{
    needs_sodium();
    struct store_contact first;
    struct store_message join = joining(1, 2, 1);
    store_draw(first.job);
    store_draw(first.of_member);
    store_draw(first.of_store);
    store_prove(token, &first, &join, NULL, join.proof);
    assert_true(store_is_proved(token, &first, &join, NULL));
    for (size_t i = 0; i < sizeof first; i++) {
        struct store_contact changed = first;
        ((unsigned char *)&changed)[i] ^= 1;
        assert_false(store_is_proved(token, &changed, &join, NULL));
    }
    for (size_t i = 0; i < sizeof join.proof; i++) {
        struct store_message changed = join;
        changed.proof[i] ^= 0x80;
        assert_false(store_is_proved(token, &first, &changed, NULL));
    }
    assert_false(store_is_proved(wrong_token, &first, &join, NULL));
    join.member = 0;
    assert_false(store_is_proved(token, &first, &join, NULL));
    join.member = 1, join.nranks++;
    assert_false(store_is_proved(token, &first, &join, NULL));
    join.nranks--, join.nnodes++;
    assert_false(store_is_proved(token, &first, &join, NULL));
    join.nnodes--;
    struct store_message welcome = {.kind = STORE_WELCOME};
    memcpy(welcome.proof, join.proof, sizeof join.proof); // sent back
    assert_false(store_is_proved(token, &first, &join, &welcome));
    store_prove(token, &first, &join, &welcome, welcome.proof);
    assert_true(store_is_proved(token, &first, &join, &welcome));
    struct store_message refused = {.kind = STORE_REFUSED, .refusal = STORE_TAKEN};
    memcpy(refused.proof, welcome.proof, sizeof welcome.proof);
    assert_false(store_is_proved(token, &first, &join, &refused));
}

// What others have said of HMAC-SHA-512-256 by this key: python3's hmac, over the bytes of core/job/store/proof.h.
static void test_a_proof_is_the_hmac_of_what_is_said(void **state)
{
    needs_sodium();
    static const unsigned char expected[] = {0xc2, 0x87, 0x4b, 0x25, 0x4e, 0xe8, 0x99, 0xc0, 0x70, 0x7f, 0x8d,
                                             0xc4, 0xb3, 0x68, 0x8b, 0xaf, 0x4a, 0xfc, 0x69, 0x32, 0x2e, 0xc9,
                                             0x79, 0x12, 0x50, 0x57, 0x5b, 0xa6, 0xa1, 0xc6, 0xbf, 0x6d};
    struct store_contact contact;
    const struct store_message join = joining(1, 3, 2);
    unsigned char proof[STORE_PROOF_BYTES];
    memset(contact.job, 'j', sizeof contact.job);
    memset(contact.of_member, 'm', sizeof contact.of_member);
    memset(contact.of_store, 's', sizeof contact.of_store);
    store_prove(token, &contact, &join, NULL, proof);
    assert_memory_equal(proof, expected, sizeof proof);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_proof_is_good_for_one_connection_and_one_message),
        cmocka_unit_test(test_a_proof_is_the_hmac_of_what_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
