#include "scenarios/runner/batch.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>

#include "runtime/shardlab/crash.h"
#include "scenarios/runner/run.h"
#include "traces/checks/wording.h"

namespace shardlab::scenarios {
namespace {

using nlohmann::json;
using Clock = std::chrono::steady_clock;

// Messages are a length of 8 bytes and a text.
enum class Reading { kDone, kClosed, kTimeout };

bool write_all(int descriptor, const char* data, std::size_t size) {
  while (size > 0) {
    ssize_t written = ::send(descriptor, data, size, MSG_NOSIGNAL);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    data += written;
    size -= std::size_t(written);
  }
  return true;
}

bool send_text(int descriptor, const std::string& text) {
  std::uint64_t size = text.size();
  char header[8];
  std::memcpy(header, &size, 8);
  return write_all(descriptor, header, 8) && write_all(descriptor, text.data(), text.size());
}

Reading read_all(int descriptor, char* data, std::size_t size, std::optional<Clock::time_point> until) {
  while (size > 0) {
    int wait_ms = -1;
    if (until) {
      auto left = std::chrono::ceil<std::chrono::milliseconds>(*until - Clock::now()).count();
      if (left <= 0) return Reading::kTimeout;
      wait_ms = int(std::min<std::int64_t>(left, 1'000'000));
    }
    pollfd waited{descriptor, POLLIN, 0};
    int ready = ::poll(&waited, 1, wait_ms);
    if (ready == 0 || (ready < 0 && errno == EINTR)) continue;
    ssize_t got = ::recv(descriptor, data, size, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return Reading::kClosed;
    data += got;
    size -= std::size_t(got);
  }
  return Reading::kDone;
}

Reading receive_text(int descriptor, std::string& text, std::optional<Clock::time_point> until) {
  char header[8];
  if (Reading reading = read_all(descriptor, header, 8, until); reading != Reading::kDone) return reading;
  std::uint64_t size;
  std::memcpy(&size, header, 8);
  text.resize(size);
  return read_all(descriptor, text.data(), size, until);
}

std::string to_text(const Replayed& replayed) {
  const Summary& s = replayed.summary;
  json message = {{"name", s.name},   {"source", s.source},   {"status", int(s.status)}, {"duration_ms", s.duration_ms},
                  {"lines", s.lines}, {"json", replayed.json}};
  return message.dump(-1, ' ', false, json::error_handler_t::replace);
}

// Nothing where it is no report.
std::optional<Replayed> from_text(const std::string& text) {
  json message = json::parse(text, nullptr, false);
  if (message.is_discarded()) return std::nullopt;
  Summary summary{message.at("name"),
                  message.at("source"),
                  Status(message.at("status").get<int>()),
                  message.at("duration_ms").get<double>(),
                  message.at("lines").get<std::vector<std::string>>(),
                  false};
  return Replayed{std::move(summary), message.at("json").get<std::string>()};
}

// What a worker says last.
constexpr std::string_view kCrashed = "crashed in ";

// "shardlab+0x1f2e, libcuda.so.1+0x77": the innermost first, as addr2line and debuggers take them.
std::string places_text(std::span<const std::uintptr_t> stack) {
  constexpr std::size_t kToldMax = 24;
  std::string text;
  for (std::uintptr_t address : stack.first(std::min(stack.size(), kToldMax))) {
    Dl_info info{};
    const bool is_known = ::dladdr(reinterpret_cast<void*>(address), &info) != 0 && info.dli_fname != nullptr;
    const std::string file = is_known ? std::filesystem::path(info.dli_fname).filename().string() : "?";
    const std::uintptr_t base = is_known ? reinterpret_cast<std::uintptr_t>(info.dli_fbase) : 0;
    text += fmt::format("{}{}+{:#x}", text.empty() ? "" : ", ", file, address - base);
  }
  return text;
}

int told_by = -1;  // the socket of a worker
void tell_crash(int, std::span<const std::uintptr_t> stack) { send_text(told_by, fmt::format("{}{}", kCrashed, places_text(stack))); }

Loaded find(std::vector<Loaded> loaded) {
  SL_CHECK(loaded.size() == 1, "a batch request is one scenario");
  return std::move(loaded[0]);
}

}  // namespace

Replayed replayed(const Report& report) { return {summary_of(report), to_json(report)}; }

BatchWorker::~BatchWorker() { end(false); }

void BatchWorker::start() {
  int pair[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) throw IoError("no socket pair for a worker process");
  std::string descriptor = std::to_string(pair[1]);
  const char* arguments[] = {"shardlab", "worker", "--batch", descriptor.c_str(), nullptr};
  child_ = ::fork();
  if (child_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::fcntl(pair[1], F_SETFD, 0);
    ::execv("/proc/self/exe", const_cast<char* const*>(arguments));
    ::_exit(127);
  }
  ::close(pair[1]);
  if (child_ < 0) {
    ::close(pair[0]);
    throw IoError("a worker process cannot be started");
  }
  socket_ = pair[0];
}

int BatchWorker::end(bool kill) {
  int status = 0;
  if (child_ < 0) return status;
  if (kill) ::kill(child_, SIGKILL);
  ::close(socket_);
  while (::waitpid(child_, &status, 0) < 0 && errno == EINTR) {}
  child_ = -1;
  return status;
}

Replayed BatchWorker::lost(const Loaded& loaded, std::int64_t limit_ms, bool timed_out, const std::string& crashed) {
  int status = end(crashed.empty());
  Report report;
  report.name = loaded.name;
  report.source = loaded.source;
  report.status = timed_out ? Status::kInconclusive : Status::kOurFault;
  report.duration_ms = timed_out ? double(limit_ms) : 0;
  if (timed_out)
    report.message = fmt::format("not finished after {} ms, the limit", limit_ms);
  else if (WIFSIGNALED(status))
    report.message = fmt::format("the process that ran it was killed by signal {} ({}){}", WTERMSIG(status),
                                 shardlab::signal_name(WTERMSIG(status)), crashed.empty() ? "" : "; it " + crashed);
  else
    report.message = fmt::format("the process that ran it exited with {}", WEXITSTATUS(status));
  return replayed(report);
}

Replayed BatchWorker::run(const Loaded& loaded, std::int64_t limit_ms, const std::string& trace) {
  if (child_ < 0) start();
  json request = {{"text", loaded.text}, {"source", loaded.source}, {"trace", trace}};
  auto until = Clock::now() + std::chrono::milliseconds(limit_ms);
  std::string reply;
  if (!send_text(socket_, request.dump())) return lost(loaded, limit_ms, false);
  Reading reading = receive_text(socket_, reply, until);
  if (reading != Reading::kDone) return lost(loaded, limit_ms, reading == Reading::kTimeout);
  if (auto replayed = from_text(reply)) return std::move(*replayed);
  return lost(loaded, limit_ms, false, reply.starts_with(kCrashed) ? reply : "");
}

int serve_batch(int socket) {
  told_by = socket;
  watch_crashes(tell_crash);
  std::string text;
  while (receive_text(socket, text, std::nullopt) == Reading::kDone) {
    json request = json::parse(text);
    Loaded loaded = find(load_text(request.at("text").get<std::string>(), request.at("source").get<std::string>()));
    RunOptions options{.trace = request.at("trace").get<std::string>()};
    if (!send_text(socket, to_text(replayed(run_scenario(loaded, options))))) break;
  }
  return 0;
}

}  // namespace shardlab::scenarios
