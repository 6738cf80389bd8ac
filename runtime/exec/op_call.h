// How functions of arrays call the ops that they are named after.
#pragma once

#include "runtime/exec/ops.h"

namespace shardlab::detail {

// The results of an op, at the line of its first operand.
inline std::vector<Array> all(std::string_view op, const std::vector<Operand>& operands, const Attrs& attrs = {}) {
  return apply(op, operands, attrs, operands.front().where());
}
// The same of an op with one result.
inline Array one(std::string_view op, const std::vector<Operand>& operands, const Attrs& attrs = {}) {
  return std::move(all(op, operands, attrs).at(0));
}
// And with two.
inline std::pair<Array, Array> two(std::string_view op, const std::vector<Operand>& operands, const Attrs& attrs = {}) {
  std::vector<Array> results = all(op, operands, attrs);
  return {std::move(results.at(0)), std::move(results.at(1))};
}

// With "axis" as it was given: a number, a list, or nothing where it is all of them.
inline Attrs on(const AxisList& axis, Attrs attrs = {}) {
  if (axis.is_all()) return attrs;
  return axis.is_single() ? attrs.set("axis", axis.axes().front()) : attrs.set("axis", axis.axes());
}

}  // namespace shardlab::detail
