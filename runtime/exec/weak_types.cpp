#include "runtime/exec/weak_types.h"

#include <algorithm>
#include <array>

#include "runtime/exec/array_impl.h"
#include "runtime/ops/registry.h"

namespace shardlab {
namespace {

// What jax.numpy, jax.lax and jax.nn make of weak operands, found by asking them (tests/exec/make_weak_goldens.py). Ops that are not named
// give weak results where all operands together promote to a weak type.
//
// Those that have a dtype of their own.
constexpr std::string_view kStrong[] = {"arange",
                                        "linspace",
                                        "logspace",
                                        "zeros",
                                        "ones",
                                        "empty",
                                        "eye",
                                        "identity",
                                        "tri",
                                        "iota",
                                        "all",
                                        "any",
                                        "max",
                                        "mean",
                                        "min",
                                        "prod",
                                        "std",
                                        "sum",
                                        "var",
                                        "argmax",
                                        "argmin",
                                        "argsort",
                                        "cumsum",
                                        "cumprod",
                                        "diagonal",
                                        "trace",
                                        "deg2rad",
                                        "rad2deg",
                                        "heaviside",
                                        "hypot",
                                        "log10",
                                        "log2",
                                        "logaddexp2",
                                        "nan_to_num",
                                        "sinc",
                                        "ldexp",
                                        "gcd",
                                        "lcm",
                                        "average",
                                        "median",
                                        "percentile",
                                        "quantile",
                                        "bincount",
                                        "searchsorted",
                                        "count_nonzero",
                                        "nanmax",
                                        "nanmean",
                                        "nanmin",
                                        "nanprod",
                                        "nanstd",
                                        "nansum",
                                        "nanvar",
                                        "ptp",
                                        "softmax",
                                        "log_softmax",
                                        "logsumexp",
                                        "gelu",
                                        "one_hot",
                                        "dynamic_update_slice",
                                        "dynamic_update_index_in_dim",
                                        "fft_axis",
                                        "convert",
                                        "bitcast"};
// Those whose other operands say where, or how often.
constexpr std::string_view kOfFirst[] = {"zeros_like",           "ones_like",   "full_like",  "take", "take_along_axis", "dynamic_slice",
                                         "dynamic_index_in_dim", "gather",      "repeat",     "roll", "scatter",         "scatter_add",
                                         "scatter_max",          "scatter_min", "scatter_mul"};
// Those whose first operand chooses.
constexpr std::string_view kOfOthers[] = {"select", "random.permutation", "random.choice"};

// Those whose operands keep their own dtypes.
constexpr std::string_view kApart[] = {"sort", "meshgrid"};

template <typename Names>
bool is_in(std::string_view name, const Names& names) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

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
  const bool is_of_others = is_in(op.name, kOfOthers);
  const bool is_strong = is_in(op.name, kStrong) || (op.name.starts_with("random") && !is_of_others) ||
                         (op.name.starts_with("fft.") && !op.name.ends_with("shift"));
  const std::size_t first = is_of_others ? 1 : 0, end = is_in(op.name, kOfFirst) ? 1 : operands.size();
  std::vector<Promotable> seen, strong;  // `strong`: as arrays promote whose dtypes do not give way
  for (std::size_t i = first; i < end; ++i) {
    const bool is_array = operands[i].is_array();
    const DType dtype = is_array ? operands[i].array().dtype() : default_dtype(operands[i].scalar().kind(), enable_x64);
    seen.push_back({dtype, !is_array || weak_type(operands[i].array())});
    strong.push_back({dtype, !is_array});
  }
  const Promotable result = promote(seen, enable_x64);
  call.results = result.weak && !is_strong && !attrs.has("dtype");
  // A power by an array of integers is weak only where a weak float is raised to weak ones.
  if (op.name == "pow" && operands.back().is_array() && is_integer(operands.back().array().dtype()))
    call.results &= is_inexact(result.dtype) && seen.front().weak && seen.back().weak;
  if (!is_in(op.name, kApart) && promote(strong, enable_x64).dtype != result.dtype)
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
