#include "scenarios/runner/fault_injector.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>

namespace shardlab::scenarios {
namespace {

using std::chrono::milliseconds;

std::filesystem::path fired_file(const std::filesystem::path& folder, int process) { return folder / fmt::format("fired.{}", process); }

// Stops this process; for a limited time a child of it, in its own session, lets it go on.
void stop(std::int64_t duration_ms) {
  pid_t self = ::getpid();
  if (duration_ms > 0 && ::fork() == 0) {
    ::setsid();
    ::usleep(useconds_t(duration_ms % 1000) * 1000);
    ::sleep(unsigned(duration_ms / 1000));
    ::kill(self, SIGCONT);
    ::_exit(0);
  }
  ::kill(self, SIGSTOP);
}

[[noreturn]] void hang() {
  while (true) ::pause();
}

// Faults that need the issuing thread; the others end or stop the whole process.
bool needs_issuer(FaultKind kind) { return kind == FaultKind::kRaise || kind == FaultKind::kHang || kind == FaultKind::kDelay; }

}  // namespace

FaultInjector::FaultInjector(const Document& document, int process, std::filesystem::path folder)
    : folder_(std::move(folder)), process_(process) {
  for (std::size_t i = 0; i < document.faults.size(); ++i) {
    const Fault& fault = document.faults[i];
    if (!std::binary_search(fault.processes.begin(), fault.processes.end(), process)) continue;
    armed_.push_back({&fault, int(i)});
    if (!fault.statement.empty()) executions_.emplace(fault.statement, 0);
  }
}

FaultInjector::~FaultInjector() = default;

void FaultInjector::start() {
  if (std::any_of(armed_.begin(), armed_.end(), [](const Armed& each) { return each.fault->after_ms.has_value(); }))
    clock_ = std::jthread([this](std::stop_token stop) { wait_for_clock(stop); });
}

void FaultInjector::wait_for_clock(std::stop_token stop) {
  auto begin = std::chrono::steady_clock::now();
  std::vector<Armed*> timed;
  for (Armed& each : armed_)
    if (each.fault->after_ms) timed.push_back(&each);
  std::sort(timed.begin(), timed.end(), [](const Armed* a, const Armed* b) { return *a->fault->after_ms < *b->fault->after_ms; });
  for (Armed* each : timed) {
    std::unique_lock lock(mutex_);
    changed_.wait_until(lock, stop, begin + milliseconds(*each->fault->after_ms), [] { return false; });
    if (stop.stop_requested()) return;
    if (needs_issuer(each->fault->kind)) {
      due_.push_back(each);
      continue;
    }
    lock.unlock();
    strike(*each, fmt::format("after {} ms", *each->fault->after_ms));
  }
}

void FaultInjector::before_statement(const Statement& statement) {
  if (armed_.empty()) return;
  std::vector<Armed*> due;
  {
    std::lock_guard lock(mutex_);
    due.swap(due_);
  }
  for (Armed* each : due) strike(*each, fmt::format("after {} ms", *each->fault->after_ms));
  auto counted = executions_.find(statement.pointer);
  if (counted == executions_.end()) return;
  std::int64_t iteration = counted->second++;
  for (Armed& each : armed_)
    if (!each.struck && each.fault->statement == statement.pointer && each.fault->iteration.value_or(0) == iteration)
      strike(each, fmt::format("before {}", statement.pointer));
}

void FaultInjector::before_calls(std::int64_t first, std::int64_t count) {
  for (Armed& each : armed_)
    if (!each.struck && each.fault->collective && *each.fault->collective >= first && *each.fault->collective < first + count)
      strike(each, fmt::format("before call {}", *each.fault->collective));
}

void FaultInjector::strike(Armed& armed, std::string_view place) {
  armed.struck = true;
  std::ofstream(fired_file(folder_, process_), std::ios::app) << armed.number << std::endl;
  const Fault& fault = *armed.fault;
  switch (fault.kind) {
    case FaultKind::kRaise:
      throw RaisedByFault(fmt::format("the scenario's fault {} raises here, {}", fault.pointer, place));
    case FaultKind::kExit:
      ::_exit(fault.exit_code);
    case FaultKind::kKill:
      ::kill(::getpid(), SIGKILL);
      hang();
    case FaultKind::kStop:
      stop(fault.duration_ms);
      return;
    case FaultKind::kHang:
      hang();
    case FaultKind::kDelay:
      std::this_thread::sleep_for(milliseconds(fault.duration_ms));
      return;
  }
}

std::vector<int> FaultInjector::fired(const std::filesystem::path& folder, int process) {
  std::ifstream file(fired_file(folder, process));
  std::vector<int> result;
  for (int number; file >> number;) result.push_back(number);
  return result;
}

}  // namespace shardlab::scenarios
