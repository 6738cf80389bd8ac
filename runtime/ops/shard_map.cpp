// shard_map: a body that every device runs on its own shards.
#include <fmt/ranges.h>

#include <algorithm>

#include "runtime/ops/lower.h"
#include "runtime/ops/region_types.h"

namespace shardlab::ops {
namespace {

using Types = std::vector<TensorType>;

std::int64_t parts_of(const Axes& axes) { return part_count(axes); }

// One device's part of a value: sizes divided by the manual axes that cut them.
TensorType local_type(const OpDef& op, const TensorType& type, const Sharding& sharding, std::size_t index) {
  TensorType local = type;
  Spec spec = sharding.spec(type.rank());
  for (std::size_t d = 0; d < spec.size(); ++d) {
    std::int64_t parts = parts_of(spec[d]);
    if (type.shape[d] % parts != 0)
      throw_user_error("{}: argument {} of shape {} is not divisible by {} along dimension {}", op.name, index, text_of(type.shape), parts,
                       d);
    local.shape[d] /= parts;
  }
  return local;
}

Types infer(const OpDef& op, const Types& types, const Attrs& attrs) {
  const Graph& body = *bodies_of(op, attrs, 1)[0];
  const auto& in = attrs.shardings("in_specs");
  const auto& out = attrs.shardings("out_specs");
  if (in.size() != types.size()) throw_user_error("{}: {} in_specs for {} operands", op.name, in.size(), types.size());
  Types local;
  for (std::size_t i = 0; i < types.size(); ++i) local.push_back(local_type(op, types[i], in[i], i));
  check_params(op, body, local, "body");
  Types results = result_types(body);
  if (out.size() != results.size()) throw_user_error("{}: {} out_specs for {} results", op.name, out.size(), results.size());
  for (std::size_t i = 0; i < results.size(); ++i) {
    Spec spec = out[i].spec(results[i].rank());
    for (std::size_t d = 0; d < spec.size(); ++d) results[i].shape[d] *= parts_of(spec[d]);
  }
  return results;
}

Values expand(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  bodies_of(op, attrs, 1);
  return expand_plain(b, op, args, attrs);
}

FactorRule no_rule(const Types&, const Types&, const Attrs&) { return {}; }

constexpr AttrDef kAttrs[] = {
    {"axis_names", AttrDef::Kind::kNames, false, "the manual axes of the mesh; the others are partitioned automatically"}};

}  // namespace

const OpDef kShardMap = {.name = "shard_map",
                         .doc =
                             "Every device runs the body on its own shards of the operands, cut by in_specs; its results are shards of "
                             "the results, laid out by out_specs.",
                         .operands_min = 0,
                         .operands_max = -1,
                         .attrs = kAttrs,
                         .expand = expand,
                         .infer = infer,
                         .rule = no_rule,
                         .region = RegionKind::kManual,
                         .reshape = &kReshape};

}  // namespace shardlab::ops
