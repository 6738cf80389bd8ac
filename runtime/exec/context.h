// The context: one process of a job, with its devices, links and observers. Everything that would be global lives here.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/comm/control.h"
#include "runtime/comm/observer.h"
#include "runtime/comm/transport.h"
#include "runtime/core/mesh.h"
#include "runtime/exec/backend.h"
#include "runtime/exec/config.h"
#include "runtime/exec/device.h"

namespace shardlab {

class ArrayImpl;     // runtime/exec/array_impl.h
class Executor;      // runtime/exec/executor.h
class ProgramCache;  // runtime/exec/program_cache.h
class Tracer;        // runtime/exec/tracing.h

struct ContextOptions {
  int process_index = 0;
  std::vector<int> devices_per_process = {1};  // its length is the number of processes
  std::vector<int> hosts;                      // of each process, numbers that are equal for processes of one host; empty: all are on one
  std::shared_ptr<comm::Transport> transport;  // nothing: one process
  std::shared_ptr<comm::Control> control;      // nothing: SoloControl
  std::vector<std::shared_ptr<comm::Observer>> observers;
  int worker_threads = 0;                         // 0: one a core
  bool checksums = checksums_from_environment();  // observers are told of the values of all results
  RunConfig config = config_from_environment();
  // Where given, programs are described and never run: nothing of this process's own is made of them, and contexts share them here.
  std::shared_ptr<ProgramCache> described;
  std::string profile;              // a device profile's name; empty: SHARDLAB_DEVICE_PROFILE, or plain virtual devices
  std::string platform;             // of devices(): "cpu", "cuda"; empty: SHARDLAB_PLATFORM, or cpu
  int cpu_devices = 1;              // of each process, beside the platform's where that is not cpu
  std::int64_t first_array_id = 0;  // beyond those of the process's contexts before this one: arrays outlive them
  // In place of the platform's, for tests: called with the ordinals of this process's devices.
  std::function<std::shared_ptr<Backend>(const std::vector<int>& ordinals)> make_backend;
};

// State and thread rules: one issuing thread calls everything; the executor's threads run launches. The first use of any device
// creates a context of one process with SHARDLAB_NUM_CPU_DEVICES devices, unless distributed::initialize() did before. In a job's process
// other threads may ask what there is (devices, counts, process_index()), and nothing else.
class Context {
 public:
  explicit Context(ContextOptions options);
  ~Context();  // waits for what was launched, never throws

  // The calling thread's context.
  static Context& current();
  static Context* current_or_null();
  // Makes `context` the calling thread's; nullptr: none.
  static void set_current(std::shared_ptr<Context> context);
  // The context of the job that this process has joined at `where` (said once): from now on a thread without a context of its own gets
  // none.
  static void set_of_job(std::weak_ptr<Context> context, Where where = {});

  int process_index() const { return options_.process_index; }
  int process_count() const { return int(options_.devices_per_process.size()); }
  const std::vector<Device>& devices() const { return devices_; }
  // Those of devices(), then the CPU devices of each process where devices() are others.
  const std::vector<Device>& all_devices() const { return all_; }
  const Device& device(int ordinal) const;
  std::vector<Device> local_devices() const;
  int default_device() const { return first_local_; }                                                    // ordinal
  int local_count() const { return options_.devices_per_process[std::size_t(options_.process_index)]; }  // of devices()
  bool is_local(int ordinal) const { return device(ordinal).process_index == options_.process_index; }
  // What computes on the devices of a mesh: on those of this process, else on such as them. UserError for a mesh of several platforms.
  Backend& backend_of(const Mesh& mesh) const;
  Backend& cpu() const { return *cpu_; }
  // Whether several threads may run launches at the same time: where all backends take them.
  bool runs_launches_beside() const { return !platform_ || platform_->runs_launches_beside(); }
  // The shards of an array, made in this process's memory, where the mesh's devices have them.
  std::vector<BufferRef> placed(std::vector<BufferRef> shards, const Mesh& mesh) const;
  // Processes of one host have equal numbers; empty where all are on one host.
  const std::vector<int>& hosts() const { return options_.hosts; }
  // The processes that own any of these devices, ascending.
  std::vector<int> owners(const std::vector<int>& ordinals) const;

  comm::Control& control() { return *options_.control; }
  comm::Transport* transport() { return options_.transport.get(); }
  comm::Observer& observer() { return *fan_out_; }
  // For what may be told when this context is gone.
  std::shared_ptr<comm::Observer> shared_observer() const { return fan_out_; }
  bool is_recorded() const { return !options_.observers.empty(); }
  bool records_checksums() const { return options_.checksums && is_recorded(); }
  // Beside those of the options; before the first launch.
  void add_observer(std::shared_ptr<comm::Observer> observer);
  Executor& executor() { return *executor_; }
  ProgramCache& programs() { return *programs_; }
  bool only_describes() const { return options_.described != nullptr; }

  // Tells observers and control of a launch, and of its program when it is the first of it.
  void announce(const comm::Launch& launch);
  // Tells observers of an array; of the same one again: that it has this name now.
  void record_array(ArrayImpl& impl, std::string_view name);
  // The mesh for specs without one and for computations that nobody places; set outside jit.
  const std::optional<Mesh>& mesh() const { return mesh_; }
  std::optional<Mesh> exchange_mesh(std::optional<Mesh> mesh) { return std::exchange(mesh_, std::move(mesh)); }
  std::int64_t new_array_id() { return next_array_++; }
  std::int64_t next_array_id() const { return next_array_; }
  std::int64_t new_step() { return next_step_++; }
  const RunConfig& config() const { return options_.config; }
  void set_config(const RunConfig& config);  // forgets the programs captured under the flags before
  void set_programs(const Config& config);   // of them, those of programs alone
  // Tells the user on standard error; of the same text once.
  void warn(const std::string& text);
  // The function being traced, or nothing.
  const std::shared_ptr<Tracer>& tracer() const { return tracer_; }
  std::shared_ptr<Tracer> exchange_tracer(std::shared_ptr<Tracer> tracer) { return std::exchange(tracer_, std::move(tracer)); }

  // Ends this process's part normally: everything launched is done and agreed. Throws DiagnosisError or what a launch failed with.
  void leave();

 private:
  void make_platform();

  ContextOptions options_;
  std::vector<Device> devices_, all_;
  int first_local_ = 0;
  std::unique_ptr<Backend> cpu_;
  std::shared_ptr<Backend> platform_;        // of devices(), where they are no CPU devices
  std::shared_ptr<comm::Observer> fan_out_;  // arrays that were told of share it, for their end
  std::set<const comm::ProgramInfo*> announced_;
  std::set<std::string> warned_;
  std::shared_ptr<Tracer> tracer_;
  std::optional<Mesh> mesh_;
  std::int64_t next_array_, next_step_ = 0;
  std::shared_ptr<ProgramCache> programs_;
  std::unique_ptr<Executor> executor_;
};

std::vector<Device> devices();
// Of one platform: "cpu", or "gpu", also called "cuda". UserError where there are none, which says what is missing.
std::vector<Device> devices(std::string_view platform);
std::vector<Device> local_devices();
int device_count();
int local_device_count();
int process_index();
int process_count();

}  // namespace shardlab
