#include "virtualdev/cuda/codegen/fused_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "virtualdev/cuda/codegen/packed_loop.h"

namespace shardlab::cuda {
namespace {

using Ref = FusedStep::Ref;

constexpr std::int64_t kBlockRow = 64;  // shorter rows are one thread's

std::string functor_of(const FusedStep::Op& op) {
  return fmt::format("{}<{}>", functor_name(*op.node->op->reduction), type_name(op.dtypes[0]));
}

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

  KernelText elementwise(KernelText kernel) {
    PackedLoop loop;
    for (int k = 0; k < int(step_.ops.size()); ++k) add_to(loop, k, true);
    kernel.body = loop.text("for_each_pack<{}>(a.number[0] * a.number[1], {})");
    kernel.lanes = loop.lanes();
    return kernel;
  }

  // Reductions and rows' values in turn; between them, a pass over the row for each reduction, and one for the results at last.
  std::string rows(RowOf row_of) {
    std::string text;
    std::vector<int> results;
    for (int k = 0; k < int(step_.ops.size()); ++k) {
      const FusedStep::Op& op = step_.ops[std::size_t(k)];
      if (op.reduce != nullptr)
        text += reduction(k) + row_stored(k);
      else if (op.result.is_row)
        text += row_value(k) + row_stored(k);
      else if (op.result.kind == Ref::Kind::kOutput)
        results.push_back(k);
    }
    if (!results.empty()) {
      PackedLoop last;
      for (int k : needed_for(results)) add_to(last, k, true);
      text += pass(last);
    }
    return fmt::format("{0}::each(a.number[0], [&](i64 r) {{ typedef {0} Row; {1}}})", row_of == RowOf::kThread ? "ThreadRow" : "BlockRow",
                       text);
  }

