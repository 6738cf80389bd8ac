#include "runtime/shardlab/coordination.h"

#include <fmt/format.h>

#include "runtime/base/error.h"
#include "runtime/base/where.h"
#include "runtime/comm/control.h"
#include "runtime/comm/launch.h"
#include "runtime/control/barriers.h"
#include "runtime/control/client.h"
#include "runtime/exec/context.h"
#include "runtime/shardlab/job.h"

namespace shardlab::distributed {
namespace {

constexpr char kPrefix[] = "program/";  // the runtime's own keys are others

// An error's text as the caller knows the keys.
std::string plain(std::string text) {
  if (auto at = text.find(kPrefix); at != std::string::npos) text.erase(at, sizeof kPrefix - 1);
  return text;
}

// With the job's client, or with nothing for a process on its own; errors get the call and its place.
template <typename Body>
auto in_job(const char* call, Where where, Body body) {
  auto job = current_job();
  if (!job) throw_user_error("{} needs a job: distributed::initialize() comes first [{}]", call, where.text());
  if (!job->control() && job->is_elastic())
    throw_user_error("{}: this process was started again, and takes part from live_devices on [{}]", call, where.text());
  try {
    return body(*job, job->control());
  } catch (const comm::DiagnosisError&) { throw; } catch (const UserError& error) {
    throw_user_error("{} [{} at {}]", plain(error.what()), call, where.text());
  } catch (const TransportError& error) { throw TransportError(fmt::format("{} [{} at {}]", plain(error.what()), call, where.text())); }
}

void wait_alone(const control::Arrival& arrival) {
  control::Barriers(1).arrive(arrival, [](const control::BarrierEnd& end) {
    if (!end.why.empty()) throw UserError(end.why);
  });
}

}  // namespace

void wait_at_barrier(const std::string& barrier_id, std::chrono::milliseconds timeout, const std::vector<int>& process_ids,
                     std::source_location location) {
  Where where = Where::from(location);
  in_job("wait_at_barrier", where, [&](Job&, control::ControlClient* client) {
    if (!client) return wait_alone({.barrier = barrier_id, .participants = process_ids, .timeout = timeout});
    comm::Ns begin = comm::now_ns();
    client->wait_at_barrier(barrier_id, timeout, process_ids, where);
    Context::current().observer().on_host_read(fmt::format("barrier '{}'", barrier_id), where, begin, comm::now_ns());
  });
}

void key_value_set(const std::string& key, const std::string& value, bool allow_overwrite, std::source_location location) {
  in_job("key_value_set", Where::from(location), [&](Job& job, control::ControlClient* client) {
    if (client) return client->set_key(kPrefix + key, value, !allow_overwrite);
    if (job.own_keys().set(key, value, !allow_overwrite) == control::KeyStore::Set::kExists)
      throw UserError(fmt::format("ALREADY_EXISTS: key {} already exists", key));
  });
}

std::string blocking_key_value_get(const std::string& key, std::chrono::milliseconds timeout, std::source_location location) {
  Where where = Where::from(location);
  return in_job("blocking_key_value_get", where, [&](Job& job, control::ControlClient* client) {
    if (client) return client->await_key(kPrefix + key, timeout, key, where);
    auto value = job.own_keys().get(key);
    if (!value) throw TransportError(fmt::format("nobody set the key '{}', and there is no other process that could", key));
    return *value;
  });
}

}  // namespace shardlab::distributed
