#include "runtime/shardlab/job.h"

#include <fmt/format.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>

#include "runtime/control/client.h"
#include "runtime/control/environment.h"
#include "runtime/control/job_token.h"
#include "runtime/exec/executor.h"
#include "traces/recorder/merge.h"
#include "traces/recorder/recorder.h"
#include "virtualdev/transports/shm_segment.h"
#include "virtualdev/transports/transport_def.h"

namespace shardlab {
namespace {

constexpr const char* kTraceVariable = "SHARDLAB_TRACE";
constexpr std::chrono::seconds kConnectLimit{60};
constexpr std::chrono::milliseconds kLinkLimit{10'000};  // limits.link_ms of a scenario

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// The words that started this process, for the trace.
std::string own_command_line() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(file)), {});
  for (char& c : text)
    if (c == '\0') c = ' ';
  while (!text.empty() && text.back() == ' ') text.pop_back();
  return text;
}

// The job's key-value store, as transports use it.
class JobRendezvous final : public Rendezvous {
 public:
  explicit JobRendezvous(control::ControlClient& control) : control_(control) {}
  void set(const std::string& key, const std::string& value) override { control_.set_key(key, value); }
  std::string get(const std::string& key, std::chrono::milliseconds limit) override { return control_.get_key(key, limit); }

 private:
  control::ControlClient& control_;
};

// What the links between hosts are encrypted under: known to those alone whom the coordinator lets in.
std::string fresh_secret(JobRendezvous& rendezvous, int process_index) {
  constexpr char kKey[] = "shardlab/link secret";
  if (process_index == 0) rendezvous.set(kKey, control::random_token() + control::random_token());
  return rendezvous.get(kKey, kConnectLimit);
}

}  // namespace

std::shared_ptr<Job> Job::find(const control::JobRequest& request, const std::function<void()>& before_joining) {
  std::shared_ptr<Job> job(new Job());
  auto environment = control::find_job(request);
  before_joining();
  if (environment && environment->num_processes > 1) {
    job->join(*environment);
    return job;
  }
  int devices = control::devices_from_environment().value_or(1);
  if (environment && !environment->trace_dir.empty()) {
    job->record_into(environment->trace_dir, 0, 1);
  } else if (job->trace_ = variable(kTraceVariable); !job->trace_.empty()) {
    std::string directory = (std::filesystem::temp_directory_path() / "shardlab-trace-XXXXXX").string();
    if (mkdtemp(directory.data()) == nullptr)
      throw IoError(fmt::format("{} is set, but no folder for its parts can be made in {}: {}", kTraceVariable,
                                std::filesystem::temp_directory_path().string(), std::strerror(errno)));
    job->trace_directory_ = directory;
    job->record_into(directory, 0, 1);
  }
  if (environment && !environment->coordinator.empty())
    job->join(*environment);
  else
    job->start(0, {devices});
  return job;
}

void Job::record_into(const std::string& directory, int process, int processes) {
  recorder::RecorderOptions options;
  options.directory = directory;
  options.process = process;
  options.process_count = processes;
  options.command_line = own_command_line();
  recorder_ = std::make_shared<recorder::Recorder>(std::move(options));
}

void Job::join(const control::JobEnvironment& environment) {
  if (!recorder_ && !environment.trace_dir.empty())
    record_into(environment.trace_dir, environment.process_index, environment.num_processes);
  control::JoinOptions options;
  options.num_devices = environment.num_cpu_devices.value_or(1);
  options.on_stop = [this](const std::string& why) { stop(why); };
  control_ = control::join_job(environment, options);
  if (!environment.shm.empty()) {  // of a launcher of ours, which reads there where a process was that died
    std::shared_ptr<ShmSegment> segment = ShmSegment::open(environment.shm);
    control_->put_places([segment, process = environment.process_index](Where where) { segment->put_place(process, where); });
  }
  std::vector<int> devices_per_process;
  for (const control::Member& member : control_->members()) devices_per_process.push_back(member.devices);
  if (environment.num_processes > 1) connect(environment);
  start(environment.process_index, std::move(devices_per_process));
}

