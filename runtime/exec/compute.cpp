#include "runtime/exec/compute.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <utility>

#include "runtime/exec/position_classes.h"

namespace shardlab {
namespace {

// Positions that share one computation.
struct Class {
  std::vector<int> positions;
  std::vector<std::shared_ptr<Buffer>> results;
};

std::vector<Class> classes_of(const ComputeCall& call) {
  PositionKeys keys(call.local.size());
  for (int position : call.local) {
    keys.begin(position);
    for (const auto* operand : call.operands) {
      SL_CHECK(std::size_t(position) < operand->size() && (*operand)[std::size_t(position)], "{} lacks an operand at position {}",
               call.node.op->name, position);
      keys.add(reinterpret_cast<std::int64_t>((*operand)[std::size_t(position)]->data()));
    }
    // One buffer may be several parts of an array whose elements are all equal.
    if (call.node.op->uses_position)
      for (const auto* boxes : call.operand_boxes)
        for (const Interval& interval : (*boxes)[std::size_t(position)]) keys.add(interval.start);
    for (const auto* boxes : call.result_boxes)
      for (const Interval& interval : (*boxes)[std::size_t(position)]) {
        keys.add(interval.size());
        if (call.node.op->uses_position) keys.add(interval.start);
      }
  }
  std::vector<Class> classes;
  for (std::vector<int>& positions : keys.classes()) classes.push_back({std::move(positions), {}});
  return classes;
}

TensorType local_type(const ComputeCall& call, ValueId value, const Box& box) { return {call.graph.type(value).dtype, shape_of(box)}; }

// Which operands have the first dimension of the results as their first, so that rows of the results need those rows of them alone. The
// others are given whole.
using RowOperands = std::vector<bool>;

// Nothing where rows of the results cannot be computed by themselves.
std::optional<RowOperands> row_operands(const ComputeCall& call, int position) {
  const OpDef& op = *call.node.op;
  if (op.rule == nullptr || (op.uses_position && op.needs == nullptr) || call.results.empty()) return std::nullopt;
  std::vector<TensorType> operand_types, result_types;
  for (ValueId id : call.node.operands) operand_types.push_back(call.graph.type(id));
  for (ValueId id : call.node.results) result_types.push_back(call.graph.type(id));
  const FactorRule rule = op.rule(operand_types, result_types, call.node.attrs);
  if (!rule.present || rule.results[0].empty() || rule.results[0][0].size() != 1) return std::nullopt;
  const int factor = rule.results[0][0][0];
  if (rule.factors[std::size_t(factor)].kind != FactorKind::kPass) return std::nullopt;
  if (op.needs != nullptr) return RowOperands(call.operands.size(), false);  // any box of the results may be asked for
  const Interval rows = (*call.result_boxes[0])[std::size_t(position)][0];
  // Whether the dimensions have the factor as their first one alone; nothing where they have it otherwise.
  auto has_rows = [&](const std::vector<std::vector<int>>& dims, const Box& box) -> std::optional<bool> {
    for (std::size_t d = 0; d < dims.size(); ++d)
      if (std::find(dims[d].begin(), dims[d].end(), factor) != dims[d].end())
        return d == 0 && dims[d].size() == 1 && box[0] == rows ? std::optional(true) : std::nullopt;
    return false;
  };
  for (std::size_t i = 0; i < call.results.size(); ++i)
    if (!has_rows(rule.results[i], (*call.result_boxes[i])[std::size_t(position)]).value_or(false)) return std::nullopt;
  RowOperands with_rows;
  for (std::size_t i = 0; i < call.operands.size(); ++i) {
    const auto has = has_rows(rule.operands[i], (*call.operand_boxes[i])[std::size_t(position)]);
    if (!has) return std::nullopt;
    with_rows.push_back(*has);
  }
  return with_rows;
}

// What a thread computes at a time: all of a class, or some of its rows.
struct Item {
  const Class* each = nullptr;
  const RowOperands* with_rows = nullptr;  // nullptr: all
  Interval rows = {};                      // from the first one of the class
};

void run_kernel(const ComputeCall& call, const Item& item) {
  const Class& each = *item.each;
  int position = each.positions[0];
  std::vector<ConstView> operands;
  std::vector<MutableView> results;
  std::vector<Box> cut;  // the boxes of what is cut
  if (item.with_rows != nullptr) cut.reserve(call.operands.size() + call.results.size());
  operands.reserve(call.operands.size());
  results.reserve(call.results.size());
  // The box of the rows, and how many elements come before them.
  auto rows_of = [&](const Box& box) {
    Box part = box;
    part[0] = {box[0].start + item.rows.start, box[0].start + item.rows.stop};
    cut.push_back(std::move(part));
    return std::pair(&cut.back(), element_count(box) / std::max<std::int64_t>(1, box[0].size()) * item.rows.start);
  };
  for (std::size_t i = 0; i < call.operands.size(); ++i) {
    const Box& box = (*call.operand_boxes[i])[std::size_t(position)];
    const bool is_cut = item.with_rows != nullptr && (*item.with_rows)[i];
    const auto [part, skipped] = is_cut ? rows_of(box) : std::pair(&box, std::int64_t(0));
    TensorType type = local_type(call, call.node.operands[i], *part);
    const std::byte* data = (*call.operands[i])[std::size_t(position)]->data() + skipped * size_of(type.dtype);
    operands.push_back({std::move(type), data, part, &call.graph.type(call.node.operands[i]).shape});
  }
  for (std::size_t i = 0; i < call.results.size(); ++i) {
    const Box& box = (*call.result_boxes[i])[std::size_t(position)];
    const auto [part, skipped] = item.with_rows != nullptr ? rows_of(box) : std::pair(&box, std::int64_t(0));
    TensorType type = local_type(call, call.node.results[i], *part);
    std::byte* data = each.results[i]->data() + skipped * size_of(type.dtype);
    results.push_back({std::move(type), data, part});
  }
  call.node.op->kernel({operands, results, call.node.attrs});
}

}  // namespace

void compute(ComputeCall& call, ThreadPool& pool, std::int64_t worth) {
  std::vector<Class> classes = classes_of(call);
  std::int64_t work = 0;
  for (Class& each : classes) {
    for (std::size_t i = 0; i < call.results.size(); ++i) {
      const std::int64_t elements = element_count((*call.result_boxes[i])[std::size_t(each.positions[0])]);
      const std::int64_t bytes = elements * size_of(call.graph.type(call.node.results[i]).dtype);
      each.results.push_back(std::make_shared<Buffer>(std::size_t(bytes)));
      work += elements;
    }
    for (const auto* boxes : call.operand_boxes) work += element_count((*boxes)[std::size_t(each.positions[0])]);
  }
  SL_CHECK(call.node.op->kernel != nullptr, "{} has no kernel", call.node.op->name);
  // Fewer computations than threads are done in rows.
  std::vector<Item> items;
  std::deque<std::optional<RowOperands>> kept;
  const auto count = std::int64_t(classes.size());
  for (const Class& each : classes) {
    std::int64_t parts = count == 0 ? 1 : std::min(pool.threads() / count, work / count / worth);
    const RowOperands* with_rows = nullptr;
    if (parts > 1 && (kept.emplace_back(row_operands(call, each.positions[0])), kept.back())) with_rows = &*kept.back();
    if (with_rows == nullptr) {
      items.push_back({&each});
      continue;
    }
    const std::int64_t rows = (*call.result_boxes[0])[std::size_t(each.positions[0])][0].size();
    parts = std::clamp<std::int64_t>(parts, 1, rows);
    for (std::int64_t p = 0; p < parts; ++p) items.push_back({&each, with_rows, {rows * p / parts, rows * (p + 1) / parts}});
  }
  auto run = [&](std::int64_t i) { run_kernel(call, items[std::size_t(i)]); };
  if (work >= worth)
    pool.parallel_for(std::int64_t(items.size()), run);
  else
    for (std::int64_t i = 0; i < std::int64_t(items.size()); ++i) run(i);
  for (const Class& each : classes)
    for (std::size_t i = 0; i < call.results.size(); ++i)
      for (int position : each.positions) (*call.results[i])[std::size_t(position)] = each.results[i];
}

}  // namespace shardlab
