// SPDX-License-Identifier: MIT
// A member that comes to a store: to the job's own, of whose answers the input changes bytes, or to one that says the
// input and knows nothing. It is welcome only where the job's own has welcomed it, and not a byte was changed; all else
// ends with an error, and what is final with one line.

#include "tests/fuzz/draws.h"

#include "tests/fuzz/fuzz.h"

#include <sys/socket.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/err.h"
#include "core/job/store/client_inside.h"

enum { RANKS = 3, SELF = 1 };

static const struct store_ticket ticket = {
    .host = "store", .port = 1, .job = {.nranks = RANKS, .token = "a fuzzer's token"}, .member = SELF, .timeout = 1};

// What the job's own store says to a member whose nonce it has guessed, since here the draws are known.
static size_t say_as_the_job(bool refuses, unsigned char *bytes)
{
    struct store_message hello = {.kind = STORE_HELLO}, challenge = {.kind = STORE_CHALLENGE};
    const struct store_message join = {.kind = STORE_JOIN, .member = SELF, .nranks = RANKS};
    struct store_message answer = {.kind = refuses ? STORE_REFUSED : STORE_WELCOME};
    if (refuses)
        answer.refusal = STORE_TAKEN;
    store_draw(challenge.job);
    store_draw(challenge.nonce);
    fuzz_draw_anew();
    store_draw(hello.nonce);
    fuzz_draw_anew();
    const struct store_contact contact = store_contact_of(&hello, &challenge);
    store_prove(ticket.job.token, &contact, &join, &answer, answer.proof);
    const size_t n = store_message_write(&challenge, bytes);
    return n + store_message_write(&answer, bytes + n);
}

// Pairs of a place and what is changed there; whether anything was.
static bool change(const uint8_t *data, size_t size, unsigned char *bytes, size_t n)
{
    unsigned char before[2 * STORE_FIXED_BYTES];
    memcpy(before, bytes, n);
    for (; size >= 2; data += 2, size -= 2)
        bytes[data[0] % n] ^= data[1];
    return memcmp(before, bytes, n) != 0;
}

static int come_to(const unsigned char *bytes, size_t n)
{
    int ends[2];
    struct store_channel channel = {0};
    must_hold(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
    must_hold(send(ends[1], bytes, n, MSG_NOSIGNAL) == (ssize_t)n); // no more than it takes
    shutdown(ends[1], SHUT_WR);
    channel.fd = ends[0];
    fuzz_log_clear();
    const int err = store_introduce(&channel, &ticket, clab_now() + ticket.timeout);
    store_channel_close(&channel);
    close(ends[1]);
    must_hold(fuzz_log_errors == (err == CLAB_EINVAL));
    must_hold(err == CLAB_OK || err == CLAB_EINVAL || err == CLAB_EPARSE || err == CLAB_EUNSUPPORTED ||
              err == CLAB_EPEER);
    return err;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    unsigned char bytes[2 * STORE_FIXED_BYTES];
    fuzz_draw_anew();
    if (size == 0 || data[0] & 1) {
        must_hold(come_to(data + (size > 0), size - (size > 0)) != CLAB_OK);
        return 0;
    }
    const bool refuses = data[0] & 2;
    const size_t n = say_as_the_job(refuses, bytes);
    const bool is_changed = change(data + 1, size - 1, bytes, n);
    must_hold((come_to(bytes, n) == CLAB_OK) == (!is_changed && !refuses));
    return 0;
}
