// The steps of a program and what each takes from the ones before, read from the text that the trace keeps of it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace shardlab::exporters {

struct ProgramStep {
  std::string op;         // "dot_general", "all-reduce"
  std::vector<int> from;  // steps, as indices of the list; what comes from outside the launch is left out
};

// Without parameters, in order; empty where the text is none of a program. Steps within loops and branches are not told of.
std::vector<ProgramStep> program_steps(std::string_view text);

}  // namespace shardlab::exporters
