#include "runtime/shardlab/distributed.h"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <string_view>
#include <thread>

#include "runtime/base/call_places.h"
#include "runtime/base/call_stack.h"
#include "runtime/control/environment.h"
#include "runtime/exec/devices.h"
#include "runtime/exec/executor.h"
#include "runtime/shardlab/crash.h"
#include "runtime/shardlab/interrupt.h"
#include "runtime/shardlab/job.h"
#include "runtime/shardlab/last_words.h"
#include "traces/checks/wording.h"

namespace shardlab::distributed {
namespace {

constexpr int kDiagnosedStatus = 2;
constexpr int kErrorStatus = 1;
// mpirun forwards what its processes print, and once it ends the job itself does not wait for the rest of one that has ended.
constexpr std::chrono::milliseconds kForwarding{200};
constexpr char kTellVariable[] = "SHARDLAB_TELL_AT_SIGNALS";
// For the merge of the trace: when all have ended, and where others still have to hear that this process ends.
constexpr std::chrono::milliseconds kMergeLimit{60'000}, kMergeAfterErrorLimit{5'000};

// The one job of the process.
struct State {
  std::mutex mutex;
  std::shared_ptr<Job> job;
  std::shared_ptr<LastWords> words;  // from the joining on
  bool left = false;
};

// Never destroyed: the exit handler and other threads may need it to the last.
State& state() {
  static State* state = new State();
  return *state;
}

std::shared_ptr<LastWords> last_words() {
  std::lock_guard lock(state().mutex);
  return state().words;
}

void print_error(const std::string& text) {
  std::fflush(stdout);
  fmt::print(stderr, "{}\n", text);
  std::fflush(stderr);
}

int milliseconds(int seconds, const char* name, Where where) {
  if (seconds < 1 || seconds > 1'000'000)
    throw_user_error("{} must be a positive number of seconds; got {} [{}]", name, seconds, where.text());
  return seconds * 1000;
}

// Prints what other processes of the job may end with, too: one of them whole, the others who that is. Whether this one did.
bool print_once(const std::string& text, std::string_view what) {
  auto job = current_job();
  const auto say = [&] { print_error(text); };
  const int teller = job ? job->say_once(text, say) : (say(), -1);
  if (teller < 0) return true;
  print_error(
      fmt::format("shardlab: process {} ends in the same {}, which process {} tells", job->context()->process_index(), what, teller));
  return false;
}

// Every process of a job has the verdict; one that somebody supervises leaves it to him to say it, once.
void print_verdict(const comm::DiagnosisError& error) {
  if (std::getenv(control::kVerdictToldVariable) == nullptr) print_once(error.what(), error.code());
}

// Ends the process now: what is recorded is written out, other threads are not waited for.
[[noreturn]] void end_with(int status) {
  if (auto job = current_job()) {
    try {
      job->record().close();
      job->await_trace(kMergeAfterErrorLimit);
    } catch (const std::exception& error) { print_error(error.what()); }
  }
  std::fflush(nullptr);
  _exit(status);
}

// Here, with the calls that led to the error, which still stand on the stack, and the others.
void tell_uncaught(const std::string& printed, const std::string& error) {
  const bool is_told_here = print_once(printed, "error");  // before files are read
  std::vector<CallPlace> places = call_places(call_stack());
  if (is_told_here && !places.empty()) print_error(fmt::format("  called in {}", text_of(places)));
  Where where;
  if (!places.empty() && places[0].line > 0)
    where = {.file = intern(places[0].file), .function = intern(places[0].function), .line = std::uint32_t(places[0].line)};
  if (auto job = current_job()) job->raised(error, error.find(where.text()) == std::string::npos ? where : Where());
}

// An uncaught error: the others are told before this process ends.
[[noreturn]] void on_terminate() {
  yield_to_interrupt();
  try {
    if (auto error = std::current_exception()) std::rethrow_exception(error);
    print_error("terminate was called without an error");
  } catch (const comm::DiagnosisError& error) {
    print_verdict(error);
    end_with(kDiagnosedStatus);
  } catch (const std::exception& error) { tell_uncaught(fmt::format("error: {}", error.what()), error.what()); } catch (...) {
    constexpr const char* kText = "an error that is no std::exception was not caught";
    tell_uncaught(kText, kText);
  }
  end_with(kErrorStatus);
}

// Nobody else would say it: the whereabouts of all, once, and this process's end.
[[noreturn]] void on_interrupt(int signal) {
  if (auto words = last_words()) fmt::print(stderr, "{}", words->at(signal));
  try {
    if (auto job = current_job()) job->record().close();  // merged when this process has gone
  } catch (const std::exception& error) { print_error(error.what()); }
  std::fflush(nullptr);
  std::this_thread::sleep_for(kForwarding);
  _exit(128 + signal);
}

// Of the whole process: the copy of it that tells of a crash takes no locks for this.
std::atomic<int> own_process = 0;

void write_error(const std::string& text) {
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t n = write(STDERR_FILENO, text.data() + at, text.size() - at);
    if (n <= 0) return;
    at += std::size_t(n);
  }
}

void on_crash(int signal, std::span<const std::uintptr_t> stack) {
  write_error(fmt::format("shardlab: process {} is ended by {}\n", own_process.load(), signal_name(signal)));  // before files are read
  if (std::vector<CallPlace> places = call_places(stack); !places.empty()) write_error(fmt::format("  called in {}\n", text_of(places)));
}

// Once a process; where a command of ours tells of all that interrupts them, of its crashes alone.
void tell_at_signals(bool wanted, bool supervised) {
  const char* variable = std::getenv(kTellVariable);
  if (!wanted || (variable != nullptr && std::string_view(variable) == "0")) return;
  static const bool watched = [supervised] {
    watch_crashes(on_crash);
    if (!supervised) watch_interrupts(on_interrupt);
    return true;
  }();
  (void)watched;
}

// A normal end is the last host-visible read: all processes must agree on what was issued.
void end_job(Job& job, int status) {
  if (status == 0) {
    try {
      shutdown();
    } catch (const comm::DiagnosisError& error) {
      print_verdict(error);
      end_with(kDiagnosedStatus);
    } catch (const std::exception& error) {
      print_once(fmt::format("error: {}", error.what()), "error");
      job.raised(error.what(), {});
      end_with(kErrorStatus);
    }
  }
  try {
    job.record().close();
    if (status == 0) job.await_trace(kMergeLimit);  // else nobody has been told yet that this process ends
  } catch (const std::exception& error) { print_error(error.what()); }
}

void on_exit_handler(int status, void*) {
  static std::atomic<bool> has_run = false;
  if (has_run.exchange(true)) return;
  yield_to_interrupt();
  const auto job = current_job();
  if (job) end_job(*job, status);
  std::fflush(nullptr);  // what a signal would cut off from here on
  if (auto words = last_words()) settle_interrupts(words->at_the_end(status));
  if (job && job->uses_libraries()) _exit(status);  // what follows would take them down under it
}

// exit() destroys what belongs to its thread before it calls what was registered, the latest first. So the job ends before all that the
// program and its libraries have registered meanwhile (NVRTC does as it compiles), which launches that still run may use.
struct EndsJobFirst {
  ~EndsJobFirst() { on_exit(on_exit_handler, nullptr); }
};

}  // namespace