void Job::connect(const control::JobEnvironment& environment) {
  JobRendezvous rendezvous(*control_);
  TransportOptions options{.process_index = environment.process_index,
                           .num_processes = environment.num_processes,
                           .address = environment.shm,
                           .rendezvous = &rendezvous,
                           .secret = environment.tls.on() ? fresh_secret(rendezvous, environment.process_index) : environment.token,
                           .encrypted = environment.tls.on(),
                           .bind_address = control::own_address(environment),
                           .limit = kConnectLimit,
                           .link = kLinkLimit};
  for (const control::Member& member : control_->members()) options.hosts.push_back(member.host_id);
  const TransportDef& transport = transport_named(environment.transport);
  if (transport.processes_max > 0 && environment.num_processes > transport.processes_max)
    throw_user_error("the transport {} joins at most {} processes, and the job has {}; use auto", transport.name, transport.processes_max,
                     environment.num_processes);
  transport_ = transport.make(options);
  abortable_ = transport_.get();
  if (stopped_) transport_->abort("the job was stopped while this process joined it");
}

namespace {

// A number for each process's host, in the order of the processes; none where all are on one.
std::vector<int> host_numbers(const std::vector<control::Member>& members) {
  std::map<std::string, int> numbers;
  std::vector<int> hosts;
  for (const control::Member& member : members) hosts.push_back(numbers.try_emplace(member.host_id, int(numbers.size())).first->second);
  return numbers.size() > 1 ? hosts : std::vector<int>();
}

}  // namespace

void Job::start(int process, std::vector<int> devices_per_process) {
  ContextOptions options;
  options.process_index = process;
  options.devices_per_process = std::move(devices_per_process);
  if (control_) options.hosts = host_numbers(control_->members());
  options.transport = transport_;
  options.control = control_;
  if (recorder_) options.observers.push_back(recorder_);
  context_ = std::make_shared<Context>(std::move(options));
  if (!recorder_) return;
  std::vector<recorder::DeviceRecord> records;
  for (const Device& device : context_->all_devices())
    records.push_back({device.ordinal, device.process_index, device.platform == "gpu" ? "cuda" : device.platform,
                       device.platform == "gpu" ? fmt::format("{} {}", device.kind, device.id) : fmt::format("CPU {}", device.ordinal)});
  recorder_->describe_devices(records);
}

std::vector<distributed::LinkTraffic> Job::link_traffic() {
  Executor& executor = context_->executor();
  executor.drain();
  std::map<int, std::int64_t> planned = executor.planned_bytes();
  std::vector<SentBytes> sent;
  if (transport_) sent = transport_->sent();
  const std::vector<int>& hosts = context_->hosts();
  std::vector<distributed::LinkTraffic> links;
  for (int peer = 0; peer < context_->process_count(); ++peer) {
    if (peer == context_->process_index()) continue;
    distributed::LinkTraffic& link = links.emplace_back();
    link.process = peer;
    link.same_host = hosts.empty() || hosts[std::size_t(peer)] == hosts[std::size_t(context_->process_index())];
    link.planned_bytes = planned[peer];
    if (sent.empty()) continue;
    link.sent_bytes = sent[std::size_t(peer)].bytes;
    link.messages = sent[std::size_t(peer)].messages;
  }
  return links;
}

void Job::stop(const std::string& why) {
  stopped_ = true;
  if (comm::Transport* transport = abortable_.load()) transport->abort(why);
}

void Job::leave() {
  context_->leave();
  if (transport_) transport_->finish();
}

void Job::raised(std::string_view text, Where where) {
  if (control_) control_->raised(text, where);
}

void Job::close_record() {
  if (!recorder_) return;
  recorder_->close();
  if (trace_.empty()) return;
  recorder::MergeOptions options;
  options.directory = trace_directory_;
  options.out = trace_;
  recorder::merge_parts(options);
  std::error_code ignored;  // a leftover in the temporary folder harms nobody
  std::filesystem::remove_all(trace_directory_, ignored);
  trace_.clear();
}

Job::~Job() {
  // The executor's thread may be in an exchange: it ends before the transport that it uses.
  stop("the process leaves the job");
  if (Context::current_or_null() == context_.get()) Context::set_current(nullptr);
  context_.reset();
}

}  // namespace shardlab
