// with_sharding_constraint: the operand itself, with its sharding fixed.
#include <cstring>

#include "runtime/ops/derive.h"

namespace shardlab::ops {
namespace {

const Sharding& sharding_of(const OpDef& op, const Attrs& attrs) {
  const AttrValue* value = attrs.find("sharding");
  if (value == nullptr) value = attrs.find("spec");
  if (value == nullptr || !std::holds_alternative<Sharding>(*value))
    throw_user_error("{}: attribute 'sharding' is {}, wanted a sharding", op.name, value ? text_of(*value) : "missing");
  return std::get<Sharding>(*value);
}

std::vector<TensorType> infer(const OpDef& op, const std::vector<TensorType>& types, const Attrs& attrs) {
  sharding_of(op, attrs).check_rank(types[0].rank(), "with_sharding_constraint arguments");
  return {types[0]};
}

void kernel(const KernelArgs& args) { std::memcpy(args.results[0].data, args.operands[0].data, std::size_t(args.results[0].type.bytes())); }

Values expand(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  Attrs mine{{"sharding", sharding_of(op, attrs)}};
  if (attrs.flag("assertion")) mine.set("assertion", true);
  if (attrs.has("unconstrained")) mine.set("unconstrained", attrs.integers("unconstrained"));
  if (attrs.has("reshards")) mine.set("reshards", attrs.string("reshards"));
  return b.emit(op, {value_of(b, args[0])}, mine);
}

// The cotangent lies as the value does.
Values transpose_rule(GraphBuilder& b, const TransposeArgs& args) { return b.emit(args.op, {args.cotangents[0]}, args.attrs); }

// The elements lie as asked, the batch over the axes of spmd_axis_name, or as it comes to lie.
std::vector<Batched> batch(GraphBuilder& b, const BatchArgs& args) {
  auto [x, dim] = args.operands[0];
  const Sharding& sharding = args.attrs.sharding("sharding");
  Spec spec = sharding.spec(b.type(x).rank() - 1);
  spec.insert(spec.begin() + dim, batch_pieces(args.axis, sharding.mesh(), spec, "with_sharding_constraint spec"));
  std::vector<std::int64_t> open;
  if (args.axis.mesh_axes.empty()) open.push_back(dim);
  if (args.attrs.has("unconstrained"))
    for (std::int64_t d : args.attrs.integers("unconstrained")) open.push_back(dim_in_batch(int(d), dim));
  Attrs attrs = args.attrs;
  if (!open.empty()) attrs.set("unconstrained", open);
  return {{b.emit1(args.op, {x}, attrs.set("sharding", Sharding(sharding.mesh(), spec))), dim}};
}

std::vector<Sample> samples() {
  Sharding sharding(Mesh({2, 2}, {"a", "b"}, {0, 1, 2, 3}), P("a", "b"));
  return {{{{DType::kFloat32, {4, 6}}}, Attrs{{"sharding", sharding}}},
          {{{DType::kInt32, {2, 4, 3}}}, Attrs{{"sharding", sharding}, {"unconstrained", std::vector<std::int64_t>{2}}}}};
}

constexpr AttrDef kAttrs[] = {
    {"spec", AttrDef::Kind::kSharding, false, "the wanted sharding"},
    {"sharding", AttrDef::Kind::kSharding, false, "another name for spec"},
    {"unconstrained", AttrDef::Kind::kIntegers, false, "dimensions that are left as they come to lie"},
    {"replicated", AttrDef::Kind::kNames, false, "axes that cut none of the open dimensions"},
    {"reshards", AttrDef::Kind::kString, false, "who changes the type on Explicit axes: reshard, or an op with out_sharding"},
    {"of_operand", AttrDef::Kind::kFlag, false, "of a node: it says how per-device code takes an operand"},
    {"assertion", AttrDef::Kind::kFlag, false, "with_sharding_constraint: over Explicit axes the value must lie so already"}};
constexpr std::string_view kAliases[] = {"sharding_constraint"};

}  // namespace

const OpDef kShardingConstraint = {.name = "with_sharding_constraint",
                                   .doc = "The operand itself, held in the given sharding.",
                                   .aliases = kAliases,
                                   .attrs = kAttrs,
                                   .expand = expand,
                                   .infer = infer,
                                   .rule = elementwise_rule,
                                   .kernel = kernel,
                                   .elementwise = true,
                                   .is_constraint = true,
                                   .jvp = linear_jvp,
                                   .transpose = transpose_rule,
                                   .batch = batch,
                                   .samples = samples};

}  // namespace shardlab::ops
