// What the partitioner planned against what was recorded: where a program's collectives and results came otherwise.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "traces/trace_reader.h"

namespace shardlab::traces {

// One collective of a program, or the sharding of one of its results.
struct Deviation {
  static constexpr std::string_view kCode = "not-as-planned";
  Id program = 0;
  std::string name;     // the program's
  int call = -1;        // index among its collectives; -1: a result
  int result = -1;      // position among its results; -1: a collective
  std::string message;  // one sentence with both sides
  std::string planned, recorded;
  Id site = 0;        // the user's line; 0 where it is not known
  Id collective = 0;  // the first that was recorded of it
};

// By program, its collectives before its results. A collective is as planned when it has the plan's kind, groups and bytes and was recorded
// as often as its program ran; less often is no deviation where the run was cut short. A result is as planned when every array that was
// recorded of it lies as the plan said.
std::vector<Deviation> deviations_from_plan(TraceReader& reader);

// Whether they cut alike: dimensions at the end that nothing cuts may be left out of a spec, "P('a', None)" and "P('a',)".
bool same_spec(std::string_view plan, std::string_view seen);

}  // namespace shardlab::traces
