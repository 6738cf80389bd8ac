// Functions of jax.lax made of other ops: cumlogsumexp, reduce_precision, transposed convolutions and patches, ragged products and others.
#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/ops/compose.h"
#include "runtime/ops/prefix_scan.h"
#include "runtime/ops/shapes.h"
#include "runtime/ops/top_k.h"

namespace shardlab::ops {
namespace {

using Kind = AttrDef::Kind;
using List = std::vector<std::int64_t>;

Values expand_cumlogsumexp(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  const Term x = as_inexact(term(b, args[0]));
  const int axis = normalized_axis(op.name, attrs.integer("axis", 0), x.rank());
  auto combine = [&](const Terms& left, const Terms& right) { return Terms{call(b, "logaddexp", {left[0], right[0]})}; };
  return {scanned({x}, axis, attrs.flag("reverse"), combine)[0].id()};
}

Values expand_reduce_precision(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  const Term x = term(b, args[0]);
  if (!is_floating(x.dtype())) throw_user_error("{} requires an argument of a floating-point type, got {}", op.name, x.text());
  const std::int64_t exponent_bits = static_integer(op, args, 1, attrs, "exponent_bits");
  const std::int64_t mantissa_bits = static_integer(op, args, 2, attrs, "mantissa_bits");
  if (exponent_bits < 1) throw_user_error("{}: exponent_bits must be positive; got {}", op.name, exponent_bits);
  if (mantissa_bits < 0) throw_user_error("{}: mantissa_bits must be non-negative; got {}", op.name, mantissa_bits);
  constexpr std::int64_t kBitsMax = 64;  // none has more
  return {call(b, "round_to_precision", {x, double(std::min(exponent_bits, kBitsMax)), double(std::min(mantissa_bits, kBitsMax))}).id()};
}

Values expand_broadcast(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  const Term x = term(b, args[0]);
  Shape shape = integer_list_of(attrs, "sizes");
  check_shape(op.name, shape);
  const Shape own = x.shape();
  shape.insert(shape.end(), own.begin(), own.end());
  return {broadcast(x, shape).id()};
}

Values expand_sort_key_val(GraphBuilder& b, const OpDef&, Args args, const Attrs& attrs) {
  return ids(call_all(b, "sort", {term(b, args[0]), term(b, args[1])},
                      Attrs{{"axis", attrs.integer("dimension", -1)}, {"num_keys", std::int64_t(1)}}));
}

// On CPUs the approximation is exact in JAX, too: a sort of which the first elements are taken.
template <bool kLeast>
Values expand_approx_k(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  const Term x = term(b, args[0]);
  if (!is_floating(x.dtype())) throw_user_error("{}: operand must be a floating type, got {}", op.name, x.text());
  const std::int64_t k = static_integer(op, args, 1, attrs, "k");
  const int axis = normalized_axis(op.name, attrs.integer("reduction_dimension", -1), x.rank());
  if (k <= 0) throw_user_error("{}: k must be positive, got {}", op.name, k);
  if (k > x.size(axis))
    throw_user_error("{}: k must be smaller than the size of reduction_dim {}, got {} for {}", op.name, x.size(axis), k, x.text());
  const Values found = largest_along(b, (kLeast ? -x : x).id(), axis, Attrs{{"k", k}, {kOfSorted, true}});
  const Term largest(b, found[0]);
  return {(kLeast ? -largest : largest).id(), found[1]};
}

// --- Convolutions.

// Dimension numbers as text, of lhs, kernel and result: "NHWC", "HWIO", "NHWC"; where a letter stands.
std::vector<std::string> layouts_of(const OpDef& op, const Attrs& attrs, const Term& x) {
  const std::vector<std::string> given = attrs.strings("dimension_numbers");
  if (given.size() != 3) throw_user_error("{}: dimension_numbers must be three, for lhs, rhs and out, got {}", op.name, given.size());
  for (const std::string& each : given)
    if (int(each.size()) != x.rank()) throw_user_error("{}: the dimension numbers {} do not fit {}", op.name, each, x.text());
  return given;
}
std::size_t place_of(const OpDef& op, const std::string& layout, char letter) {
  const std::size_t at = layout.find(letter);
  if (at == std::string::npos) throw_user_error("{}: the dimension numbers {} have no {}", op.name, layout, letter);
  return at;
}
// Of the kernel's spatial dimensions, in their order.
List spatial_dims(const std::string& layout) {
  List dims;
  for (std::size_t d = 0; d < layout.size(); ++d)
    if (layout[d] != 'O' && layout[d] != 'I') dims.push_back(std::int64_t(d));
  return dims;
}

// Low and high padding of one dimension. Source: jax.lax.conv_transpose.
std::pair<std::int64_t, std::int64_t> padding_of(const OpDef& op, const std::string& mode, std::int64_t kernel, std::int64_t stride) {
  std::int64_t low = kernel - 1, total = kernel + stride - 2 + std::max<std::int64_t>(kernel - stride, 0);
  if (mode == "SAME") {
    total = kernel + stride - 2;
    if (stride <= kernel - 1) low = (total + 1) / 2;
  } else if (mode != "VALID") {
    throw_user_error("{}: Invalid padding mode: {}", op.name, mode);
  }
  return {low, total - low};
}

Values expand_conv_transpose(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  const Term lhs = term(b, args[0]);
  Term kernel = term(b, args[1]);
  if (lhs.rank() != kernel.rank() || lhs.rank() < 2)
    throw_user_error("{}: wanted a batch and a kernel of as many dimensions, got {} and {}", op.name, lhs.text(), kernel.text());
  const std::vector<std::string> layouts = layouts_of(op, attrs, lhs);
  const List dims = spatial_dims(layouts[1]);
  const List strides = integer_list_of(attrs, "strides");
  if (strides.size() != dims.size()) throw_user_error("{}: {} strides for {} spatial dimensions", op.name, strides.size(), dims.size());
  const List dilation = attrs.has("rhs_dilation") ? integer_list_of(attrs, "rhs_dilation") : List(dims.size(), 1);
  List pads;
  if (attrs.has("pads")) {
    pads = attrs.integers("pads");
  } else {
    const std::string mode = attrs.has("padding") ? attrs.string("padding") : "SAME";
    for (std::size_t i = 0; i < dims.size(); ++i) {
      const std::int64_t size = kernel.size(int(dims[i]));
      const auto [low, high] = padding_of(op, mode, size == 0 ? 0 : (size - 1) * dilation.at(i) + 1, strides[i]);
      pads.insert(pads.end(), {low, high});
    }
  }
  if (attrs.flag("transpose_kernel")) {
    kernel = call("flip", kernel, Attrs{{"axis", dims}});
    kernel = call("swapaxes", kernel,
                  Attrs{{"axis1", std::int64_t(place_of(op, layouts[1], 'O'))}, {"axis2", std::int64_t(place_of(op, layouts[1], 'I'))}});
  }
  return {call(b, "conv_general_dilated", {lhs, kernel},
               Attrs{{"window_strides", List(dims.size(), 1)},
                     {"pads", pads},
                     {"lhs_dilation", strides},
                     {"rhs_dilation", dilation},
                     {"dimension_numbers", layouts}})
              .id()};
}

// A convolution with a kernel for each element of the window.
Values expand_patches(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  const Term x = term(b, args[0]);
  const List window = integer_list_of(attrs, "filter_shape");
  if (int(window.size()) != x.rank() - 2) throw_user_error("{}: a window of {} dimensions for {}", op.name, window.size(), x.text());
  const std::vector<std::string> layouts = layouts_of(op, attrs, x);
  const std::int64_t features = x.size(int(place_of(op, layouts[0], 'C'))), places = element_count(window);
  Shape shape{features * places, 1};
  shape.insert(shape.end(), window.begin(), window.end());
  const Term unit = call(b, "eye", {places}, Attrs{{"dtype", x.dtype()}});
  const Term kernel =
      call("moveaxis", reshaped(broadcast(unit, {features, places, places}), shape),
           Attrs{{"source", List{0, 1}},
                 {"destination", List{std::int64_t(place_of(op, layouts[1], 'O')), std::int64_t(place_of(op, layouts[1], 'I'))}}});
  Attrs of_convolution{{"dimension_numbers", layouts}, {"feature_group_count", features}, {"copies_windows", true}};
  for (const auto& [name, value] : attrs.entries())
    if (name != "filter_shape" && name != "dimension_numbers") of_convolution.set(name, value);
  return {call(b, "conv_general_dilated", {x, kernel}, of_convolution).id()};
}

// Rows in groups, each times its group's matrix; rows beyond the groups give 0.
Values expand_ragged_dot(GraphBuilder& b, const OpDef& op, Args args, const Attrs&) {
  const Term x = term(b, args[0]), y = term(b, args[1]), sizes = term(b, args[2]);
  if (x.rank() != 2 || y.rank() != 3 || sizes.rank() != 1 || !is_integer(sizes.dtype()) || y.size(0) != sizes.size(0) ||
      x.size(1) != y.size(1))
    throw_user_error("{}: wanted rows [m, k], matrices [g, k, n] and whole numbers [g], got {}, {} and {}", op.name, x.text(), y.text(),
                     sizes.text());
  const Term ends = call("cumsum", sizes), starts = ends - sizes, row = expanded(numbers(b, sizes.dtype(), x.size(0)), 0);
  const Term is_its = (expanded(starts, 1) <= row) & (row < expanded(ends, 1));
  const Term apart = where(expanded(is_its, 2), expanded(x, 0), 0);
  return {call(b, "einsum", {apart, y}, Attrs{{"subscripts", std::string("gmk,gkn->mn")}}).id()};
}

constexpr AttrDef kCumulativeAttrs[] = {{"axis", Kind::kInteger, false, "along which it runs; the first by default"},
                                        {"reverse", Kind::kFlag, false, "whether it runs from the end"}};
constexpr AttrDef kPrecisionAttrs[] = {{"exponent_bits", Kind::kInteger, false, "how many bits the exponent has, where it is no operand"},
                                       {"mantissa_bits", Kind::kInteger, false, "how many bits the fraction has"}};
constexpr AttrDef kSizesAttrs[] = {{"sizes", Kind::kScalarOrIntegers, true, "the new dimensions, before those of the operand"}};
constexpr AttrDef kSortAttrs[] = {{"dimension", Kind::kInteger, false, "along which; the last by default"},
                                  {"is_stable", Kind::kFlag, false, "accepted for JAX's sake"}};
constexpr AttrDef kApproxAttrs[] = {{"k", Kind::kInteger, false, "how many, where it is no operand"},
                                    {"reduction_dimension", Kind::kInteger, false, "along which; the last by default"},
                                    {"recall_target", Kind::kNumber, false, "accepted for JAX's sake: all are found"},
                                    {"aggregate_to_topk", Kind::kFlag, false, "accepted for JAX's sake"}};
constexpr AttrDef kStrides = {"strides", Kind::kScalarOrIntegers, true, "by how much each spatial dimension grows"};
constexpr AttrDef kPadding = {"padding", Kind::kString, false, "SAME (the default) or VALID"};
constexpr AttrDef kPads = {"pads", Kind::kIntegerLists, false, "or [low, high] for each spatial dimension"};
constexpr AttrDef kNumbers = {"dimension_numbers", Kind::kNames, true, "the dimensions of lhs, rhs and out"};
constexpr AttrDef kDilation = {"rhs_dilation", Kind::kScalarOrIntegers, false, "the step between the kernel's elements; 1 by default"};

constexpr AttrDef kTransposeAttrs[] = {
    kStrides,  kPadding, kPads,
    kDilation, kNumbers, {"transpose_kernel", Kind::kFlag, false, "whether the kernel is turned, as in a gradient"}};
constexpr AttrDef kPatchAttrs[] = {
    {"filter_shape", Kind::kScalarOrIntegers, true, "the window's size"},
    {"window_strides", Kind::kScalarOrIntegers, true, "its steps"},
    kPadding,
    kPads,
    {"lhs_dilation", Kind::kScalarOrIntegers, false, "the step between the operand's elements; 1 by default"},
    kDilation,
    kNumbers};

}  // namespace

extern const OpDef kCumlogsumexp, kReducePrecision, kBroadcast, kSortKeyVal, kApproxMaxK, kApproxMinK, kConvTranspose, kConvPatches,
    kRaggedDot;

const OpDef kCumlogsumexp = weak_composite_of(
    {"cumlogsumexp", "The running logarithm of sums of exponentials along a dimension.", expand_cumlogsumexp, 1, 1, kCumulativeAttrs});
const OpDef kReducePrecision =
    with_weakness(Weakness::kOfFirst,
                  composite_of({"reduce_precision", "Rounded to numbers of fewer bits: args [x] or [x, exponent_bits, mantissa_bits].",
                                expand_reduce_precision, 1, 3, kPrecisionAttrs}));
const OpDef kBroadcast =
    composite_of({"broadcast", "The operand repeated along new dimensions before its own.", expand_broadcast, 1, 1, kSizesAttrs});
const OpDef kSortKeyVal =
    composite_of({"sort_key_val", "Keys in ascending order along a dimension, and values in theirs: args [keys, values].",
                  expand_sort_key_val, 2, 2, kSortAttrs});
const OpDef kApproxMaxK = composite_of(
    {"approx_max_k", "The k largest elements along a dimension, and their places.", expand_approx_k<false>, 1, 2, kApproxAttrs});
const OpDef kApproxMinK =
    composite_of({"approx_min_k", "The k least elements along a dimension, and their places.", expand_approx_k<true>, 1, 2, kApproxAttrs});
const OpDef kConvTranspose = composite_of({"conv_transpose", "The transposed convolution of lhs with a kernel: args [lhs, kernel].",
                                           expand_conv_transpose, 2, 2, kTransposeAttrs});
const OpDef kConvPatches =
    composite_of({"conv_general_dilated_patches", "Each window's elements, as features of the result.", expand_patches, 1, 1, kPatchAttrs});
const OpDef kRaggedDot = composite_of(
    {"ragged_dot", "Rows in groups of given sizes, each times its group's matrix: args [rows, matrices, sizes].", expand_ragged_dot, 3, 3});

}  // namespace shardlab::ops
