// SPDX-License-Identifier: MIT
// How the members of a communicator connect: Gloo's rendezvous, with the job's exchange as its store.
//
// - Gloo's ranks put their addresses into a store, and take those of the others out of it. They all put, then they all
//   take; so a put is an exchange of all that is put, and a take finds it here.

#include "backends/gloo/endpoint.h"

#include <gloo/rendezvous/store.h>

#include <map>
#include <string>

namespace clab_gloo
{

namespace
{

class Store : public gloo::rendezvous::Store
{
  public:
    explicit Store(clab_group *group) : group(group)
    {
    }

    void set(const std::string &key, const std::vector<char> &value) override
    {
        const size_t n = static_cast<size_t>(group->nranks);
        std::vector<char> mine = pack(key, value);
        std::vector<uint64_t> sizes(n);
        uint64_t bytes = mine.size();
        exchange(&bytes, sizeof bytes, sizes.data());
        for (uint64_t size : sizes)
            bytes = std::max(bytes, size);
        mine.resize(bytes);
        std::vector<char> all(n * bytes);
        exchange(mine.data(), bytes, all.data());
        for (size_t i = 0; i < n; i++)
            unpack(&all[i * bytes], sizes[i]);
    }

    std::vector<char> get(const std::string &key) override
    {
        const auto found = values.find(key);
        if (found == values.end())
            throw Failure{CLAB_EPEER};
        return found->second;
    }

    void wait(const std::vector<std::string> &) override // all have put what they will
    {
    }

  private:
    void exchange(const void *mine, size_t bytes, void *all)
    {
        const int err = group->exchange(group, mine, bytes, all);
        if (err)
            throw Failure{err};
    }

    // The key, a 0, the value.
    static std::vector<char> pack(const std::string &key, const std::vector<char> &value)
    {
        std::vector<char> packed(key.begin(), key.end());
        packed.push_back(0);
        packed.insert(packed.end(), value.begin(), value.end());
        return packed;
    }

    void unpack(const char *packed, uint64_t bytes)
    {
        const std::string key = packed;
        values[key] = std::vector<char>(packed + key.size() + 1, packed + bytes);
    }

    clab_group *group;
    std::map<std::string, std::vector<char>> values;
};

} // namespace

std::shared_ptr<gloo::Context> meet(Domain *domain, clab_group *group)
{
    Store store(group);
    auto context = std::make_shared<gloo::rendezvous::Context>(group->rank, group->nranks);
    context->setTimeout(std::chrono::milliseconds(static_cast<long>(1e3 * domain->boot->timeout) + 1));
    context->connectFullMesh(store, domain->device);
    return context;
}

} // namespace clab_gloo
