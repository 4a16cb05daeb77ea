// SPDX-License-Identifier: MIT
// Gloo's collectives by Gloo's own choice of algorithm, on any of our types by our reductions.
//
// - Gloo asks for a type only to learn an element's size.
// - In place is, for Gloo, an output without an input. Its reduce works in the output of every rank, where ours is the
//   root's alone: the others lend it memory.
// - Gloo does not compare what ranks call, and ends the process where one sends more than another expects: so ranks
//   compare first (agree).
// - It has no reduce-scatter of this form (its older one takes ints, and destroys its input): a schedule does that.

#include "backends/gloo/endpoint.h"

#include <gloo/allgather.h>
#include <gloo/allreduce.h>
#include <gloo/alltoall.h>
#include <gloo/barrier.h>
#include <gloo/broadcast.h>
#include <gloo/gather.h>
#include <gloo/reduce.h>
#include <gloo/scatter.h>
#include <gloo/transport/unbound_buffer.h>

extern "C" {
#include "core/base/numbers/reduce.h"
}

namespace clab_gloo
{

namespace
{

// A call, as Gloo takes it: bytes but for reductions, whose elements are of type T.
struct Task {
    const std::shared_ptr<gloo::Context> &context;
    const clab_call &call;
    uint32_t tag;

    char *in() const
    {
        return static_cast<char *>(const_cast<void *>(call.in)); // Gloo does not write there
    }
    char *out() const
    {
        return static_cast<char *>(call.out);
    }
    bool is_root() const
    {
        return context->rank == call.problem.root;
    }
    size_t bytes() const
    {
        return call.problem.count * clab_type_bytes(call.type);
    }
    size_t all_bytes() const
    {
        return bytes() * static_cast<size_t>(context->size);
    }
    size_t mine() const // where this rank's block lies
    {
        return bytes() * static_cast<size_t>(context->rank);
    }
    std::function<void(void *, const void *, const void *, size_t)> reduction() const
    {
        return [type = call.type, op = call.op](void *out, const void *a, const void *b, size_t count) {
            clab_elements_reduce(type, op, a, b, out, count);
        };
    }
};

template <typename T> void allreduce(const Task &task)
{
    gloo::AllreduceOptions options(task.context);
    if (task.in() != task.out())
        options.setInput(reinterpret_cast<T *>(task.in()), task.call.problem.count);
    options.setOutput(reinterpret_cast<T *>(task.out()), task.call.problem.count);
    options.setReduceFunction(task.reduction());
    options.setTag(task.tag);
    gloo::allreduce(options);
}

template <typename T> void reduce(const Task &task)
{
    gloo::ReduceOptions options(task.context);
    std::vector<char> lent(task.is_root() ? 0 : task.bytes());
    char *out = task.is_root() ? task.out() : lent.data();
    if (task.in() != out)
        options.setInput(reinterpret_cast<T *>(task.in()), task.call.problem.count);
    options.setOutput(reinterpret_cast<T *>(out), task.call.problem.count);
    options.setRoot(task.call.problem.root);
    options.setReduceFunction(task.reduction());
    options.setTag(task.tag);
    gloo::reduce(options);
}

void broadcast(const Task &task)
{
    gloo::BroadcastOptions options(task.context);
    if (task.is_root() && task.in() != task.out())
        options.setInput(task.in(), task.bytes());
    options.setOutput(task.out(), task.bytes());
    options.setRoot(task.call.problem.root);
    options.setTag(task.tag);
    gloo::broadcast(options);
}

void allgather(const Task &task)
{
    gloo::AllgatherOptions options(task.context);
    if (task.in() != task.out() + task.mine())
        options.setInput(task.in(), task.bytes());
    options.setOutput(task.out(), task.all_bytes());
    options.setTag(task.tag);
    gloo::allgather(options);
}

void alltoall(const Task &task)
{
    gloo::AlltoallOptions options(task.context);
    options.setInput(task.in(), task.all_bytes());
    options.setOutput(task.out(), task.all_bytes());
    options.setTag(task.tag);
    gloo::alltoall(options);
}

void gather(const Task &task)
{
    gloo::GatherOptions options(task.context);
    options.setInput(task.in(), task.bytes());
    if (task.is_root())
        options.setOutput(task.out(), task.all_bytes());
    options.setRoot(task.call.problem.root);
    options.setTag(task.tag);
    gloo::gather(options);
}

void scatter(const Task &task)
{
    gloo::ScatterOptions options(task.context);
    std::vector<char *> blocks;
    for (int rank = 0; task.is_root() && rank < task.context->size; rank++)
        blocks.push_back(task.in() + static_cast<size_t>(rank) * task.bytes());
    if (task.is_root())
        options.setInputs(blocks, task.bytes());
    options.setOutput(task.out(), task.bytes());
    options.setRoot(task.call.problem.root);
    options.setTag(task.tag);
    gloo::scatter(options);
}

void barrier(const Task &task)
{
    gloo::BarrierOptions options(task.context);
    options.setTag(task.tag);
    gloo::barrier(options);
}

template <typename T> void run_with(const Task &task)
{
    switch (task.call.problem.collective) {
    case CLAB_ALLREDUCE: return allreduce<T>(task);
    case CLAB_REDUCE: return reduce<T>(task);
    case CLAB_BROADCAST: return broadcast(task);
    case CLAB_ALLGATHER: return allgather(task);
    case CLAB_ALLTOALL: return alltoall(task);
    case CLAB_GATHER: return gather(task);
    case CLAB_SCATTER: return scatter(task);
    case CLAB_BARRIER: return barrier(task);
    default: throw Failure{CLAB_EUNSUPPORTED};
    }
}

// Check that all ranks make the same call. Each rank sends its call to the ranks at distance 1, 2, 4, ..., and compares
// the call that comes from the same distance before it sends on. After the last distance all calls have been compared.
//   throws: Failure{CLAB_EMISMATCH}
// Source: Hensgen, Finkel, Manber 1988, the dissemination barrier.
void agree(Endpoint *endpoint, const Task &task)
{
    constexpr uint64_t ours = 0x7e; // not messages.cc's; Gloo counts its kinds from 1
    const uint64_t slot = ours << 56 | task.tag;
    const int rank = task.context->rank, size = task.context->size;
    uint64_t mine = task.call.agreed, theirs;
    const auto out = task.context->createUnboundBuffer(&mine, sizeof mine);
    const auto in = task.context->createUnboundBuffer(&theirs, sizeof theirs);
    for (int distance = 1; distance < size; distance *= 2) {
        out->send((rank + distance) % size, slot, 0, sizeof mine);
        in->recv((rank + size - distance) % size, slot);
        out->waitSend(endpoint->timeout);
        in->waitRecv(endpoint->timeout);
        if (theirs != mine)
            throw Failure{CLAB_EMISMATCH};
    }
}

void run(const Task &task)
{
    if (task.call.problem.count == 0 && task.call.problem.collective != CLAB_BARRIER)
        return;
    switch (clab_type_bytes(task.call.type)) {
    case 1: return run_with<uint8_t>(task);
    case 2: return run_with<uint16_t>(task);
    case 4: return run_with<uint32_t>(task);
    default: return run_with<uint64_t>(task);
    }
}

} // namespace

bool has_native(clab_collective collective, clab_type, clab_op)
{
    return collective != CLAB_REDUCE_SCATTER && collective != CLAB_SENDRECV;
}

int start_native(clab_endpoint *base, const clab_call *call)
{
    auto endpoint = static_cast<Endpoint *>(base);
    return guarded([&] {
        endpoint->native.reset(new Native{*call, CLAB_OK, {false}});
        Native *native = endpoint->native.get();
        const uint32_t tag = endpoint->natives++;
        endpoint->pool.run([endpoint, native, tag] {
            native->err = guarded([&] {
                const Task task{endpoint->context, native->call, tag};
                if (native->call.agreed)
                    agree(endpoint, task);
                run(task);
            });
            native->done = true;
        });
    });
}

int test_native(clab_endpoint *base, clab_answer *answer_p)
{
    auto endpoint = static_cast<Endpoint *>(base);
    answer_p->done = endpoint->native->done;
    if (!answer_p->done)
        return CLAB_OK;
    const int err = endpoint->native->err;
    endpoint->native.reset();
    return err;
}

} // namespace clab_gloo
