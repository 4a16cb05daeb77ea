// SPDX-License-Identifier: MIT
// Messages to bytes and back (message.h).

#include "core/job/store/message.h"

#include <string.h>

enum { MAGIC = 0x4c43, AT_VERSION = 2, AT_KIND = 3, AT_LENGTH = 4 }; // "CL"

uint32_t store_u32_read(const unsigned char *bytes)
{
    return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

void store_u32_write(uint32_t value, unsigned char *out)
{
    for (int i = 0; i < 4; i++)
        out[i] = (unsigned char)(value >> 8 * i);
}

// ---- fields, for both directions -----------------------------------------------------------------------------

struct cursor {
    const unsigned char *from; // NULL: write
    unsigned char *to;
    size_t at;
};

static void raw(struct cursor *c, unsigned char *value, size_t bytes)
{
    if (c->from)
        memcpy(value, c->from + c->at, bytes);
    else
        memcpy(c->to + c->at, value, bytes);
    c->at += bytes;
}

static void u32(struct cursor *c, uint32_t *value)
{
    if (c->from)
        *value = store_u32_read(c->from + c->at);
    else
        store_u32_write(*value, c->to + c->at);
    c->at += 4;
}

static void i32(struct cursor *c, int32_t *value)
{
    uint32_t bits = (uint32_t)*value;
    u32(c, &bits);
    *value = (int32_t)bits;
}

static void u64(struct cursor *c, uint64_t *value)
{
    uint32_t low = (uint32_t)*value, high = (uint32_t)(*value >> 32);
    u32(c, &low);
    u32(c, &high);
    *value = low | (uint64_t)high << 32;
}

static void notice(struct cursor *c, struct clab_notice *n)
{
    uint32_t kind = n->kind;
    u32(c, &kind);
    n->kind = (enum clab_notice_kind)kind;
    i32(c, &n->reporter);
    i32(c, &n->culprit);
    i32(c, &n->err);
    u64(c, &n->comm);
}

static void fields(struct cursor *c, struct store_message *m)
{
    switch (m->kind) {
    case STORE_HELLO: raw(c, m->nonce, sizeof m->nonce); break;
    case STORE_CHALLENGE: raw(c, m->nonce, sizeof m->nonce), raw(c, m->job, sizeof m->job); break;
    case STORE_JOIN:
        raw(c, m->proof, sizeof m->proof), i32(c, &m->member), u32(c, &m->nranks), u32(c, &m->nnodes);
        break;
    case STORE_WELCOME: raw(c, m->proof, sizeof m->proof); break;
    case STORE_REFUSED: u32(c, &m->refusal), u32(c, &m->number), raw(c, m->proof, sizeof m->proof); break;
    case STORE_TURNED_AWAY:
        u32(c, &m->refusal), u32(c, &m->number), raw(c, (unsigned char *)m->address, sizeof m->address);
        break;
    case STORE_AWAITED: u32(c, &m->number), i32(c, &m->member), u64(c, &m->key); break;
    case STORE_POST: u64(c, &m->key), u64(c, &m->whole), u32(c, &m->bytes), u32(c, &m->n); break;
    case STORE_WITHDRAW: u64(c, &m->key), i32(c, &m->err); break;
    case STORE_GATHERED:
        u64(c, &m->key), i32(c, &m->err), u32(c, &m->says), i32(c, &m->culprit);
        u64(c, &m->whole), u32(c, &m->n), u32(c, &m->bytes);
        break;
    case STORE_NOTICE:
    case STORE_GONE: notice(c, &m->notice); break;
    case STORE_ENDED: i32(c, &m->member), i32(c, &m->status); break;
    case STORE_END: i32(c, &m->node), i32(c, &m->member), i32(c, &m->status); break;
    default: break; // has none
    }
}

size_t store_message_write(const struct store_message *message, unsigned char *out)
{
    struct store_message copy = *message;
    struct cursor c = {.to = out, .at = STORE_HEADER_BYTES};
    fields(&c, &copy);
    out[0] = MAGIC & 0xff;
    out[1] = MAGIC >> 8;
    out[AT_VERSION] = STORE_VERSION;
    out[AT_KIND] = (unsigned char)message->kind;
    store_u32_write((uint32_t)(c.at - STORE_HEADER_BYTES + message->tail_bytes), out + AT_LENGTH);
    return c.at;
}

// ---- reading -------------------------------------------------------------------------------------------------

// Header and fields of a kind.
static size_t fixed_bytes(enum store_kind kind)
{
    unsigned char out[STORE_FIXED_BYTES];
    struct store_message message = {.kind = kind};
    struct cursor c = {.to = out, .at = STORE_HEADER_BYTES};
    fields(&c, &message);
    return c.at;
}

static size_t longest(enum store_kind kind)
{
    switch (kind) {
    case STORE_POST: return STORE_POST_BYTES;
    case STORE_GATHERED: return STORE_GATHERED_BYTES;
    default: return fixed_bytes(kind);
    }
}

static int read_header(const unsigned char *bytes, enum store_kind *kind_p, size_t *bytes_p)
{
    if (bytes[0] != (MAGIC & 0xff) || bytes[1] != MAGIC >> 8)
        return CLAB_EPARSE;
    if (bytes[AT_VERSION] != STORE_VERSION)
        return CLAB_EUNSUPPORTED;
    const enum store_kind kind = (enum store_kind)bytes[AT_KIND];
    const size_t length = STORE_HEADER_BYTES + (size_t)store_u32_read(bytes + AT_LENGTH);
    if (kind < STORE_HELLO || kind >= STORE_KINDS || length < fixed_bytes(kind) || length > longest(kind))
        return CLAB_EPARSE;
    *kind_p = kind;
    *bytes_p = length;
    return CLAB_OK;
}

static bool is_err(int32_t err)
{
    return err >= 0 && err < CLAB_ERR_COUNT;
}

static bool is_member(int32_t member)
{
    return member >= -1 && member < STORE_MEMBERS;
}

static bool is_gathered(const struct store_message *m)
{
    if (m->err == CLAB_OK && m->n == 0)
        return false; // all have given something, of nobody
    if (!is_err(m->err) || !is_member(m->culprit) || m->n > STORE_MEMBERS || m->bytes > STORE_BLOB_BYTES)
        return false;
    return m->tail_bytes == (size_t)m->n * ((m->err != CLAB_OK) + m->bytes);
}

static bool is_sound(const struct store_message *m)
{
    switch (m->kind) {
    case STORE_JOIN: return m->member >= 0 && is_member(m->member);
    case STORE_REFUSED: return m->refusal < STORE_REFUSALS;
    case STORE_TURNED_AWAY: return m->refusal < STORE_REFUSALS && memchr(m->address, 0, sizeof m->address);
    case STORE_AWAITED: return m->number > 0 && m->member >= 0 && is_member(m->member);
    case STORE_POST:
        return m->n <= STORE_MEMBERS && m->bytes <= STORE_BLOB_BYTES && m->bytes <= m->whole &&
               m->tail_bytes == 4 * (size_t)m->n + m->bytes;
    case STORE_GATHERED: return is_gathered(m);
    case STORE_WITHDRAW: return is_err(m->err) && m->err != CLAB_OK;
    case STORE_NOTICE:
    case STORE_GONE:
        return m->notice.kind <= CLAB_NOTICE_EXPELLED && is_err(m->notice.err) && is_member(m->notice.reporter) &&
               is_member(m->notice.culprit);
    case STORE_ENDED: return m->member >= 0 && is_member(m->member);
    case STORE_END: return is_member(m->member) && is_member(m->node);
    default: return true;
    }
}

int store_message_read(const unsigned char *bytes, size_t n, struct store_message *message_p, size_t *bytes_p)
{
    struct store_message message = {.member = -1, .node = -1, .culprit = -1};
    size_t size = STORE_HEADER_BYTES;
    if (n >= size)
        CLAB_TRY(read_header(bytes, &message.kind, &size));
    if (n >= size && message.kind) {
        struct cursor c = {.from = bytes, .at = STORE_HEADER_BYTES};
        fields(&c, &message);
        message.tail = bytes + c.at;
        message.tail_bytes = size - c.at;
        if (!is_sound(&message))
            return CLAB_EPARSE;
        *message_p = message;
    }
    *bytes_p = size;
    return CLAB_OK;
}
