#include "runtime/exec/weak_types.h"

#include <algorithm>

#include "runtime/exec/array_impl.h"
#include "runtime/ops/registry.h"

namespace shardlab {
namespace {

WeakKind kind_of(DType dtype) {
  if (dtype == DType::kBool) return WeakKind::kBool;
  if (is_integer(dtype)) return WeakKind::kInteger;
  return is_complex(dtype) ? WeakKind::kComplex : WeakKind::kReal;
}

bool is_number(const AttrValue& value) { return std::holds_alternative<std::int64_t>(value) || std::holds_alternative<double>(value); }

}  // namespace

bool weak_type(const Array& array) { return array.valid() && array.impl()->weak; }

std::vector<bool> weak_types(const std::vector<Array>& arrays) {
  std::vector<bool> weak;
  for (const Array& each : arrays) weak.push_back(weak_type(each));
  return weak;
}

void set_weak(const Array& array, bool weak) { array.impl()->weak = weak && array.dtype() != DType::kBool; }

void set_weak(const std::vector<Array>& arrays, const std::vector<bool>& weak) {
  for (std::size_t i = 0; i < arrays.size() && i < weak.size(); ++i) set_weak(arrays[i], weak[i]);
}

Promotable promote(const std::vector<Promotable>& operands, bool enable_x64) {
  std::optional<DType> strong, all;
  WeakKind weak = WeakKind::kBool;
  for (const Promotable& each : operands) {
    all = all ? promote(*all, each.dtype, enable_x64) : each.dtype;
    if (each.weak)
      weak = std::max(weak, kind_of(each.dtype));
    else
      strong = strong ? promote(*strong, each.dtype, enable_x64) : each.dtype;
  }
  if (!all) return {};
  if (!strong) return {*all, *all != DType::kBool};
  const bool gives_way = weak > kind_of(*strong) && !is_inexact(*strong);
  return {promote_with_weak(*strong, weak, enable_x64), gives_way};
}

WeakCall weak_call(const OpDef& op, const std::vector<Operand>& operands, const Attrs& attrs, bool enable_x64) {
  WeakCall call{std::vector<std::optional<DType>>(operands.size()), false};
  if (op.constant) {
    const AttrValue* value = attrs.find("value");
    call.results = value != nullptr && is_number(*value) && !attrs.has("dtype");
    return call;
  }
  // Bodies know what they take and give.
  if (operands.empty() || op.region != RegionKind::kNone) return call;
  const std::size_t first = op.weakness == Weakness::kOfOthers ? 1 : 0, end = op.weakness == Weakness::kOfFirst ? 1 : operands.size();
  std::vector<Promotable> seen, strong;  // `strong`: as arrays promote whose dtypes do not give way
  for (std::size_t i = first; i < end; ++i) {
    const bool is_array = operands[i].is_array();
    const DType dtype = is_array ? operands[i].array().dtype() : default_dtype(operands[i].scalar().kind(), enable_x64);
    seen.push_back({dtype, !is_array || weak_type(operands[i].array())});
    strong.push_back({dtype, !is_array});
  }
  const Promotable result = promote(seen, enable_x64);
  call.results = result.weak && op.weakness != Weakness::kNever && !attrs.has("dtype");
  if (op.weakness == Weakness::kOfPower && operands.back().is_array() && is_integer(operands.back().array().dtype()))
    call.results &= is_inexact(result.dtype) && seen.front().weak && seen.back().weak;
  if (op.weakness != Weakness::kOfEach && promote(strong, enable_x64).dtype != result.dtype)
    for (std::size_t i = first; i < end; ++i)
      if (operands[i].is_array() && weak_type(operands[i].array()) && operands[i].array().dtype() != result.dtype)
        call.operands[i] = result.dtype;
  return call;
}

ValueId as_promoted(GraphBuilder& b, ValueId value, std::optional<DType> dtype) {
  if (!dtype) return value;
  const OpDef* convert = find_op("convert");
  SL_CHECK(convert != nullptr);
  return b.emit1(*convert, {value}, Attrs{{"dtype", *dtype}});
}

}  // namespace shardlab
