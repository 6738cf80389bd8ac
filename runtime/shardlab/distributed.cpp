#include "runtime/shardlab/distributed.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <mutex>

#include "runtime/shardlab/job.h"

namespace shardlab::distributed {
namespace {

constexpr int kDiagnosedStatus = 2;
constexpr int kErrorStatus = 1;

// The one job of the process.
struct State {
  std::mutex mutex;
  std::shared_ptr<Job> job;
  bool left = false;
};

// Never destroyed: the exit handler and other threads may need it to the last.
State& state() {
  static State* state = new State();
  return *state;
}

std::shared_ptr<Job> current_job() {
  std::lock_guard lock(state().mutex);
  return state().job;
}

void print_error(const std::string& text) {
  std::fflush(stdout);
  fmt::print(stderr, "{}\n", text);
  std::fflush(stderr);
}

// Ends the process now: what is recorded is written out, other threads are not waited for.
[[noreturn]] void end_with(int status) {
  if (auto job = current_job()) {
    try {
      job->close_record();
    } catch (const std::exception& error) { print_error(error.what()); }
  }
  std::fflush(nullptr);
  _exit(status);
}

// An uncaught error: the others are told before this process ends.
[[noreturn]] void on_terminate() {
  try {
    if (auto error = std::current_exception()) std::rethrow_exception(error);
    print_error("terminate was called without an error");
  } catch (const comm::DiagnosisError& error) {
    print_error(error.what());
    end_with(kDiagnosedStatus);
  } catch (const std::exception& error) {
    print_error(fmt::format("error: {}", error.what()));
    if (auto job = current_job()) job->raised(error.what(), {});
  } catch (...) {
    print_error("an error that is no std::exception was not caught");
    if (auto job = current_job()) job->raised("an error that is no std::exception was not caught", {});
  }
  end_with(kErrorStatus);
}

// A normal end is the last host-visible read: all processes must agree on what was issued.
void on_exit_handler(int status, void*) {
  auto job = current_job();
  if (!job) return;
  if (status == 0) {
    try {
      shutdown();
    } catch (const comm::DiagnosisError& error) {
      print_error(error.what());
      end_with(kDiagnosedStatus);
    } catch (const std::exception& error) {
      print_error(fmt::format("error: {}", error.what()));
      job->raised(error.what(), {});
      end_with(kErrorStatus);
    }
  }
  try {
    job->close_record();
  } catch (const std::exception& error) { print_error(error.what()); }
}

}  // namespace

void initialize(std::source_location where) {
  Where place = Where::from(where);
  if (is_initialized()) throw_user_error("distributed.initialize should only be called once. The second call is at {}", place.text());
  if (Context::current_or_null() != nullptr)
    throw_user_error(
        "distributed.initialize() must be called before any JAX calls that might initialise the XLA backend. This includes any "
        "computation, but also calls to jax.devices, jax.device_put, and others. Here: before any use of a device; call it first in "
        "main() [{}]",
        place.text());
  std::shared_ptr<Job> job = Job::from_environment();
  Context::set_current(job->context());
  {
    std::lock_guard lock(state().mutex);
    state().job = std::move(job);
    state().left = false;
  }
  static const bool registered = [] {
    std::set_terminate(on_terminate);
    on_exit(on_exit_handler, nullptr);
    return true;
  }();
  (void)registered;
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

void raised(std::string_view text, Where where) {
  if (auto job = current_job()) job->raised(text, where);
}

}  // namespace shardlab::distributed
