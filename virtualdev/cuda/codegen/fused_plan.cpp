#include "virtualdev/cuda/codegen/fused_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace shardlab::cuda {
namespace {

using Ref = FusedStep::Ref;

constexpr std::int64_t kBlockRow = 64;  // shorter rows are one thread's

class Writer {
 public:
  explicit Writer(const FusedStep& step) : step_(step) {
    std::map<std::pair<Ref::Kind, int>, int> made;  // by which op, at each op
    for (int k = 0; k < int(step.ops.size()); ++k) {
      auto& makers = makers_.emplace_back();
      for (const Ref& operand : step.ops[std::size_t(k)].operands)
        makers.push_back(operand.kind == Ref::Kind::kInput ? -1 : made.at({operand.kind, operand.index}));
      const Ref& result = step.ops[std::size_t(k)].result;
      made[{result.kind, result.index}] = k;
    }
  }

  std::string elementwise() {
    std::string text;
    for (int k = 0; k < int(step_.ops.size()); ++k) text += value(k) + stored(k);
    return fmt::format("for_each(a.number[0] * a.number[1], [&](i64 i) {{ {}}})", text);
  }

  // Reductions and rows' values in turn; between them, a pass over the row for each reduction, and one for the results at last.
  std::string rows(RowOf row_of) {
    std::string text;
    std::vector<int> results;
    for (int k = 0; k < int(step_.ops.size()); ++k) {
      const FusedStep::Op& op = step_.ops[std::size_t(k)];
      if (op.reduce != nullptr)
        text += reduction(k) + stored(k);
      else if (op.result.is_row)
        text += value(k) + stored(k);
      else if (op.result.kind == Ref::Kind::kOutput)
        results.push_back(k);
    }
    if (!results.empty()) {
      std::string last;
      for (int k : needed_for(results)) last += value(k) + stored(k);
      text += pass(last);
    }
    return fmt::format("{0}::each(a.number[0], [&](i64 r) {{ typedef {0} Row; {1}}})", row_of == RowOf::kThread ? "ThreadRow" : "BlockRow",
                       text);
  }

 private:
  // Values of single elements that must be computed before, in order; with themselves.
  std::vector<int> needed_for(std::vector<int> wanted) const {
    std::vector<int> found;
    while (!wanted.empty()) {
      int k = wanted.back();
      wanted.pop_back();
      if (std::find(found.begin(), found.end(), k) != found.end()) continue;
      found.push_back(k);
      for (int maker : makers_[std::size_t(k)])
        if (maker >= 0 && !step_.ops[std::size_t(maker)].result.is_row) wanted.push_back(maker);
    }
    std::sort(found.begin(), found.end());
    return found;
  }

  static std::string pass(const std::string& body) {
    return fmt::format("for (i64 j = Row::first(); j < a.number[1]; j += Row::step()) {{ i64 i = r * a.number[1] + j; {}}} ", body);
  }

  std::string operand(int k, std::size_t which) const {
    const FusedStep::Op& op = step_.ops[std::size_t(k)];
    if (int maker = makers_[std::size_t(k)][which]; maker >= 0) return fmt::format("v{}", maker);
    const Ref& ref = op.operands[which];
    std::string place = ref.is_scalar ? "0" : ref.is_row ? "r" : "i";
    if (op.repetition >= 0) place = fmt::format("i / a.number[{}] % a.number[{}]", 2 + 2 * op.repetition, 3 + 2 * op.repetition);
    return fmt::format("a.in<{}>({})[{}]", type_name(op.dtypes[which]), ref.index, place);
  }

  // Repetitions and identities have no op to compute.
  std::string value(int k) const {
    const FusedStep::Op& op = step_.ops[std::size_t(k)];
    std::vector<std::string> operands;
    for (std::size_t i = 0; i < op.operands.size(); ++i) operands.push_back(operand(k, i));
    return fmt::format("{} v{} = {}; ", type_name(op.result_dtype), k,
                       op.tile == nullptr ? operands[0] : elementwise_text(*op.node->op, op.dtypes, op.result_dtype, operands));
  }

  std::string reduction(int k) const {
    const FusedStep::Op& op = step_.ops[std::size_t(k)];
    const std::string functor = fmt::format("{}<{}>", functor_name(*op.node->op->reduction), type_name(op.dtypes[0]));
    std::string body;
    if (int maker = makers_[std::size_t(k)][0]; maker >= 0 && !step_.ops[std::size_t(maker)].result.is_row)
      for (int each : needed_for({maker})) body += value(each);
    body += fmt::format("m{0} = {1}::combine(m{0}, widen({2})); ", k, functor, operand(k, 0));
    return fmt::format("{1}::Acc m{0} = {1}::identity(); {2}{3} v{0} = narrow<{3}>(Row::combine<{1}>(m{0})); ", k, functor, pass(body),
                       type_name(op.result_dtype));
  }

  std::string stored(int k) const {
    const FusedStep::Op& op = step_.ops[std::size_t(k)];
    if (op.result.kind != Ref::Kind::kOutput) return "";
    return fmt::format("{}a.out<{}>({})[{}] = v{}; ", op.result.is_row ? "if (Row::first() == 0) " : "", type_name(op.result_dtype),
                       step_.inputs.size() + std::size_t(op.result.index), op.result.is_row ? "r" : "i", k);
  }

  const FusedStep& step_;
  std::vector<std::vector<int>> makers_;  // of each op's operands: the op, or -1 for an input
};

}  // namespace

RowOf row_of(const FusedStep::Rows& rows) { return rows.elements < kBlockRow ? RowOf::kThread : RowOf::kBlock; }

KernelText fused_kernel(const FusedStep& step, RowOf row_of) {
  Writer writer(step);
  return {step.reduces() ? writer.rows(row_of) : writer.elementwise(), int(step.inputs.size() + step.outputs.size()),
          2 + 2 * int(step.repetitions.size())};
}

}  // namespace shardlab::cuda
