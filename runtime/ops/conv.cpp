// conv: convolutions over any number of spatial dimensions, with strides, padding, dilation and groups.
#include <algorithm>
#include <numeric>

#include "runtime/ops/conv_dims.h"
#include "runtime/ops/conv_kernel.h"
#include "runtime/ops/conv_rules.h"
#include "runtime/ops/regions.h"

namespace shardlab::ops {
namespace {

constexpr std::int64_t kWindowMax = std::int64_t(1) << 32;  // strides, padding and dilation are below it

bool is_permutation_of_dims(std::vector<std::int64_t> dims, std::size_t rank) {
  std::sort(dims.begin(), dims.end());
  for (std::size_t d = 0; d < dims.size(); ++d)
    if (dims[d] != std::int64_t(d)) return false;
  return dims.size() == rank;
}

void check_numbers(const OpDef& op, const ConvDims& dims, std::size_t rank) {
  std::size_t spatial = rank - 2;
  bool fits = is_permutation_of_dims(dims.lhs, rank) && is_permutation_of_dims(dims.rhs, rank) && is_permutation_of_dims(dims.out, rank) &&
              dims.strides.size() == spatial && dims.padding.size() == 2 * spatial && dims.lhs_dilation.size() == spatial &&
              dims.rhs_dilation.size() == spatial;
  for (const auto* list : {&dims.strides, &dims.lhs_dilation, &dims.rhs_dilation})
    for (std::int64_t number : *list) fits &= number >= 1 && number < kWindowMax;
  for (std::int64_t number : dims.padding) fits &= number > -kWindowMax && number < kWindowMax;
  if (!fits)
    throw_user_error(
        "{}: window_strides {}, padding {}, lhs_dilation {} and rhs_dilation {} must have a number (padding two) for each of {} spatial "
        "dimensions, strides and dilations positive, and the dimension numbers must name each dimension once",
        op.name, text_of(dims.strides), text_of(dims.padding), text_of(dims.lhs_dilation), text_of(dims.rhs_dilation), spatial);
}

// Features and batch fall into groups of one size. Source: jax.lax.conv_general_dilated.
void check_groups(const ConvDims& dims, const TensorType& lhs, const TensorType& rhs) {
  const std::int64_t features = lhs.shape[std::size_t(dims.lhs[1])], own = rhs.shape[std::size_t(dims.rhs[1])];
  const std::int64_t outputs = rhs.shape[std::size_t(dims.rhs[0])], batch = lhs.shape[std::size_t(dims.lhs[0])];
  if (dims.groups < 1 || features != dims.groups * own)
    throw_user_error(
        "conv_general_dilated lhs feature dimension size divided by feature_group_count must equal the rhs input feature dimension size, "
        "but {} // {} != {}. (lhs is {}, rhs {})",
        features, dims.groups, own, lhs.text(), rhs.text());
  if (outputs % dims.groups != 0)
    throw_user_error(
        "conv_general_dilated rhs output feature dimension size must be a multiple of feature_group_count, but {} is not a multiple of {}",
        outputs, dims.groups);
  if (dims.batch_groups < 1)
    throw_user_error("conv_general_dilated batch_group_count must be a positive integer, got {}.", dims.batch_groups);
  if (batch % dims.batch_groups != 0)
    throw_user_error("conv_general_dilated batch_group_count must divide lhs batch dimension size, but {} does not divide {}.",
                     dims.batch_groups, batch);
  if (outputs % dims.batch_groups != 0)
    throw_user_error(
        "conv_general_dilated rhs output feature dimension size must be a multiple of batch_group_count, but {} is not a multiple of {}.",
        outputs, dims.batch_groups);
  if (dims.groups > 1 && dims.batch_groups > 1)
    throw_user_error(
        "At most one of batch_group_count and feature_group_count may be > 1, got batch_group_count={} and feature_group_count={}",
        dims.batch_groups, dims.groups);
}

std::vector<TensorType> infer(const OpDef& op, const std::vector<TensorType>& types, const Attrs& attrs) {
  for (std::string_view name : {"lhs_spec", "rhs_spec", "out_spec", "window_strides", "pads", "lhs_dilation", "rhs_dilation"})
    required_integers(op, attrs, name);
  const Shape &lhs = types[0].shape, &rhs = types[1].shape;
  if (lhs.size() != rhs.size() || lhs.size() < 2)
    throw_user_error("{}: lhs and rhs must have the same rank, 2 or more, got shapes {} and {}", op.name, text_of(lhs), text_of(rhs));
  if (types[0].dtype != types[1].dtype)
    throw_user_error("{} requires arguments to have the same dtypes, got {} and {}; convert one of them", op.name, name_of(types[0].dtype),
                     name_of(types[1].dtype));
  ConvDims dims(attrs);
  check_numbers(op, dims, lhs.size());
  check_groups(dims, types[0], types[1]);
  Shape shape(lhs.size());
  shape[std::size_t(dims.out[0])] = lhs[std::size_t(dims.lhs[0])] / dims.batch_groups;
  shape[std::size_t(dims.out[1])] = rhs[std::size_t(dims.rhs[0])];
  for (std::size_t i = 0; i < dims.spatial(); ++i)
    shape[std::size_t(dims.out[i + 2])] = dims.window(i, rhs).results(lhs[std::size_t(dims.lhs[i + 2])]);
  check_shape(op.name, shape);
  return {{types[0].dtype, shape}};
}

// The factors of the batch, groups first: those of the batch are also groups of output features.
void add_batch(FactorRule& rule, const ConvDims& dims, const Shape& out) {
  if (dims.batch_groups > 1) rule.add(dims.batch_groups, {int(dims.lhs[0]), int(dims.rhs[0])}, {int(dims.out[1])});
  rule.add(out[std::size_t(dims.out[0])], {int(dims.lhs[0]), -1}, {int(dims.out[0])});
}

// How shardings travel. A cut of the operand along a spatial dimension is one of its windows and one within each of them, the larger number
// first. Source: Shardy's rule of a convolution.
FactorRule propagation_rule(const std::vector<TensorType>& operands, const std::vector<TensorType>& results, const ConvDims& dims) {
  FactorRule rule(operands, results);
  const Shape &lhs = operands[0].shape, &rhs = operands[1].shape, &out = results[0].shape;
  add_batch(rule, dims, out);
  for (std::size_t i = 0; i < dims.spatial(); ++i) {
    const int l = int(dims.lhs[i + 2]), r = int(dims.rhs[i + 2]), o = int(dims.out[i + 2]);
    const std::int64_t windows = out[std::size_t(o)], window = rhs[std::size_t(r)];
    std::int64_t left = lhs[std::size_t(l)];
    auto add = [&](std::int64_t size, bool is_within) {
      size = std::min(size, left);
      if (size <= 1) return;
      is_within ? rule.add(size, {l, r}, {-1}, FactorKind::kReduce) : rule.add(size, {l, -1}, {o}, FactorKind::kPermute);
      left /= size;
    };
    const bool within_first = window > windows;
    add(within_first ? window : windows, within_first);
    add(within_first ? windows : window, !within_first);
  }
  if (dims.groups > 1) rule.add(dims.groups, {int(dims.lhs[1]), int(dims.rhs[0])}, {int(dims.out[1])});
  rule.add(rhs[std::size_t(dims.rhs[1])], {int(dims.lhs[1]), int(dims.rhs[1])}, {-1}, FactorKind::kReduce);
  if (const std::int64_t outputs = rhs[std::size_t(dims.rhs[0])] / dims.output_groups(); outputs > 1)
    rule.add(outputs, {-1, int(dims.rhs[0])}, {int(dims.out[1])});
  // What is left over counts as one element where the largest operand has its way.
  for (int d = 0; d < int(lhs.size()); ++d) {
    if (rule.operands[0][std::size_t(d)].empty()) rule.add(1, {d, -1}, {-1});
    if (rule.operands[1][std::size_t(d)].empty()) rule.add(1, {-1, d}, {-1});
    if (rule.results[0][std::size_t(d)].empty()) rule.add(1, {-1, -1}, {d});
  }
  return rule;
}

// How it is computed in parts: a part of a window is one of the kernel alone, as it looks at the whole dimension. Asked for propagation's
// rule by the attribute "rule_for_propagation".
FactorRule rule(const std::vector<TensorType>& operands, const std::vector<TensorType>& results, const Attrs& attrs) {
  FactorRule rule(operands, results);
  ConvDims dims(attrs);
  if (attrs.flag("rule_for_propagation")) return propagation_rule(operands, results, dims);
  const Shape &rhs = operands[1].shape, &out = results[0].shape;
  add_batch(rule, dims, out);
  for (std::size_t i = 0; i < dims.spatial(); ++i) {
    rule.add(out[std::size_t(dims.out[i + 2])], {int(dims.lhs[i + 2]), -1}, {int(dims.out[i + 2])}, FactorKind::kPermute);
    rule.add(rhs[std::size_t(dims.rhs[i + 2])], {-1, int(dims.rhs[i + 2])}, {-1}, FactorKind::kReduce);
  }
  if (dims.groups > 1) rule.add(dims.groups, {int(dims.lhs[1]), int(dims.rhs[0])}, {int(dims.out[1])});
  rule.add(rhs[std::size_t(dims.rhs[1])], {int(dims.lhs[1]), int(dims.rhs[1])}, {-1}, FactorKind::kReduce);
  rule.add(rhs[std::size_t(dims.rhs[0])] / dims.output_groups(), {-1, int(dims.rhs[0])}, {int(dims.out[1])});
  return rule;
}

std::vector<NeededBox> needs(const std::vector<TensorType>& operands, const std::vector<TensorType>&, const Attrs& attrs,
                             const Box& result) {
  ConvDims dims(attrs);
  Box lhs = whole(operands[0].shape), rhs = whole(operands[1].shape);
  Interval outputs = result[std::size_t(dims.out[1])];
  lhs[std::size_t(dims.lhs[0])] = result[std::size_t(dims.out[0])];
  rhs[std::size_t(dims.rhs[0])] = outputs;
  if (outputs.size() > 0) {
    const std::int64_t per_group = operands[1].shape[std::size_t(dims.rhs[0])] / dims.output_groups();
    const std::int64_t first = outputs.start / per_group, last = (outputs.stop - 1) / per_group;  // groups
    const std::int64_t inputs = operands[1].shape[std::size_t(dims.rhs[1])];
    if (dims.groups > 1) lhs[std::size_t(dims.lhs[1])] = {first * inputs, (last + 1) * inputs};
    if (dims.batch_groups > 1) {
      Interval& batch = lhs[std::size_t(dims.lhs[0])];
      const std::int64_t size = operands[0].shape[std::size_t(dims.lhs[0])] / dims.batch_groups;
      if (batch.size() > 0) batch = {first * size + batch.start, last * size + batch.stop};
    }
  }
  for (std::size_t i = 0; i < dims.spatial(); ++i) {
    std::size_t d = std::size_t(dims.lhs[i + 2]);
    lhs[d] = dims.window(i, operands[1].shape).elements_of(result[std::size_t(dims.out[i + 2])], operands[0].shape[d]);
  }
  return {{lhs, {}}, {rhs, {}}};
}

// ---- the user's call, as jax.lax.conv_general_dilated

// "NCHW" and its like: the places of batch (or output feature), feature and the spatial dimensions, in the kernel's order of them.
std::vector<std::int64_t> spec_of(const OpDef& op, std::string_view text, char first, char second, std::string_view spatial,
                                  std::size_t rank) {
  std::vector<std::int64_t> spec;
  auto add = [&](char letter) {
    std::size_t at = text.find(letter);
    if (at == std::string_view::npos || text.size() != rank)
      throw_user_error("{}: dimension numbers {} must have {} letters, '{}', '{}' and one for each spatial dimension", op.name, text, rank,
                       first, second);
    spec.push_back(std::int64_t(at));
  };
  add(first);
  add(second);
  for (char letter : spatial) add(letter);
  return spec;
}

void set_numbers(const OpDef& op, ConvDims& dims, const Attrs& attrs, std::size_t rank) {
  dims.lhs.resize(rank);
  std::iota(dims.lhs.begin(), dims.lhs.end(), 0);
  dims.rhs = dims.out = dims.lhs;
  if (!attrs.has("dimension_numbers")) return;
  const auto& names = attrs.strings("dimension_numbers");
  if (names.size() != 3) throw_user_error("{}: dimension_numbers must be three, for lhs, rhs and out, got {}", op.name, names.size());
  std::string spatial;  // in the kernel's order
  for (char letter : names[1])
    if (letter != 'O' && letter != 'I') spatial += letter;
  dims.lhs = spec_of(op, names[0], 'N', 'C', spatial, rank);
  dims.rhs = spec_of(op, names[1], 'O', 'I', spatial, rank);
  dims.out = spec_of(op, names[2], 'N', 'C', spatial, rank);
}

std::vector<std::int64_t> list_or_ones(const OpDef& op, const Attrs& attrs, std::string_view name, std::size_t count) {
  if (!attrs.has(name)) return std::vector<std::int64_t>(count, 1);
  std::vector<std::int64_t> list = integer_list_of(attrs, name);
  if (list.size() != count)
    throw_user_error("{}: {} must have {} numbers, one for each spatial dimension, got {}", op.name, name, count, text_of(list));
  for (std::int64_t number : list)
    if (number < 1 || number >= kWindowMax) throw_user_error("{}: {} must be positive, got {}", op.name, name, text_of(list));
  return list;
}

// SAME: as many results as the operand has elements, over the stride; the odd one of the padding at the high side. VALID: none.
std::vector<std::int64_t> padding_of(const Attrs& attrs, const ConvDims& dims, const Shape& lhs, const Shape& rhs) {
  std::vector<std::int64_t> padding;
  if (attrs.has("pads")) return integer_list_of(attrs, "pads");
  std::string mode = attrs.has("padding") ? attrs.string("padding") : "VALID";
  if (mode != "SAME" && mode != "SAME_LOWER" && mode != "VALID")
    throw_user_error("Unknown padding type: {}; use SAME, SAME_LOWER, VALID, or 'pads' with [low, high] for each spatial dimension", mode);
  for (std::size_t i = 0; i < dims.strides.size(); ++i) {
    std::int64_t size = lhs[std::size_t(dims.lhs[i + 2])], window = rhs[std::size_t(dims.rhs[i + 2])];
    std::int64_t dilated = size == 0 ? 0 : (size - 1) * dims.lhs_dilation[i] + 1,
                 span = window == 0 ? 0 : (window - 1) * dims.rhs_dilation[i] + 1;
    std::int64_t results = (dilated + dims.strides[i] - 1) / dims.strides[i];
    std::int64_t total = mode == "VALID" ? 0 : std::max<std::int64_t>((results - 1) * dims.strides[i] + span - dilated, 0);
    std::int64_t low = mode == "SAME_LOWER" ? total - total / 2 : total / 2;
    padding.insert(padding.end(), {low, total - low});
  }
  return padding;
}

Values expand(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  DType dtype = promoted_dtype(b, args);
  ValueId lhs = value_of(b, args[0], dtype), rhs = value_of(b, args[1], dtype);
  std::size_t rank = b.shape(lhs).size();
  if (rank < 2 || b.shape(rhs).size() != rank)
    throw_user_error("{}: lhs and rhs must have the same rank, 2 or more, got shapes {} and {}", op.name, text_of(b.shape(lhs)),
                     text_of(b.shape(rhs)));
  ConvDims dims;
  set_numbers(op, dims, attrs, rank);
  dims.strides = list_or_ones(op, attrs, attrs.has("strides") ? "strides" : "window_strides", rank - 2);
  dims.lhs_dilation = list_or_ones(op, attrs, "lhs_dilation", rank - 2);
  dims.rhs_dilation = list_or_ones(op, attrs, "rhs_dilation", rank - 2);
  dims.groups = attrs.integer("feature_group_count", 1);
  dims.batch_groups = attrs.integer("batch_group_count", 1);
  dims.padding = padding_of(attrs, dims, b.shape(lhs), b.shape(rhs));
  for (auto [name, spec] : {std::pair("lhs_spec", &dims.lhs), std::pair("rhs_spec", &dims.rhs), std::pair("out_spec", &dims.out)})
    if (attrs.has(name)) *spec = attrs.integers(name);
  Attrs full;
  dims.set(full);
  if (attrs.flag("copies_windows")) full.set("copies_windows", true);  // expansions' alone: the kernel is that of patches
  return b.emit(op, {lhs, rhs}, full);
}

std::vector<Sample> samples() {
  using List = std::vector<std::int64_t>;
  struct Options {
    List strides, pads, lhs_dilation, rhs_dilation;
    std::int64_t groups = 1, batch_groups = 1;
    List lhs, rhs, out;
  };
  auto sample = [](DType dtype, Shape lhs, Shape rhs, Options options) {
    ConvDims dims;
    std::size_t rank = lhs.size();
    dims.lhs.resize(rank);
    std::iota(dims.lhs.begin(), dims.lhs.end(), 0);
    dims.rhs = dims.out = dims.lhs;
    if (!options.lhs.empty()) dims.lhs = options.lhs;
    if (!options.rhs.empty()) dims.rhs = options.rhs;
    if (!options.out.empty()) dims.out = options.out;
    dims.strides = options.strides.empty() ? List(rank - 2, 1) : options.strides;
    dims.padding = options.pads.empty() ? List(2 * (rank - 2), 0) : options.pads;
    dims.lhs_dilation = options.lhs_dilation.empty() ? List(rank - 2, 1) : options.lhs_dilation;
    dims.rhs_dilation = options.rhs_dilation.empty() ? List(rank - 2, 1) : options.rhs_dilation;
    dims.groups = options.groups;
    dims.batch_groups = options.batch_groups;
    Attrs attrs;
    dims.set(attrs);
    return Sample{{{dtype, std::move(lhs)}, {dtype, std::move(rhs)}}, attrs};
  };
  return {sample(DType::kFloat32, {2, 2, 6}, {4, 2, 3}, {.pads = {1, 1}}),
          sample(DType::kFloat32, {2, 3, 6, 5}, {2, 3, 3, 2}, {.strides = {2, 1}, .pads = {1, 0, 0, 1}}),
          sample(DType::kInt32, {1, 4, 7}, {4, 2, 2}, {.rhs_dilation = {2}, .groups = 2}),
          sample(DType::kFloat32, {2, 2, 4}, {2, 2, 3}, {.pads = {2, 2}, .lhs_dilation = {2}}),
          sample(DType::kComplex64, {2, 5, 2}, {2, 2, 2}, {.lhs = {0, 2, 1}, .rhs = {2, 1, 0}, .out = {0, 2, 1}}),
          sample(DType::kFloat32, {2, 4}, {6, 4}, {}),
          sample(DType::kBool, {2, 4, 6}, {2, 4, 2}, {.pads = {1, 0}}),
          sample(DType::kFloat32, {2, 2, 2}, {2, 2, 5}, {}),
          sample(DType::kFloat32, {2, 2, 6}, {2, 2, 3}, {.strides = {2}, .pads = {-1, 2}}),
          sample(DType::kFloat32, {4, 3, 5}, {4, 3, 2}, {.strides = {2}, .pads = {1, 0}, .batch_groups = 2}),
          sample(DType::kInt32, {4, 6, 2, 3}, {2, 3, 2, 6},
                 {.pads = {0, 1, 2, 0},
                  .rhs_dilation = {1, 2},
                  .batch_groups = 3,
                  .lhs = {1, 2, 3, 0},
                  .rhs = {3, 0, 1, 2},
                  .out = {1, 0, 3, 2}})};
}

constexpr AttrDef kAttrs[] = {
    {"strides", AttrDef::Kind::kScalarOrIntegers, false, "of the window, one for each spatial dimension; 1 by default"},
    {"window_strides", AttrDef::Kind::kScalarOrIntegers, false, "the same"},
    {"padding", AttrDef::Kind::kString, false, "SAME, SAME_LOWER or VALID (default)"},
    {"pads", AttrDef::Kind::kIntegerLists, false, "or [low, high] for each spatial dimension"},
    {"lhs_dilation", AttrDef::Kind::kScalarOrIntegers, false, "the step between the operand's elements; 1 by default"},
    {"rhs_dilation", AttrDef::Kind::kScalarOrIntegers, false, "the step between the kernel's elements; 1 by default"},
    {"feature_group_count", AttrDef::Kind::kInteger, false, "groups of features that are convolved apart; 1 by default"},
    {"batch_group_count", AttrDef::Kind::kInteger, false,
     "groups of the batch, each convolved with its share of the output features; 1 by default"},
    {"dimension_numbers", AttrDef::Kind::kNames, false, "the dimensions of lhs, rhs and out; [\"NCHW\", \"OIHW\", \"NCHW\"] by default"},
    {"lhs_spec", AttrDef::Kind::kIntegers, false, "of a node: lhs's batch, feature and spatial dimensions"},
    {"rhs_spec", AttrDef::Kind::kIntegers, false, "of a node: the kernel's output feature, input feature and spatial dimensions"},
    {"out_spec", AttrDef::Kind::kIntegers, false, "of a node: the result's batch, feature and spatial dimensions"}};

double walked(const std::vector<TensorType>& operands, const std::vector<TensorType>& results, const Attrs& attrs) {
  const ConvDims dims(attrs);
  double share = 1;
  for (std::size_t i = 0; i < dims.spatial(); ++i)
    share *= dims.window(i, operands[1].shape).share_on_elements(results[0].shape[std::size_t(dims.out[i + 2])]);
  return share;
}

constexpr std::string_view kAliases[] = {"conv_general_dilated", "conv_with_general_padding"};

}  // namespace

const OpDef kConv = {.name = "conv",
                     .doc = "The convolution (cross-correlation) of lhs with a kernel: args [lhs, rhs].",
                     .aliases = kAliases,
                     .operands_min = 2,
                     .operands_max = 2,
                     .attrs = kAttrs,
                     .expand = expand,
                     .infer = infer,
                     .rule = rule,
                     .reduction = Reduction::kSum,
                     .kernel = conv_kernel,
                     .needs = needs,
                     .walked = walked,
                     .in_parts = conv_in_parts,
                     .uses_position = true,
                     .jvp = multilinear_jvp,
                     .transpose = conv_transpose,
                     .batch = conv_batch,
                     .samples = samples};

}  // namespace shardlab::ops
