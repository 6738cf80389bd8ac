// The job that this process belongs to: its control plane, transport and recorder, put together.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "runtime/exec/context.h"
#include "runtime/shardlab/distributed.h"

namespace shardlab {

namespace control {
struct JobEnvironment;
struct JobRequest;
class ControlClient;
}  // namespace control
namespace recorder {
class Recorder;
}
class ProcessTransport;

// Owns what the context borrows. Made and ended by the issuing thread; stop() comes from the control plane's.
class Job {
 public:
  // What the program says and its surroundings: our launcher, a cluster, by hand, or on its own. Throws UserError, TransportError,
  // DiagnosisError. `before_joining` may throw: the place is known and right, and nothing has happened yet.
  static std::shared_ptr<Job> find(const control::JobRequest& request, const std::function<void()>& before_joining);
  ~Job();

  const std::shared_ptr<Context>& context() const { return context_; }
  // Ends this process's part normally; throws DiagnosisError or what a launch failed with.
  void leave();
  // Tells the others that this process ends in an error, and closes the record.
  void raised(std::string_view text, Where where);
  std::vector<distributed::LinkTraffic> link_traffic();
  // Writes the record out; of a process on its own, into the trace that SHARDLAB_TRACE names.
  void close_record();

 private:
  Job() = default;
  void join(const control::JobEnvironment& environment);
  void connect(const control::JobEnvironment& environment);
  void record_into(const std::string& directory, int process, int processes);
  void start(int process, std::vector<int> devices_per_process);
  void stop(const std::string& why);

  std::shared_ptr<recorder::Recorder> recorder_;
  std::string trace_;            // where a process on its own leaves its trace
  std::string trace_directory_;  // its parts until then
  std::shared_ptr<ProcessTransport> transport_;
  std::atomic<comm::Transport*> abortable_{nullptr};
  std::atomic<bool> stopped_{false};
  std::shared_ptr<control::ControlClient> control_;
  std::shared_ptr<Context> context_;
};

}  // namespace shardlab
