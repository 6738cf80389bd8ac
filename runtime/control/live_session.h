// One process's stream of an elastic job at the coordinator: it enters, gathers with the others, and is missed when the stream breaks.
#pragma once

#include <grpcpp/grpcpp.h>

#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include "control.grpc.pb.h"
#include "runtime/control/assembly.h"
#include "runtime/control/open_calls.h"

namespace shardlab::control {

struct LiveCourt {
  Assembly& assembly;
  OpenCalls& open;
  std::function<std::optional<std::string>(const Member&)> refuse;          // why it is none of the job, where it is not
  std::function<void(int process)> on_replaced;                             // it lives as another incarnation now
  std::function<void(int process, std::uint64_t incarnation)> on_vanished;  // the stream broke before it left
  std::function<void(int process)> on_entered, on_left;
};

// A process says nothing before it has its answer; but the next one may come before gRPC has told that the last was written. Deletes itself
// when gRPC is done with it.
class LiveSession final : public grpc::ServerBidiReactor<wire::LiveWord, wire::LiveNews> {
 public:
  // Finishes at once with a status that is not OK.
  LiveSession(LiveCourt court, const grpc::Status& welcome);

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnDone() override;

 private:
  grpc::Status hear(const wire::LiveWord& word);
  grpc::Status enter(const wire::Entering& entering);
  void answer(const wire::LiveNews& news);
  void finish(const grpc::Status& status);

  LiveCourt court_;
  int process_ = -1;
  std::uint64_t incarnation_ = 0;
  wire::LiveWord word_;
  std::mutex mutex_;
  std::deque<wire::LiveNews> outbox_;  // the first is being written
  bool finish_asked_ = false, left_ = false;
  grpc::Status finish_status_;
};

}  // namespace shardlab::control
