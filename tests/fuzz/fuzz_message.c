// SPDX-License-Identifier: MIT
// Messages of the store: what is read is within its bounds, and written it is the same bytes; a part of a message says
// as much of its size as the whole does, and is read no further than it goes.

#include "tests/fuzz/fuzz.h"

#include "core/base/err.h"
#include "core/job/store/message.h"

static void check_read(const uint8_t *data, size_t size, const struct store_message *m, size_t bytes)
{
    unsigned char head[STORE_FIXED_BYTES];
    must_hold(m->kind >= STORE_HELLO && m->kind < STORE_KINDS);
    must_hold(bytes >= STORE_HEADER_BYTES && bytes <= size);
    must_hold(m->tail >= data && m->tail + m->tail_bytes == data + bytes);
    must_hold(m->n <= STORE_MEMBERS && m->bytes <= STORE_BLOB_BYTES);
    must_hold(m->member >= -1 && m->member < STORE_MEMBERS && m->culprit >= -1 && m->culprit < STORE_MEMBERS);
    must_hold(m->err >= 0 && m->err < CLAB_ERR_COUNT && m->refusal < STORE_REFUSALS);
    const size_t n = store_message_write(m, head);
    must_hold(n <= sizeof head && n + m->tail_bytes == bytes);
    must_hold(memcmp(head, data, n) == 0);
}

// The first `n` bytes of a message, with nothing behind them.
static void check_part(const uint8_t *data, size_t n, int err, size_t whole)
{
    struct store_message message = {.kind = STORE_KINDS};
    size_t bytes = 0;
    unsigned char *part = malloc(n ? n : 1);
    must_hold(part);
    memcpy(part, data, n);
    const int part_err = store_message_read(part, n, &message, &bytes);
    must_hold(part_err == CLAB_OK || part_err == err);
    must_hold(part_err || message.kind == STORE_KINDS);
    must_hold(part_err || bytes == STORE_HEADER_BYTES || (err == CLAB_OK && bytes == whole));
    must_hold(part_err || bytes > n);
    free(part);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct store_message message = {.kind = STORE_KINDS};
    size_t bytes = 0;
    const int err = store_message_read(data, size, &message, &bytes);
    must_hold(err == CLAB_OK || err == CLAB_EPARSE || err == CLAB_EUNSUPPORTED);
    must_hold(err == CLAB_OK || message.kind == STORE_KINDS);
    if (err == CLAB_OK && bytes <= size)
        check_read(data, size, &message, bytes);
    else if (err == CLAB_OK)
        must_hold(message.kind == STORE_KINDS && bytes <= STORE_GATHERED_BYTES);
    for (size_t n = 0; bytes <= size && n < bytes; n += n < STORE_FIXED_BYTES ? 1 : bytes / 8 + 1)
        check_part(data, n, err, bytes);
    return 0;
}
