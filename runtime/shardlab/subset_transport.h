// A transport over some of a job's processes, for callers that number all of them.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

#include "virtualdev/transports/process_transport.h"

namespace shardlab {

// Who exchanges with a process that is not among them waits for the abort, which comes with the verdict.
class SubsetTransport final : public ProcessTransport {
 public:
  // `inner` joins `processes` (ascending), numbered from 0; nothing where this process is the only one.
  SubsetTransport(std::shared_ptr<ProcessTransport> inner, std::vector<comm::ProcessIndex> processes, int num_processes);

  std::string_view name() const override { return inner_ ? inner_->name() : "local"; }
  comm::ExchangeResult exchange(const comm::MessageHeader& header, std::span<const comm::Send> sends,
                                std::span<const comm::Receive> receives,
                                const std::function<void(const std::vector<comm::ProcessIndex>&)>& on_wait) override;
  void abort(std::string_view why) override;
  std::vector<SentBytes> sent() const override;
  void finish() override;

 private:
  std::shared_ptr<ProcessTransport> inner_;
  std::vector<comm::ProcessIndex> processes_;
  std::vector<int> rank_;  // by process; -1: none
  std::mutex mutex_;
  std::condition_variable changed_;
  bool aborted_ = false;
};

}  // namespace shardlab
