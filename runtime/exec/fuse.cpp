#include "runtime/exec/fuse.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>

namespace shardlab {
namespace {

using spmd::ComputeStep;
using spmd::PartitionedProgram;
using spmd::SlotId;

constexpr std::int64_t kTileElements = 4 * 1024;       // 16 KB of float32: a few tiles stay in the first-level cache
constexpr std::int64_t kItemElements = 32 * 1024;      // of a thread at a time: what it reads from memory goes on for some pages
constexpr std::size_t kTileStagger = 256;              // between scratch tiles, so that they do not all begin in one set of the cache
constexpr std::int64_t kParallelElements = 32 * 1024;  // below this a parallel loop costs more than it gains

const ComputeStep* compute_at(const PartitionedProgram& program, int step) {
  return std::get_if<ComputeStep>(&program.steps[std::size_t(step)]);
}

bool is_scalar_broadcast(const PartitionedProgram& program, const Node& node) {
  return node.op->broadcasts && program.graph.type(node.operands[0]).shape.empty();
}

// A broadcast whose operand's dimensions lie side by side in the result, and are cut alike; nothing for others.
std::optional<FusedStep::Repetition> repetition_of(const PartitionedProgram& program, const ComputeStep& compute) {
  const Node& node = program.graph.nodes[std::size_t(compute.node)];
  if (!node.op->broadcasts) return std::nullopt;
  const spmd::Slot &from = program.slots[std::size_t(compute.operands[0])], &to = program.slots[std::size_t(compute.results[0])];
  if (!from.windows.empty() || !to.windows.empty()) return std::nullopt;
  const auto& dims = node.attrs.integers("dims");
  std::vector<std::size_t> kept;  // dimensions of the result
  for (std::size_t k = 0; k < dims.size(); ++k) {
    if (from.type.shape[k] == 1) continue;
    if (from.spec[k] != to.spec[std::size_t(dims[k])]) return std::nullopt;
    kept.push_back(std::size_t(dims[k]));
  }
  if (kept.empty() || kept.size() == to.type.shape.size()) return std::nullopt;
  for (std::size_t i = 1; i < kept.size(); ++i)
    if (kept[i] != kept[i - 1] + 1) return std::nullopt;
  return FusedStep::Repetition{kept.front(), kept.back() + 1};
}

bool is_fusable(const PartitionedProgram& program, int step) {
  const ComputeStep* compute = compute_at(program, step);
  if (compute == nullptr || compute->results.size() != 1) return false;
  const Node& node = program.graph.nodes[std::size_t(compute->node)];
  return node.op->tile != nullptr || is_scalar_broadcast(program, node) || repetition_of(program, *compute);
}

// What must be equal for two results to be cut into tiles alike.
std::pair<Shape, Spec> layout_of(const PartitionedProgram& program, int step) {
  const spmd::Slot& slot = program.slots[std::size_t(compute_at(program, step)->results[0])];
  return {slot.type.shape, slot.spec};
}

// Builds one fused step; scratch tiles are given back after their last reader.
class Fuser {
 public:
  Fuser(const FusionInput& input, int first, int last) : input_(input), program_(*input.program), first_(first), last_(last) {}

  FusedStep run() {
    for (int step = first_; step < last_; ++step) add(step);
    return std::move(fused_);
  }

 private:
  using Ref = FusedStep::Ref;

  bool is_used_outside(SlotId slot) const { return input_.last_use[std::size_t(slot)] >= last_; }

  int last_use_inside(SlotId slot, int after) const {
    int found = after;
    for (int step = after; step < last_; ++step) {
      const auto& operands = compute_at(program_, step)->operands;
      if (std::find(operands.begin(), operands.end(), slot) != operands.end()) found = step;
    }
    return found;
  }

  Ref input_ref(SlotId slot) {
    auto found = std::find(fused_.inputs.begin(), fused_.inputs.end(), slot);
    int index = int(found - fused_.inputs.begin());
    const TensorType& type = program_.slots[std::size_t(slot)].type;
    if (found == fused_.inputs.end()) {
      fused_.inputs.push_back(slot);
      fused_.input_bytes.push_back(size_of(type.dtype));
      fused_.input_is_scalar.push_back(type.shape.empty());
    }
    return {.kind = Ref::Kind::kInput, .index = index, .is_scalar = type.shape.empty()};
  }

  Ref operand_ref(SlotId slot) {
    auto made = made_.find(slot);
    return made != made_.end() ? made->second : input_ref(slot);
  }

  Ref result_ref(SlotId slot) {
    if (is_used_outside(slot)) {
      fused_.outputs.push_back(slot);
      fused_.output_bytes.push_back(size_of(program_.slots[std::size_t(slot)].type.dtype));
      return {Ref::Kind::kOutput, int(fused_.outputs.size()) - 1, false};
    }
    fused_.scratch_bytes = std::max(fused_.scratch_bytes, size_of(program_.slots[std::size_t(slot)].type.dtype));
    if (free_.empty()) return {Ref::Kind::kScratch, fused_.scratch_tiles++, false};
    int tile = free_.back();
    free_.pop_back();
    return {Ref::Kind::kScratch, tile, false};
  }

