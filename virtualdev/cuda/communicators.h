// NCCL's communicators: one for each set of processes that run programs together, made when the first of these begins.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "runtime/comm/rendezvous.h"
#include "runtime/exec/launch_aware.h"
#include "virtualdev/cuda/gpu_api.h"

namespace shardlab::cuda {

// The members of a communicator are the GPUs of its processes, each process's in their order there, processes ascending.
struct CommunicatorGroup {
  std::vector<int> processes;
  std::map<int, int> first_rank;  // by process
  std::vector<Communicator> own;  // by this process's GPUs
  std::string text() const;       // "processes 0, 1"
};

// What processes know of each other is in the job's key-value store: each says at its start which GPUs it has and which NCCL, so that all
// members of a set come to the same conclusion without a message; the lowest of them leaves the communicator's id there. NCCL refuses two
// members on one GPU: processes that share one exchange by way of the host, and so do all where one of them has no NCCL.
//
// State and thread rules: a set is new; decided, by a thread of its own; joined, by the same; ready; and stays so until abort(). All but
// why_by_host(), sent() and is_making() comes from the executing thread. The store outlives this.
class Communicators {
 public:
  struct Options {
    int process = 0;
    std::vector<int> gpus;                   // of this process
    std::shared_ptr<Rendezvous> rendezvous;  // nothing: every exchange goes by way of the host
  };
  Communicators(std::shared_ptr<GpuApi> api, Options options);
  // Sees off what was sent, for at most kFinishMs.
  ~Communicators();

  static constexpr int kFinishMs = 1000;
  static constexpr int kNoticeMs = 60'000;   // for a process to say what it has
  static constexpr int kVersionMin = 21400;  // the first whose calls do not block

  // Begins to make that of these processes, where that has not begun. Does not block.
  void prepare(const std::vector<int>& processes);
  // Whether these processes exchange through NCCL; else by way of the host. All of them get the same. Waits, in pauses in each of which
  // `pause` is called, which may throw, until all have said what they have. Throws TransportError where one did not.
  bool goes_by_nccl(const std::vector<int>& processes, const std::function<void()>& pause);
  // Their communicator, once all of them have joined it. Throws NcclError where NCCL failed.
  const CommunicatorGroup& await(const std::vector<int>& processes, const std::function<void()>& pause);
  // Why these processes exchange by way of the host; empty where they do not, or where that is not known yet.
  std::string why_by_host(const std::vector<int>& processes) const;
  // What was sent through them, by process.
  void count_sent(int process, std::int64_t bytes);
  std::map<int, LaunchAware::Sent> sent() const;
  // Whether one is still being made, by threads of NCCL's or by this one's.
  bool is_making();
  // Ends all that wait for others, and every later use. noexcept: it is what is left to do.
  void abort() noexcept;

 private:
  // What a process says of itself.
  struct Notice {
    int version = 0;
    std::vector<std::string> gpus;  // UUIDs
  };
  struct Making {
    CommunicatorGroup group;
    bool is_decided = false, is_joined = false, is_ready = false;
    std::string why_by_host;
    std::exception_ptr failure;
    std::jthread thread;  // ends before what it fills
  };
  void publish();
  std::string ask(const std::string& key, const std::string& whom, const std::stop_token& stop);
  void make(Making& making, const std::stop_token& stop);
  std::string decide(CommunicatorGroup& group, int& size, const std::stop_token& stop);
  std::vector<Communicator> join(const CommunicatorGroup& group, int size, const std::stop_token& stop);
  void wait_until(std::unique_lock<std::mutex>& lock, const std::function<bool()>& is_so, const std::function<void()>& pause);

  std::shared_ptr<GpuApi> api_;
  Options options_;
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  bool aborted_ = false;
  std::map<int, LaunchAware::Sent> sent_;
  std::map<std::vector<int>, std::unique_ptr<Making>> made_;  // by processes
};

}  // namespace shardlab::cuda
