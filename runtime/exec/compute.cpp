#include "runtime/exec/compute.h"

#include <algorithm>
#include <map>
#include <mutex>

namespace shardlab {
namespace {

constexpr std::int64_t kTileElements = 16 * 1024;
constexpr std::int64_t kParallelElements = 32 * 1024;  // below this a parallel loop costs more than it gains

// Positions that share one computation.
struct Class {
  std::vector<int> positions;
  std::vector<std::shared_ptr<Buffer>> results;
};

std::vector<std::int64_t> class_key(const ComputeCall& call, int position) {
  std::vector<std::int64_t> key;
  for (const auto* operand : call.operands) {
    SL_CHECK(std::size_t(position) < operand->size() && (*operand)[std::size_t(position)], "{} lacks an operand at position {}",
             call.node.op->name, position);
    key.push_back(reinterpret_cast<std::int64_t>((*operand)[std::size_t(position)]->data()));
  }
  for (const auto* boxes : call.result_boxes)
    for (const Interval& interval : (*boxes)[std::size_t(position)]) {
      key.push_back(interval.size());
      if (call.node.op->uses_position) key.push_back(interval.start);
    }
  return key;
}

std::vector<Class> classes_of(const ComputeCall& call) {
  std::vector<Class> classes;
  std::map<std::vector<std::int64_t>, std::size_t> index;
  for (int position : call.local) {
    auto [found, is_new] = index.try_emplace(class_key(call, position), classes.size());
    if (is_new) classes.emplace_back();
    classes[found->second].positions.push_back(position);
  }
  return classes;
}

TensorType local_type(const ComputeCall& call, ValueId value, const Box& box) {
  return {call.graph.type(value).dtype, shape_of(box)};
}

void run_kernel(const ComputeCall& call, const Class& each) {
  int position = each.positions[0];
  std::vector<ConstView> operands;
  std::vector<MutableView> results;
  for (std::size_t i = 0; i < call.operands.size(); ++i) {
    const Box& box = (*call.operand_boxes[i])[std::size_t(position)];
    operands.push_back({local_type(call, call.node.operands[i], box), (*call.operands[i])[std::size_t(position)]->data(), &box});
  }
  for (std::size_t i = 0; i < call.results.size(); ++i) {
    const Box& box = (*call.result_boxes[i])[std::size_t(position)];
    results.push_back({local_type(call, call.node.results[i], box), each.results[i]->data(), &box});
  }
  call.node.op->kernel({operands, results, call.node.attrs});
}

// Elements [first, last) of an elementwise op on one class.
void run_tile(const ComputeCall& call, const Class& each, TileFn tile, std::int64_t first, std::int64_t last) {
  int position = each.positions[0];
  std::vector<const void*> operands;
  std::vector<int> strides;
  for (std::size_t i = 0; i < call.operands.size(); ++i) {
    const Buffer& buffer = *(*call.operands[i])[std::size_t(position)];
    bool scalar = call.graph.type(call.node.operands[i]).shape.empty() && !call.graph.type(call.node.results[0]).shape.empty();
    strides.push_back(scalar ? 0 : 1);
    std::int64_t offset = scalar ? 0 : first * size_of(call.graph.type(call.node.operands[i]).dtype);
    operands.push_back(buffer.data() + offset);
  }
  std::byte* result = each.results[0]->data() + first * size_of(call.graph.type(call.node.results[0]).dtype);
  tile(operands.data(), strides.data(), result, last - first);
}

void run_elementwise(const ComputeCall& call, const std::vector<Class>& classes, ThreadPool& pool) {
  std::vector<DType> dtypes;
  for (ValueId id : call.node.operands) dtypes.push_back(call.graph.type(id).dtype);
  TileFn tile = call.node.op->tile(dtypes, call.graph.type(call.node.results[0]).dtype);
  struct Item {
    const Class* each;
    std::int64_t first, last;
  };
  std::vector<Item> items;
  std::int64_t total = 0;
  for (const Class& each : classes) {
    std::int64_t elements = element_count((*call.result_boxes[0])[std::size_t(each.positions[0])]);
    total += elements;
    for (std::int64_t first = 0; first < elements; first += kTileElements)
      items.push_back({&each, first, std::min(elements, first + kTileElements)});
  }
  auto run = [&](std::int64_t i) {
    const Item& item = items[std::size_t(i)];
    run_tile(call, *item.each, tile, item.first, item.last);
  };
  if (total >= kParallelElements) pool.parallel_for(std::int64_t(items.size()), run);
  else
    for (std::int64_t i = 0; i < std::int64_t(items.size()); ++i) run(i);
}

}  // namespace

void compute(ComputeCall& call, ThreadPool& pool) {
  std::vector<Class> classes = classes_of(call);
  std::int64_t work = 0;
  for (Class& each : classes) {
    for (std::size_t i = 0; i < call.results.size(); ++i) {
      const Box& box = (*call.result_boxes[i])[std::size_t(each.positions[0])];
      TensorType type = local_type(call, call.node.results[i], box);
      each.results.push_back(std::make_shared<Buffer>(std::size_t(type.bytes())));
      work += type.elements();
    }
    for (const auto* boxes : call.operand_boxes) work += element_count((*boxes)[std::size_t(each.positions[0])]);
  }
  if (call.node.op->tile != nullptr) {
    run_elementwise(call, classes, pool);
  } else {
    SL_CHECK(call.node.op->kernel != nullptr, "{} has no kernel", call.node.op->name);
    auto run = [&](std::int64_t i) { run_kernel(call, classes[std::size_t(i)]); };
    if (work >= kParallelElements) pool.parallel_for(std::int64_t(classes.size()), run);
    else
      for (std::int64_t i = 0; i < std::int64_t(classes.size()); ++i) run(i);
  }
  for (const Class& each : classes)
    for (std::size_t i = 0; i < call.results.size(); ++i)
      for (int position : each.positions) (*call.results[i])[std::size_t(position)] = each.results[i];
}

}  // namespace shardlab
