#include "runtime/shardlab/job_record.h"

#include <fmt/format.h>
#include <stdlib.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/control/environment.h"
#include "runtime/exec/context.h"
#include "runtime/shardlab/job_trace.h"
#include "traces/recorder/merge.h"
#include "traces/recorder/recorder.h"

namespace shardlab {
namespace {

// The words that started this process, for the trace.
std::string own_command_line() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(file)), {});
  for (char& c : text)
    if (c == '\0') c = ' ';
  while (!text.empty() && text.back() == ' ') text.pop_back();
  return text;
}

}  // namespace

void JobRecord::begin(const std::string& directory, int process, int processes) {
  recorder::RecorderOptions options;
  options.directory = directory;
  options.process = process;
  options.process_count = processes;
  options.incarnation = recorder::recorded_incarnations(directory, process);
  options.command_line = own_command_line();
  recorder_ = std::make_shared<recorder::Recorder>(std::move(options));
}

void JobRecord::begin_alone() {
  const char* trace = std::getenv(control::kTraceVariable);
  if (trace == nullptr || *trace == '\0') return;
  trace_ = trace;
  check_trace_file(trace_);
  std::string directory = (std::filesystem::temp_directory_path() / "shardlab-trace-XXXXXX").string();
  if (mkdtemp(directory.data()) == nullptr)
    throw IoError(fmt::format("{} is set, but no folder for its parts can be made in {}: {}", control::kTraceVariable,
                              std::filesystem::temp_directory_path().string(), std::strerror(errno)));
  trace_directory_ = directory;
  begin(directory, 0, 1);
}

void JobRecord::describe_devices(const Context& context) {
  std::vector<recorder::DeviceRecord> records;
  for (const Device& device : context.all_devices())
    records.push_back(
        {device.ordinal, device.process_index, device.platform == "gpu" ? "cuda" : device.platform,
         device.platform == "gpu" ? fmt::format("GPU {} ({})", device.id, device.kind) : fmt::format("CPU {}", device.ordinal)});
  recorder_->describe_devices(records);
}

void JobRecord::close() {
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

}  // namespace shardlab
