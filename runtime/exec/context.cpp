#include "runtime/exec/context.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <mutex>

#include "runtime/base/at_work.h"
#include "runtime/exec/array_impl.h"
#include "runtime/exec/cpu_backend.h"
#include "runtime/exec/device_profile.h"
#include "runtime/exec/devices.h"
#include "runtime/exec/executor.h"
#include "runtime/exec/platform.h"
#include "runtime/exec/program_cache.h"
#include "runtime/exec/tracing.h"

namespace shardlab {
namespace {

// Passes everything on to each observer.
class FanOut final : public comm::Observer {
 public:
  explicit FanOut(std::vector<std::shared_ptr<comm::Observer>> observers) : observers_(std::move(observers)) {}
  void on_program(const std::shared_ptr<const comm::ProgramInfo>& p) override {
    each([&](auto& o) { o.on_program(p); });
  }
  void on_launch_issued(const comm::Launch& l) override {
    each([&](auto& o) { o.on_launch_issued(l); });
  }
  void on_launch_started(const comm::Launch& l, comm::Ns t) override {
    each([&](auto& o) { o.on_launch_started(l, t); });
  }
  void on_launch_done(const comm::Launch& l, comm::Ns t, comm::CallStatus s) override {
    each([&](auto& o) { o.on_launch_done(l, t, s); });
  }
  void on_compute(const comm::Launch& l, std::string_view op, Where w, comm::Ns b, comm::Ns e) override {
    each([&](auto& o) { o.on_compute(l, op, w, b, e); });
  }
  void on_call_started(const comm::Launch& l, int i, comm::Ns t) override {
    each([&](auto& o) { o.on_call_started(l, i, t); });
  }
  void on_call_waiting(const comm::Launch& l, int i, comm::Ns t, const std::vector<comm::ProcessIndex>& p) override {
    each([&](auto& o) { o.on_call_waiting(l, i, t, p); });
  }
  void on_call_done(const comm::Launch& l, int i, comm::Ns t, comm::CallStatus s, std::int64_t moved) override {
    each([&](auto& o) { o.on_call_done(l, i, t, s, moved); });
  }
  void on_array(const comm::ArrayInfo& a) override {
    each([&](auto& o) { o.on_array(a); });
  }
  void on_array_end(std::int64_t id, bool donated) override {
    each([&](auto& o) { o.on_array_end(id, donated); });
  }
  void on_checksums(std::int64_t id, const std::vector<comm::PartChecksum>& parts) override {
    each([&](auto& o) { o.on_checksums(id, parts); });
  }
  void on_host_read(std::string_view what, Where w, comm::Ns b, comm::Ns e) override {
    each([&](auto& o) { o.on_host_read(what, w, b, e); });
  }

 private:
  template <typename F>
  void each(const F& f) {
    for (auto& observer : observers_) f(*observer);
  }
  std::vector<std::shared_ptr<comm::Observer>> observers_;
};

std::shared_ptr<Context>& current_context() {
  thread_local std::shared_ptr<Context> context;
  return context;
}

bool& context_used() {
  thread_local bool used = false;
  return used;
}

// The job's, for the threads beside the one that joined it.
struct JobContext {
  std::mutex mutex;
  std::weak_ptr<Context> context;
  Where where;
  bool joined = false;

