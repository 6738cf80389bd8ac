// A program made ready for one process: its plans, its boxes, and what the world is told of it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "runtime/comm/launch.h"
#include "runtime/exec/epilogue.h"
#include "runtime/exec/fuse.h"
#include "runtime/exec/member_moves.h"
#include "runtime/exec/number_checks.h"
#include "runtime/spmd/foreign.h"

namespace shardlab {

class Backend;
class Context;

// Immutable; shared by all launches. Steps run in order, each for all local devices at once.
struct Executable {
  struct Compute {
    const Node* node = nullptr;
    std::vector<int> operands, results;  // slots
    std::int64_t step = -1;              // as ComputeCall::step
    std::optional<Epilogue> epilogue = {};
  };
  struct Move {
    int from = -1, to = -1;                                   // slots
    std::variant<std::monostate, MovePlan, ReducePlan> plan;  // monostate: the same buffers
    int first_call = -1;                                      // index into info->collectives; -1: a free local slice
    int calls = 0;
    std::vector<ZeroFill> paddings;  // of collectives in per-device code
    const Node* node = nullptr;      // of those
    std::vector<int> members = {};   // mesh positions that come to it together, others do not; empty: all of them
  };
  // A node with bodies; see region_run.cpp.
  struct Region {
    const Node* node = nullptr;
    std::vector<int> operands, results;  // slots
    std::vector<std::shared_ptr<const Executable>> bodies;
    // Mesh positions that collectives in the bodies join: they must take the same way. In code that is not per device, all of them.
    std::vector<std::vector<int>> together = {};
  };
  using Step = std::variant<Compute, FusedStep, Move, Region>;

  spmd::PartitionedProgram program;  // owns the graph that the steps point into
  std::vector<Step> steps;
  std::vector<std::vector<Box>> slot_boxes;  // per slot and mesh position
  // Small constants, computed once: slot and its buffers per position.
  std::vector<std::pair<int, std::vector<BufferRef>>> presets;
  std::vector<int> last_use;            // per slot, the step after which nobody reads it
  std::vector<int> local;               // mesh positions of this process
  std::int64_t intermediate_bytes = 0;  // as ProgramInfo's
  Backend* backend = nullptr;           // of the mesh's devices; the context's
  std::int64_t number = -1;             // of the context's, no other has it
  std::vector<int> devices;             // ordinals: of `info`, this process's
  bool runs_beside = false;             // worth a thread of its own (beside.h)
  NumberChecks checks;                  // of what its steps give
  bool calls_back = false;              // functions of the user's, which see launches in their order
  std::vector<Sharding> param_shardings, result_shardings;
  std::vector<bool> takes;                        // per argument of the call, whether it is a parameter; empty: each is
  std::vector<bool> weak_results;                 // one each, or empty: none is
  std::optional<MovePlan> transfer;               // device_put: no steps, one move from the operand to the result
  std::shared_ptr<const comm::ProgramInfo> info;  // absent in bodies: their collectives are in that of the whole
};

// Plans a partitioned program for the context's process. `foreign`: those of its parameters and results that lie on other meshes.
// `weak_results`: which results are weak (weak_types.h); none where it is empty. `takes`: as Executable's. `told_on`: the mesh of the same
// devices whose axes results name, where it has axes for them.
std::shared_ptr<const Executable> compile(Context& context, spmd::PartitionedProgram program, std::string name,
                                          const spmd::ForeignLayouts& foreign = {}, std::vector<bool> weak_results = {},
                                          std::vector<bool> takes = {}, const std::optional<Mesh>& told_on = std::nullopt);

// A device_put from one sharding to another, between any devices. `from_host`: every process has the whole value on its own default
// device, nothing crosses processes.
std::shared_ptr<const Executable> compile_transfer(Context& context, const TensorType& type, const Sharding& from, const Sharding& to,
                                                   bool from_host);

}  // namespace shardlab
