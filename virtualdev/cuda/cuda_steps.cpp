// The steps of programs on GPUs: single nodes by their plans, fused steps by their kernels.
#include <algorithm>

#include "runtime/exec/compute.h"
#include "virtualdev/cuda/cuda_backend.h"

namespace shardlab::cuda {
namespace {

constexpr std::size_t kPlansMax = 16 * 1024;

// Positions that share one computation: on one GPU, of the same operands.
struct Class {
  std::vector<int> positions;
  std::vector<std::shared_ptr<Buffer>> results;
};

void add_box(std::vector<std::int64_t>& key, const Box& box) {
  for (const Interval& interval : box) key.insert(key.end(), {interval.start, interval.stop});
}

// What fused_kernel()'s text reads.
std::vector<std::int64_t> numbers_of(const FusedStep& step, const FusedStep::Rows& rows, const Shape& shape) {
  std::vector<std::int64_t> numbers{rows.count, rows.elements};
  for (const FusedStep::Repeats& repeats : step.repeats(shape)) numbers.insert(numbers.end(), {repeats.each, repeats.period});
  return numbers;
}

}  // namespace

const NodePlan& CudaBackend::plan_of(const ComputeCall& call, int position) {
  PlanKey key{call.step, {}};
  for (const auto* boxes : call.operand_boxes) add_box(key.second, (*boxes)[std::size_t(position)]);
  for (const auto* boxes : call.result_boxes) add_box(key.second, (*boxes)[std::size_t(position)]);
  if (auto found = plans_.find(key); found != plans_.end()) return found->second;
  if (plans_.size() >= kPlansMax) {
    plans_.clear();
    plan_runner_.forget_constants();
  }
  std::vector<ConstView> operands;
  std::vector<MutableView> results;
  for (std::size_t i = 0; i < call.operands.size(); ++i) {
    const bool is_bias = i >= call.node.operands.size();
    const Box& box = (*call.operand_boxes[i])[std::size_t(position)];
    if (is_bias) {
      operands.push_back({{call.graph.type(call.node.results[0]).dtype, shape_of(box)}, nullptr, &box});
      continue;
    }
    const TensorType& type = call.graph.type(call.node.operands[i]);
    operands.push_back({{type.dtype, shape_of(box)}, nullptr, &box, &type.shape});
  }
  for (std::size_t i = 0; i < call.results.size(); ++i) {
    const Box& box = (*call.result_boxes[i])[std::size_t(position)];
    results.push_back({{call.graph.type(call.node.results[i]).dtype, shape_of(box)}, nullptr, &box});
  }
  const KernelArgs args{operands, results, call.node.attrs};
  return plans_[std::move(key)] = call.epilogue ? plan_product(*call.node.op, args, *call.epilogue)
                                                : plan_node(*call.node.op, args, {.has_sorts = api_->has_sorts()});
}

void CudaBackend::compute(ComputeCall& call, const std::vector<int>& ordinals) {
  const AtWork working;
  std::map<std::vector<std::int64_t>, Class> classes;
  for (int position : call.local) {
    std::size_t p = std::size_t(position);
    std::vector<std::int64_t> key{memory_of(ordinals[p])};
    for (const auto* operand : call.operands) key.push_back(reinterpret_cast<std::int64_t>(block_of(*operand->at(p)).data));
    if (call.node.op->uses_position)
      for (const auto* boxes : call.operand_boxes) add_box(key, (*boxes)[p]);
    for (const auto* boxes : call.result_boxes)
      for (const Interval& interval : (*boxes)[p]) {
        key.push_back(interval.size());
        if (call.node.op->uses_position) key.push_back(interval.start);
      }
    classes[std::move(key)].positions.push_back(position);
  }
  const Beside beside(*this);
  std::map<std::int64_t, std::size_t> on_gpu;  // how many there are
  for (const auto& [key, each] : classes) ++on_gpu[key[0]];
  for (auto& [key, each] : classes) {
    std::size_t p = std::size_t(each.positions[0]);
    int ordinal = ordinals[p];
    std::vector<std::byte*> buffers;
    for (const auto* operand : call.operands) buffers.push_back(block_of(*(*operand)[p]).data);
    for (std::size_t i = 0; i < call.results.size(); ++i) {
      std::int64_t elements = element_count((*call.result_boxes[i])[p]);
      each.results.push_back(allocate(std::size_t(elements * size_of(call.graph.type(call.node.results[i]).dtype)), ordinal));
      buffers.push_back(block_of(*each.results.back()).data);
    }
    plan_runner_.run(plan_of(call, each.positions[0]), gpus_[std::size_t(memory_of(ordinal))], std::move(buffers), call.operands.size(),
                     on_gpu[key[0]]);
    for (std::size_t i = 0; i < call.results.size(); ++i)
      for (int position : each.positions) (*call.results[i])[std::size_t(position)] = each.results[i];
  }
}

void CudaBackend::run_fused(const FusedStep& step, const std::vector<int>& local, const std::vector<std::vector<Box>>& slot_boxes,
                            Slots& slots, const std::vector<int>& ordinals) {
  const AtWork working;
  if (step.outputs.empty()) return;
  const auto& boxes = slot_boxes[std::size_t(step.layout_slot)];
  std::map<std::vector<std::int64_t>, Class> classes;
  for (int position : local) {
    std::size_t p = std::size_t(position);
    const Shape shape = shape_of(boxes[p]);
    std::vector<std::int64_t> key{memory_of(ordinals[p])};
    for (std::int64_t number : numbers_of(step, step.rows(shape), shape)) key.push_back(number);
    for (int slot : step.inputs) key.push_back(reinterpret_cast<std::int64_t>(block_of(*slots[std::size_t(slot)].at(p)).data));
    classes[std::move(key)].positions.push_back(position);
  }
  for (int slot : step.outputs) slots[std::size_t(slot)].resize(boxes.size());
  const Beside beside(*this);
  for (auto& [key, each] : classes) {
    std::size_t p = std::size_t(each.positions[0]);
    const Shape shape = shape_of(boxes[p]);
    const FusedStep::Rows rows = step.rows(shape);
    std::vector<const std::byte*> buffers;
    for (int slot : step.inputs) buffers.push_back(block_of(*slots[std::size_t(slot)][p]).data);
    for (const FusedStep::Op& op : step.ops) {
      if (op.result.kind != FusedStep::Ref::Kind::kOutput) continue;
      const std::int64_t count = op.result.is_row ? rows.count : op.result.is_column ? rows.elements : rows.count * rows.elements;
      each.results.push_back(allocate(std::size_t(count * step.output_bytes[std::size_t(op.result.index)]), ordinals[p]));
      buffers.push_back(block_of(*each.results.back()).data);
    }
    const RowOf by = row_of(step, rows);
    auto found = fused_.find({step.step, by});
    if (found == fused_.end()) found = fused_.emplace(std::pair(step.step, by), fused_kernel(step, by)).first;
    const auto results = buffers.begin() + std::ptrdiff_t(step.inputs.size());
    if (by == RowOf::kTile) {
      run_tiles(step, rows, found->second, std::move(buffers), numbers_of(step, rows, shape), ordinals[p]);
    } else {
      const bool has_barriers = step.reduces() && by == RowOf::kBlock;
      const Task task(*api_, gpu_of(ordinals[p]).stream, {buffers.begin(), results}, {results, buffers.end()});
      plan_runner_.launch(gpu_of(ordinals[p]), found->second, buffers, numbers_of(step, rows, shape),
                          step.reduces() ? rows.count : rows.count * rows.elements, has_barriers);
    }
    for (std::size_t o = 0; o < step.outputs.size(); ++o)
      for (int position : each.positions) slots[std::size_t(step.outputs[o])][std::size_t(position)] = each.results[o];
  }
}

// A kernel of tiles, which leaves parts of what comes of columns, and one for each of these. `buffers`: inputs and results.
void CudaBackend::run_tiles(const FusedStep& step, const FusedStep::Rows& rows, const KernelText& kernel,
                            std::vector<const std::byte*> buffers, std::vector<std::int64_t> numbers, int ordinal) {
  if (rows.elements == 0) return;
  Gpu& gpu = gpu_of(ordinal);
  const ColumnParts parts = column_parts(rows, kernel.lanes);
  numbers.insert(numbers.end(), {parts.size, parts.count});
  const auto first = std::ptrdiff_t(step.inputs.size());
  std::vector<const std::byte*> of_tiles = buffers;
  std::vector<std::shared_ptr<Buffer>> rooms;
  struct End {
    const FusedStep::Op* op;
    const std::byte *parts, *result;
  };
  std::vector<End> ends;
  for (const FusedStep::Op& op : step.ops) {
    if (!op.of_columns) continue;
    rooms.push_back(allocate(std::size_t(parts.count * rows.elements * wide_bytes(op.result_dtype)), ordinal));
    const std::byte*& place = of_tiles[std::size_t(first + op.result.index)];
    ends.push_back({&op, block_of(*rooms.back()).data, place});
    place = ends.back().parts;
  }
  std::vector<const std::byte*> written(buffers.begin() + first, buffers.end());
  for (const End& end : ends) written.push_back(end.parts);
  const Task task(*api_, gpu.stream, {buffers.begin(), buffers.begin() + first}, written);
  plan_runner_.launch(gpu, kernel, of_tiles, numbers, parts.tiles, true);
  for (const End& end : ends) {
    const std::byte* both[] = {end.parts, end.result};
    const std::int64_t blocks = (rows.elements + kTileWidth - 1) / kTileWidth, sizes[] = {blocks, parts.count, rows.elements, 1};
    plan_runner_.launch(gpu, column_end(*end.op), both, sizes, blocks, true);
  }
}

}  // namespace shardlab::cuda
