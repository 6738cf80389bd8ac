#include "runtime/shardlab/job.h"

#include <fmt/format.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "runtime/control/client.h"
#include "runtime/control/environment.h"
#include "traces/recorder/merge.h"
#include "traces/recorder/recorder.h"
#include "virtualdev/transports/shm_segment.h"
#include "virtualdev/transports/transport_def.h"

namespace shardlab {
namespace {

constexpr const char* kTraceVariable = "SHARDLAB_TRACE";
constexpr const char* kSegmentKey = "shardlab/shm";
constexpr std::chrono::seconds kSegmentLimit{60};

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

// The transport of processes on one host; several hosts are refused by name.
void check_one_host(const std::vector<control::Member>& members) {
  for (const control::Member& member : members)
    if (member.host != members[0].host)
      throw_user_error(
          "distributed::initialize: process {} runs on {} and process {} on {}; this version joins the processes of one host "
          "(transport shm)",
          members[0].process, members[0].host, member.process, member.host);
}

}  // namespace

std::shared_ptr<Job> Job::from_environment() {
  std::shared_ptr<Job> job(new Job());
  auto environment = control::detect_environment();
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
  std::vector<int> devices_per_process;
  for (const control::Member& member : control_->members()) devices_per_process.push_back(member.devices);
  check_one_host(control_->members());

  if (environment.num_processes > 1) {
    std::string segment = environment.shm;
    if (segment.empty() && environment.process_index == 0) {
      segment_ = ShmSegment::create(environment.num_processes);
      segment = segment_->name();
      control_->set_key(kSegmentKey, segment);
    } else if (segment.empty()) {
      segment = control_->get_key(kSegmentKey, kSegmentLimit);
    }
    transport_ = kShmTransport.make({environment.process_index, environment.num_processes, segment});
    abortable_ = transport_.get();
    if (stopped_) transport_->abort("the job was stopped while this process joined it");
  }
  start(environment.process_index, std::move(devices_per_process));
}

void Job::start(int process, std::vector<int> devices_per_process) {
  ContextOptions options;
  options.process_index = process;
  options.devices_per_process = std::move(devices_per_process);
  options.transport = transport_;
  options.control = control_;
  if (recorder_) options.observers.push_back(recorder_);
  context_ = std::make_shared<Context>(std::move(options));
  if (!recorder_) return;
  std::vector<recorder::DeviceRecord> records;
  for (const Device& device : context_->devices())
    records.push_back({device.ordinal, device.process_index, device.platform, fmt::format("CPU {}", device.ordinal)});
  recorder_->describe_devices(records);
}

void Job::stop(const std::string& why) {
  stopped_ = true;
  if (comm::Transport* transport = abortable_.load()) transport->abort(why);
}

void Job::leave() { context_->leave(); }

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
