// all_to_all: every device, or element of a named batch, gives each of the others a part of its value. In its node it is always tiled.
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "runtime/ops/collective_batch.h"
#include "runtime/ops/collective_groups.h"
#include "runtime/ops/collective_rules.h"
#include "runtime/ops/region_types.h"

namespace shardlab::ops {
namespace {

using Types = std::vector<TensorType>;
using Integers = std::vector<std::int64_t>;

// What the device of each rank takes along split_axis: the same for all, or as said.
Integers split_sizes(const Attrs& attrs, std::int64_t extent) {
  std::int64_t size = attrs.integer("axis_size");
  return attrs.has("split_sizes") ? attrs.integers("split_sizes") : Integers(std::size_t(size), extent / size);
}

Types infer_all_to_all(const OpDef& op, const Types& types, const Attrs& attrs) {
  TensorType result = types[0];
  std::size_t split = std::size_t(attrs.integer("split_axis")), concat = std::size_t(attrs.integer("concat_axis"));
  std::int64_t size = attrs.integer("axis_size"), extent = result.shape.at(split);
  if (!attrs.has("split_sizes") && extent % size != 0)
    throw_user_error(
        "The size of all_to_all split_axis ({}) has to be divisible by the size of the named axis {} ({}); give split_sizes for an uneven "
        "split",
        extent, fmt::join(attrs.strings("axis_name"), ", "), size);
  Integers sizes = split_sizes(attrs, extent);
  if (std::int64_t(sizes.size()) != size || std::any_of(sizes.begin(), sizes.end(), [](std::int64_t s) { return s < 0; }) ||
      std::accumulate(sizes.begin(), sizes.end(), std::int64_t(0)) != extent)
    throw_user_error("{}: split_sizes [{}] must be {} sizes that add up to x.shape[split_axis] = {}", op.name, fmt::join(sizes, ", "), size,
                     extent);
  result.shape[split] = *std::max_element(sizes.begin(), sizes.end());
  result.shape[concat] *= size;
  return {result};
}

FactorRule rule_all_to_all(const Types& operands, const Types& results, const Attrs& attrs) {
  std::vector<int> dims;
  for (int d = 0; d < operands[0].rank(); ++d)
    dims.push_back(d == int(attrs.integer("split_axis")) || d == int(attrs.integer("concat_axis")) ? -1 : d);
  return rule_along(operands, results, dims);
}

// One run of axes after another, the major one first: what comes from each stacks up along leading dimensions, which then go before the
// concatenated one.
ValueId exchanged(GraphBuilder& b, const OpDef& op, ValueId x, std::vector<Attrs> runs, std::int64_t split, std::int64_t concat) {
  const int count = int(runs.size()), rank = b.type(x).rank();
  if (count == 1) return b.emit1(op, {x}, runs[0].set("split_axis", split).set("concat_axis", concat));
  Shape shape = b.shape(x);
  shape.insert(shape.begin(), std::size_t(count), 1);
  x = reshaped(b, x, shape);
  for (int i = 0; i < count; ++i)
    x = b.emit1(op, {x}, runs[std::size_t(i)].set("split_axis", split + count).set("concat_axis", std::int64_t(i)));
  shape = b.shape(x);
  std::vector<int> order(std::size_t(rank + count));
  std::iota(order.begin(), order.end(), 0);
  std::rotate(order.begin(), order.begin() + count, order.begin() + count + int(concat));
  x = transposed(b, x, order);
  Shape result(shape.begin() + count, shape.end());
  for (int i = 0; i < count; ++i) result[std::size_t(concat)] *= shape[std::size_t(i)];
  return reshaped(b, x, result);
}

Values expand_all_to_all(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  ValueId x = value_of(b, args[0]);
  const std::int64_t size = group_attrs(b, op, attrs).integer("axis_size");
  std::int64_t rank = b.type(x).rank();
  std::int64_t split = dimension(op, attrs, "split_axis", rank), concat = dimension(op, attrs, "concat_axis", rank);
  bool tiled = attrs.flag("tiled");
  std::vector<Attrs> runs = group_runs(b, op, attrs);
  if (attrs.has("split_sizes")) {
    if (runs.size() > 1) throw_user_error("{}: split_sizes over several axes, one of which is a vmap's; pad to equal parts", op.name);
    runs[0].set("split_sizes", attrs.integers("split_sizes"));
  }
  if (!tiled) {
    // The split dimension goes away and a new one comes: one of size 1 grows by concatenation, and one of size 1 is left by the split.
    const std::int64_t extent = b.shape(x)[std::size_t(split)];
    if (extent != size || attrs.has("split_sizes"))
      throw_user_error(
          "all_to_all requires the size of the mapped axis axis_name to equal x.shape[split_axis], but they are {} and {} "
          "respectively.",
          size, extent);
    Shape shape = b.shape(x);
    concat += split <= concat && split != concat ? 1 : 0;
    split += concat <= split ? 1 : 0;
    shape.insert(shape.begin() + std::ptrdiff_t(concat), 1);
    x = reshaped(b, x, shape);
  }
  ValueId result = exchanged(b, op, x, std::move(runs), split, concat);
  if (tiled) return {result};
  Shape shape = b.shape(result);
  shape.erase(shape.begin() + std::ptrdiff_t(split));
  return {reshaped(b, result, shape)};
}

constexpr AttrDef kToAllAttrs[] = {
    {"axis_name", AttrDef::Kind::kNames, true, "the axes that it runs over: of the mesh, or of a vmap"},
    {"axis_index_groups", AttrDef::Kind::kGroups, false, "lists of ranks: each list is a group of its own"},
    {"tiled", AttrDef::Kind::kFlag, false, "along the dimension itself, no dimension more or less"},
    {"split_axis", AttrDef::Kind::kInteger, true, "the dimension that is cut"},
    {"concat_axis", AttrDef::Kind::kInteger, true, "the dimension that grows"},
    {"split_sizes", AttrDef::Kind::kIntegers, false, "what each rank takes along split_axis; shorter parts are padded with zeros"}};

}  // namespace

const OpDef kAllToAll = {
    .name = "all_to_all",
    .doc = "Splits each device's value among the devices along mesh axes, or elements of a vmap, and concatenates what each gets.",
    .attrs = kToAllAttrs,
    .expand = expand_all_to_all,
    .infer = infer_all_to_all,
    .rule = rule_all_to_all,
    .collective = "all-to-all",
    .member = true,
    .jvp = linear_jvp,
    .transpose = all_to_all_transpose,
    .batch = all_to_all_batch};

}  // namespace shardlab::ops
