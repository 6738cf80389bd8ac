// A job of several processes with GPUs of one stand-in: each process is a thread with a context, a part of the control plane and a
// transport of its own. Nothing here has run on a GPU.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "runtime/control/local_control.h"
#include "runtime/control/referee.h"
#include "runtime/exec/array_ops.h"
#include "runtime/exec/assemble.h"
#include "runtime/exec/context.h"
#include "runtime/exec/control_flow.h"
#include "runtime/exec/jit.h"
#include "runtime/exec/ops.h"
#include "runtime/exec/placement.h"
#include "scenarios/simulate/thread_transport.h"
#include "tests/virtualdev/cuda/recording_gpu.h"
#include "virtualdev/cuda/cuda_backend.h"

namespace shardlab::testing {

// The job's key-value store, between threads.
class ThreadBoard final : public Rendezvous {
 public:
  void set(const std::string& key, const std::string& value) override {
    std::lock_guard lock(mutex_);
    EXPECT_TRUE(values_.emplace(key, value).second) << key << " is set twice";
    changed_.notify_all();
  }
  std::string get(const std::string& key, std::chrono::milliseconds limit) override {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, limit, [&] { return values_.count(key) > 0; })) throw TransportError("nobody set " + key);
    return values_[key];
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, std::string> values_;
};

struct GpuJob {
  std::vector<int> devices_per_process;
  int devices_per_gpu = 1;
  bool on_cpu = false;
  bool shares_gpus = false;  // every process begins with GPU 0
  std::shared_ptr<RecordingGpu> gpu = {};
  std::map<int, std::shared_ptr<comm::Observer>> observers = {};  // by process
  std::shared_ptr<cuda::KernelCompiler> compiler = std::make_shared<RecordingCompiler>();
  std::function<std::shared_ptr<cuda::GpuApi>()> api = {};  // each process' own, instead of `gpu`
};

inline int gpus_of(const GpuJob& job, int process) {
  return (job.devices_per_process[std::size_t(process)] + job.devices_per_gpu - 1) / job.devices_per_gpu;
}

// Runs `body` once a process; the diagnosis that each ended with: its code, "" for a normal end, or the text of another error.
inline std::vector<std::string> run_job(const GpuJob& job, const std::function<void(int process, const cuda::CudaBackend*)>& body) {
  int processes = int(job.devices_per_process.size());
  std::vector<std::string> ends(job.devices_per_process.size());
  auto hub = std::make_shared<simulate::ThreadHub>();
  auto board = std::make_shared<ThreadBoard>();
  // Nobody is stuck who compiles kernels on a busy machine.
  control::Referee referee({.num_processes = processes, .stuck = std::chrono::minutes(10)});
  std::vector<std::jthread> threads;
  for (int p = 0, first = 0; p < processes; ++p) {
    threads.emplace_back([&, p, first] {
      auto transport = std::make_shared<simulate::ThreadTransport>(hub, p);
      auto control =
          std::make_shared<control::LocalLedgerControl>(referee, p, [transport](const std::string& why) { transport->abort(why); });
      std::shared_ptr<cuda::CudaBackend> backend;
      ContextOptions options;
      options.process_index = p;
      options.devices_per_process = job.devices_per_process;
      options.worker_threads = 1;
      options.transport = transport;
      options.control = control;
      if (auto observer = job.observers.find(p); observer != job.observers.end()) options.observers = {observer->second};
      if (!job.on_cpu)
        options.make_backend = [&](const std::vector<int>& ordinals) {
          return backend = std::make_shared<cuda::CudaBackend>(job.api ? job.api() : job.gpu, job.compiler,
                                                               cuda::CudaOptions{.ordinals = ordinals,
                                                                                 .devices_per_gpu = job.devices_per_gpu,
                                                                                 .first_gpu = job.shares_gpus ? 0 : first,
                                                                                 .kernel_folder = "",
                                                                                 .process = p,
                                                                                 .rendezvous = board});
        };
      try {
        Context::set_current(std::make_shared<Context>(options));
        body(p, backend.get());
        Context::current().leave();
      } catch (const comm::DiagnosisError& error) { ends[std::size_t(p)] = error.code(); } catch (const std::exception& error) {
        control->raised(error.what(), {"job.cpp", "main", 1, -1});
        ends[std::size_t(p)] = error.what();
      }
      backend.reset();
      Context::set_current(nullptr);
      referee.died(p, 0, 0, comm::now_ns());
    });
    first += gpus_of(job, p);
  }
  threads.clear();
  return ends;
}

// On eight devices of four processes: a loop in a loop, which both go by a number that is larger where it is `odd`.
inline void nested_loops(bool odd) {
  using Arrays = std::vector<Array>;
  const ArrayFunction below = [](const Arrays& v) { return Arrays{v[0] < 3}; };
  const ArrayFunction once = [](const Arrays& v) { return Arrays{v[0] + 1, v[1] + sum(v[1])}; };
  const ArrayFunction inner = [&](const Arrays& v) { return while_loop(below, once, v, Where{}); };
  Mesh mesh({8}, {"i"}, {0, 1, 2, 3, 4, 5, 6, 7});
  Array values = device_put(ones({8}), Sharding(mesh, PartitionSpec("i")));
  Array rounds = astype(sum(full(Shape{1}, odd ? 1.0 : 0.0)), int32);
  rounds = make_array_from_process_local_data(Sharding(mesh, PartitionSpec()), rounds, Shape{});
  auto loop = jit([&](const Array& n, const Array& c) { return while_loop(below, inner, Arrays{n, c}, Where{})[1]; });
  sum(loop(rounds, values)).block_until_ready();
}

}  // namespace shardlab::testing
