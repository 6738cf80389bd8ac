#include "scenarios/launch/launcher.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <memory>

#include "runtime/base/error.h"
#include "runtime/control/coordinator.h"
#include "runtime/control/environment.h"
#include "runtime/control/silence.h"
#include "scenarios/launch/child_process.h"
#include "scenarios/launch/signal_pipe.h"
#include "traces/checks/check_def.h"
#include "traces/checks/wording.h"
#include "virtualdev/transports/shm_segment.h"

extern char** environ;

namespace shardlab {
namespace {

using comm::now_ns;
using comm::Ns;

constexpr char kRestartsVariable[] = "SHARDLAB_RESTARTS";  // tells a process how often it was started again
constexpr Ns kMs = 1'000'000;
constexpr Ns kAbortAfterNs = 250 * kMs;   // from the verdict, for processes that did not hear of it
constexpr Ns kKillAfterNs = 1000 * kMs;   // from the verdict, or from SIGTERM
constexpr Ns kOutputAfterNs = 200 * kMs;  // from the last death, for output that somebody still holds open
constexpr Ns kSilentNs = 1000 * kMs;      // then we say so

// What a process writes to one descriptor.
struct Stream {
  Descriptor* from = nullptr;
  std::string* captured = nullptr;  // with Output::kCapture
  std::FILE* to = nullptr;          // with Output::kPrefix
  std::string prefix, line;
};

struct Child {
  ChildProcess process;
  ProcessEnd end;
  Stream out, err;
  bool told_silent = false;
};

std::vector<std::string> child_environment(const LaunchOptions& options, int process, int restarts, const control::Coordinator& coordinator,
                                           const ShmSegment& segment) {
  std::vector<std::pair<std::string, std::string>> added{
      {control::kCoordinatorVariable, coordinator.address()},
      {control::kTokenVariable, coordinator.token()},
      {control::kProcessIndexVariable, std::to_string(process)},
      {control::kNumProcessesVariable, std::to_string(options.processes)},
      {control::kShmVariable, segment.name()},
  };
  if (options.devices > 0) added.emplace_back(control::kNumDevicesVariable, std::to_string(options.devices));
  if (options.elastic) added.emplace_back(control::kRecoverableVariable, "1");
  if (restarts > 0) added.emplace_back(kRestartsVariable, std::to_string(restarts));
  if (!options.trace_dir.empty()) added.emplace_back(control::kTraceDirVariable, options.trace_dir);
  if (!options.transport.empty()) added.emplace_back(control::kTransportVariable, options.transport);
  if (options.output != Output::kCapture) added.emplace_back(control::kVerdictToldVariable, "1");
  added.insert(added.end(), options.environment.begin(), options.environment.end());
  if (options.environment_of) {
    auto own = options.environment_of(process);
    added.insert(added.end(), own.begin(), own.end());
  }
  std::vector<std::string> environment;
  for (char** entry = environ; *entry; ++entry) {
    std::string_view name = std::string_view(*entry).substr(0, std::string_view(*entry).find('='));
    bool replaced = std::any_of(added.begin(), added.end(), [&](const auto& pair) { return pair.first == name; });
    bool stale = name == control::kTraceDirVariable;  // of a job that we are part of ourselves
    if (!replaced && !stale) environment.emplace_back(*entry);
  }
  for (std::size_t i = 0; i < added.size(); ++i) {
    bool later =
        std::any_of(added.begin() + std::ptrdiff_t(i) + 1, added.end(), [&](const auto& pair) { return pair.first == added[i].first; });
    if (!later) environment.push_back(added[i].first + "=" + added[i].second);
  }
  return environment;
}

// One run: a loop over what can happen, in one thread.
class Run {
 public:
  explicit Run(const LaunchOptions& options)
      : options_(options),
        segment_(ShmSegment::create(options.processes)),
        wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
        signals_(options.handle_signals),
        coordinator_({.num_processes = options.processes,
                      .tls = control::complete_tls({}),
                      .stuck = options.stuck,
                      .look_ahead = options.look_ahead,
                      .elastic = options.elastic,
                      .on_verdict = [this](const control::VerdictRef& verdict) {
                        if (options_.elastic) return;  // it is about what was begun together: the processes are told
                        verdict_ns_ = now_ns();
                        std::uint64_t one = 1;
                        [[maybe_unused]] ssize_t n = write(wake_.get(), &one, sizeof one);
                        if (options_.on_verdict) options_.on_verdict(verdict->diagnoses);
                      }}) {
    if (!wake_.open()) throw IoError(fmt::format("no event descriptor: {}", std::strerror(errno)));
  }

  LaunchResult go() {
    result_.started_ns = now_ns();
    if (options_.limit.count() > 0) limit_ns_ = result_.started_ns + Ns(options_.limit.count()) * kMs;
    start_all();
    while (!finished()) {
      wait();
      take_outputs();
      take_deaths();
      take_signals();
      take_time();
    }
    bool ended_by_themselves = (!stopping_ || verdict_ns_ != 0) && !options_.elastic;
    if (ended_by_themselves) coordinator_.conclude();
    if (!options_.elastic) result_.diagnoses = coordinator_.diagnoses();
    result_.evidence = coordinator_.evidence();
    if (result_.diagnoses.empty()) result_.remarks = remarks(result_.evidence);
    result_.common_error = coordinator_.common_error();
    for (Child& child : children_) {
      flush(child.out);
      flush(child.err);
      result_.processes.push_back(std::move(child.end));
    }
    result_.ended_ns = now_ns();
    if (options_.on_end) options_.on_end(result_);
    return std::move(result_);
  }

