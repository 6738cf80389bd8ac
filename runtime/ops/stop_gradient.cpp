// stop_gradient, checkpoint_name, passed_again, enter_auto_axes, cut_as_batch, found_in_a_row: the operand itself, with a word to the
// transformations, to the types of shardings or to their propagation. Programs drop the first three before they are partitioned, the fourth
// one with the types.
#include <cstring>

#include "runtime/ops/calls.h"
#include "runtime/ops/derive.h"
#include "runtime/ops/region_types.h"

namespace shardlab::ops {

extern const OpDef kFoundInARow;

namespace {

std::vector<TensorType> infer(const OpDef&, const std::vector<TensorType>& types, const Attrs&) { return {types[0]}; }

void kernel(const KernelArgs& args) { std::memcpy(args.results[0].data, args.operands[0].data, std::size_t(args.results[0].type.bytes())); }

// The tangent needs no name: it is not saved.
Values passed_on(GraphBuilder&, const JvpArgs& args) { return {args.tangents[0]}; }

std::vector<Sample> samples() { return {{{{DType::kFloat32, {4, 6}}}, {}}, {{{DType::kInt32, {7}}}, {}}, {{{DType::kComplex64, {}}}, {}}}; }
std::vector<Sample> named_samples() {
  return {{{{DType::kFloat32, {4, 6}}}, Attrs{{"name", std::string("h")}}}, {{{DType::kInt32, {7}}}, Attrs{{"name", std::string("h")}}}};
}

Values again_transpose(GraphBuilder&, const TransposeArgs& args) { return {args.cotangents[0]}; }

std::vector<TensorType> infer_two(const OpDef& op, const std::vector<TensorType>& types, const Attrs&) {
  if (types[0] != types[1])
    throw_user_error("{}: operands of one type are wanted, got {} and {}", op.name, types[0].text(), types[1].text());
  return {types[0]};
}
Values enter_jvp(GraphBuilder& b, const JvpArgs& args) {
  if (args.tangents[0] == kZero) return {kZero};
  return {b.emit1(args.op, {args.tangents[0], args.operands[1]}, args.attrs)};
}
Values enter_transpose(GraphBuilder& b, const TransposeArgs& args) {
  return {b.emit1(args.op, {args.cotangents[0], args.operands[1]}, args.attrs), kZero};
}
FactorRule no_rule(const std::vector<TensorType>&, const std::vector<TensorType>&, const Attrs&) { return {}; }
Values cut_jvp(GraphBuilder& b, const JvpArgs& args) {
  if (args.tangents[0] == kZero) return {kZero};
  return {b.emit1(args.op, {args.tangents[0], args.operands[1]}, args.attrs)};
}
Values cut_transpose(GraphBuilder&, const TransposeArgs& args) { return {args.cotangents[0], kZero}; }
std::vector<Batched> cut_batch(GraphBuilder& b, const BatchArgs& args) {
  const Batched x = args.operands[0], like = args.operands[1];
  auto moved = [&](std::string_view name, const Batched& of) {
    const std::int64_t dim = args.attrs.integer(name);
    return of.dim == kNotBatched ? dim : std::int64_t(dim_in_batch(int(dim), of.dim));
  };
  return {{b.emit1(args.op, {x.value, like.value}, Attrs{{"dim", moved("dim", x)}, {"like_dim", moved("like_dim", like)}}), x.dim}};
}
// Nothing propagates along the last dimension.
FactorRule row_rule(const std::vector<TensorType>& operands, const std::vector<TensorType>& results, const Attrs&) {
  FactorRule made(operands, results);
  const int rank = operands[0].rank();
  for (int d = 0; d < rank; ++d) made.add(operands[0].shape[std::size_t(d)], {d}, {d}, FactorKind::kPass, d == rank - 1);
  return made;
}
std::vector<Batched> row_batch(GraphBuilder& b, const BatchArgs& args) {
  return {{b.emit1(args.op, {batched_at(b, args.operands[0], 0, args.size)}), 0}};
}
constexpr AttrDef kEnterAttrs[] = {
    {"is_gradient", AttrDef::Kind::kFlag, false, "what makes the first operand is told to make it so"},
    {"if_other", AttrDef::Kind::kFlag, false, "a tangent or a cotangent of the second one: nothing happens where it has that type already"},
    {"taken_as", AttrDef::Kind::kFlag, false, "it is taken to have that type, and is not moved"}};
constexpr AttrDef kCutAttrs[] = {{"dim", AttrDef::Kind::kInteger, true, "the dimension that is cut"},
                                 {"like_dim", AttrDef::Kind::kInteger, true, "as this one of the second operand"}};

std::vector<Sample> two_samples() { return {{{{DType::kFloat32, {4, 6}}, {DType::kFloat32, {4, 6}}}, {}}}; }

constexpr AttrDef kNameAttrs[] = {{"name", AttrDef::Kind::kString, true, "what a policy of checkpoint calls the value"}};

}  // namespace

const OpDef kStopGradient = {.name = "stop_gradient",
                             .doc = "The operand itself; derivatives take it for a constant.",
                             .expand = expand_plain,
                             .infer = infer,
                             .rule = elementwise_rule,
                             .kernel = kernel,
                             .elementwise = true,
                             .jvp = zero_jvp,
                             .samples = samples};

const OpDef kCheckpointName = {.name = "checkpoint_name",
                               .doc = "The operand itself, with a name by which a policy of checkpoint saves it for the backward pass.",
                               .attrs = kNameAttrs,
                               .expand = expand_plain,
                               .infer = infer,
                               .rule = elementwise_rule,
                               .kernel = kernel,
                               .elementwise = true,
                               .jvp = passed_on,
                               .samples = named_samples};

const OpDef kPassedAgain = {
    .name = "passed_again",
    .doc = "The operand itself, where a call takes it for another one of its parameters, which has cotangents of its own.",
    .expand = expand_plain,
    .infer = infer,
    .rule = elementwise_rule,
    .kernel = kernel,
    .elementwise = true,
    .jvp = linear_jvp,
    .transpose = again_transpose,
    .samples = samples};

const OpDef kEnterAutoAxes = {
    .name = "enter_auto_axes",
    .doc =
        "The first operand, about to enter auto_axes; where shardings are in types it lies as the second does, the "
        "value that entered, and so do cotangents that leave.",
    .operands_min = 2,
    .operands_max = 2,
    .attrs = kEnterAttrs,
    .expand = expand_plain,
    .infer = infer_two,
    .rule = elementwise_rule,
    .kernel = kernel,
    .elementwise = true,
    .jvp = enter_jvp,
    .transpose = enter_transpose,
    .samples = two_samples};

const OpDef kCutAsBatch = {.name = "cut_as_batch",
                           .doc = "The first operand, which vmap repeats for every element, cut along the batch as the second.",
                           .operands_min = 2,
                           .operands_max = 2,
                           .attrs = kCutAttrs,
                           .expand = refuse_plain_call,
                           .infer = infer,
                           .rule = no_rule,
                           .jvp = cut_jvp,
                           .transpose = cut_transpose,
                           .batch = cut_batch};

const OpDef kFoundInARow = {.name = "found_in_a_row",
                            .doc =
                                "The operand itself, as what a loop finds one after another along the last dimension: no sharding "
                                "propagates along that.",
                            .expand = expand_plain,
                            .infer = infer,
                            .rule = row_rule,
                            .kernel = kernel,
                            .copies = true,
                            .jvp = linear_jvp,
                            .transpose = again_transpose,
                            .batch = row_batch,
                            .samples = samples};

}  // namespace shardlab::ops
