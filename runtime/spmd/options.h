// The options of one node in the search over whole programs: a way to compute it, and the forms its results are left in.
#pragma once

#include "runtime/spmd/cost_table.h"

namespace shardlab::spmd {

struct Option {
  int way = 0;                    // which candidate
  std::vector<int> needs;         // per source: index into Options::needs of that source, -1: costs nothing
  std::vector<FormId> kept;       // per result
  std::int64_t result_bytes = 0;  // to combine partial results into the kept forms
  std::int64_t parts = 1;         // into which the results are cut
};

// A form of a value that exists: an operand, or what a composed operand asks for.
struct FormNeed {
  ValueId value = -1;  // a root
  FormId form = -1;
  bool operator==(const FormNeed&) const = default;
};

// *Sources* are the node's operands, in place of a composed one the values at its bottom.
struct Options {
  std::vector<Candidate> ways;
  std::vector<std::vector<FormNeed>> needs;  // per source, each once
  std::vector<Option> list;
  bool counts_work = false;  // it does not of nodes that only move data
  std::int64_t allowed_work = 0;
  std::int64_t work_in_place = 0;  // allowed where no operand has to be moved for the node
  bool is_heavy = false;           // its work outweighs one more collective
};

// At most this many for one node; what is beyond is left out, the ways as they are enumerated first.
inline constexpr std::size_t kOptionsMax = 8192;

// `at_hand` has a form of each operand; `wanted` the results' forms that the function returns, per result of the node.
Options options_of(Problem& problem, CostTable& costs, NodeId node, const std::vector<Spec>& at_hand,
                   const std::vector<std::vector<FormId>>& wanted);

}  // namespace shardlab::spmd
