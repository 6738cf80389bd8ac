// Evidence by hand: programs named by a letter, calls named by programs.
#pragma once

#include <cctype>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "traces/checks/evidence.h"

namespace shardlab::testing_ {

class EvidenceBuilder {
 public:
  explicit EvidenceBuilder(int processes) {
    for (int p = 0; p < processes; ++p) {
      ProcessEvidence process;
      process.process = p;
      process.state = ProcessState::kRunning;
      process.joined = true;
      evidence_.processes.push_back(process);
    }
  }

  // A program over `processes` (all where empty), two devices a process.
  EvidenceBuilder& program(const std::string& name, std::vector<int> processes = {}, std::vector<std::string> operands = {},
                           std::string text = "") {
    if (processes.empty()) {
      processes.resize(evidence_.processes.size());
      std::iota(processes.begin(), processes.end(), 0);
    }
    ProgramEvidence program;
    program.fingerprint = std::hash<std::string>{}(name);
    program.group = processes.size() * 1000 + std::size_t(processes.front());
    program.name = name;
    program.text = text.empty() ? "program " + name : text;
    program.mesh = "mesh(a=" + std::to_string(processes.size() * 2) + ")";
    program.processes = processes;
    for (int p : processes) program.devices.insert(program.devices.end(), {2 * p, 2 * p + 1});
    program.operands = std::move(operands);
    evidence_.programs.push_back(program);
    names_[name] = evidence_.programs.size() - 1;
    return *this;
  }
  ProgramEvidence& at(const std::string& name) { return evidence_.programs[names_.at(name)]; }

  EvidenceBuilder& call(int process, const std::string& name, bool matched = false) {
    ProcessEvidence& issuer = evidence_.processes[process];
    const ProgramEvidence& program = at(name);
    CallEvidence call;
    call.launch = call.seq = issuer.issued;
    call.fingerprint = program.fingerprint;
    call.group = program.group;
    call.op = program.name;
    call.where = "toy.cpp:" + std::to_string(30 + names_.at(name));
    call.matched = matched;
    issuer.calls.push_back(call);
    ++issuer.issued;
    issuer.matched += matched;
    return *this;
  }
  // One character a call.
  EvidenceBuilder& calls(std::vector<int> processes, const std::string& names) {
    for (int p : processes)
      for (char name : names) call(p, std::string(1, name));
    return *this;
  }
  // A launch on devices of its own, one a letter: small ones and large ones are the same op with other data, "s" and "S" at one line.
  EvidenceBuilder& own(std::vector<int> processes, const std::string& names) {
    for (int p : processes)
      for (char name : names) {
        const std::string op(1, char(std::tolower(name)));
        StepEvidence step{.what = op, .where = "own.cpp:" + std::to_string(op[0] - 'a' + 1), .fingerprint = std::uint64_t(name)};
        step.after = evidence_.processes[p].issued;
        evidence_.processes[p].steps.push_back(step);
      }
    return *this;
  }
  EvidenceBuilder& state(int process, ProcessState state) {
    evidence_.processes[process].state = state;
    return *this;
  }
  ProcessEvidence& process(int p) { return evidence_.processes[p]; }
  Evidence& evidence() { return evidence_; }

 private:
  Evidence evidence_;
  std::map<std::string, std::size_t> names_;
};

}  // namespace shardlab::testing_