  void add(int step) {
    const ComputeStep& compute = *compute_at(program_, step);
    const Node& node = program_.graph.nodes[std::size_t(compute.node)];
    if (fused_.first_node < 0) fused_.first_node = compute.node;
    SlotId result = compute.results[0];
    if (is_scalar_broadcast(program_, node) && !is_used_outside(result)) {
      made_[result] = operand_ref(compute.operands[0]);  // read with stride 0: never made
      return;
    }
    FusedStep::Op op;
    if (auto repetition = is_scalar_broadcast(program_, node) ? std::nullopt : repetition_of(program_, compute)) {
      op.repetition = int(fused_.repetitions.size());
      fused_.repetitions.push_back(*repetition);
    }
    std::vector<DType> dtypes;
    for (SlotId slot : compute.operands) {
      op.operands.push_back(operand_ref(slot));
      op.operands.back().is_whole = op.repetition >= 0;
      dtypes.push_back(program_.slots[std::size_t(slot)].type.dtype);
    }
    op.tile = node.op->tile != nullptr ? node.op->tile(dtypes, program_.slots[std::size_t(result)].type.dtype) : nullptr;
    // The operands' tiles are free for the result from here on: a tile function may work in place.
    for (SlotId slot : compute.operands) {
      auto made = made_.find(slot);
      if (made == made_.end() || made->second.kind != Ref::Kind::kScratch || last_use_inside(slot, step) != step) continue;
      if (std::find(free_.begin(), free_.end(), made->second.index) == free_.end() && same_width(slot, result))
        free_.push_back(made->second.index);
    }
    op.node = &node;
    op.dtypes = std::move(dtypes);
    op.result_dtype = program_.slots[std::size_t(result)].type.dtype;
    op.result = result_ref(result);
    made_[result] = op.result;
    if (fused_.ops.size() < 3) fused_.name += fmt::format("{}{}", fused_.name.empty() ? "" : " + ", node.op->name);
    if (fused_.ops.size() == 3) fused_.name += " …";
    fused_.ops.push_back(std::move(op));
  }

  // In place only where elements are equally wide.
  bool same_width(SlotId a, SlotId b) const {
    return size_of(program_.slots[std::size_t(a)].type.dtype) == size_of(program_.slots[std::size_t(b)].type.dtype);
  }

