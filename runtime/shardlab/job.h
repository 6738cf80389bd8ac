// The job that this process belongs to: its control plane, transport and recorder, put together.
#pragma once

#include <pthread.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/comm/rendezvous.h"
#include "runtime/control/environment.h"
#include "runtime/control/key_store.h"
#include "runtime/control/live_client.h"
#include "runtime/exec/context.h"
#include "runtime/shardlab/distributed.h"
#include "runtime/shardlab/job_record.h"
#include "runtime/shardlab/last_words.h"

namespace shardlab {

class LaunchAware;
class ProcessTransport;
class ShmSegment;

// Owns what the context borrows. Made and ended by the issuing thread; stop() comes from the control plane's.
class Job {
 public:
  // What the program says and its surroundings: our launcher, a cluster, by hand, or on its own. Throws UserError, TransportError,
  // DiagnosisError. `words` hear how far it has come. `before_joining` may throw: the place is known and right, and nothing has happened
  // yet; `supervised`: by a command of ours, which tells where all processes are and ends them.
  static std::shared_ptr<Job> find(const control::JobRequest& request, std::shared_ptr<LastWords> words,
                                   const std::function<void(bool supervised)>& before_joining);
  ~Job();

  const std::shared_ptr<Context>& context() const { return context_; }
  // Of elastic jobs, between launches. Waits for all processes that live and begins what they do next together; those, ascending. `renew`:
  // what was begun before did not end well here.
  std::vector<int> open(bool renew);
  // Waits until everything launched has ended and been agreed on.
  void settle();
  // Waits for the others to end what was begun; those that still live, and whether all ended it.
  control::Gathered close();
  bool is_elastic() const { return live_ != nullptr; }
  // Nothing where there is no coordinator, or this process takes no part yet.
  control::ControlClient* control() const { return control_.get(); }
  // The named values of a process on its own.
  control::KeyStore& own_keys() { return own_keys_; }
  // Of the verdict on what was begun: the processes that have ended; none where it is about something else.
  std::vector<int> failed_processes() const;
  // Ends this process's part normally; throws DiagnosisError or what a launch failed with.
  void leave();
  // Tells the others that this process ends in an error, and closes the record.
  void raised(std::string_view text, Where where);
  // Says what others may end with alike: one of the job's processes calls `say`, see say_once.h. Who did; -1: this process.
  int say_once(const std::string& text, const std::function<void()>& say);
  std::vector<distributed::LinkTraffic> link_traffic();
  // Whether libraries that GPUs need still work for launches: these compile kernels or ask the driver, after a verdict or an error, or what
  // processes were to exchange by is still being made.
  bool uses_libraries() const;
  JobRecord& record() { return record_; }
  // After the record is closed, where this process started the coordinator and the job is over or ends soon: waits until the trace is
  // merged.
  void await_trace(std::chrono::milliseconds limit) const;

 private:
  explicit Job(std::shared_ptr<LastWords> words) : words_(std::move(words)) {}
  void join(const control::JobEnvironment& environment);
  void connect();
  void agree_where_to_record(const control::TracePlace& place);
  void start();
  void stop(const std::string& why);
  void tell_where_stuck() const;
  LaunchAware* aware_of_devices() const;
  void begin(const control::Gathered& gathered);
  void retire();
  void remember(const std::vector<control::Member>& members);
  void put_places();

  JobRecord record_;
  std::shared_ptr<ProcessTransport> transport_;
  std::atomic<comm::Transport*> abortable_{nullptr};
  std::atomic<bool> stopped_{false};
  std::atomic<const control::ControlClient*> judged_{nullptr};  // whose verdict stops this process
  const pthread_t issuer_ = pthread_self();
  std::shared_ptr<control::ControlClient> control_;
  control::KeyStore own_keys_;
  const std::shared_ptr<LastWords> words_;
  std::shared_ptr<ShmSegment> segment_;     // of a launcher of ours, which reads there where a process was that died
  std::shared_ptr<Rendezvous> rendezvous_;  // of what was begun, with several processes
  std::shared_ptr<Context> context_;
  // Elastic.
  control::JobEnvironment environment_;
  control::ClientOptions client_;
  std::unique_ptr<control::LiveClient> live_;
  std::vector<int> devices_per_process_;
  std::vector<std::string> host_ids_;  // by process
  std::int64_t epoch_ = 0;
  std::int64_t next_array_id_ = 0;  // of the contexts before this one
  bool clean_ = false;              // what was begun is closed
};

namespace distributed {
// The job that initialize() joined, or nothing.
std::shared_ptr<Job> current_job();
}  // namespace distributed

}  // namespace shardlab