  // Tiles of columns; what comes of a column is stored for each of its parts.
  KernelText columns(KernelText kernel) {
    PackedLoop loop;
    std::string begin, end;
    for (int k = 0; k < int(step_.ops.size()); ++k) {
      const FusedStep::Op& op = step_.ops[std::size_t(k)];
      if (!op.of_columns) {
        add_to(loop, k, true);
        continue;
      }
      const std::string functor = functor_of(op);
      begin += fmt::format("{0}::Acc m{1}[L::count]; for (int l = 0; l < L::count; ++l) m{1}[l] = {0}::identity(); ", functor, k);
      loop.add(fmt::format("m{0}[l] = {1}::combine(m{0}[l], widen({2})); ", k, functor, operand(loop, k, 0)));
      end += fmt::format("combine_columns<{}>(a.out<{}>({}) + part * a.number[1] + column, is_inside, m{}, own); ", functor,
                         wide_name(op.result_dtype), output(k), k);
    }
    kernel.body =
        loop.text(fmt::format("each_column_pack<{{}}>(a.number[0], a.number[1], a.number[{}], a.number[{}], [&](auto own, i64 part, i64 "
                              "column, bool is_inside, auto each_row) {{{{ "
                              "typedef decltype(own) L; {}each_row({{}}); {}}}}})",
                              kernel.numbers, kernel.numbers + 1, begin, end));
    kernel.numbers += 2;
    kernel.lanes = loop.lanes();
    return kernel;
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

  static std::string pass(const PackedLoop& loop) { return loop.text("Row::each_pack<{}>(r * a.number[1], a.number[1], {}); "); }

  // An operand, in a loop over elements, and where rows have an element each.
  std::string operand(PackedLoop& loop, int k, std::size_t which) const {
    const FusedStep::Op& op = step_.ops[std::size_t(k)];
    if (int maker = makers_[std::size_t(k)][which]; maker >= 0) return fmt::format("v{}", maker);
    const Ref& ref = op.operands[which];
    if (op.repetition >= 0) return loop.repeated(op.dtypes[which], ref.index, 2 + 2 * op.repetition);
    if (ref.is_scalar || ref.is_row) return loop.single(op.dtypes[which], ref.index, ref.is_scalar ? "0" : "r");
    return loop.element(op.dtypes[which], ref.index);
  }
  std::string row_operand(int k, std::size_t which) const {
    if (int maker = makers_[std::size_t(k)][which]; maker >= 0) return fmt::format("v{}", maker);
    const FusedStep::Op& op = step_.ops[std::size_t(k)];
    return fmt::format("a.in<{}>({})[{}]", type_name(op.dtypes[which]), op.operands[which].index, op.operands[which].is_scalar ? "0" : "r");
  }

  // Repetitions and identities have no op to compute.
  std::string value(int k, const std::vector<std::string>& operands) const {
    const FusedStep::Op& op = step_.ops[std::size_t(k)];
    return fmt::format("{} v{} = {}; ", type_name(op.result_dtype), k,
                       op.tile == nullptr ? operands[0] : elementwise_text(*op.node->op, op.dtypes, op.result_dtype, operands));
  }
  std::string row_value(int k) const {
    std::vector<std::string> operands;
    for (std::size_t i = 0; i < step_.ops[std::size_t(k)].operands.size(); ++i) operands.push_back(row_operand(k, i));
    return value(k, operands);
  }
  int output(int k) const {  // -1: of no buffer
    const Ref& result = step_.ops[std::size_t(k)].result;
    return result.kind == Ref::Kind::kOutput ? int(step_.inputs.size()) + result.index : -1;
  }
  std::string row_stored(int k) const {
    if (output(k) < 0) return "";
    return fmt::format("if (Row::first() == 0) a.out<{}>({})[r] = v{}; ", type_name(step_.ops[std::size_t(k)].result_dtype), output(k), k);
  }
  void add_to(PackedLoop& loop, int k, bool is_stored) const {
    const FusedStep::Op& op = step_.ops[std::size_t(k)];
    std::vector<std::string> operands;
    for (std::size_t i = 0; i < op.operands.size(); ++i) operands.push_back(operand(loop, k, i));
    loop.add(value(k, operands));
    if (is_stored && output(k) >= 0) loop.store(op.result_dtype, output(k), fmt::format("v{}", k));
  }

  std::string reduction(int k) const {
    const FusedStep::Op& op = step_.ops[std::size_t(k)];
    const std::string functor = functor_of(op);
    PackedLoop loop;
    if (int maker = makers_[std::size_t(k)][0]; maker >= 0 && !step_.ops[std::size_t(maker)].result.is_row)
      for (int each : needed_for({maker})) add_to(loop, each, false);
    loop.add(fmt::format("m{0} = {1}::combine(m{0}, widen({2})); ", k, functor, operand(loop, k, 0)));
    return fmt::format("{1}::Acc m{0} = {1}::identity(); {2}{3} v{0} = narrow<{3}>(Row::combine<{1}>(m{0})); ", k, functor, pass(loop),
                       type_name(op.result_dtype));
  }

  const FusedStep& step_;
  std::vector<std::vector<int>> makers_;  // of each op's operands: the op, or -1 for an input
};

}  // namespace

RowOf row_of(const FusedStep& step, const FusedStep::Rows& rows) {
  return step.reduces_columns() ? RowOf::kTile : rows.elements < kBlockRow ? RowOf::kThread : RowOf::kBlock;
}

KernelText fused_kernel(const FusedStep& step, RowOf row_of) {
  Writer writer(step);
  KernelText kernel{{}, int(step.inputs.size() + step.outputs.size()), 2 + 2 * int(step.repetitions.size())};
  if (row_of == RowOf::kTile) return writer.columns(std::move(kernel));
  if (!step.reduces()) return writer.elementwise(std::move(kernel));
  kernel.body = writer.rows(row_of);
  return kernel;
}

ColumnParts column_parts(const FusedStep::Rows& rows, int lanes) {
  constexpr std::int64_t kTileHeight = 8, kBlocksWanted = 2048;
  const std::int64_t packs = rows.elements % lanes == 0 ? rows.elements / lanes : rows.elements;
  const std::int64_t tiles = (packs + kTileWidth - 1) / kTileWidth, wanted = std::max<std::int64_t>(kBlocksWanted / tiles, 1);
  // Two rows a thread at least, as what comes of a part is written and read once more.
  const std::int64_t each = std::max<std::int64_t>((rows.count + wanted * kTileHeight - 1) / (wanted * kTileHeight), 2);
  const std::int64_t size = kTileHeight * each, count = std::max<std::int64_t>((rows.count + size - 1) / size, 1);
  return {count, size, tiles * count};
}

KernelText column_end(const FusedStep::Op& op) {
  return {fmt::format("reduce_column_parts<{}, {}, {}>(a)", functor_of(op), wide_name(op.result_dtype), type_name(op.result_dtype)), 2, 4};
}

}  // namespace shardlab::cuda
