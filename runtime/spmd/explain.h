// Explanations of a partitioned program: why each value has its sharding, and who asked for each collective, and what would avoid it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/spmd/program.h"

namespace shardlab::spmd {

// One piece of a value's sharding, traced back to where it came from: the value's own origin first, then its source's, and so on to a
// parameter, a constraint or a result.
struct PieceReason {
  int dimension = 0;
  AxisPiece piece;
  std::vector<Origin> chain;
};

struct ValueReason {
  ValueId value = -1;
  NodeId producer = -1;    // -1: a parameter
  Spec propagated;         // what propagation chose
  std::vector<Spec> held;  // the forms that the program makes of it
  std::vector<PieceReason> pieces;
};

struct CollectiveReason {
  enum class Purpose { kOperand, kReduction, kConstraint, kForm, kResult };
  Purpose purpose = Purpose::kOperand;
  std::size_t step = 0;  // of the program
  std::string kind;
  ValueId value = -1;  // what moves
  NodeId node = -1;    // the op that asked; -1: a result of the function
  int operand = -1;    // of that op, where an operand is wanted otherwise
  std::string before, after;
  std::int64_t bytes = 0, wire_bytes = 0;  // of the result on one device; over all devices
  int calls = 1;
  std::string cause;
  std::string avoided_by;  // the sharding with which it would not be
};

// The bodies of a loop, a branch or per-device code, each a program with values of its own.
struct BodyReason {
  NodeId node = -1;
  std::shared_ptr<const PartitionedProgram> program;
};

struct Explanation {
  std::vector<ValueReason> values;
  std::vector<CollectiveReason> collectives;
  std::vector<BodyReason> bodies;
};

Explanation explain(const PartitionedProgram& program);

// How values are called: "%3", as in a listing of the program, or by what they are: "argument 0", "the result of sin at toy.cpp:10".
enum class ValueNames { kNumbers, kOrigins };

// The sharding that would spare one step of the program its bytes.
std::string avoided_by(const PartitionedProgram& program, const MoveStep& step, ValueNames names = ValueNames::kNumbers);

// For people: values, then collectives, with the lines that asked.
std::string text_of(const Explanation& explanation, const PartitionedProgram& program);

}  // namespace shardlab::spmd
