#include "runtime/shardlab/live_devices.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "runtime/base/where.h"
#include "runtime/comm/control.h"
#include "runtime/exec/context.h"
#include "runtime/shardlab/job.h"

namespace shardlab {
namespace {

bool contains(const std::vector<int>& processes, int process) {
  return std::find(processes.begin(), processes.end(), process) != processes.end();
}

[[noreturn]] void throw_failure(const std::vector<Device>& devices, const std::vector<int>& processes, const std::string& why,
                                Where where) {
  std::vector<Device> failed;
  std::vector<int> ids;
  for (const Device& device : devices)
    if (contains(processes, device.process_index)) {
      failed.push_back(device);
      ids.push_back(device.id);
    }
  throw ProcessFailureError(fmt::format("Devices failed: {{{}}}. {}; call live_devices again to go on with those that live [{}]",
                                        fmt::join(ids, ", "), why, where.text()),
                            std::move(failed));
}

void check(const std::shared_ptr<Job>& job, const std::vector<Device>& devices, Where where) {
  if (!job) throw_user_error("Distributed JAX not initialized. live_devices comes after distributed::initialize() [{}]", where.text());
  if (!job->is_elastic())
    throw_user_error(
        "live_devices needs a recoverable job of several processes: set enable_recoverability, or SHARDLAB_ENABLE_RECOVERABILITY=1 for all "
        "processes and their coordinator (shardlab run --elastic) [{}]",
        where.text());
  if (devices.empty()) throw_user_error("No devices provided. [{}]", where.text());
  bool any_local = std::any_of(devices.begin(), devices.end(), [](const Device& d) { return d.process_index == process_index(); });
  if (!any_local) throw_user_error("Provided devices do not have any local devices. [{}]", where.text());
}

}  // namespace

void live_devices(const std::vector<Device>& devices, const std::function<void(const std::vector<Device>& live)>& body,
                  std::source_location source) {
  Where where = Where::from(source);
  std::shared_ptr<Job> job = distributed::current_job();
  check(job, devices, where);
  std::vector<int> began = job->open(false);
  std::vector<Device> live;
  for (const Device& device : devices)
    if (contains(began, device.process_index)) live.push_back(device);
  std::sort(live.begin(), live.end(), [](const Device& a, const Device& b) { return a.id < b.id; });
  try {
    body(live);
    job->settle();
  } catch (const comm::DiagnosisError& error) {
    std::vector<int> failed = job->failed_processes();
    if (failed.empty()) throw;
    throw_failure(devices, failed, error.what(), where);
  } catch (const std::exception& error) {
    job->raised(error.what(), where);
    throw;
  }
  control::Gathered end = job->close();
  if (end.whole) return;
  std::vector<int> failed;
  std::copy_if(began.begin(), began.end(), std::back_inserter(failed), [&](int p) { return !contains(end.live, p); });
  if (failed.empty())
    throw ProcessFailureError(fmt::format("another process did not end what live_devices began; call it again [{}]", where.text()), {});
  throw_failure(devices, failed, fmt::format("processes {} ended", fmt::join(failed, ", ")), where);
}

}  // namespace shardlab