 private:
  void start_all() {
    children_.reserve(std::size_t(options_.processes));
    for (int p = 0; p < options_.processes; ++p) {
      children_.push_back(spawn(p, 0));
      listen(children_.back());
    }
  }

  Child spawn(int process, int restarts) {
    Ns started_ns = now_ns();
    Child child{ChildProcess({.argv = options_.argv,
                              .environment = child_environment(options_, process, restarts, coordinator_, *segment_),
                              .pipes = options_.output != Output::kPass,
                              .inherit_input = process == 0 && !isatty(0)}),
                {},
                {},
                {}};
    child.end.process = process;
    child.end.pid = child.process.pid();
    child.end.started_ns = started_ns;
    return child;
  }

  // Once it is where it stays.
  void listen(Child& child) {
    if (options_.output == Output::kPass) return;
    bool capture = options_.output == Output::kCapture;
    std::string prefix = options_.processes > 1 ? fmt::format("[{}] ", child.end.process) : std::string();
    child.out = {&child.process.out(), capture ? &child.end.out : nullptr, stdout, prefix, ""};
    child.err = {&child.process.err(), capture ? &child.end.err : nullptr, stderr, prefix, ""};
  }

  // Another process in the place of one that has ended; what that one said stays.
  void restart(Child& child) {
    for (Stream* stream : {&child.out, &child.err}) {
      drain(*stream);
      flush(*stream);
    }
    Child next = spawn(child.end.process, child.end.restarts + 1);
    next.end.restarts = child.end.restarts + 1;
    next.end.out = std::move(child.end.out);
    next.end.err = std::move(child.end.err);
    std::destroy_at(&child);
    std::construct_at(&child, std::move(next));
    listen(child);
  }

  bool any_running() const {
    return std::any_of(children_.begin(), children_.end(), [](const Child& child) { return child.process.running(); });
  }
  bool any_open() const {
    return std::any_of(children_.begin(), children_.end(), [](const Child& child) {
      return (child.out.from && child.out.from->open()) || (child.err.from && child.err.from->open());
    });
  }
  bool finished() const { return !any_running() && (!any_open() || now_ns() >= last_death_ns_ + kOutputAfterNs); }

  // Sleeps until something happens or the next deadline.
  void wait() {
    std::vector<pollfd> polled{{wake_.get(), POLLIN, 0}};
    if (signals_.fd() >= 0) polled.push_back({signals_.fd(), POLLIN, 0});
    for (Child& child : children_) {
      if (child.process.running()) polled.push_back({child.process.done_fd(), POLLIN, 0});
      for (Stream* stream : {&child.out, &child.err})
        if (stream->from && stream->from->open()) polled.push_back({stream->from->get(), POLLIN, 0});
    }
    Ns now = now_ns(), next = now + kSilentNs;
    for (Ns deadline : {limit_ns_, kill_ns_, abort_ns_})
      if (deadline > 0) next = std::min(next, deadline);
    if (!any_running()) next = std::min(next, last_death_ns_ + kOutputAfterNs);
    poll(polled.data(), polled.size(), int(std::max<Ns>((next - now + kMs - 1) / kMs, 0)));
    std::uint64_t count;
    [[maybe_unused]] ssize_t n = read(wake_.get(), &count, sizeof count);
  }

  void take_outputs() {
    for (Child& child : children_)
      for (Stream* stream : {&child.out, &child.err}) drain(*stream);
  }

  void drain(Stream& stream) {
    char bytes[65536];
    while (stream.from && stream.from->open()) {
      ssize_t n = read(stream.from->get(), bytes, sizeof bytes);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0 && errno == EAGAIN) return;
      if (n <= 0) {
        stream.from->reset();
        return;
      }
      take(stream, std::string_view(bytes, std::size_t(n)));
    }
  }

  void take(Stream& stream, std::string_view text) {
    if (stream.captured) {
      std::size_t room = LaunchResult::kOutputBytesMax - std::min(LaunchResult::kOutputBytesMax, stream.captured->size());
      stream.captured->append(text.substr(0, room));
      return;
    }
    stream.line.append(text);
    std::size_t end;
    while ((end = stream.line.find('\n')) != std::string::npos) {
      std::string whole = stream.prefix + stream.line.substr(0, end + 1);
      std::fwrite(whole.data(), 1, whole.size(), stream.to);
      stream.line.erase(0, end + 1);
    }
    if (stream.line.size() > kLineBytesMax) flush(stream);
    std::fflush(stream.to);
  }

