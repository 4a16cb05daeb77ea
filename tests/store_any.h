// SPDX-License-Identifier: MIT
// What tests of the store's protocol share: sound messages of every kind, and their bytes.
#pragma once

#include "job/store_message.h"

#include "capture.h"

#include "job/store.h"
#include "job/store_refusals.h"

static uint64_t seed = 20;

static inline uint32_t chance(uint32_t below)
{
    seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (uint32_t)(seed >> 33) % below;
}

static unsigned char tail[STORE_GATHERED_BYTES];

static inline void any_bytes(unsigned char *at, size_t n)
{
    for (size_t i = 0; i < n; i++)
        at[i] = (unsigned char)chance(256);
}

// A sound message of a kind, with numbers of no meaning.
static inline struct store_message any(enum store_kind kind)
{
    struct store_message m = {.kind = kind, .member = -1, .node = -1, .culprit = -1, .tail = tail};
    for (int i = 0; i < 100; i++)
        tail[i * i] = (unsigned char)chance(256);
    switch (kind) {
    case STORE_HELLO: any_bytes(m.nonce, sizeof m.nonce); break;
    case STORE_CHALLENGE: any_bytes(m.nonce, sizeof m.nonce), any_bytes(m.job, sizeof m.job); break;
    case STORE_JOIN:
        any_bytes(m.proof, sizeof m.proof);
        m.member = (int)chance(STORE_MEMBERS), m.nranks = chance(5000), m.nnodes = chance(5000);
        break;
    case STORE_WELCOME: any_bytes(m.proof, sizeof m.proof); break;
    case STORE_REFUSED:
        m.refusal = chance(STORE_REFUSALS), m.number = chance(9);
        any_bytes(m.proof, sizeof m.proof);
        break;
    case STORE_TURNED_AWAY:
        m.refusal = chance(STORE_REFUSALS), m.number = chance(9);
        strcpy(m.address, "2001:db8::192.0.2.33");
        break;
    case STORE_AWAITED: m.number = 1 + chance(9), m.member = (int)chance(STORE_MEMBERS), m.key = chance(99); break;
    case STORE_POST:
        m.key = ~(uint64_t)chance(99), m.bytes = chance(STORE_BLOB_BYTES + 1), m.n = chance(STORE_MEMBERS + 1);
        m.whole = m.bytes + (uint64_t)chance(9) * 4096, m.tail_bytes = 4 * (size_t)m.n + m.bytes;
        break;
    case STORE_WITHDRAW: m.key = ~(uint64_t)chance(99), m.err = CLAB_ETIMEOUT; break;
    case STORE_GATHERED:
        m.key = chance(99), m.err = chance(2) ? CLAB_ETIMEOUT : CLAB_OK, m.says = chance(2);
        m.culprit = (int)chance(STORE_MEMBERS), m.whole = chance(99);
        m.n = m.err ? chance(STORE_MEMBERS + 1) : 1 + chance(STORE_MEMBERS); // there is no answer of nobody
        m.bytes = chance(STORE_BLOB_BYTES + 1);
        m.tail_bytes = (size_t)m.n * (m.err ? 1 + m.bytes : m.bytes);
        break;
    case STORE_NOTICE:
    case STORE_GONE: m.notice = (struct clab_notice){CLAB_NOTICE_REVOKED, 1023, -1, CLAB_EPEER, ~UINT64_C(7)}; break;
    case STORE_ENDED: m.member = (int)chance(STORE_MEMBERS), m.status = (int)chance(256); break;
    case STORE_END: m.node = (int)chance(9) - 1, m.member = (int)chance(9) - 1, m.status = -(int)chance(256); break;
    default: break;
    }
    return m;
}

static unsigned char bytes[STORE_GATHERED_BYTES];

static inline size_t write_whole(const struct store_message *m)
{
    const size_t head = store_message_write(m, bytes);
    assert_true(head <= STORE_FIXED_BYTES && head + m->tail_bytes <= sizeof bytes);
    if (m->tail_bytes)
        memcpy(bytes + head, m->tail, m->tail_bytes);
    return head + m->tail_bytes;
}
