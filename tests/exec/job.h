// A job of several processes that are threads with contexts of their own, for tests.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <thread>

#include "runtime/exec/context.h"
#include "tests/support/thread_transport.h"

namespace shardlab::testing {

// Runs `body` once a process, in threads; a process that throws fails the test and releases the others.
inline void run_job(const std::vector<int>& devices_per_process, const std::function<void()>& body) {
  auto hub = std::make_shared<ThreadHub>();
  std::vector<std::jthread> threads;
  for (std::size_t p = 0; p < devices_per_process.size(); ++p)
    threads.emplace_back([&, p] {
      ContextOptions options;
      options.process_index = int(p);
      options.devices_per_process = devices_per_process;
      options.worker_threads = 1;
      if (devices_per_process.size() > 1) options.transport = std::make_shared<ThreadTransport>(hub, int(p));
      Context::set_current(std::make_shared<Context>(options));
      try {
        body();
        Context::current().leave();
      } catch (const std::exception& error) {
        ADD_FAILURE() << "process " << p << ": " << error.what();
        std::lock_guard lock(hub->mutex);
        hub->aborted = true;
        hub->changed.notify_all();
      }
      Context::set_current(nullptr);
    });
}

}  // namespace shardlab::testing
