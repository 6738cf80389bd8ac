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

// One form of a value: the value cut by a spec, perhaps still a partial result over some axes.
struct Slot {
  ValueId value = -1;
  TensorType type;  // global
  Spec spec;        // even cuts only
  Axes partial;     // non-empty: each device holds a partial result; combined over these axes it is the value
};

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
};

struct PartitionedProgram;

// A node with bodies: each device repeats, chooses or runs them, in lockstep with the others.
struct RegionStep {
  NodeId node = -1;
  std::vector<SlotId> operands, results;
  std::vector<std::shared_ptr<const PartitionedProgram>> bodies;
};

using Step = std::variant<ComputeStep, MoveStep, RegionStep>;

// Why a value has its sharding, for explanations.
struct Origin {
  int dimension = 0;
  AxisPiece piece;
  std::string reason;  // "parameter 0", "through matmul from %1 (factor i)", …
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
