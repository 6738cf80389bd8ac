// Weak values: made of numbers alone, their dtype gives way to others' as a number's does. JAX's weak types.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/exec/operand.h"
#include "runtime/graph/builder.h"

namespace shardlab {

// JAX's x.weak_type. where(x > 0, 1.0, 0.0) + y has y's dtype, as 1.0 + y has.
bool weak_type(const Array& array);
std::vector<bool> weak_types(const std::vector<Array>& arrays);
// Marks an array that was just made; values of bool are never weak.
void set_weak(const Array& array, bool weak);
void set_weak(const std::vector<Array>& arrays, const std::vector<bool>& weak);

// What an op's operands promote to together: weak where JAX's lattice ends in a weak type, which is of weak operands alone, and where a
// weak float meets integers, or any weak number bool.
struct Promotable {
  DType dtype = DType::kBool;
  bool weak = false;
};
Promotable promote(const std::vector<Promotable>& operands, bool enable_x64);

// A user's call: the dtypes that its weak arrays take before it (nothing: their own), and whether its results are weak.
struct WeakCall {
  std::vector<std::optional<DType>> operands;
  bool results = false;
};
// Emits the conversion, if one is wanted.
ValueId as_promoted(GraphBuilder& b, ValueId value, std::optional<DType> dtype);
WeakCall weak_call(const OpDef& op, const std::vector<Operand>& operands, const Attrs& attrs, bool enable_x64);

}  // namespace shardlab