  const FusionInput& input_;
  const PartitionedProgram& program_;
  int first_, last_;
  FusedStep fused_;
  std::map<SlotId, Ref> made_;
  std::vector<int> free_;
};

// Positions whose inputs are the same buffers.
struct Class {
  std::vector<int> positions;
  std::vector<const std::byte*> inputs;
  std::vector<std::shared_ptr<Buffer>> buffers;
  std::vector<std::byte*> outputs;
  std::int64_t elements = 0;
  std::vector<FusedStep::Repeats> repeats;
};

template <typename Word>
void repeat_words(const Word* from, const FusedStep::Repeats& repeats, std::int64_t first, std::int64_t count, Word* to) {
  std::int64_t at = first / repeats.each % repeats.period, left = repeats.each - first % repeats.each;
  if (repeats.each == 1) {
    while (count > 0) {
      std::int64_t run = std::min(count, repeats.period - at);
      to = std::copy_n(from + at, run, to);
      count -= run;
      at = 0;
    }
    return;
  }
  while (count > 0) {
    std::int64_t run = std::min(count, left);
    to = std::fill_n(to, run, from[at]);
    count -= run;
    left = repeats.each;
    at = at + 1 == repeats.period ? 0 : at + 1;
  }
}

// Elements [first, first + count) of a broadcast.
void repeat(const std::byte* from, std::int64_t element_bytes, const FusedStep::Repeats& repeats, std::int64_t first, std::int64_t count,
            std::byte* to) {
  auto as = [&]<typename Word>(Word) {
    repeat_words(reinterpret_cast<const Word*>(from), repeats, first, count, reinterpret_cast<Word*>(to));
  };
  switch (element_bytes) {
    case 1:
      return as(std::uint8_t());
    case 2:
      return as(std::uint16_t());
    case 4:
      return as(std::uint32_t());
    case 8:
      return as(std::uint64_t());
    default:
      return as(Complex128());
  }
}

// One tile of all ops.
void run_tile(const FusedStep& step, const Class& each, std::int64_t first, std::int64_t count) {
  thread_local Buffer scratch(0);  // aligned: vectors that lie across cache lines are slow
  std::size_t tile_bytes = std::size_t(kTileElements * step.scratch_bytes) + kTileStagger;
  if (scratch.size() < tile_bytes * std::size_t(step.scratch_tiles)) scratch = Buffer(tile_bytes * std::size_t(step.scratch_tiles));
  const void* operands[8];
  int strides[8];
  auto address = [&](const FusedStep::Ref& ref) -> std::byte* {
    switch (ref.kind) {
      case FusedStep::Ref::Kind::kInput:
        return const_cast<std::byte*>(each.inputs[std::size_t(ref.index)]) +
               (ref.is_scalar || ref.is_whole ? 0 : first * step.input_bytes[std::size_t(ref.index)]);
      case FusedStep::Ref::Kind::kOutput:
        return each.outputs[std::size_t(ref.index)] + first * step.output_bytes[std::size_t(ref.index)];
      case FusedStep::Ref::Kind::kScratch:
        return scratch.data() + tile_bytes * std::size_t(ref.index);
    }
    return nullptr;
  };
  for (const FusedStep::Op& op : step.ops) {
    for (std::size_t i = 0; i < op.operands.size(); ++i) {
      operands[i] = address(op.operands[i]);
      strides[i] = op.operands[i].is_scalar ? 0 : 1;
    }
    std::byte* result = address(op.result);
    if (op.tile != nullptr) {
      op.tile(operands, strides, result, count);
    } else if (op.repetition >= 0) {
      repeat(static_cast<const std::byte*>(operands[0]), size_of(op.result_dtype), each.repeats[std::size_t(op.repetition)], first, count,
             result);
    } else {  // a scalar broadcast that is wanted as a whole
      std::int64_t bytes = step.output_bytes[std::size_t(op.result.index)];
      auto* from = static_cast<const std::byte*>(operands[0]);
      for (std::int64_t i = 0; i < count; ++i) std::copy_n(from, bytes, result + i * bytes);
    }
  }
}

}  // namespace

int fusable_until(const FusionInput& input, int first) {
  const PartitionedProgram& program = *input.program;
  int last = first;
  while (last < int(program.steps.size()) && is_fusable(program, last)) {
    // Scalars alone are not worth it, and one tile function takes at most eight operands.
    const ComputeStep& compute = *compute_at(program, last);
    if (program.slots[std::size_t(compute.results[0])].type.shape.empty() || compute.operands.size() > 8) break;
    if (last > first && layout_of(program, last) != layout_of(program, first)) break;
    ++last;
  }
  return last;
}

std::vector<FusedStep::Repeats> FusedStep::repeats(const Shape& local) const {
  std::vector<Repeats> result;
  for (const Repetition& each : repetitions) {
    auto product = [&](std::size_t from, std::size_t to) {
      return std::accumulate(local.begin() + std::ptrdiff_t(from), local.begin() + std::ptrdiff_t(to), std::int64_t(1),
                             std::multiplies<>());
    };
    result.push_back({product(each.last, local.size()), product(each.first, each.last)});
  }
  return result;
}

FusedStep fuse(const FusionInput& input, int first, int last) { return Fuser(input, first, last).run(); }

void run_fused(const FusedStep& step, const std::vector<int>& local, const std::vector<std::vector<Box>>& slot_boxes,
               std::vector<std::vector<BufferRef>>& slots, ThreadPool& pool) {
  if (step.outputs.empty()) return;
  std::vector<Class> classes;
  std::map<std::pair<std::vector<const std::byte*>, Shape>, std::size_t> index;
  const auto& boxes = slot_boxes[std::size_t(step.outputs[0])];
  for (int position : local) {
    std::vector<const std::byte*> inputs;
    for (int slot : step.inputs) inputs.push_back(slots[std::size_t(slot)].at(std::size_t(position))->data());
    Shape shape = shape_of(boxes[std::size_t(position)]);
    auto [found, is_new] = index.try_emplace({inputs, shape}, classes.size());
    if (is_new) classes.push_back({{}, std::move(inputs), {}, {}, element_count(shape), step.repeats(shape)});
    classes[found->second].positions.push_back(position);
  }
  struct Item {
    const Class* each;
    std::int64_t first, count;
  };
  std::vector<Item> items;
  std::int64_t total = 0;
  for (Class& each : classes) {
    for (std::int64_t bytes : step.output_bytes) {
      each.buffers.push_back(std::make_shared<Buffer>(std::size_t(each.elements * bytes)));
      each.outputs.push_back(each.buffers.back()->data());
    }
    total += each.elements;
  }
  for (const Class& each : classes)
    for (std::int64_t first = 0; first < each.elements; first += kItemElements)
      items.push_back({&each, first, std::min(kItemElements, each.elements - first)});
  auto run = [&](std::int64_t i) {
    const Item& item = items[std::size_t(i)];
    for (std::int64_t at = 0; at < item.count; at += kTileElements)
      run_tile(step, *item.each, item.first + at, std::min(kTileElements, item.count - at));
  };
  if (total * std::int64_t(step.ops.size()) >= kParallelElements)
    pool.parallel_for(std::int64_t(items.size()), run);
  else
    for (std::int64_t i = 0; i < std::int64_t(items.size()); ++i) run(i);
  for (std::size_t o = 0; o < step.outputs.size(); ++o) {
    auto& slot = slots[std::size_t(step.outputs[o])];
    slot.resize(boxes.size());
    for (const Class& each : classes)
      for (int position : each.positions) slot[std::size_t(position)] = each.buffers[o];
  }
}

}  // namespace shardlab
