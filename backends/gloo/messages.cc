// SPDX-License-Identifier: MIT
// Sends and receives over Gloo's unbound buffers (messages.h).

#include "backends/gloo/endpoint.h"

#include <gloo/transport/unbound_buffer.h>

#include <algorithm>
#include <cstring>

extern "C" {
#include "core/base/numbers/reduce.h"
}

namespace clab_gloo
{

namespace
{

constexpr size_t PIECE_BYTES = 1 << 20, HEAD_ROOM = 4096;

struct Head {
    uint64_t bytes, call;
    char few[HEAD_ROOM - 2 * sizeof(uint64_t)];
};

enum Part : uint64_t { HEAD, BODY };

uint64_t slot_of(Part part, int lane, uint64_t turn)
{
    constexpr uint64_t ours = 0x7f; // Gloo counts its kinds from 1
    return ours << 56 | part << 48 | static_cast<uint64_t>(lane) << 40 | (turn & 0xffffffff);
}

// Put `bytes` that were received, of the elements from `offset` on, where they belong.
void land(Message &message, const void *received, size_t offset, size_t bytes)
{
    const clab_transfer &t = message.transfer;
    char *dst = static_cast<char *>(t.dst) + offset;
    if (t.op == CLAB_RECV_REDUCE)
        clab_elements_reduce(t.type, t.redop, static_cast<const char *>(t.src) + offset, received, dst,
                             bytes / clab_type_bytes(t.type));
    else if (bytes && dst != received)
        memcpy(dst, received, bytes);
    message.moved += bytes;
}

void send(Endpoint *endpoint, Message &message)
{
    const clab_transfer &t = message.transfer;
    const auto &context = endpoint->context;
    const size_t bytes = message.bytes();
    const bool is_few = bytes <= sizeof Head::few;
    Head head{bytes, t.call, {}};
    if (is_few && bytes)
        memcpy(head.few, t.src, bytes);
    auto buffer = context->createUnboundBuffer(&head, sizeof head);
    buffer->send(t.peer, slot_of(HEAD, t.lane, t.turn), 0, offsetof(Head, few) + (is_few ? bytes : 0));
    buffer->waitSend(endpoint->timeout);
    if (is_few) {
        message.moved += bytes;
        return;
    }
    auto body = context->createUnboundBuffer(const_cast<void *>(t.src), bytes);
    for (size_t at = 0; at < bytes; at += PIECE_BYTES)
        body->send(t.peer, slot_of(BODY, t.lane, t.turn), at, std::min(PIECE_BYTES, bytes - at));
    for (size_t at = 0; at < bytes; at += PIECE_BYTES) {
        body->waitSend(endpoint->timeout);
        message.moved += std::min(PIECE_BYTES, bytes - at);
    }
}

void check(const Message &message, const Head &head)
{
    const clab_transfer &t = message.transfer;
    if (head.bytes == message.bytes() && head.call == t.call)
        return;
    clab_error("rank %d sent %zu bytes where %zu were expected%s: do all ranks make the same calls in the same order?",
               t.peer, static_cast<size_t>(head.bytes), message.bytes(),
               head.call == t.call ? "" : ", of another call");
    throw Failure{CLAB_EMISMATCH};
}

void receive_body(Endpoint *endpoint, Message &message)
{
    const clab_transfer &t = message.transfer;
    const size_t bytes = message.bytes();
    std::unique_ptr<char[]> bounce(t.op == CLAB_RECV_REDUCE ? new char[bytes] : nullptr);
    char *to = bounce ? bounce.get() : static_cast<char *>(t.dst);
    auto body = endpoint->context->createUnboundBuffer(to, bytes);
    for (size_t at = 0; at < bytes; at += PIECE_BYTES)
        body->recv(t.peer, slot_of(BODY, t.lane, t.turn), at, std::min(PIECE_BYTES, bytes - at));
    for (size_t at = 0; at < bytes; at += PIECE_BYTES) {
        body->waitRecv(endpoint->timeout);
        land(message, to + at, at, std::min(PIECE_BYTES, bytes - at));
    }
}

void receive(Endpoint *endpoint, Message &message)
{
    const clab_transfer &t = message.transfer;
    Head head;
    auto buffer = endpoint->context->createUnboundBuffer(&head, sizeof head);
    buffer->recv(t.peer, slot_of(HEAD, t.lane, t.turn));
    buffer->waitRecv(endpoint->timeout);
    check(message, head);
    if (message.bytes() <= sizeof head.few)
        land(message, head.few, 0, message.bytes());
    else
        receive_body(endpoint, message);
}

} // namespace

void Messages::start(clab_transfer *t)
{
    auto message = std::make_shared<Message>();
    bool needs_task;
    std::unique_lock<std::mutex> lock(mutex);
    Channel &channel = channels[{t->op == CLAB_SEND, t->peer, t->lane}];
    t->done = false;
    t->moved = 0;
    t->turn = channel.turn++;
    t->mark = ++started;
    message->transfer = *t;
    under_way[t->mark] = message;
    channel.queue.push_back(message);
    if (t->peer == endpoint->context->rank)
        return deliver_to_self(t->lane);
    needs_task = !channel.is_served;
    channel.is_served = true;
    lock.unlock();
    if (needs_task)
        endpoint->pool.run([this, &channel] { serve(channel); });
}

void Messages::test(clab_transfer *t)
{
    const auto found = under_way.find(t->mark);
    const std::shared_ptr<Message> message = found->second;
    t->done = message->done;
    t->moved = message->moved;
    if (!t->done)
        return;
    under_way.erase(found);
    if (message->err)
        throw Failure{message->err};
}

// A task: one message after another, until there is none.
void Messages::serve(Channel &channel)
{
    std::unique_lock<std::mutex> lock(mutex);
    while (!channel.queue.empty()) {
        const std::shared_ptr<Message> message = channel.queue.front();
        channel.queue.pop_front();
        lock.unlock();
        message->err = guarded([&] {
            if (message->transfer.op == CLAB_SEND)
                send(endpoint, *message);
            else
                receive(endpoint, *message);
        });
        message->done = true;
        endpoint->pool.report();
        lock.lock();
    }
    channel.is_served = false;
}

// The first send and the first receive on a lane make one message, and so on.
void Messages::deliver_to_self(int lane)
{
    const int self = endpoint->context->rank;
    Channel &sends = channels[{true, self, lane}], &receives = channels[{false, self, lane}];
    while (!sends.queue.empty() && !receives.queue.empty()) {
        Message &sent = *sends.queue.front(), &received = *receives.queue.front();
        const Head head{sent.bytes(), sent.transfer.call, {}};
        received.err = guarded([&] {
            check(received, head);
            land(received, sent.transfer.src, 0, sent.bytes());
        });
        sent.moved = sent.bytes();
        sent.done = received.done = true;
        sends.queue.pop_front();
        receives.queue.pop_front();
    }
}

} // namespace clab_gloo
