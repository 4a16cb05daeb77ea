// SPDX-License-Identifier: MIT
// Threads that block for us: as many as there are tasks at a time.
// - A task is run at once, by a thread that has nothing to do, or else by a new one.
// - Who started tasks waits for the end of any of them with `wait`.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace clab_gloo
{

class Pool
{
  public:
    ~Pool(); // waits until all tasks have ended

    // throws: std::system_error when there can be no more threads
    void run(std::function<void()> task);
    // Until a task has ended since the last call, or reported; at most `seconds`.
    void wait(double seconds);
    // From a task: there is something to look at.
    void report();

  private:
    void serve();

    std::mutex mutex;
    std::condition_variable work, news;
    std::deque<std::function<void()>> tasks;
    std::vector<std::thread> threads;
    size_t idle = 0;
    bool is_closing = false, has_news = false;
};

} // namespace clab_gloo
