// SPDX-License-Identifier: MIT
// Threads that block for us (pool.h).

#include "backends/gloo/pool.h"

#include <chrono>

namespace clab_gloo
{

Pool::~Pool()
{
    {
        std::lock_guard<std::mutex> lock(mutex);
        is_closing = true;
    }
    work.notify_all();
    for (std::thread &thread : threads)
        thread.join();
}

void Pool::run(std::function<void()> task)
{
    std::lock_guard<std::mutex> lock(mutex);
    if (idle <= tasks.size())
        threads.emplace_back([this] { serve(); });
    tasks.push_back(std::move(task));
    work.notify_one();
}

void Pool::serve()
{
    std::unique_lock<std::mutex> lock(mutex);
    for (;;) {
        idle++;
        work.wait(lock, [this] { return is_closing || !tasks.empty(); });
        idle--;
        if (tasks.empty())
            return;
        const std::function<void()> task = std::move(tasks.front());
        tasks.pop_front();
        lock.unlock();
        task();
        lock.lock();
        has_news = true;
        news.notify_one();
    }
}

void Pool::wait(double seconds)
{
    std::unique_lock<std::mutex> lock(mutex);
    news.wait_for(lock, std::chrono::duration<double>(seconds), [this] { return has_news; });
    has_news = false;
}

void Pool::report()
{
    std::lock_guard<std::mutex> lock(mutex);
    has_news = true;
    news.notify_one();
}

} // namespace clab_gloo
