#include "runtime/spmd/code_edges.h"

#include "runtime/spmd/partial_manual.h"
#include "runtime/spmd/visit.h"

namespace shardlab::spmd {
namespace {

std::vector<DimSharding> dims_of(const ValueSharding& value, std::size_t rank) { return value ? *value : std::vector<DimSharding>(rank); }

std::vector<DimSharding> open_dims(const Spec& spec) {
  std::vector<DimSharding> dims;
  for (const Axes& axes : spec) dims.push_back({axes, false});
  return dims;
}

Spec axes_of(const ValueSharding& value, std::size_t rank) {
  Spec spec;
  for (DimSharding& dim : dims_of(value, rank)) spec.push_back(std::move(dim.axes));
  return spec;
}

// A value takes what else it is cut by under another name.
void extend(ValueSharding& value, const Spec& other, const Shape& shape) {
  const TensorType type{DType::kFloat32, shape};
  FactorRule rule({type}, {type});
  for (int d = 0; d < int(shape.size()); ++d) rule.add(shape[std::size_t(d)], {d}, {d});
  const std::vector<DimSharding> before = dims_of(value, shape.size());
  std::vector<Projection> own{project(before, rule.operands[0], rule.factors)};
  std::vector<Projection> others{project(open_dims(other), rule.results[0], rule.factors)};
  extend_factors({rule, own, others, std::vector<Direction>(rule.factors.size(), Direction::kBoth), true});
  std::vector<DimSharding> after = unproject(own[0], rule.operands[0], rule.factors);
  if (after != before) value = std::move(after);
}

}  // namespace

void link_sides(const FlatGraph::CodeEdge& edge, ValueSharding& outer, const Shape& around, ValueSharding& inner, const Shape& within) {
  extend(outer, edge.manual_part, around);
  extend(inner, inner_part(axes_of(outer, around.size()), edge.manual_part, edge.ends), within);
  extend(outer, with_manual_part(edge.manual_part, passing(axes_of(inner, within.size()), edge.ends)), around);
}

}  // namespace shardlab::spmd
