// A job of several processes in one: each is a thread with a context of its own, joined by the transport between threads.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "runtime/exec/context.h"
#include "tests/support/thread_transport.h"

namespace shardlab::testing {

// Runs `body` once a process; each thread is a process of a job with these devices.
inline void on_job(const std::vector<int>& devices_per_process, const std::function<void()>& body) {
  auto hub = std::make_shared<ThreadHub>();
  std::vector<std::jthread> threads;
  for (std::size_t p = 0; p < devices_per_process.size(); ++p)
    threads.emplace_back([&, p] {
      ContextOptions options;
      options.process_index = int(p);
      options.devices_per_process = devices_per_process;
      options.worker_threads = 1;
      options.transport = std::make_shared<ThreadTransport>(hub, int(p));
      Context::set_current(std::make_shared<Context>(options));
      try {
        body();
        Context::current().leave();
      } catch (const std::exception& error) {
        ADD_FAILURE() << "process " << p << ": " << error.what();
        hub->mutex.lock();
        hub->aborted = true;
        hub->mutex.unlock();
        hub->changed.notify_all();
      }
      Context::set_current(nullptr);
    });
}

}  // namespace shardlab::testing
