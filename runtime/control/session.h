// One process's stream at the coordinator: its words go to the referee, the news to it.
#pragma once

#include <grpcpp/grpcpp.h>

#include <deque>
#include <functional>
#include <memory>
#include <mutex>

#include "control.grpc.pb.h"
#include "runtime/control/membership.h"
#include "runtime/control/open_calls.h"
#include "runtime/control/referee.h"

namespace shardlab::control {

inline constexpr char kLeftTheJob[] = "left the job";

// Where the processes of a job, or of an epoch of an elastic one, are judged. The two do not know each other; sessions know both.
struct Court {
  Court(const RefereeOptions& r, const MembershipOptions& m) : referee(r), membership(m) {}
  Referee referee;
  Membership membership;
};

// What a stream needs. The court lives as long as one of its streams.
struct Courtroom {
  std::shared_ptr<Court> court;
  OpenCalls& open;
  std::function<bool(int process, std::uint64_t incarnation)> is_current;  // whether it is still the process of its index
  std::function<void(int process, const std::string& how)> on_end;         // it says that it comes to nothing any more
};

// Its own mutex guards the outbox; gRPC runs one read and one write at a time. Lock order: the referee's or the membership's, then a
// session's. Deletes itself when gRPC is done with it.
class Session final : public grpc::ServerBidiReactor<wire::Words, wire::News>, public Listener, public Attendant {
 public:
  // Finishes at once with a status that is not OK.
  Session(Courtroom court, const grpc::Status& welcome);

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnDone() override;

  void roll(const std::vector<Member>& joined, int num_processes) override;
  void silence(const Member& silent, double silent_ms, const std::string& whereabouts) override;
  void disagreement(const std::string& what) override;
  void matched(std::int64_t count) override;
  void poison(bool anyone_raised) override;
  void verdict(const VerdictRef& verdict) override;
  void left() override;
  bool tells_when_it_looked_ahead() const override { return true; }

 private:
  grpc::Status hear(const wire::Word& word);
  grpc::Status join(const wire::Word& word);
  void send(wire::News news);
  void write_next();  // with the lock held
  // Without the lock: once finished, this may be gone.
  void finish(const grpc::Status& status);

  Courtroom court_;
  int process_ = -1;
  wire::Words words_;
  std::mutex mutex_;
  std::deque<wire::News> outbox_;
  bool writing_ = false, finish_asked_ = false;
  grpc::Status finish_status_;
};

}  // namespace shardlab::control
