#include "runtime/exec/compute.h"

#include <algorithm>
#include <map>
#include <mutex>

namespace shardlab {
namespace {

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
  // One buffer may be several parts of an array whose elements are all equal.
  if (call.node.op->uses_position)
    for (const auto* boxes : call.operand_boxes)
      for (const Interval& interval : (*boxes)[std::size_t(position)]) key.push_back(interval.start);
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

TensorType local_type(const ComputeCall& call, ValueId value, const Box& box) { return {call.graph.type(value).dtype, shape_of(box)}; }

void run_kernel(const ComputeCall& call, const Class& each) {
  int position = each.positions[0];
  std::vector<ConstView> operands;
  std::vector<MutableView> results;
  for (std::size_t i = 0; i < call.operands.size(); ++i) {
    const Box& box = (*call.operand_boxes[i])[std::size_t(position)];
    operands.push_back({local_type(call, call.node.operands[i], box), (*call.operands[i])[std::size_t(position)]->data(), &box,
                        &call.graph.type(call.node.operands[i]).shape});
  }
  for (std::size_t i = 0; i < call.results.size(); ++i) {
    const Box& box = (*call.result_boxes[i])[std::size_t(position)];
    results.push_back({local_type(call, call.node.results[i], box), each.results[i]->data(), &box});
  }
  call.node.op->kernel({operands, results, call.node.attrs});
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
  SL_CHECK(call.node.op->kernel != nullptr, "{} has no kernel", call.node.op->name);
  auto run = [&](std::int64_t i) { run_kernel(call, classes[std::size_t(i)]); };
  if (work >= kParallelElements)
    pool.parallel_for(std::int64_t(classes.size()), run);
  else
    for (std::int64_t i = 0; i < std::int64_t(classes.size()); ++i) run(i);
  for (const Class& each : classes)
    for (std::size_t i = 0; i < call.results.size(); ++i)
      for (int position : each.positions) (*call.results[i])[std::size_t(position)] = each.results[i];
}

}  // namespace shardlab
