// Fusion: runs of elementwise steps, and of reductions along rows between them, become one pass over tiles that stay in cache.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/exec/fused_kinds.h"
#include "runtime/exec/thread_pool.h"
#include "runtime/spmd/program.h"

namespace shardlab {

// Nodes computed together, tile by tile. Values used inside alone never exist as a whole.
//
// All results have one layout, or are rows': one element for each position along its first `row_rank` dimensions. A tile is some whole
// rows; without reductions inside, every element is a row. Or some are columns': one for each position along the other dimensions, which
// nobody reads inside.
struct FusedStep {
  // Where an operand comes from or a result goes to.
  struct Ref {
    enum class Kind : std::uint8_t { kInput, kOutput, kScratch } kind = Kind::kInput;
    int index = 0;           // into inputs, outputs, or the scratch tiles
    bool is_scalar = false;  // one element for all
    bool is_whole = false;   // read by a repetition: the element's place is not that of the result
    bool is_row = false;     // one element a row
    bool is_column = false;  // one element a column
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
    // One of these; with none it hands on its operand, or repeats a scalar that is wanted as a whole.
    TileFn tile = nullptr;
    int repetition = -1;      // into repetitions
    Kernel reduce = nullptr;  // combines each row into one element
    bool of_columns = false;  // combines each column into one element
    bool spreads = false;     // repeats each row's element along the row
    bool draws = false;       // random bits of the key, each by its place in the whole array
    std::vector<Ref> operands;
    Ref result;
  };
  std::vector<Op> ops;
  std::vector<int> inputs, outputs;                     // slots
  std::vector<std::int64_t> input_bytes, output_bytes;  // of one element
  std::vector<bool> input_is_scalar;
  std::vector<Repetition> repetitions;
  int layout_slot = -1;  // has the layout of the results
  std::size_t row_rank = 0;
  int scratch_tiles = 0;
  std::int64_t scratch_bytes = 0;  // of the widest element in a scratch tile
  int steps = 0;                   // of the input's
  std::string name;                // "sin", "sin + add …", for the record
  NodeId first_node = -1;
  std::int64_t step = -1;  // as ComputeCall::step

  // Where the results have this local shape: how many rows there are, and the elements of each.
  struct Rows {
    std::int64_t count = 0, elements = 0;
  };
  Rows rows(const Shape& local) const;
  bool reduces() const;  // along rows
  bool reduces_columns() const;
  bool draws() const;
  // Of each repetition where the results have this local shape.
  std::vector<Repeats> repeats(const Shape& local) const;
};

struct FusionInput {
  const spmd::PartitionedProgram* program = nullptr;
  std::vector<const spmd::Step*> steps;  // of the program, without those that nothing needs to run for
  std::vector<int> last_use;             // per slot, the step after which nobody reads it
  FusedKinds kinds = {};                 // what the run may hold
};

// The longest run of the input's steps from `first` on that one fused step can do. Nothing where there is none. Steps that make single
// elements may be left out of the run: then they stand behind it.
std::optional<FusedStep> fuse(FusionInput& input, int first);

// Computes the step at the local positions; `slots` per slot and position. Devices whose inputs are the same buffers share one result.
void run_fused(const FusedStep& step, const std::vector<int>& local, const std::vector<std::vector<Box>>& slot_boxes,
               std::vector<std::vector<BufferRef>>& slots, ThreadPool& pool);

}  // namespace shardlab
