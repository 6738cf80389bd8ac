// Processes as threads, before one referee.
#pragma once

#include <functional>
#include <map>
#include <thread>

#include "runtime/control/local_control.h"
#include "runtime/control/referee.h"
#include "tests/control/programs.h"

namespace shardlab::control {

using testing_::Issuer;
using testing_::make_program;

struct Process {
  int index;
  LocalLedgerControl& control;
  Issuer issuer;
  std::map<std::string, std::shared_ptr<const comm::ProgramInfo>> programs;

  void issue(const std::string& name, std::vector<int> on) {
    auto& program = programs[name];
    if (!program) program = make_program(name, on);
    control.issued(issuer.launch(program, std::uint32_t(name[0])));
  }
  void read() { control.await_agreement(issuer.last(), "print", {"toy.cpp", "main", 99, -1}); }
};

inline const std::vector<int> kAll{0, 1, 2, 3};
inline const std::vector<int> kThree{0, 1, 2};

// Runs body for each of n processes in a thread of its own; the error's code by process, "" where it left normally.
inline std::vector<std::string> run(Referee& referee, int n, const std::function<void(Process&)>& body) {
  std::vector<std::string> codes(n);
  std::vector<std::jthread> threads;
  for (int p = 0; p < n; ++p)
    threads.emplace_back([&, p] {
      LocalLedgerControl control(referee, p);
      Process process{p, control, {}, {}};
      try {
        body(process);
        control.leave();
      } catch (const comm::DiagnosisError& error) { codes[p] = error.code(); } catch (const UserError& error) {
        control.raised(error.what(), {"toy.cpp", "main", 12, -1});
        codes[p] = "user";
      }
      referee.died(p, 0, 0, comm::now_ns());
    });
  threads.clear();
  referee.conclude();
  return codes;
}

}  // namespace shardlab::control
