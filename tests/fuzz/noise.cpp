#include "tests/fuzz/noise.h"

#include <algorithm>
#include <set>

#include "runtime/graph/builder.h"
#include "runtime/ops/primitives.h"
#include "runtime/transform/inline.h"
#include "tests/fuzz/random.h"

namespace shardlab::fuzz {
namespace {

double unit_of(DType dtype) {
  switch (dtype) {
    case DType::kBfloat16:
      return 1.0 / 128;
    case DType::kFloat16:
      return 1.0 / 1024;
    case DType::kFloat64:
    case DType::kComplex128:
      return 2.3e-16;
    default:
      return 1.2e-7;
  }
}

bool has_an_order(const Node& node) {
  static const std::set<std::string_view> kNames = {
      "dot_general", "conv", "cumsum", "cumprod", "fft_axis", "scatter_add", "scatter_mul", "reduce_window", "select_and_scatter_add"};
  bool sums = node.op->reduction == Reduction::kSum || node.op->reduction == Reduction::kProd;
  return sums || kNames.contains(node.op->name) || node.op->region != RegionKind::kNone;
}

// Which nodes may round otherwise where they are sharded: sums, and chains of numbers (x * 2 * 3), which become one number where all of the
// chain lies alike (transform/lighten_numbers.cpp).
std::vector<bool> rounds_freely(const Graph& graph) {
  static const std::set<std::string_view> kArithmetic = {"mul", "div", "add", "sub"}, kPasses = {"reshape", "with_sharding_constraint"};
  std::vector<bool> is_number(graph.values.size(), false), is_chained(graph.values.size(), false), free;
  for (const Node& node : graph.nodes) {
    const std::string_view name = node.op->name;
    int numbers = 0;
    bool chained = false;
    for (ValueId id : node.operands) {
      numbers += is_number[std::size_t(id)];
      chained |= is_chained[std::size_t(id)];
    }
    const bool scales = kArithmetic.contains(name) && numbers == 1;
    free.push_back(has_an_order(node) || (scales && chained));
    for (ValueId id : node.results) {
      is_number[std::size_t(id)] = (node.op->constant && graph.type(id).elements() == 1) || (name == "broadcast_in_dim" && numbers == 1);
      is_chained[std::size_t(id)] = scales || (chained && kPasses.contains(name));
    }
  }
  return free;
}

ValueId noisy(GraphBuilder& b, ValueId x, Random& random) {
  TensorType type = b.type(x);
  if (!is_inexact(type.dtype)) return x;
  auto data = std::make_shared<Buffer>(std::size_t(type.bytes()));
  visit_dtype(type.dtype, [&](auto zero) {
    using T = decltype(zero);
    for (std::int64_t i = 0; i < type.elements(); ++i)
      data->as<T>()[i] = element_from<T>(
          std::complex<double>(1 + (random.one_in(2) ? 1 : -1) * (is_half(type.dtype) ? 1 : kNoiseUnits) * unit_of(type.dtype)));
  });
  ValueId factor = b.emit1(ops::kConstant, {}, Attrs{{"value", std::make_shared<const Literal>(Literal{type, data})}});
  return b.emit1(ops::kMul, {x, factor});
}

}  // namespace

Graph with_noise(const Graph& graph, unsigned seed) {
  Random random(seed);
  GraphBuilder b(graph.name);
  transform::Renaming renamed(graph);
  for (ValueId id : graph.params) renamed[id] = b.param(graph.type(id));
  const std::vector<bool> is_free = rounds_freely(graph);
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    std::vector<ValueId> operands = renamed.of(node.operands);
    if (is_free[n])
      for (ValueId& operand : operands) operand = noisy(b, operand, random);
    std::vector<ValueId> results = b.emit(*node.op, operands, node.attrs);
    for (std::size_t i = 0; i < results.size(); ++i) renamed[node.results[i]] = results[i];
  }
  b.set_results(renamed.of(graph.results));
  return b.finish();
}

std::vector<double> units_of_roundings(const Graph& graph, bool anywhere) {
  std::vector<double> units(graph.values.size(), 0), results;
  const std::vector<bool> is_free = rounds_freely(graph);
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    double unit = 0;
    for (ValueId id : node.operands) {
      unit = std::max(unit, units[std::size_t(id)]);
      if ((anywhere || is_free[n]) && is_inexact(graph.type(id).dtype)) unit = std::max(unit, unit_of(graph.type(id).dtype));
    }
    for (ValueId id : node.results) units[std::size_t(id)] = unit;
  }
  for (ValueId id : graph.results)
    results.push_back(units[std::size_t(id)] == 0 && !anywhere ? 0 : std::max(units[std::size_t(id)], unit_of(graph.type(id).dtype)));
  return results;
}

}  // namespace shardlab::fuzz
