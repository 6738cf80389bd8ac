#include "scenarios/runner/fault_injector.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string_view>

#include "runtime/comm/clock.h"

namespace shardlab::scenarios {
namespace {

using std::chrono::milliseconds;

std::filesystem::path fired_file(const std::filesystem::path& folder, int process) { return folder / fmt::format("fired.{}", process); }

// proc(5): the state follows the name in brackets. Of a child of a process with threads: nothing that may lock.
bool is_stopped(const char* stat_file) {
  char text[256];
  int file = ::open(stat_file, O_RDONLY | O_CLOEXEC);
  if (file < 0) return true;  // it is gone
  ssize_t size = ::read(file, text, sizeof text);
  ::close(file);
  std::string_view stat(text, std::size_t(std::max<ssize_t>(size, 0)));
  std::size_t name_end = stat.rfind(')');
  return name_end != stat.npos && name_end + 2 < stat.size() && stat[name_end + 2] == 'T';
}

// Stops this process; for a limited time a child of it, in its own session, lets it go on.
void stop(std::int64_t duration_ms) {
  pid_t self = ::getpid();
  char stat_file[64];
  std::snprintf(stat_file, sizeof stat_file, "/proc/%d/stat", int(self));
  if (duration_ms > 0 && ::fork() == 0) {
    ::setsid();
    // On a busy machine it may stop long after the child began: who is let go on before it stops is stopped for good.
    while (!is_stopped(stat_file)) ::usleep(500);
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
bool needs_issuer(FaultKind kind) {
  return kind == FaultKind::kRaise || kind == FaultKind::kHang || kind == FaultKind::kDelay || kind == FaultKind::kCorrupt;
}

// Cuts every connection of this process, as a pulled cable would; shared memory stays, but nobody is asked over it alone.
void disconnect() {
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    int fd = std::atoi(entry.path().filename().c_str()), type = 0;
    socklen_t size = sizeof type;
    if (::getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0) ::shutdown(fd, SHUT_RDWR);
  }
}

// No file of this process grows any more: writes fail as on a full disk (EFBIG), and SQLite and the rings must live with it.
void limit_files(rlim_t bytes) {
  ::signal(SIGXFSZ, SIG_IGN);
  rlimit limit{};
  ::getrlimit(RLIMIT_FSIZE, &limit);
  limit.rlim_cur = std::min(bytes, limit.rlim_max);
  ::setrlimit(RLIMIT_FSIZE, &limit);
}

constexpr auto kLinkTime = milliseconds(1);  // that a slow link multiplies

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
  const Fault& fault = *armed.fault;
  if (fault.kind == FaultKind::kCorrupt && !(corrupt_ && corrupt_(fault))) return;  // nothing is bound to that name yet
  armed.struck = true;
  if (!folder_.empty()) std::ofstream(fired_file(folder_, process_), std::ios::app) << armed.number << std::endl;
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
    case FaultKind::kCorrupt:
      return;
    case FaultKind::kDisconnect:
      return disconnect();
    case FaultKind::kSlowLink:
      slowness_ = fault.factor;
      return;
    case FaultKind::kClock:
      return comm::skew_clock(fault.offset_ms * 1'000'000, fault.drift_ppm);
    case FaultKind::kTraceDisk:
      return limit_files(1);
  }
}

void FaultInjector::in_call() const {
  double slowness = slowness_;
  if (slowness > 1) std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(kLinkTime) * (slowness - 1));
}

void FaultInjector::before_results() const {
  auto hinders = [](const Armed& each) { return each.struck && each.fault->kind == FaultKind::kTraceDisk; };
  if (std::any_of(armed_.begin(), armed_.end(), hinders)) limit_files(RLIM_INFINITY);
}

std::vector<int> FaultInjector::struck() const {
  std::vector<int> result;
  for (const Armed& each : armed_)
    if (each.struck) result.push_back(each.number);
  return result;
}

std::vector<int> FaultInjector::fired(const std::filesystem::path& folder, int process) {
  std::ifstream file(fired_file(folder, process));
  std::vector<int> result;
  for (int number; file >> number;) result.push_back(number);
  return result;
}

}  // namespace shardlab::scenarios
