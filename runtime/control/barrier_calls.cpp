#include "runtime/control/barrier_calls.h"

#include "runtime/control/waiting_call.h"
#include "runtime/control/wire.h"

namespace shardlab::control {
namespace {

grpc::Status status_of(const BarrierEnd& end) {
  switch (end.kind) {
    case BarrierEnd::Kind::kPassed:
      return grpc::Status::OK;
    case BarrierEnd::Kind::kTimedOut:
      return {grpc::StatusCode::DEADLINE_EXCEEDED, end.why};
    case BarrierEnd::Kind::kRefused:
      return {grpc::StatusCode::INVALID_ARGUMENT, end.why};
    case BarrierEnd::Kind::kEnded:
      return {grpc::StatusCode::ABORTED, end.why};
    case BarrierEnd::Kind::kTooMany:
      return {grpc::StatusCode::RESOURCE_EXHAUSTED, end.why};
  }
  return {grpc::StatusCode::INTERNAL, "no such end of a barrier"};
}

class BarrierWait final : public WaitingCall {
 public:
  BarrierWait(Barriers& barriers, OpenCalls& open, const Arrival& arrival) : WaitingCall(open), barriers_(barriers) {
    ticket_ = barriers.arrive(arrival, [this](const BarrierEnd& end) { Finish(status_of(end)); });
  }
  void OnCancel() override {
    if (barriers_.withdraw(ticket_)) Finish(grpc::Status::CANCELLED);
  }

 private:
  Barriers& barriers_;
  std::uint64_t ticket_ = 0;
};

}  // namespace

grpc::ServerUnaryReactor* wait_at_barrier(Barriers& barriers, OpenCalls& open, const wire::BarrierArrival& request) {
  return new BarrierWait(barriers, open,
                         {.barrier = request.barrier(),
                          .process = request.process(),
                          .participants = {request.participants().begin(), request.participants().end()},
                          .timeout = std::chrono::milliseconds(request.timeout_ms()),
                          .where = clean_text(request.where()),
                          .visit = request.visit()});
}

}  // namespace shardlab::control
