// A process of a job for tests: joins as its surroundings say and runs its arguments as steps, each for all processes or, with
// "@1,2 " before it, for some.
//   call:NAME       issues a launch over all processes             data:NAME    the same, and exchanges bytes with all of them
//   read            a host-visible read of what was issued         print:TEXT   to standard output
//   raise:TEXT      ends in that error                             exit:CODE    ends at once, without leaving
//   kill            kills itself                                   die:NAME     kills itself in the middle of an exchange
//   compute:MS      does nothing for so long                       hang         for ever
//   times:N:STEP    repeats a step                                 join         (the first step, unless one of these is)
// Instead of steps:
//   stranger CODE   ends without joining
//   absent          takes a place in what an elastic job begins next, and kills itself where the others connect to it
#include <unistd.h>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/base/text.h"
#include "runtime/control/environment.h"
#include "runtime/control/live_client.h"
#include "tests/control/programs.h"
#include "virtualdev/transports/shm_segment.h"
#include "virtualdev/transports/transport_def.h"

namespace shardlab {
namespace {

using testing_::Issuer;
using testing_::make_program;

constexpr std::size_t kExchangeBytes = 100'000;  // more than a ring holds where there are many processes

class Process {
 public:
  explicit Process(const control::JobEnvironment& environment)
      : index_(environment.process_index), count_(environment.num_processes), everyone_(std::size_t(count_)) {
    std::iota(everyone_.begin(), everyone_.end(), 0);
    control_ =
        control::join_job(environment, {.num_devices = environment.num_cpu_devices.value_or(1), .on_stop = [this](const std::string& why) {
                                          if (comm::Transport* transport = transport_.load()) transport->abort(why);
                                        }});
    std::string shm = environment.shm;
    if (shm.empty() && index_ == 0) {
      segment_ = ShmSegment::create(count_);
      shm = segment_->name();
      control_->set_key("shm", shm);
    } else if (shm.empty()) {
      shm = control_->get_key("shm", std::chrono::seconds(30));
    }
    owned_ = transport_named("shm").make({.process_index = index_, .num_processes = count_, .address = shm});
    transport_ = owned_.get();
  }

  comm::Control& control() { return *control_; }

  void step(const std::string& step, std::uint32_t line) {
    std::size_t colon = step.find(':');
    std::string verb = step.substr(0, colon), rest = colon == std::string::npos ? "" : step.substr(colon + 1);
    if (verb == "call")
      issue(rest, line);
    else if (verb == "data")
      data(rest, line, false);
    else if (verb == "die")
      data(rest, line, true);
    else if (verb == "read")
      control_->await_agreement(issuer_.last(), "print", {"steps.cpp", "main", line, -1});
    else if (verb == "print")
      std::printf("%s\n", rest.c_str());
    else if (verb == "raise")
      throw UserError(rest);
    else if (verb == "exit")
      std::_Exit(std::atoi(rest.c_str()));
    else if (verb == "kill")
      std::raise(SIGKILL);
    else if (verb == "compute")
      std::this_thread::sleep_for(std::chrono::milliseconds(std::atoi(rest.c_str())));
    else if (verb == "hang")
      while (true) pause();
    else if (verb == "times") {
      std::size_t second = rest.find(':');
      for (int i = 0; i < std::atoi(rest.substr(0, second).c_str()); ++i) this->step(rest.substr(second + 1), line);
    } else
      throw_user_error("there is no step '{}'", step);
  }

 private:
  comm::Launch issue(const std::string& name, std::uint32_t line) {
    comm::Launch launch = issuer_.launch(make_program(name, everyone_), line);
    control_->issued(launch);
    return launch;
  }

  void data(const std::string& name, std::uint32_t line, bool die) {
    comm::Launch launch = issue(name, line);
    if (control_->poisoned()) return;
    std::vector<std::byte> out(kExchangeBytes);
    std::vector<std::vector<std::byte>> in(everyone_.size(), std::vector<std::byte>(kExchangeBytes));
    std::vector<comm::Send> sends;
    std::vector<comm::Receive> receives;
    for (int p : everyone_) {
      if (p == index_) continue;
      sends.push_back({p, {out}});
      receives.push_back({p, in[std::size_t(p)]});
    }
    comm::MessageHeader header{.fingerprint = launch.program->fingerprint, .seq = launch.seq};
    bool waited = false;
    comm::ExchangeResult result = owned_->exchange(header, sends, receives, [&](const std::vector<int>& peers) {
      if (die) std::raise(SIGKILL);
      control_->waiting(launch, 0, peers);
      waited = true;
    });
    if (waited) control_->waiting(launch, 0, {});
    if (die) std::raise(SIGKILL);
    if (result.status == comm::ExchangeStatus::kMismatch) control_->wire_mismatch(launch, 0, result.mismatches.front());
  }

  int index_, count_;
  std::vector<int> everyone_;
  std::unique_ptr<ShmSegment> segment_;
  std::unique_ptr<comm::Transport> owned_;
  std::atomic<comm::Transport*> transport_ = nullptr;
  Issuer issuer_;
  std::unique_ptr<control::ControlClient> control_;
};

bool is_for(std::string& step, int process) {
  if (step.empty() || step[0] != '@') return true;
  std::size_t space = step.find(' ');
  std::string text = step.substr(1, space - 1);
  step = step.substr(space + 1);
  for (std::string_view index : split(text, ','))
    if (std::atoi(std::string(index).c_str()) == process) return true;
  return false;
}

int run(int argc, char** argv) {
  std::optional<control::JobEnvironment> environment = control::find_job();
  if (!environment) {
    std::fprintf(stderr, "this process is in no job\n");
    return 2;
  }
  std::string instead = argc > 1 ? argv[1] : "";
  if (instead == "stranger") return argc > 2 ? std::atoi(argv[2]) : 0;
  std::unique_ptr<Process> process;
  std::uint32_t line = 0;
  try {
    if (instead == "absent") {
      control::JoinOptions options{.num_devices = environment->num_cpu_devices.value_or(1)};
      control::LiveClient(control::locate(*environment, options)).gather(false, false);
      std::raise(SIGKILL);
    }
    process = std::make_unique<Process>(*environment);
    for (int i = 1; i < argc; ++i) {
      std::string step = argv[i];
      line = std::uint32_t(i);
      if (is_for(step, environment->process_index)) process->step(step, line);
      std::fflush(stdout);
    }
    process->control().leave();
    return 0;
  } catch (const UserError& error) {
    if (process) process->control().raised(error.what(), {"steps.cpp", "main", line, -1});
    std::fprintf(stderr, "error: %s\n", error.what());
  } catch (const Error& error) { std::fprintf(stderr, "ended: %s\n", error.what()); }
  return 1;
}

}  // namespace
}  // namespace shardlab

int main(int argc, char** argv) { return shardlab::run(argc, argv); }
