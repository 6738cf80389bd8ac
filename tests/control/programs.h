// Programs and launches for tests of the control plane: named by a letter, over any processes, two devices each.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/base/sha256.h"
#include "runtime/comm/launch.h"

namespace shardlab::testing_ {

inline std::shared_ptr<const comm::ProgramInfo> make_program(const std::string& name, const std::vector<int>& processes) {
  comm::ProgramInfo program;
  program.name = name;
  program.text = "func " + name;
  program.fingerprint = sha256_prefix(program.text);
  program.mesh = "mesh(a=2)";
  program.processes = processes;
  for (int p : processes) program.devices.insert(program.devices.end(), {2 * p, 2 * p + 1});
  program.operands = {{"x", "float32", {8}, "P('a') on mesh(a=2)"}};
  return std::make_shared<comm::ProgramInfo>(program);
}

// Numbers the launches of one process.
class Issuer {
 public:
  comm::Launch launch(std::shared_ptr<const comm::ProgramInfo> program, std::uint32_t line) {
    comm::Launch launch{
        .number = next_++, .program = std::move(program), .where = {"toy.cpp", "main", line, -1}, .issued_ns = comm::now_ns()};
    launch.seq = seq_[launch.program->devices]++;
    return launch;
  }
  std::int64_t last() const { return next_ - 1; }

 private:
  std::int64_t next_ = 0;
  std::map<std::vector<int>, std::int64_t> seq_;
};

}  // namespace shardlab::testing_
