// SPDX-License-Identifier: MIT
// The store, fed by several connections: members that keep to the protocol, in any order and in pieces of any length,
// and unauthenticated peers that send anything. The input is a list of events: a byte each, and its operands.
//
// - The store sends only messages of its own kinds: to an unauthenticated peer one challenge and at most one refusal,
//   to a member a welcome first. Each of its decisions carries a proof.
// - The answer to a fence holds the contributions of all its members, and of no other fence. The store answers each
//   contribution once, and all of them by the time that all other members have left.
// - Each member receives the members' notices in the order in which they were sent, without gaps. The store closes the
//   connection of a member that falls behind.

#include "tests/fuzz/draws.h"

#include "tests/fuzz/fuzz.h"

#include "core/base/err.h"
#include "core/base/mix.h"
#include "core/job/store/store.h"

enum { RANKS = 3, NODES = 2, MEMBERS = RANKS + NODES, CONNECTIONS = 8, FLOOD = STORE_NOTICES / 4, FLOODS = 6 };

struct connection {
    struct store_connection *at; // NULL: not connected
    int member;                  // -1: unauthenticated
    bool tainted;                // has sent arbitrary messages: its fences are not checked
    bool posted, may_wait;       // a contribution has no answer so far; it may never get one
    uint64_t key, noticed;       // of its contribution; the number of the last notice, 0: none yet
    uint32_t bytes, members;
    unsigned char *in; // bytes from the store that are not a whole message yet
    size_t n, room;
    int messages;
    bool greeted; // the store has sent a challenge
    struct store_message hello, join;
    struct store_contact contact;
};

struct fuzz {
    const uint8_t *data, *end;
    struct store *store;
    int nnodes;
    uint64_t told;
    int floods;
    bool tainted;   // a member has sent arbitrary messages
    bool node_lost; // a launcher was lost, and with it ranks that may not have joined; or it has reported a rank's end
    bool joined[MEMBERS];
    struct connection connections[CONNECTIONS];
};

static const unsigned char token[CLAB_TOKEN_BYTES] = "a fuzzer's token";

static unsigned take(struct fuzz *f)
{
    return f->data < f->end ? *f->data++ : 0;
}

// ---- messages of the store -----------------------------------------------------------------------------------

// Byte `i` of a member's contribution to the fence of `key`.
static unsigned char given(int member, uint64_t key, uint32_t i)
{
    return (unsigned char)clab_mix(clab_mix(key, (uint64_t)member), i);
}

static void check_gathered(const struct fuzz *f, struct connection *g, const struct store_message *m)
{
    must_hold(g->tainted || (g->posted && m->key == g->key));
    g->posted = false;
    if (m->err != CLAB_OK || f->tainted)
        return;
    must_hold(m->bytes == g->bytes && m->n == (uint32_t)__builtin_popcount(g->members));
    for (int member = 0, i = 0; member < MEMBERS; member++) {
        if (!(g->members >> member & 1))
            continue;
        for (uint32_t at = 0; at < m->bytes; at++)
            must_hold(m->tail[(size_t)i * m->bytes + at] == given(member, m->key, at));
        i++;
    }
}

static void check_proof(const struct connection *g, const struct store_message *m)
{
    const bool needs_none = m->kind == STORE_REFUSED && m->refusal <= STORE_OTHER_VERSION;
    must_hold(needs_none || g->tainted || store_is_proved(token, &g->contact, &g->join, m));
}

static void check_said(const struct fuzz *f, struct connection *g, const struct store_message *m)
{
    const int nth = g->messages++;
    if (g->member < 0)
        must_hold((nth == 0 && m->kind == STORE_CHALLENGE) || (m->kind == STORE_REFUSED && store_is_over(g->at)));
    else
        must_hold((m->kind == STORE_WELCOME) == (nth == 1) || g->tainted);
    switch (m->kind) {
    case STORE_CHALLENGE:
        g->contact = store_contact_of(&g->hello, m);
        g->greeted = true;
        break;
    case STORE_REFUSED: check_proof(g, m); break;
    case STORE_WELCOME: check_proof(g, m); break;
    case STORE_TURNED_AWAY: must_hold(g->member == (f->nnodes ? RANKS : 0) && !strcmp(m->address, "192.0.2.1")); break;
    case STORE_AWAITED: must_hold(g->member == RANKS && m->number < (uint32_t)f->nnodes && m->key); break;
    case STORE_GATHERED: check_gathered(f, g, m); break;
    case STORE_GONE: must_hold(m->notice.culprit >= 0 && m->notice.culprit < RANKS); break;
    case STORE_NOTICE:
        must_hold(f->tainted || !g->noticed || m->notice.comm == g->noticed + 1);
        g->noticed = m->notice.comm;
        break;
    case STORE_END: must_hold(g->member >= RANKS); break;
    default: must_hold(!"a kind that the store says");
    }
}

