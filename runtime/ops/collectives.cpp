// The ops of per-device code: collectives over named axes, and what tells a device its place; all_to_all has a file of its own.
//
// They are called inside shard_map, over mesh axes, or inside vmap, over its named axis, which turns them into arithmetic along the batch
// (collective_batch.cpp); elsewhere JAX's "unbound axis name" is their error. The executor moves the data: see
// runtime/exec/member_moves.h.
#include <algorithm>
#include <set>

#include "runtime/ops/collective_batch.h"
#include "runtime/ops/collective_groups.h"
#include "runtime/ops/collective_rules.h"
#include "runtime/ops/lower.h"
#include "runtime/ops/region_types.h"

namespace shardlab::ops {
namespace {

using Types = std::vector<TensorType>;
using Integers = std::vector<std::int64_t>;

// ---- reductions

Types infer_same(const OpDef&, const Types& types, const Attrs&) { return types; }

FactorRule rule_same(const Types& operands, const Types& results, const Attrs&) {
  FactorRule rule(operands, results);
  for (std::size_t i = 0; i < operands.size(); ++i)
    for (int d = 0; d < operands[i].rank(); ++d) {
      std::vector<int> dims(operands.size(), -1);
      dims[i] = d;
      rule.add(operands[i].shape[std::size_t(d)], dims, dims);
    }
  return rule;
}

Values expand_reduction(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  const std::vector<Attrs> groups = groups_in_any_order(b, op, attrs);
  Values results;
  for (const Arg& arg : args) {
    ValueId x = value_of(b, arg);
    bool counts = op.reduction == Reduction::kSum && b.type(x).dtype == DType::kBool;
    if (counts) x = converted(b, x, DType::kInt32);
    for (const Attrs& group : groups) x = b.emit1(op, {x}, group);
    results.push_back(x);
  }
  return results;
}

Values expand_pmean(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  std::int64_t size = group_attrs(b, op, attrs).integer("axis_size");
  Values results;
  for (const Arg& arg : args) {
    ValueId x = converted(b, value_of(b, arg), inexact(dtype_of_arg(b, arg)));
    ValueId sum = expand_reduction(b, kPsum, std::vector<Arg>{x}, attrs).at(0);
    results.push_back(binary(b, kDiv, sum, double(size)));
  }
  return results;
}

// ---- gathers and scatters

Types infer_all_gather(const OpDef&, const Types& types, const Attrs& attrs) {
  TensorType result = types[0];
  std::size_t axis = std::size_t(attrs.integer("axis"));
  std::int64_t size = attrs.integer("axis_size");
  if (attrs.flag("tiled"))
    result.shape[axis] *= size;
  else
    result.shape.insert(result.shape.begin() + std::ptrdiff_t(axis), size);
  return {result};
}

FactorRule rule_all_gather(const Types& operands, const Types& results, const Attrs& attrs) {
  int axis = int(attrs.integer("axis"));
  bool tiled = attrs.flag("tiled");
  std::vector<int> dims;
  for (int d = 0; d < operands[0].rank(); ++d) dims.push_back(tiled ? (d == axis ? -1 : d) : (d < axis ? d : d + 1));
  return rule_along(operands, results, dims);
}

Values expand_all_gather(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  ValueId x = value_of(b, args[0]);
  std::vector<Attrs> runs = group_runs(b, op, attrs);
  bool tiled = attrs.flag("tiled");
  const std::int64_t axis = dimension(op, attrs, "axis", b.type(x).rank() + (tiled ? 0 : 1));
  if (runs.size() > 1 && !tiled) {  // a new dimension grows from run to run
    Shape shape = b.shape(x);
    shape.insert(shape.begin() + std::ptrdiff_t(axis), 1);
    x = reshaped(b, x, shape);
    tiled = true;
  }
  for (auto run = runs.rbegin(); run != runs.rend(); ++run) x = b.emit1(op, {x}, run->set("tiled", tiled).set("axis", axis));
  return {x};
}

Types infer_psum_scatter(const OpDef& op, const Types& types, const Attrs& attrs) {
  TensorType result = types[0];
  std::size_t axis = std::size_t(attrs.integer("scatter_dimension"));
  std::int64_t size = attrs.integer("axis_size"), extent = result.shape.at(axis);
  if (attrs.flag("tiled")) {
    if (extent % size != 0)
      throw_user_error("tiled reduce_scatter operand scatter dimension size {} must be divisible by shard_count {}", extent, size);
    result.shape[axis] /= size;
    return {result};
  }
  if (extent != size) throw_user_error("reduce_scatter operand scatter dimension size {} must match shard count {}", extent, size);
  result.shape.erase(result.shape.begin() + std::ptrdiff_t(axis));
  (void)op;
  return {result};
}

FactorRule rule_psum_scatter(const Types& operands, const Types& results, const Attrs& attrs) {
  int axis = int(attrs.integer("scatter_dimension"));
  bool tiled = attrs.flag("tiled");
  std::vector<int> dims;
  for (int d = 0; d < operands[0].rank(); ++d) dims.push_back(d == axis ? -1 : (tiled || d < axis) ? d : d - 1);
  return rule_along(operands, results, dims);
}

Values expand_psum_scatter(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  ValueId x = value_of(b, args[0]);
  std::vector<Attrs> runs = group_runs(b, op, attrs);
  const std::int64_t axis = dimension(op, attrs, "scatter_dimension", b.type(x).rank());
  const bool tiled = attrs.flag("tiled"), loses_dim = runs.size() > 1 && !tiled;
  if (loses_dim)
    infer_psum_scatter(op, {b.type(x)}, group_attrs(b, op, attrs).set("tiled", false).set("scatter_dimension", axis));  // its errors
  for (Attrs& run : runs) x = b.emit1(op, {x}, run.set("tiled", tiled || loses_dim).set("scatter_dimension", axis));
  if (!loses_dim) return {x};
  Shape shape = b.shape(x);
  shape.erase(shape.begin() + std::ptrdiff_t(axis));
  return {reshaped(b, x, shape)};
}

// ---- permutes, broadcasts, places

Values expand_ppermute(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  std::vector<Attrs> runs = group_runs(b, op, attrs);
  if (runs.size() > 1)
    throw_user_error("{}: one of several axes is a vmap's; permute over that axis and over the mesh axes one after another", op.name);
  Attrs node = runs[0];
  if (!attrs.has("perm")) throw_user_error("{}: it needs perm, pairs of source and target", op.name);
  const Integers& perm = attrs.integers("perm");
  std::int64_t size = node.integer("axis_size");
  std::set<std::int64_t> sources, targets;
  if (perm.size() % 2 != 0) throw_user_error("{}: perm has pairs of source and target", op.name);
  for (std::size_t i = 0; i < perm.size(); i += 2) {
    bool in_range = perm[i] >= 0 && perm[i] < size && perm[i + 1] >= 0 && perm[i + 1] < size;
    if (!in_range || !sources.insert(perm[i]).second || !targets.insert(perm[i + 1]).second)
      throw_user_error("ppermute sources and destinations must be unique and in [0, {}), got perm with ({}, {})", size, perm[i],
                       perm[i + 1]);
  }
  node.set("perm", perm);
  Values results;
  for (const Arg& arg : args) results.push_back(b.emit1(op, {value_of(b, arg)}, node));
  return results;
}

Values expand_pbroadcast(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  std::int64_t source = attrs.integer("source", 0), size = group_attrs(b, op, attrs).integer("axis_size");
  if (source < 0 || source >= size) throw_user_error("{}: source is {}, of {} devices", op.name, source, size);
  ValueId x = value_of(b, args[0]);
  std::vector<Attrs> runs = group_runs(b, op, attrs);
  for (auto run = runs.rbegin(); run != runs.rend(); ++run) {  // the source's digit along each
    const std::int64_t along = run->integer("axis_size");
    x = b.emit1(op, {x}, run->set("source", source % along));
    source /= along;
  }
  return {x};
}

Types infer_axis_index(const OpDef&, const Types&, const Attrs&) { return {{DType::kInt32, {}}}; }

Values expand_axis_index(GraphBuilder& b, const OpDef& op, Args, const Attrs& attrs) {
  ValueId index = kZero;
  for (const Attrs& run : group_runs(b, op, attrs)) {
    const ValueId digit = b.emit1(op, {}, run);
    index = index == kZero ? digit : b.emit1(kAdd, {binary(b, kMul, index, double(run.integer("axis_size"))), digit});
  }
  return {index};
}

Values expand_axis_size(GraphBuilder& b, const OpDef& op, Args, const Attrs& attrs) {
  return {scalar_constant(b, DType::kInt32, double(group_attrs(b, op, attrs).integer("axis_size")))};
}

void copy_kernel(const KernelArgs& args) { std::copy_n(args.operands[0].data, args.results[0].type.bytes(), args.results[0].data); }

Values expand_pvary(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  std::vector<std::string> names = bound_axes(b, op, attrs);
  std::erase_if(names, [&](const std::string& name) { return b.bound()->is_batch(name); });  // values vary there by being batched
  const ValueId x = value_of(b, args[0]);
  return names.empty() ? Values{x} : b.emit(op, {x}, Attrs{{"axis_name", names}});
}

// ---- attributes

constexpr AttrDef kAxisName = {"axis_name", AttrDef::Kind::kNames, true, "the axes that it runs over: of the mesh, or of a vmap"};
constexpr AttrDef kGroups = {"axis_index_groups", AttrDef::Kind::kGroups, false, "lists of ranks: each list is a group of its own"};
constexpr AttrDef kTiled = {"tiled", AttrDef::Kind::kFlag, false, "along the dimension itself, no dimension more or less"};
constexpr AttrDef kReductionAttrs[] = {kAxisName, kGroups};
constexpr AttrDef kGatherAttrs[] = {kAxisName, kGroups, kTiled, {"axis", AttrDef::Kind::kInteger, false, "the dimension that grows"}};
constexpr AttrDef kScatterAttrs[] = {
    kAxisName, kGroups, kTiled, {"scatter_dimension", AttrDef::Kind::kInteger, false, "the dimension that is cut"}};
constexpr AttrDef kPermuteAttrs[] = {kAxisName, kGroups, {"perm", AttrDef::Kind::kIntegerLists, true, "pairs of source and target rank"}};
constexpr AttrDef kBroadcastAttrs[] = {kAxisName, kGroups, {"source", AttrDef::Kind::kInteger, false, "the rank whose value all get"}};
constexpr AttrDef kNameAttrs[] = {kAxisName};

}  // namespace

const OpDef kPsum = {.name = "psum",
                     .doc = "The sum over the devices along mesh axes, on each of them.",
                     .operands_max = -1,
                     .attrs = kReductionAttrs,
                     .expand = expand_reduction,
                     .infer = infer_same,
                     .rule = rule_same,
                     .reduction = Reduction::kSum,
                     .collective = "all-reduce",
                     .member = true,
                     .jvp = linear_jvp,
                     .transpose = psum_transpose,
                     .batch = reduction_batch};
const OpDef kPmax = {.name = "pmax",
                     .doc = "The largest value over the devices along mesh axes, on each of them.",
                     .operands_max = -1,
                     .attrs = kReductionAttrs,
                     .expand = expand_reduction,
                     .infer = infer_same,
                     .rule = rule_same,
                     .reduction = Reduction::kMax,
                     .collective = "all-reduce",
                     .member = true,
                     .batch = reduction_batch};
const OpDef kPmin = {.name = "pmin",
                     .doc = "The least value over the devices along mesh axes, on each of them.",
                     .operands_max = -1,
                     .attrs = kReductionAttrs,
                     .expand = expand_reduction,
                     .infer = infer_same,
                     .rule = rule_same,
                     .reduction = Reduction::kMin,
                     .collective = "all-reduce",
                     .member = true,
                     .batch = reduction_batch};
const OpDef kPmean = {.name = "pmean",
                      .doc = "The mean over the devices along mesh axes, on each of them.",
                      .operands_max = -1,
                      .attrs = kReductionAttrs,
                      .expand = expand_pmean};
const OpDef kAllGather = {.name = "all_gather",
                          .doc = "The values of all devices along mesh axes, stacked or, tiled, concatenated, on each of them.",
                          .attrs = kGatherAttrs,
                          .expand = expand_all_gather,
                          .infer = infer_all_gather,
                          .rule = rule_all_gather,
                          .collective = "all-gather",
                          .member = true,
                          .jvp = linear_jvp,
                          .transpose = all_gather_transpose,
                          .batch = all_gather_batch};
const OpDef kPsumScatter = {.name = "psum_scatter",
                            .doc = "The sum over the devices along mesh axes, of which each keeps its part.",
                            .attrs = kScatterAttrs,
                            .expand = expand_psum_scatter,
                            .infer = infer_psum_scatter,
                            .rule = rule_psum_scatter,
                            .reduction = Reduction::kSum,
                            .collective = "reduce-scatter",
                            .member = true,
                            .jvp = linear_jvp,
                            .transpose = psum_scatter_transpose,
                            .batch = psum_scatter_batch};
const OpDef kPpermute = {.name = "ppermute",
                         .doc = "Each target gets its source's value; zeros where a device is no target.",
                         .operands_max = -1,
                         .attrs = kPermuteAttrs,
                         .expand = expand_ppermute,
                         .infer = infer_same,
                         .rule = rule_same,
                         .collective = "collective-permute",
                         .member = true,
                         .jvp = linear_jvp,
                         .transpose = ppermute_transpose,
                         .batch = ppermute_batch};
const OpDef kPbroadcast = {.name = "pbroadcast",
                           .doc = "The value of one rank along mesh axes, on each device.",
                           .attrs = kBroadcastAttrs,
                           .expand = expand_pbroadcast,
                           .infer = infer_same,
                           .rule = rule_same,
                           .collective = "collective-broadcast",
                           .member = true,
                           .jvp = linear_jvp,
                           .transpose = pbroadcast_transpose,
                           .batch = pbroadcast_batch};
const OpDef kAxisIndex = {.name = "axis_index",
                          .doc = "The device's rank along mesh axes.",
                          .operands_min = 0,
                          .operands_max = 0,
                          .attrs = kNameAttrs,
                          .expand = expand_axis_index,
                          .infer = infer_axis_index,
                          .rule = rule_same,
                          .member = true,
                          .batch = axis_index_batch};
const OpDef kAxisSize = {.name = "axis_size",
                         .doc = "The number of devices along mesh axes.",
                         .operands_min = 0,
                         .operands_max = 0,
                         .attrs = kNameAttrs,
                         .expand = expand_axis_size};
const OpDef kPvary = {.name = "pvary",
                      .doc = "The value itself, from now on taken to vary over mesh axes.",
                      .attrs = kNameAttrs,
                      .expand = expand_pvary,
                      .infer = infer_same,
                      .rule = rule_same,
                      .kernel = copy_kernel,
                      .elementwise = true,
                      .member = true,
                      .jvp = linear_jvp,
                      .transpose = pvary_transpose,
                      .batch = same_dim_batch};

}  // namespace shardlab::ops
