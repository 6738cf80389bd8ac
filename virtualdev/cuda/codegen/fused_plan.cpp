// A run of elementwise steps as one kernel: values used inside alone stay in registers.
#include "virtualdev/cuda/codegen/fused_plan.h"

#include <fmt/format.h>

namespace shardlab::cuda {

KernelText fused_kernel(const FusedStep& step) {
  using Ref = FusedStep::Ref;
  std::vector<std::string> scratch(std::size_t(step.scratch_tiles)), outputs(step.outputs.size());
  std::string text;
  int next = 0;
  auto value = [&](const Ref& ref, DType dtype) -> std::string {
    switch (ref.kind) {
      case Ref::Kind::kInput:
        return fmt::format("a.in<{}>({})[{}]", type_name(dtype), ref.index, ref.is_scalar ? "0" : "i");
      case Ref::Kind::kOutput:
        return outputs[std::size_t(ref.index)];
      case Ref::Kind::kScratch:
        return scratch[std::size_t(ref.index)];
    }
    return {};
  };
  for (const FusedStep::Op& op : step.ops) {
    std::vector<std::string> values;
    for (std::size_t i = 0; i < op.operands.size(); ++i)
      values.push_back(op.repetition >= 0 ? fmt::format("a.in<{}>({})[i / a.number[{}] % a.number[{}]]", type_name(op.dtypes[i]),
                                                        op.operands[i].index, 1 + 2 * op.repetition, 2 + 2 * op.repetition)
                                          : value(op.operands[i], op.dtypes[i]));
    std::string name = fmt::format("v{}", next++);
    // A repetition, and a scalar broadcast that is wanted as a whole, have no op to compute.
    text += fmt::format("{} {} = {}; ", type_name(op.result_dtype), name,
                        op.tile == nullptr ? values[0] : elementwise_text(*op.node->op, op.dtypes, op.result_dtype, values));
    if (op.result.kind == Ref::Kind::kScratch) {
      scratch[std::size_t(op.result.index)] = name;
    } else {
      outputs[std::size_t(op.result.index)] = name;
      text += fmt::format("a.out<{}>({})[i] = {}; ", type_name(op.result_dtype), step.inputs.size() + std::size_t(op.result.index), name);
    }
  }
  return {fmt::format("for_each(a.number[0], [&](i64 i) {{ {}}})", text), int(step.inputs.size() + step.outputs.size()),
          1 + 2 * int(step.repetitions.size())};
}

}  // namespace shardlab::cuda