std::shared_ptr<Job> current_job() {
  std::lock_guard lock(state().mutex);
  return state().job;
}

void initialize(std::source_location where) { initialize(InitializeOptions(), where); }

void initialize(const std::string& coordinator_address, std::int64_t num_processes, std::int64_t process_id, std::source_location where) {
  initialize({.coordinator_address = coordinator_address, .num_processes = num_processes, .process_id = process_id}, where);
}

void initialize(const InitializeOptions& options, std::source_location where) {
  Where place = Where::from(where);
  static const bool registered = [] {
    std::set_terminate(on_terminate);
    on_exit(on_exit_handler, nullptr);
    return true;
  }();
  (void)registered;
  if (is_context_used())
    throw_user_error(
        "jax.distributed.initialize() must be called before any JAX calls that might initialise the XLA backend. This includes any "
        "computation, but also calls to jax.devices, jax.device_put, and others. Here: before any use of a device; call it first in "
        "main() [{}]",
        place.text());
  control::JobRequest request;
  request.coordinator_address = options.coordinator_address;
  request.num_processes = options.num_processes;
  request.process_id = options.process_id;
  request.local_device_ids = options.local_device_ids;
  request.cluster_detection_method = options.cluster_detection_method;
  request.coordinator_bind_address = options.coordinator_bind_address;
  request.recoverable = options.enable_recoverability;
  request.initialization_timeout_ms = milliseconds(options.initialization_timeout, "initialization_timeout", place);
  request.heartbeat_timeout_ms = milliseconds(options.heartbeat_timeout_seconds, "heartbeat_timeout_seconds", place);
  request.shutdown_timeout_ms = milliseconds(options.shutdown_timeout_seconds, "shutdown_timeout_seconds", place);
  auto words = std::make_shared<LastWords>();
  words->place().put(place);
  auto once = [&](bool supervised) {
    if (is_initialized()) throw_user_error("distributed.initialize should only be called once. The second call is at {}", place.text());
    {
      std::lock_guard lock(state().mutex);
      state().words = words;
    }
    tell_at_signals(options.tell_at_signals, supervised);
  };
  std::shared_ptr<Job> job;
  try {
    job = Job::find(request, words, once);
  } catch (const UserError& error) {
    throw_user_error("{} [distributed::initialize at {}]", error.what(), place.text());
  } catch (const TransportError& error) {
    throw TransportError(fmt::format("{} [distributed::initialize at {}]", error.what(), place.text()));
  } catch (const IoError& error) { throw IoError(fmt::format("{} [distributed::initialize at {}]", error.what(), place.text())); }
  own_process = job->context()->process_index();
  Context::set_current(job->context());
  Context::set_of_job(job->context(), place);
  {
    std::lock_guard lock(state().mutex);
    state().job = std::move(job);
    state().left = false;
  }
  static thread_local const EndsJobFirst ends_job_first;
  (void)ends_job_first;
}

void shutdown() {
  auto job = current_job();
  if (!job) return;
  {
    std::lock_guard lock(state().mutex);
    if (state().left) return;
    state().left = true;
  }
  job->leave();
}

bool is_initialized() { return current_job() != nullptr; }

std::vector<LinkTraffic> link_traffic() {
  auto job = current_job();
  return job ? job->link_traffic() : std::vector<LinkTraffic>();
}

void raised(std::string_view text, Where where) {
  if (auto job = current_job()) job->raised(text, where);
}

}  // namespace shardlab::distributed
