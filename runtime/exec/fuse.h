// Fusion: runs of elementwise steps become one pass over tiles that stay in cache.
#pragma once

#include <string>
#include <vector>

#include "runtime/exec/thread_pool.h"
#include "runtime/spmd/program.h"

namespace shardlab {

// Elementwise nodes computed together, tile by tile. Values used inside alone never exist as a whole.
struct FusedStep {
  // Where an operand comes from or a result goes to.
  struct Ref {
    enum class Kind : std::uint8_t { kInput, kOutput, kScratch } kind = Kind::kInput;
    int index = 0;           // into inputs, outputs, or the scratch tiles
    bool is_scalar = false;  // one element for all
    bool is_whole = false;   // read by a repetition: the element's place is not that of the result
  };
  // A broadcast: the operand's elements are those of the result's dimensions [first, last), and repeat along the others.
  struct Repetition {
    std::size_t first = 0, last = 0;
  };
  // Element i of the result is element (i / each) % period of the operand.
  struct Repeats {
    std::int64_t each = 1, period = 1;
    friend bool operator==(const Repeats&, const Repeats&) = default;
  };
  struct Op {
    const Node* node = nullptr;  // of the program's graph
    std::vector<DType> dtypes;   // of the operands
    DType result_dtype = DType::kFloat32;
    TileFn tile = nullptr;  // nothing: a repetition, or a scalar broadcast that is wanted as a whole
    int repetition = -1;    // into repetitions
    std::vector<Ref> operands;
    Ref result;
  };
  std::vector<Op> ops;
  std::vector<int> inputs, outputs;                     // slots
  std::vector<std::int64_t> input_bytes, output_bytes;  // of one element
  std::vector<bool> input_is_scalar;
  std::vector<Repetition> repetitions;
  int scratch_tiles = 0;
  std::int64_t scratch_bytes = 0;  // of the widest element in a scratch tile
  std::string name;                // "sin", "sin + add …", for the record
  NodeId first_node = -1;
  std::int64_t step = -1;  // as ComputeCall::step

  // Of each repetition where the results have this local shape.
  std::vector<Repeats> repeats(const Shape& local) const;
};

// One step of local computation of a program: its node, or nothing where it is no elementwise node.
struct FusionInput {
  const spmd::PartitionedProgram* program = nullptr;
  std::vector<int> last_use;  // per slot, the step after which nobody reads it
};

// A fused step out of the steps [first, last) of the program, all of which is_fusable() holds for and which share one local layout.
FusedStep fuse(const FusionInput& input, int first, int last);
// The end of the longest run of fusable steps that starts at `first`; `first` itself where its step is not fusable.
int fusable_until(const FusionInput& input, int first);

// Computes the step at the local positions; `slots` per slot and position. Devices whose inputs are the same buffers share one result.
void run_fused(const FusedStep& step, const std::vector<int>& local, const std::vector<std::vector<Box>>& slot_boxes,
               std::vector<std::vector<BufferRef>>& slots, ThreadPool& pool);

}  // namespace shardlab