static void keep(struct connection *g, const unsigned char *bytes, size_t n)
{
    if (g->n + n > g->room) {
        g->room = 2 * (g->n + n);
        g->in = realloc(g->in, g->room);
        must_hold(g->in);
    }
    memcpy(g->in + g->n, bytes, n);
    g->n += n;
}

// Take `most` bytes of what is for a connection, in pieces of `piece`.
static void drain(struct fuzz *f, struct connection *g, size_t most, size_t piece)
{
    const unsigned char *bytes;
    size_t taken = 0;
    for (size_t n; g->at && most && (n = store_output(g->at, &bytes)) > 0; most -= n) {
        n = n < piece ? n : piece;
        n = n < most ? n : most;
        keep(g, bytes, n);
        store_sent(g->at, n);
    }
    while (g->n) {
        struct store_message m;
        size_t size;
        must_hold(store_message_read(g->in + taken, g->n - taken, &m, &size) == CLAB_OK);
        if (size > g->n - taken)
            break;
        check_said(f, g, &m);
        taken += size;
    }
    g->n -= taken;
    if (g->n)
        memmove(g->in, g->in + taken, g->n);
}

// ---- what connections say -----------------------------------------------------------------------------------------

static void leave(struct fuzz *f, struct connection *g, bool unreachable)
{
    f->node_lost |= g->member >= RANKS || unreachable || g->tainted;
    if (g->at)
        store_disconnect(g->at, unreachable);
    free(g->in);
    *g = (struct connection){.member = -1};
}

// Send in two pieces. False: the store has closed the connection.
static bool say_bytes(struct fuzz *f, struct connection *g, const unsigned char *bytes, size_t n, size_t first)
{
    first = first < n ? first : n;
    if (store_receive(g->at, bytes, first) != CLAB_OK || store_receive(g->at, bytes + first, n - first) != CLAB_OK) {
        leave(f, g, false);
        return false;
    }
    return true;
}

static bool say(struct fuzz *f, struct connection *g, const struct store_message *m, size_t first)
{
    unsigned char *bytes = malloc(STORE_FIXED_BYTES + m->tail_bytes);
    must_hold(bytes);
    const size_t head = store_message_write(m, bytes);
    if (m->tail_bytes)
        memcpy(bytes + head, m->tail, m->tail_bytes);
    const bool stays = say_bytes(f, g, bytes, head + m->tail_bytes, first);
    free(bytes);
    return stays;
}

// Bring a new connection to the state after hello and challenge. False: the store has closed it.
static bool greet(struct fuzz *f, struct connection *g)
{
    if (g->greeted || g->member >= 0 || store_is_over(g->at))
        return true;
    g->hello = (struct store_message){.kind = STORE_HELLO};
    store_draw(g->hello.nonce);
    if (!say(f, g, &g->hello, 5))
        return false;
    drain(f, g, SIZE_MAX, SIZE_MAX);
    must_hold(g->greeted || g->tainted);
    return true;
}

static void join(struct fuzz *f, struct connection *g, int member, unsigned wrong)
{
    struct store_message m = {.kind = STORE_JOIN, .member = member, .nranks = RANKS, .nnodes = (uint32_t)f->nnodes};
    if (wrong != 253 && !greet(f, g))
        return;
    m.nranks += wrong == 254;
    store_prove(token, &g->contact, &m, NULL, m.proof);
    m.proof[member] ^= wrong == 255;
    const bool knows = g->greeted && wrong != 255;
    const bool may = member < RANKS + f->nnodes && !f->joined[member] && knows && wrong != 254 && g->member < 0;
    const bool was_over = store_is_over(g->at), was_member = g->member >= 0;
    if (!was_over && !was_member)
        g->join = m;
    if (!say(f, g, &m, wrong))
        return;
    must_hold(was_over || !was_member || g->tainted); // a member that joins again is cut off
    if (was_over || was_member)
        return;
    const bool has = store_has_joined(g->at);
    must_hold(g->tainted || store_is_over(g->at) == !has);
    must_hold(has == may || (may && f->node_lost) || f->tainted || g->tainted);
    f->joined[member] |= has;
    g->member = has ? member : -1;
}

// The members of a set that comprises the connection's own, or all ranks.
static void post(struct fuzz *f, struct connection *g, uint64_t key, uint32_t set, uint32_t bytes, size_t first)
{
    drain(f, g, SIZE_MAX, SIZE_MAX); // what it is owed for its last post
    unsigned char *tail = malloc(4 * MEMBERS + bytes);
    const bool all = set == 0 && g->member < RANKS, is_over = store_is_over(g->at), had_posted = g->posted;
    uint32_t n = 0;
    must_hold(tail);
    set = all ? (1u << RANKS) - 1 : (set | 1u << g->member) & ((1u << (RANKS + f->nnodes)) - 1);
    for (uint32_t member = 0; !all && member < MEMBERS; member++)
        if (set >> member & 1)
            store_u32_write(member, tail + 4 * n++);
    for (uint32_t i = 0; i < bytes; i++)
        tail[4 * n + i] = given(g->member, key, i);
    const struct store_message m = {.kind = STORE_POST,
                                    .key = key,
                                    .whole = bytes,
                                    .bytes = bytes,
                                    .n = n,
                                    .tail = tail,
                                    .tail_bytes = 4 * (size_t)n + bytes};
    if (!is_over) {
        g->posted = true;
        g->key = key;
        g->bytes = bytes;
        g->members = set;
    }
    const bool stays = say(f, g, &m, first);
    must_hold(is_over || !had_posted || !stays || f->tainted); // who posts twice is cut off
    free(tail);
}