  static JobContext& get() {
    static JobContext* job = new JobContext();  // threads may outlive all else
    return *job;
  }
  static void refuse_thread() {
    JobContext& job = get();
    std::lock_guard lock(job.mutex);
    if (job.joined)
      throw_user_error(
          "this thread computes with arrays, and another one joined the job, in distributed::initialize at {}: all processes must issue "
          "the same work in the same order, which one thread of each can; let that thread do it, and give this one plain values",
          job.where.text());
  }
};

// What the calling thread may ask of: its own context's devices, or the job's.
std::shared_ptr<const Context> asked_context() {
  if (current_context() == nullptr) {
    JobContext& job = JobContext::get();
    std::lock_guard lock(job.mutex);
    if (auto context = job.context.lock()) return context;
  }
  Context::current();
  return current_context();
}

const DeviceProfile& profile_of(const ContextOptions& options) {
  if (!options.profile.empty()) return find_device_profile(options.profile);
  const char* text = std::getenv("SHARDLAB_DEVICE_PROFILE");
  return find_device_profile(text == nullptr || *text == '\0' ? "cpu" : text);
}

// As many as asked for, or as the profile has, or one.
int default_device_count() {
  const char* text = std::getenv("SHARDLAB_NUM_CPU_DEVICES");
  if (text == nullptr || *text == '\0') {
    const PlatformDef* platform = platform_from_environment();
    if (platform != nullptr && platform->missing().empty()) return std::max(1, platform->default_device_count());
    return std::max(1, profile_of({}).device_count());
  }
  char* end = nullptr;
  long count = std::strtol(text, &end, 10);
  if (*end != '\0' || count < 1 || count > 1'000'000)
    throw_user_error("SHARDLAB_NUM_CPU_DEVICES is '{}'; it must be a positive number of virtual devices, e.g. 8", text);
  return int(count);
}

constexpr std::chrono::microseconds kWatch{50};  // longer than what lies between most steps of a program

}  // namespace

Context::Context(ContextOptions options) : options_(std::move(options)), next_array_(options_.first_array_id) {
  if (!options_.control) options_.control = std::make_shared<comm::SoloControl>();
  devices_ = make_devices(profile_of(options_), options_.devices_per_process);
  // Of several processes nobody knows how many share these cores.
  cpu_ = std::make_unique<CpuBackend>(options_.worker_threads, process_count() == 1 ? kWatch : std::chrono::microseconds(0));
  make_platform();
  while (first_local_ < int(devices_.size()) && !is_local(first_local_)) ++first_local_;
  SL_CHECK(process_count() == 1 || options_.transport, "several processes need a transport");
  fan_out_ = std::make_shared<FanOut>(options_.observers);
  programs_ = options_.described ? options_.described : std::make_shared<ProgramCache>();
  executor_ = std::make_unique<Executor>(*this);
}

void Context::make_platform() {
  all_ = devices_;
  const PlatformDef* platform = options_.platform.empty() ? platform_from_environment() : find_platform(options_.platform);
  if (platform == nullptr && !options_.make_backend) return;
  const AtWork making;  // which takes seconds where many processes begin on one GPU
  std::vector<int> own;
  for (const Device& device : devices_)
    if (device.process_index == options_.process_index) own.push_back(device.ordinal);
  if (options_.make_backend) {
    platform_ = options_.make_backend(own);
  } else {
    require_platform(*platform, options_.platform.empty() ? "SHARDLAB_PLATFORM" : "the backend that was asked for");
    platform_ = platform->make({own, options_.process_index});
  }
  for (Device& device : devices_) {
    device.platform = platform_->platform();
    device.kind = platform_->kind();
  }
  all_ = devices_;
  for (int process = 0; process < process_count(); ++process)
    for (int local = 0; local < options_.cpu_devices; ++local) {
      Device device;
      device.ordinal = int(all_.size());
      device.id = device.ordinal - int(devices_.size());
      device.process_index = process;
      device.local_index = local;
      all_.push_back(std::move(device));
    }
}

Backend& Context::backend_of(const Mesh& mesh) const {
  if (!platform_) return *cpu_;
  std::size_t others = 0;
  for (int ordinal : mesh.devices()) others += ordinal < int(devices_.size()) ? 1 : 0;
  if (others != 0 && others != mesh.devices().size())
    throw_user_error(
        "a mesh has devices of one platform, but {} has {} of {} and {} of cpu; make a mesh of each, and move arrays between them "
        "with device_put",
        mesh.text(), others, platform_->platform(), mesh.devices().size() - others);
  return others == 0 ? *cpu_ : *platform_;
}

std::vector<BufferRef> Context::placed(std::vector<BufferRef> shards, const Mesh& mesh) const {
  if (!platform_) return shards;
  return shardlab::placed(backend_of(mesh), std::move(shards), mesh.devices());
}

Context::~Context() = default;

void Context::set_config(const RunConfig& config) {
  if (config == options_.config) return;
  options_.config = config;
  if (!only_describes()) programs_ = std::make_shared<ProgramCache>();
}

void Context::set_programs(const Config& config) {
  RunConfig changed = options_.config;
  static_cast<Config&>(changed) = config;
  set_config(changed);
}

void Context::warn(const std::string& text) {
  if (warned_.insert(text).second) fmt::print(stderr, "shardlab: warning: {}\n", text);
}

void Context::add_observer(std::shared_ptr<comm::Observer> observer) {
  options_.observers.push_back(std::move(observer));
  fan_out_ = std::make_shared<FanOut>(options_.observers);
}

Context* Context::current_or_null() { return current_context().get(); }

Context& Context::current() {
  auto& context = current_context();
  context_used() = true;
  if (!context) {
    JobContext::refuse_thread();
    ContextOptions options;
    options.devices_per_process = {default_device_count()};
    context = std::make_shared<Context>(std::move(options));
  }
  return *context;
}

bool is_context_used() { return context_used(); }

void Context::set_current(std::shared_ptr<Context> context) {
  current_context() = std::move(context);
  context_used() = false;
}

void Context::set_of_job(std::weak_ptr<Context> context, Where where) {
  JobContext& job = JobContext::get();
  std::lock_guard lock(job.mutex);
  job.context = std::move(context);
  if (where.known()) job.where = where;
  job.joined = true;
}

const Device& Context::device(int ordinal) const {
  if (ordinal < 0 || ordinal >= int(all_.size()))
    throw_user_error(
        "device {} does not exist: there are {} devices (0 to {}); force more virtual ones with -d or "
        "SHARDLAB_NUM_CPU_DEVICES",
        ordinal, all_.size(), all_.size() - 1);
  return all_[std::size_t(ordinal)];
}

std::vector<Device> Context::local_devices() const {
  std::vector<Device> local;
  for (const Device& device : devices_)
    if (device.process_index == options_.process_index) local.push_back(device);
  return local;
}

std::vector<int> Context::owners(const std::vector<int>& ordinals) const {
  std::vector<int> owners;
  for (int ordinal : ordinals) owners.push_back(device(ordinal).process_index);
  std::sort(owners.begin(), owners.end());
  owners.erase(std::unique(owners.begin(), owners.end()), owners.end());
  return owners;
}

void Context::announce(const comm::Launch& launch) {
  if (is_recorded()) {
    if (announced_.insert(launch.program.get()).second) observer().on_program(launch.program);
    observer().on_launch_issued(launch);
  }
  if (launch.program->spans_processes())
    control().issued(launch);
  else
    control().local(launch);
}

void Context::record_array(ArrayImpl& impl, std::string_view name) {
  if (!is_recorded()) return;
  const Mesh& mesh = impl.sharding.mesh();
  comm::ArrayInfo info;
  info.id = impl.id;
  info.launch = impl.launch_number;
  info.result = impl.result;
  info.name = name;
  info.dtype = name_of(impl.type.dtype);
  info.shape = impl.type.shape;
  info.spec = impl.sharding.spec_text();
  info.mesh_shape = mesh.shape();
  info.mesh_axes = mesh.axis_names();
  for (const Axes& axes : impl.sharding.spec(impl.type.rank())) {
    info.spec_axes.emplace_back();
    for (const AxisPiece& piece : axes) info.spec_axes.back().push_back(mesh.text_of(piece));
  }
  info.devices = mesh.devices();
  for (const Box& box : impl.sharding.boxes(impl.type.shape)) {
    info.shards.emplace_back();
    for (const Interval& interval : box) info.shards.back().emplace_back(interval.start, interval.stop);
  }
  info.committed = impl.committed;
  info.where = impl.where;
  observer().on_array(info);
  if (!impl.deleted) impl.observer = fan_out_;
}

// Goodbye comes last: until then a death among the others still reaches a launch that waits for them.
void Context::leave() {
  control().await_agreement(executor().last_spanning_launch(), "exit", {});
  executor().drain();
  for (const UnusedResults::Entry& each : executor().unused().take()) control().unused(each.what, each.where, each.count);
  control().leave();
}

std::vector<Device> devices() { return asked_context()->devices(); }
std::vector<Device> devices(std::string_view name) {
  const PlatformDef* platform = find_platform(name);
  Context& context = Context::current();
  std::string_view wanted = platform == nullptr ? "cpu" : platform->device_platform;
  std::vector<Device> found;
  for (const Device& device : context.all_devices())
    if (device.platform == wanted) found.push_back(device);
  if (found.empty() && platform != nullptr) {
    require_platform(*platform, fmt::format("devices(\"{}\")", name));
    throw_user_error("devices(\"{}\"): this job was started on cpu; start it with --backend {} or SHARDLAB_PLATFORM={}", name,
                     platform->name, platform->name);
  }
  return found;
}
std::vector<Device> local_devices() { return asked_context()->local_devices(); }
int device_count() { return int(asked_context()->devices().size()); }
int local_device_count() { return int(asked_context()->local_devices().size()); }
int process_index() { return asked_context()->process_index(); }
int process_count() { return asked_context()->process_count(); }

}  // namespace shardlab
