// Elementwise ops: one function of kernels/elementwise.cuh each, alone or several in one kernel.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

#include "virtualdev/cuda/codegen/packed_loop.h"

namespace shardlab::cuda {
namespace {

// Those with a function op_<name>; the others are spelled out in elementwise_text().
constexpr std::string_view kFunctions[] = {"abs",
                                           "acos",
                                           "acosh",
                                           "add",
                                           "and",
                                           "asin",
                                           "asinh",
                                           "atan",
                                           "atan2",
                                           "atanh",
                                           "cbrt",
                                           "ceil",
                                           "clamp",
                                           "clz",
                                           "complex",
                                           "conj",
                                           "cos",
                                           "cosh",
                                           "cosine_integral",
                                           "dawsn",
                                           "digamma",
                                           "div",
                                           "equal",
                                           "erf",
                                           "erf_inv",
                                           "erfc",
                                           "erfcx",
                                           "exp",
                                           "exp2",
                                           "expi",
                                           "expm1",
                                           "expn",
                                           "floor",
                                           "fresnel_cosine",
                                           "fresnel_sine",
                                           "gcd",
                                           "greater",
                                           "greater_equal",
                                           "hyp1f1",
                                           "hyp1f1_grad_a",
                                           "hyp1f1_grad_b",
                                           "hyp2f1",
                                           "hyp2f1_grad_a",
                                           "hyp2f1_grad_b",
                                           "hyp2f1_grad_c",
                                           "igamma",
                                           "igamma_grad_a",
                                           "igammac",
                                           "imag",
                                           "is_finite",
                                           "less",
                                           "less_equal",
                                           "lgamma",
                                           "log",
                                           "log1p",
                                           "logistic",
                                           "maximum",
                                           "minimum",
                                           "mul",
                                           "neg",
                                           "nextafter",
                                           "not",
                                           "not_equal",
                                           "or",
                                           "owens_t",
                                           "population_count",
                                           "pow",
                                           "random_gamma_grad",
                                           "random_gamma_grad_by_a",
                                           "real",
                                           "regularized_incomplete_beta",
                                           "relu",
                                           "rem",
                                           "remainder",
                                           "round",
                                           "round_to_precision",
                                           "rsqrt",
                                           "select",
                                           "shift_left",
                                           "shift_right_arithmetic",
                                           "shift_right_logical",
                                           "sign",
                                           "sin",
                                           "sine_integral",
                                           "sinh",
                                           "sqrt",
                                           "square",
                                           "sub",
                                           "tan",
                                           "tanh",
                                           "trunc",
                                           "xor"};
constexpr std::string_view kCopies[] = {"checkpoint_name", "enter_auto_axes", "found_in_a_row",          "passed_again",
                                        "pvary",           "stop_gradient",   "with_sharding_constraint"};

bool is_in(std::span<const std::string_view> names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

void plan(Planner& planner, const OpDef& op, const KernelArgs& args) {
  std::vector<int> buffers;
  std::vector<DType> dtypes;
  std::vector<std::string> values;
  PackedLoop loop;
  for (std::size_t i = 0; i < args.operands.size(); ++i) {
    const TensorType& type = args.operands[i].type;
    buffers.push_back(planner.operand(i));
    dtypes.push_back(type.dtype);
    values.push_back(type.shape.empty() ? loop.single(type.dtype, int(i), "0") : loop.element(type.dtype, int(i)));
  }
  const TensorType& result = args.results[0].type;
  buffers.push_back(planner.result(0));
  loop.store(result.dtype, int(values.size()), elementwise_text(op, dtypes, result.dtype, values));
  planner.kernel(loop.text("for_each_pack<{}>(a.number[0], {})"), std::move(buffers), {result.elements()}).kernel.lanes = loop.lanes();
}

}  // namespace

bool is_elementwise(const OpDef& op) {
  return is_in(kFunctions, op.name) || is_in(kCopies, op.name) || op.name == "convert" || op.name == "bitcast";
}

std::string elementwise_text(const OpDef& op, const std::vector<DType>& dtypes, DType result, const std::vector<std::string>& values) {
  if (is_in(kCopies, op.name)) return values[0];
  if (op.name == "convert") return fmt::format("converted<{}>({})", type_name(result), values[0]);
  if (op.name == "bitcast") return fmt::format("bits_as<{}>({})", type_name(result), values[0]);
  if (op.name == "select") return fmt::format("op_select({})", fmt::join(values, ", "));
  std::vector<std::string> wide;
  for (std::size_t i = 0; i < values.size(); ++i) wide.push_back(is_half(dtypes[i]) ? fmt::format("widen({})", values[i]) : values[i]);
  std::string text = fmt::format("op_{}({})", op.name, fmt::join(wide, ", "));
  return is_half(result) ? fmt::format("narrow<{}>({})", type_name(result), text) : text;
}

extern const FamilyDef kElementwiseFamily;
const FamilyDef kElementwiseFamily = {
    .name = "elementwise", .doc = "each element of its own, generated, runs of them fused", .has = is_elementwise, .plan = plan};

}  // namespace shardlab::cuda
