// SPDX-License-Identifier: MIT
// Sends and receives over Gloo's unbound buffers.
//
// - A channel is one direction between this rank and a peer on a lane. Its messages go one after another, in a task of
//   the pool that lives while there are any.
// - A message begins with a head: its call, its number of bytes, and the bytes themselves if they are few. Else a body
//   follows in pieces, so that progress can be observed. Both ends must agree on the bytes before a body is requested:
//   Gloo ends the process when a message is longer than its buffer.
// - Gloo matches by slot, a number: (ours, head or body, lane, turn). Its own collectives use other numbers.
// - Gloo has no connection from a rank to itself: such messages are copied.
#pragma once

#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>

extern "C" {
#include "core/transport/backend.h"
}

namespace clab_gloo
{

struct Endpoint;

struct Message {
    clab_transfer transfer; // a copy: the caller's is not ours to write while a task runs
    std::atomic<size_t> moved{0};
    std::atomic<bool> done{false};
    int err = CLAB_OK; // valid when done

    size_t bytes() const
    {
        return transfer.bytes;
    }
};

struct Channel {
    std::deque<std::shared_ptr<Message>> queue;
    bool is_served = false; // by a task
    uint64_t turn = 0;      // of the next message
};

// All messages of an endpoint. throws: Failure, Gloo's
class Messages
{
  public:
    explicit Messages(Endpoint *endpoint) : endpoint(endpoint)
    {
    }

    void start(clab_transfer *transfer);
    void test(clab_transfer *transfer); // sets done and moved

  private:
    void serve(Channel &channel);
    void deliver_to_self(int lane);

    Endpoint *endpoint;
    std::mutex mutex;                                       // of the channels
    std::map<std::tuple<bool, int, int>, Channel> channels; // by whether they send, peer, lane
    std::map<uint64_t, std::shared_ptr<Message>> under_way; // by mark
    uint64_t started = 0;
};

} // namespace clab_gloo
