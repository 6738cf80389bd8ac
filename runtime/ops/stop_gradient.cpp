// stop_gradient and checkpoint_name: the operand itself, with a word to the transformations. Programs drop them before they are
// partitioned.
#include <cstring>

#include "runtime/ops/derive.h"

namespace shardlab::ops {
namespace {

std::vector<TensorType> infer(const OpDef&, const std::vector<TensorType>& types, const Attrs&) { return {types[0]}; }

void kernel(const KernelArgs& args) { std::memcpy(args.results[0].data, args.operands[0].data, std::size_t(args.results[0].type.bytes())); }

// The tangent needs no name: it is not saved.
Values passed_on(GraphBuilder&, const JvpArgs& args) { return {args.tangents[0]}; }

std::vector<Sample> samples() { return {{{{DType::kFloat32, {4, 6}}}, {}}, {{{DType::kInt32, {7}}}, {}}, {{{DType::kComplex64, {}}}, {}}}; }
std::vector<Sample> named_samples() {
  return {{{{DType::kFloat32, {4, 6}}}, Attrs{{"name", std::string("h")}}}, {{{DType::kInt32, {7}}}, Attrs{{"name", std::string("h")}}}};
}

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

}  // namespace shardlab::ops
