// Functions called as one node, for the transformations alone: checkpoint, custom_jvp, custom_vjp and custom_linear_solve. Before a program
// is partitioned their bodies stand where they were called, behind a barrier where they compute something again.
#include "runtime/ops/calls.h"
#include "runtime/ops/lower.h"
#include "runtime/ops/region_types.h"

namespace shardlab::ops {
namespace {

using Types = std::vector<TensorType>;

Types infer_call(const OpDef& op, const Types& types, const Attrs& attrs) {
  const Graph& body = *bodies_of(op, attrs, 1)[0];
  check_params(op, body, types, "function");
  return result_types(body);
}

// The first body is the solver; all take the constants and then a vector.
Types infer_solve(const OpDef& op, const Types& types, const Attrs& attrs) {
  const Graph& solve = *bodies_of(op, attrs, -1)[0];
  check_params(op, solve, types, "solver");
  return result_types(solve);
}

// The body is the backward function: from residuals and the results' cotangents to the operands' cotangents.
Types infer_tangents(const OpDef& op, const Types& types, const Attrs& attrs) {
  const Graph& backward = *bodies_of(op, attrs, 1)[0];
  const auto residuals = std::size_t(attrs.integer("num_residuals", 0));
  Types params = backward.types(backward.params), wanted(params.begin(), params.begin() + std::ptrdiff_t(residuals));
  for (const TensorType& type : result_types(backward)) wanted.push_back(type);
  SL_CHECK(types == wanted, "{}: {} operands do not fit its backward function", op.name, types.size());
  return {params.begin() + std::ptrdiff_t(residuals), params.end()};
}

FactorRule no_rule(const Types&, const Types&, const Attrs&) { return {}; }

Types infer_same(const OpDef&, const Types& types, const Attrs&) { return types; }

// Every operand and its result share their dimensions.
FactorRule rule_of_each(const Types& operands, const Types& results, const Attrs&) {
  FactorRule rule(operands, results);
  for (std::size_t i = 0; i < operands.size(); ++i)
    for (int d = 0; d < operands[i].rank(); ++d) {
      std::vector<int> in(operands.size(), -1), out(results.size(), -1);
      in[i] = out[i] = d;
      rule.add(operands[i].shape[std::size_t(d)], in, out);
    }
  return rule;
}

ValueId barred(GraphBuilder& b, const OpDef& op, ValueId x) { return x == kZero ? kZero : b.emit1(op, {x}); }

Values jvp_of_barrier(GraphBuilder& b, const JvpArgs& args) {
  Values tangents;
  for (ValueId id : args.tangents) tangents.push_back(barred(b, args.op, id));
  return tangents;
}

Values transpose_of_barrier(GraphBuilder& b, const TransposeArgs& args) {
  Values cotangents;
  for (std::size_t i = 0; i < args.operands.size(); ++i)
    cotangents.push_back(args.operands[i] == kAsked ? barred(b, args.op, args.cotangents[i]) : kZero);
  return cotangents;
}

std::vector<Batched> batch_of_barrier(GraphBuilder& b, const BatchArgs& args) {
  Values operands;
  for (const Batched& x : args.operands) operands.push_back(x.value);
  const Values results = b.emit(args.op, operands);
  std::vector<Batched> batched;
  for (std::size_t i = 0; i < results.size(); ++i) batched.push_back({results[i], args.operands[i].dim});
  return batched;
}

constexpr AttrDef kCheckpointAttrs[] = {{"policy", AttrDef::Kind::kString, false, "which values are saved all the same"},
                                        {"names", AttrDef::Kind::kNames, false, "the values to save by checkpoint_name"},
                                        {"again", AttrDef::Kind::kFlag, false, "of a derivative: what it needs is computed again"}};
constexpr AttrDef kSolveAttrs[] = {{"num_consts", AttrDef::Kind::kInteger, true, "how many operands come before the right-hand side"}};
constexpr AttrDef kTangentAttrs[] = {{"num_residuals", AttrDef::Kind::kInteger, false, "how many operands come first that are residuals"}};

}  // namespace

bool is_implicit_broadcast(const Node& node) {
  return node.op == &kBroadcastInDim && node.attrs.flag(kImplicit) && !node.attrs.has(kRepeatedDim);
}

const OpDef kCheckpoint = {.name = "checkpoint",
                           .doc = "Calls a function; its backward pass computes the function's values again instead of keeping them.",
                           .operands_min = 0,
                           .operands_max = -1,
                           .attrs = kCheckpointAttrs,
                           .expand = refuse_plain_call,
                           .infer = infer_call,
                           .rule = no_rule,
                           .region = RegionKind::kCall};

const OpDef kOptimizationBarrier = {.name = "optimization_barrier",
                                    .doc = "The operands themselves; what is computed from the results is computed apart.",
                                    .operands_min = 0,
                                    .operands_max = -1,
                                    .weakness = Weakness::kOfEach,
                                    .expand = expand_plain,
                                    .infer = infer_same,
                                    .rule = rule_of_each,
                                    .jvp = jvp_of_barrier,
                                    .transpose = transpose_of_barrier,
                                    .batch = batch_of_barrier};

const OpDef kCustomJvpCall = {.name = "custom_jvp_call",
                              .doc = "Calls a function whose derivative its user says, values and tangents together.",
                              .operands_min = 0,
                              .operands_max = -1,
                              .expand = refuse_plain_call,
                              .infer = infer_call,
                              .rule = no_rule,
                              .region = RegionKind::kCall};

const OpDef kCustomLinearSolve = {.name = "custom_linear_solve",
                                  .doc = "The solution of a linear system by a solver of the user's; its derivatives are solutions, too.",
                                  .operands_min = 0,
                                  .operands_max = -1,
                                  .attrs = kSolveAttrs,
                                  .expand = refuse_plain_call,
                                  .infer = infer_solve,
                                  .rule = no_rule,
                                  .region = RegionKind::kCall};

const OpDef kCustomVjpCall = {.name = "custom_vjp_call",
                              .doc = "Calls a function whose forward and backward pass its user says.",
                              .operands_min = 0,
                              .operands_max = -1,
                              .expand = refuse_plain_call,
                              .infer = infer_call,
                              .rule = no_rule,
                              .region = RegionKind::kCall};

const OpDef kCustomVjpTangents = {.name = "custom_vjp_tangents",
                                  .doc =
                                      "The tangents of a function whose backward pass its user says: nobody can compute them, they are "
                                      "there to be transposed.",
                                  .operands_min = 0,
                                  .operands_max = -1,
                                  .attrs = kTangentAttrs,
                                  .expand = refuse_plain_call,
                                  .infer = infer_tangents,
                                  .rule = no_rule,
                                  .region = RegionKind::kCall};

}  // namespace shardlab::ops
