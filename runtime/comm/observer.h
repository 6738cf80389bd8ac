// The observer: everything that a run tells to whoever records it.
#pragma once

#include <string_view>

#include "runtime/comm/launch.h"

namespace shardlab::comm {

// Called from the issuing thread (on_program, on_launch_issued, on_array, on_host_read), from any (on_array_end) and from the thread that
// runs the launch (the rest): launches on devices of their own run at the same time;
// an implementation is thread-safe, never blocks and never throws. Times are now_ns().
class Observer {
 public:
  virtual ~Observer() = default;
  // Before the first launch of a program.
  virtual void on_program(const std::shared_ptr<const ProgramInfo>&) {}
  virtual void on_launch_issued(const Launch&) {}
  virtual void on_launch_started(const Launch&, Ns) {}
  virtual void on_launch_done(const Launch&, Ns, CallStatus) {}
  // One step of local computation; one span for all local devices of the program (lockstep).
  virtual void on_compute(const Launch&, std::string_view /*op*/, Where, Ns /*begin*/, Ns /*end*/) {}
  // `index` is into launch.program->collectives.
  virtual void on_call_started(const Launch&, int /*index*/, Ns) {}
  // The call waits for these processes; reported once, when waiting begins.
  virtual void on_call_waiting(const Launch&, int /*index*/, Ns, const std::vector<ProcessIndex>& /*peers*/) {}
  virtual void on_call_done(const Launch&, int /*index*/, Ns, CallStatus, std::int64_t /*moved_bytes sent to other processes*/) {}
  virtual void on_array(const ArrayInfo&) {}
  // Of an array that was told of: its memory is let go. Nobody holds it any more and no launch needs it, or it was donated. Once, from the
  // thread that held it last.
  virtual void on_array_end(std::int64_t /*id*/, bool /*donated*/) {}
  // The values of an array that was told of, from the thread that made them: of each part that this process has, once for equal replicas.
  virtual void on_checksums(std::int64_t /*id*/, const std::vector<PartChecksum>&) {}
  virtual void on_host_read(std::string_view /*what*/, Where, Ns /*begin*/, Ns /*end*/) {}
};

}  // namespace shardlab::comm