static void tell(struct fuzz *f, struct connection *g, int times)
{
    for (int i = 0; i < times && !store_is_over(g->at); i++) {
        const struct store_message m = {.kind = STORE_NOTICE,
                                        .notice = {CLAB_NOTICE_REVOKED, g->member, -1, CLAB_EPEER, ++f->told}};
        must_hold(say(f, g, &m, 3));
    }
}

// Whatever the input holds, as it is.
static void say_anything(struct fuzz *f, struct connection *g, size_t n)
{
    n = n < (size_t)(f->end - f->data) ? n : (size_t)(f->end - f->data);
    const uint8_t *bytes = f->data;
    f->data += n;
    g->tainted = true;
    f->tainted |= g->member >= 0;
    if (!say_bytes(f, g, bytes, n, n / 2))
        return;
    if (g->member < 0 && store_has_joined(g->at)) { // it knows the token
        f->tainted = true;
        g->member = MEMBERS; // we do not know which
    }
}

static void say_as_member(struct fuzz *f, struct connection *g, unsigned what, unsigned a, unsigned b)
{
    switch (what) {
    case 0: post(f, g, 1 + a % 4, b % 32, a >> 2 & 15, b); break;
    case 1:
        say(f, g, &(struct store_message){.kind = STORE_WITHDRAW, .key = 1 + a % 4, .err = CLAB_ETIMEOUT}, b);
        break;
    case 2: tell(f, g, 1 + (int)a % 3); break;
    case 3:
        f->node_lost |= g->member >= RANKS;
        say(f, g, &(struct store_message){.kind = STORE_LEAVE}, b);
        break;
    case 4:
        f->node_lost = true;
        say(f, g, &(struct store_message){.kind = STORE_ENDED, .member = (int)a % RANKS, .status = (int)b % 3}, b);
        break;
    case 5: say(f, g, &(struct store_message){.kind = STORE_DONE}, b); break;
    case 6: post(f, g, 5, 0, STORE_BLOB_BYTES, b); break;
    default:
        if (f->floods++ < FLOODS)
            tell(f, g, FLOOD);
    }
}

static void happen(struct fuzz *f)
{
    const unsigned event = take(f);
    struct connection *g = &f->connections[event % CONNECTIONS];
    if (!g->at) {
        g->at = store_accept(f->store, "192.0.2.1");
        must_hold(g->at);
        return;
    }
    const unsigned what = event / CONNECTIONS % 8, a = what == 3 ? 0 : take(f), b = what < 3 || what > 5 ? take(f) : 0;
    switch (what) {
    case 0:
    case 1: join(f, g, (int)a % MEMBERS, b); break;
    case 2: drain(f, g, 1 + a, 1 + b); break;
    case 3: drain(f, g, SIZE_MAX, SIZE_MAX); break;
    case 4: leave(f, g, a & 1); break;
    case 5: say_anything(f, g, a); break;
    default:
        if (g->member >= 0 && !g->tainted)
            say_as_member(f, g, event / CONNECTIONS / 8 * 2 + what % 2, a, b);
    }
}

// ---- the end -------------------------------------------------------------------------------------------------

// When everybody has come and all but one have left, that one is owed nothing.
static void end(struct fuzz *f)
{
    struct connection *last = NULL;
    for (int i = 0; i < CONNECTIONS; i++) {
        struct connection *g = &f->connections[i];
        if (!last && g->at && g->member >= 0 && !g->tainted && !store_is_over(g->at))
            last = g;
        else
            leave(f, g, false);
    }
    for (int member = 0; member < RANKS + f->nnodes; member++) {
        struct connection g = {.at = store_accept(f->store, "192.0.2.1"), .member = -1};
        must_hold(g.at);
        join(f, &g, member, 0);
        leave(f, &g, false);
    }
    if (last)
        drain(f, last, SIZE_MAX, SIZE_MAX);
    must_hold(!last || !last->posted || store_is_over(last->at)); // it may be lost with its node
    if (last)
        leave(f, last, false);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz f = {.data = data, .end = data + size};
    f.nnodes = take(&f) % 2 ? NODES : 0;
    struct store_job job = {.nranks = RANKS, .nnodes = f.nnodes};
    memcpy(job.token, token, sizeof job.token);
    fuzz_draw_anew();
    f.store = store_create(&job);
    must_hold(f.store);
    for (int i = 0; i < CONNECTIONS; i++)
        f.connections[i].member = -1;
    while (f.data < f.end)
        happen(&f);
    end(&f);
    store_destroy(f.store);
    return 0;
}