  void flush(Stream& stream) {
    if (!stream.to || stream.captured || stream.line.empty()) return;
    std::string whole = stream.prefix + stream.line + "\n";
    std::fwrite(whole.data(), 1, whole.size(), stream.to);
    std::fflush(stream.to);
    stream.line.clear();
  }

  void take_deaths() {
    for (Child& child : children_) {
      if (!child.process.reap(child.end.exit_code, child.end.signal)) continue;
      child.end.ended_ns = last_death_ns_ = now_ns();
      child.end.ended_by_us = stopping_ && (child.end.signal != 0 || child.end.exit_code != 0);
      // What we end ourselves proves nothing.
      if (child.end.ended_by_us) continue;
      coordinator_.report_death(child.end.process, child.end.exit_code, child.end.signal, child.end.ended_ns,
                                segment_->place(child.end.process));
      bool badly = child.end.signal != 0 || child.end.exit_code != 0;
      if (options_.elastic && badly && !stopping_ && child.end.restarts < options_.restarts) restart(child);
    }
  }

  void take_signals() {
    if (signals_.fd() < 0) return;
    int signal = signals_.take();
    if (signal == 0) return;
    if (result_.interrupted_by == 0) say_where(fmt::format("ended by {}; the processes were here:", signal_name(signal)));
    bool again = result_.interrupted_by != 0;
    result_.interrupted_by = signal;
    stop_all(again ? SIGKILL : SIGTERM);
  }

  void take_time() {
    Ns now = now_ns();
    if (verdict_ns_ != 0 && kill_ns_ == 0 && !stopping_) {
      abort_ns_ = verdict_ns_ + kAbortAfterNs;
      kill_ns_ = verdict_ns_ + kKillAfterNs;
    }
    if (limit_ns_ > 0 && now >= limit_ns_ && any_running() && !stopping_ && verdict_ns_ == 0) {
      result_.timed_out = true;
      say_where(fmt::format("the limit of {} ms was reached; the processes were here:", options_.limit.count()));
      stop_all(SIGKILL);
    }
    if (abort_ns_ > 0 && now >= abort_ns_) {
      abort_ns_ = 0;
      segment_->abort_all();
    }
    if (kill_ns_ > 0 && now >= kill_ns_) {
      kill_ns_ = 0;
      stopping_ = true;
      for (Child& child : children_) child.process.signal_group(SIGKILL);
    }
    tell_silent();
  }

  void stop_all(int signal) {
    stopping_ = true;
    for (Child& child : children_) child.process.signal_group(signal);
    kill_ns_ = now_ns() + kKillAfterNs;
  }

  Evidence evidence_with_places() const {
    Evidence evidence = coordinator_.evidence();
    for (ProcessEvidence& process : evidence.processes)
      if (Where place = segment_->place(process.process); place.known()) process.at = place.text();
    return evidence;
  }

  void say_where(const std::string& why) {
    result_.whereabouts = whereabouts_text(evidence_with_places());
    if (options_.output == Output::kCapture) return;
    fmt::print(stderr, "shardlab: {}\n{}", why, result_.whereabouts);
    std::fflush(stderr);
  }

  // Information, never a verdict: a process that computes or is stopped says nothing.
  void tell_silent() {
    if (options_.output == Output::kCapture || stopping_) return;
    for (const control::SilentProcess& silent : coordinator_.silent(std::chrono::milliseconds(kSilentNs / kMs))) {
      Child& child = children_[std::size_t(silent.process)];
      if (child.told_silent || !child.process.running()) continue;
      child.told_silent = true;
      for (const control::Member& member : coordinator_.members())
        if (member.process == silent.process)
          fmt::print(stderr, "shardlab: {}\n",
                     control::silence_text(fmt::format("process {}", silent.process), member, silent.silent_ms,
                                           whereabouts(evidence_with_places(), silent.process)));
    }
  }

  static constexpr std::size_t kLineBytesMax = std::size_t(1) << 20;

  const LaunchOptions& options_;
  LaunchResult result_;
  std::unique_ptr<ShmSegment> segment_;
  Descriptor wake_;
  SignalPipe signals_;
  std::atomic<Ns> verdict_ns_ = 0;
  bool stopping_ = false;
  Ns limit_ns_ = 0, kill_ns_ = 0, abort_ns_ = 0, last_death_ns_ = 0;
  control::Coordinator coordinator_;
  std::vector<Child> children_;  // last: ended before the coordinator goes
};

}  // namespace

std::string ProcessEnd::text() const {
  if (signal == 0) return fmt::format("exited with code {}", exit_code);
  std::string name = signal_name(signal);
  return name.empty() ? fmt::format("killed by signal {}", signal) : fmt::format("killed by signal {} ({})", signal, name);
}

bool LaunchResult::ok() const {
  return diagnoses.empty() && !timed_out && interrupted_by == 0 &&
         std::all_of(processes.begin(), processes.end(), [](const ProcessEnd& end) { return end.exit_code == 0 && end.signal == 0; });
}

LaunchResult launch(const LaunchOptions& options) {
  if (options.argv.empty()) throw_user_error("there is no program to start");
  if (options.processes < 1) throw_user_error("a job has at least one process; got {}", options.processes);
  return Run(options).go();
}

}  // namespace shardlab
