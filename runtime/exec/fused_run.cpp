// Runs fused steps, tile by tile.
#include <algorithm>

#include "runtime/exec/fuse.h"
#include "runtime/exec/position_classes.h"
#include "runtime/ops/random.h"

namespace shardlab {
namespace {

constexpr std::int64_t kTileElements = 2 * 1024;       // 8 KB of float32: a few tiles stay in the first-level cache
constexpr std::int64_t kItemElements = 32 * 1024;      // of a thread at a time: what it reads from memory goes on for some pages
constexpr std::size_t kTileStagger = 256;              // between scratch tiles, so that they do not all begin in one set of the cache
constexpr std::int64_t kParallelElements = 32 * 1024;  // below this a parallel loop costs more than it gains

// Positions whose inputs are the same buffers, and where something is drawn their places.
struct FusedClass {
  std::vector<int> positions;
  const Box* box;
  std::vector<const std::byte*> inputs;
  std::vector<std::shared_ptr<Buffer>> buffers;
  std::vector<std::byte*> outputs;
  FusedStep::Rows rows;
  std::vector<FusedStep::Repeats> repeats;

  std::int64_t count(bool is_row) const { return is_row ? rows.count : rows.count * rows.elements; }
  // How many rows have about so many elements.
  std::int64_t rows_of(std::int64_t elements) const {
    return std::max<std::int64_t>(1, elements / std::max<std::int64_t>(1, rows.elements));
  }
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

// Each of `rows` rows of `row` elements to one.
void reduce_rows(const FusedStep::Op& op, const void* from, std::int64_t rows, std::int64_t row, std::byte* to) {
  static const Attrs& along_rows = *new Attrs{{"axes", std::vector<std::int64_t>{1}}};  // used while exit() runs, too
  const Box box{{0, rows}, {0, row}};
  const Shape shape{rows, row};
  const ConstView operand{{op.dtypes[0], shape}, static_cast<const std::byte*>(from), &box, &shape};
  const MutableView result{{op.result_dtype, {rows}}, to, &box};
  op.reduce({{&operand, 1}, {&result, 1}, along_rows});
}

// One tile of all ops: some rows.
void run_tile(const FusedStep& step, const FusedClass& each, std::int64_t first, std::int64_t rows) {
  const std::int64_t row = each.rows.elements;
  thread_local Buffer scratch(0);  // aligned: vectors that lie across cache lines are slow
  const std::size_t tile_bytes = std::size_t(std::max(kTileElements, row) * step.scratch_bytes) + kTileStagger;
  if (scratch.size() < tile_bytes * std::size_t(step.scratch_tiles)) scratch = Buffer(tile_bytes * std::size_t(step.scratch_tiles));
  const void* operands[8];
  int strides[8];
  auto address = [&](const FusedStep::Ref& ref) -> std::byte* {
    const std::int64_t offset = ref.is_row ? first : first * row;
    switch (ref.kind) {
      case FusedStep::Ref::Kind::kInput:
        return const_cast<std::byte*>(each.inputs[std::size_t(ref.index)]) +
               (ref.is_scalar || ref.is_whole ? 0 : offset * step.input_bytes[std::size_t(ref.index)]);
      case FusedStep::Ref::Kind::kOutput:
        return each.outputs[std::size_t(ref.index)] + offset * step.output_bytes[std::size_t(ref.index)];
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
    const auto* operand = static_cast<const std::byte*>(operands[0]);
    const std::int64_t count = op.result.is_row ? rows : rows * row, bytes = size_of(op.result_dtype);
    if (count == 0) continue;
    if (op.tile != nullptr) {
      op.tile(operands, strides, result, count);
    } else if (op.draws) {
      const MutableView part{{op.result_dtype, shape_of(*each.box)}, result, each.box};
      ops::random_bits_of_part(operand, part, op.node->attrs.integers("shape"), first * row, first * row + count);
    } else if (op.repetition >= 0) {
      repeat(operand, bytes, each.repeats[std::size_t(op.repetition)], first * row, count, result);
    } else if (op.spreads) {
      repeat(operand, bytes, {row, rows}, 0, count, result);
    } else if (op.reduce != nullptr) {
      reduce_rows(op, operand, rows, row, result);
    } else if (op.operands[0].is_scalar) {  // wanted as a whole
      for (std::int64_t i = 0; i < count; ++i) std::copy_n(operand, bytes, result + i * bytes);
    } else if (operand != result) {
      std::copy_n(operand, count * bytes, result);
    }
  }
}

}  // namespace

void run_fused(const FusedStep& step, const std::vector<int>& local, const std::vector<std::vector<Box>>& slot_boxes,
               std::vector<std::vector<BufferRef>>& slots, ThreadPool& pool) {
  if (step.outputs.empty()) return;
  const auto& boxes = slot_boxes[std::size_t(step.layout_slot)];
  PositionKeys keys(local.size());
  const bool draws = step.draws();
  for (int position : local) {
    keys.begin(position);
    for (int slot : step.inputs) keys.add(reinterpret_cast<std::int64_t>(slots[std::size_t(slot)].at(std::size_t(position))->data()));
    for (const Interval& interval : boxes[std::size_t(position)]) {
      keys.add(interval.size());
      if (draws) keys.add(interval.start);
    }
  }
  std::vector<FusedClass> classes;
  for (std::vector<int>& positions : keys.classes()) {
    const auto first = std::size_t(positions[0]);
    const Shape shape = shape_of(boxes[first]);
    FusedClass each{std::move(positions), &boxes[first], {}, {}, {}, step.rows(shape), step.repeats(shape)};
    each.inputs.reserve(step.inputs.size());
    for (int slot : step.inputs) each.inputs.push_back(slots[std::size_t(slot)][first]->data());
    each.buffers.reserve(step.outputs.size());
    each.outputs.reserve(step.outputs.size());
    classes.push_back(std::move(each));
  }
  struct Item {
    const FusedClass* each;
    std::int64_t first, rows;
  };
  std::vector<Item> items;
  std::int64_t total = 0;
  for (FusedClass& each : classes) {
    for (const FusedStep::Op& op : step.ops) {
      if (op.result.kind != FusedStep::Ref::Kind::kOutput) continue;
      const std::int64_t bytes = step.output_bytes[std::size_t(op.result.index)];
      each.buffers.push_back(std::make_shared<Buffer>(std::size_t(each.count(op.result.is_row) * bytes)));
      each.outputs.push_back(each.buffers.back()->data());
    }
    total += each.count(false);
  }
  for (const FusedClass& each : classes)
    for (std::int64_t first = 0, rows = each.rows_of(kItemElements); first < each.rows.count; first += rows)
      items.push_back({&each, first, std::min(rows, each.rows.count - first)});
  auto run = [&](std::int64_t i) {
    const Item& item = items[std::size_t(i)];
    for (std::int64_t at = 0, rows = item.each->rows_of(kTileElements); at < item.rows; at += rows)
      run_tile(step, *item.each, item.first + at, std::min(rows, item.rows - at));
  };
  if (total * std::int64_t(step.ops.size()) >= kParallelElements)
    pool.parallel_for(std::int64_t(items.size()), run);
  else
    for (std::int64_t i = 0; i < std::int64_t(items.size()); ++i) run(i);
  for (std::size_t o = 0; o < step.outputs.size(); ++o) {
    auto& slot = slots[std::size_t(step.outputs[o])];
    slot.resize(boxes.size());
    for (const FusedClass& each : classes)
      for (int position : each.positions) slot[std::size_t(position)] = each.buffers[o];
  }
}

}  // namespace shardlab
