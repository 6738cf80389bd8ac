// A partitioned program: what every device of the mesh does, step by step, in lockstep.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "runtime/graph/graph.h"

namespace shardlab::spmd {

using SlotId = int;

// One form of a value: the value cut by a spec, perhaps still a partial result over some axes; or of each position just the window that
// one op needs there.
struct Slot {
  ValueId value = -1;
  TensorType type;           // global
  Spec spec;                 // uneven cuts: blocks of ceil size, the last ones short or empty; never padded
  Axes partial;              // non-empty: each device holds a partial result; combined over these axes it is the value
  std::vector<Box> windows;  // non-empty: per position what it holds, instead of the spec's part
};

// What each position of the mesh holds of a slot.
std::vector<Box> boxes_of(const Slot& slot, const Mesh& mesh);

// Every device computes one node on its own shards.
struct ComputeStep {
  NodeId node = -1;
  std::vector<SlotId> operands, results;
};

// A part of a shard that goes from one mesh position to another; source == target: kept.
struct Transfer {
  int source = 0, target = 0;
  Box box;       // global indices
  int call = 0;  // which of the step's permutes carries it (sub-box permutes need several)
};

// One form becomes another: by a free local slice, or by collectives.
//
// Without reduction every element of a target's box comes from one source (see transfers_of). With reduction, target d's box is
// the combination over the members of d's group, in the group's order by a balanced binary tree, of their partial results.
struct MoveStep {
  std::string
      kind;  // "slice" (free), or a collective's name: "all-gather", "all-reduce", "reduce-scatter", "all-to-all", "collective-permute"
  SlotId from = -1, to = -1;
  Axes axes;                             // the axes that the groups run along, in the group's order
  std::vector<std::vector<int>> groups;  // mesh positions; empty for slices and permutes
  std::optional<Reduction> reduction;
  std::vector<Transfer> transfers;  // permutes only: given by the planner
  int calls = 1;                    // how many collectives it counts as (sub-box permutes: one per chunk shape and offset)
  NodeId node = -1;                 // the node that needs it; -1: a result of the function
  std::string cause;                // for people: "operand 1 of matmul is wanted whole along k"
  int operand = -1;                 // of the node, where it is wanted in another form
};

struct PartitionedProgram;

// A node with bodies: each device repeats, chooses or runs them, in lockstep with the others.
struct RegionStep {
  NodeId node = -1;
  std::vector<SlotId> operands, results;
  std::vector<std::shared_ptr<const PartitionedProgram>> bodies;
};

using Step = std::variant<ComputeStep, MoveStep, RegionStep>;

// Why a value's dimension is cut by a piece, for explanations.
struct Origin {
  enum class Kind : std::uint8_t {
    kParameter,   // it was given: `index` is the parameter
    kConstraint,  // a constraint says so
    kResult,      // the function's result `index` is wanted so
    kBody,        // the body of `node` has it so, or its out_specs
    kRule,        // `node`'s factor rule took it over from the value `from`
  };
  int dimension = 0;
  AxisPiece piece;
  Kind kind = Kind::kRule;
  int index = -1;
  NodeId node = -1;
  ValueId from = -1;
  int step = 0;   // which of propagation's changes it was; 0: it was so from the beginning
  int level = 0;  // of op priority at which it was made
};

struct PartitionedProgram {
  Graph graph;
  Mesh mesh;
  bool is_manual = false;  // the body of a manual region: every slot is each device's own whole value
  std::vector<Slot> slots;
  std::vector<Step> steps;
  std::vector<SlotId> params, results;
  std::vector<Spec> propagated;              // per value of the graph: what propagation chose
  std::vector<std::vector<Origin>> origins;  // per value
  std::int64_t wire_bytes = 0;               // over all devices, by the ring model
};

// The moves of one step in full: for permutes as given, else for each target the elements of its box from the members of its group
// (itself first, then the lowest in the group's order). Not for steps with a reduction.
std::vector<Transfer> transfers_of(const PartitionedProgram& program, const MoveStep& step);

// The ring model's bytes of one step over all devices.
std::int64_t wire_bytes_of(const PartitionedProgram& program, const MoveStep& step);

// Throws InternalError where a step is impossible: sources that lack the data, operands not in the form the node's rule needs.
void verify(const PartitionedProgram& program);

// Canonical text: the graph's nodes with the specs of their slots, and the collectives between them. What processes must agree on.
std::string print(const PartitionedProgram& program);

}  // namespace shardlab::spmd
