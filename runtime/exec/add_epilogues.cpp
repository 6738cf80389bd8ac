#include "runtime/exec/add_epilogues.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "runtime/core/dtype.h"
#include "runtime/exec/slot_use.h"
#include "runtime/ops/primitives.h"

namespace shardlab {
namespace {

using spmd::ComputeStep;
using spmd::PartitionedProgram;
using spmd::Slot;
using spmd::SlotId;

// The numbers in x * (1 + tanh(kOuter (x + kInner x^3))) / 2.
constexpr double kInner = 0.044715, kOuter = 0.7978845608028654;

bool is_computed_wide(DType dtype) { return dtype == DType::kFloat32 || dtype == DType::kBfloat16 || dtype == DType::kFloat16; }

// Follows the readers of one product.
class Follower {
 public:
  Follower(const PartitionedProgram& program, const std::vector<const spmd::Step*>& steps) : program_(program), steps_(steps) {
    readers_.resize(program.slots.size());
    makers_.assign(program.slots.size(), nullptr);
    for (int i = 0; i < int(steps.size()); ++i)
      for (SlotId slot : use_of(steps[std::size_t(i)]).reads) readers_[std::size_t(slot)].insert(i);
    for (SlotId slot : program.results) readers_[std::size_t(slot)].insert(int(steps.size()));  // the end
    for (const spmd::Step& step : program.steps)
      if (auto* compute = std::get_if<ComputeStep>(&step))
        for (SlotId slot : compute->results) makers_[std::size_t(slot)] = compute;
  }

  // False: nothing of it is done with the product at this step.
  bool follow(int product) {
    const ComputeStep* compute = std::get_if<ComputeStep>(steps_[std::size_t(product)]);
    if (compute == nullptr || &op_of(*compute) != &ops::kDotGeneral) return false;
    current_ = compute->results[0];
    row_rank_ = row_dimensions(*compute);
    const Slot& slot = slot_of(current_);
    if (!is_computed_wide(slot.type.dtype) || slot.type.shape.empty() || !slot.windows.empty() || !slot.partial.empty()) return false;
    name_of_product_ = op_of(*compute).name;
    while (scale() || add() || add_array() || activate()) {}
    return last_ >= 0;
  }

  const Epilogue& epilogue() const { return epilogue_; }
  SlotId result() const { return current_; }
  // Or the addend; -1: neither.
  SlotId added() const { return added_; }
  int last() const { return last_; }
  const std::set<int>& done() const { return done_; }  // steps that go

 private:
  const Slot& slot_of(SlotId id) const { return program_.slots[std::size_t(id)]; }
  const Node& node_of(const ComputeStep& step) const { return program_.graph.nodes[std::size_t(step.node)]; }
  const OpDef& op_of(const ComputeStep& step) const { return *node_of(step).op; }
  const ComputeStep& step_at(int index) const { return std::get<ComputeStep>(*steps_[std::size_t(index)]); }

  // How many of the result's last dimensions are those of a row of the matrix.
  std::size_t row_dimensions(const ComputeStep& product) const {
    const Node& node = node_of(product);
    return slot_of(product.operands[1]).type.shape.size() - node.attrs.integers("batch").size() / 2 -
           node.attrs.integers("contract").size() / 2;
  }

  bool has_layout_of_current(SlotId id) const {
    const Slot &a = slot_of(id), &b = slot_of(current_);
    return a.type.shape == b.type.shape && a.type.dtype == b.type.dtype && a.spec == b.spec && a.windows.empty() && a.partial.empty();
  }

  // The step that makes a slot where it is of this op.
  const ComputeStep* made_by(SlotId id, const OpDef& op) const {
    const ComputeStep* maker = makers_[std::size_t(id)];
    return maker != nullptr && &op_of(*maker) == &op ? maker : nullptr;
  }

  // The number that each element of a slot is, where it is one.
  std::optional<double> number(SlotId id) const {
    if (auto* repeated = made_by(id, ops::kBroadcastInDim)) return number(repeated->operands[0]);
    auto* constant = made_by(id, ops::kConstant);
    if (constant == nullptr || !slot_of(id).type.shape.empty()) return std::nullopt;
    const Literal& literal = node_of(*constant).attrs.literal("value");
    if (!is_inexact(literal.type.dtype) || is_complex(literal.type.dtype)) return std::nullopt;
    return visit_dtype(literal.type.dtype, [&]<typename T>(T) { return element_from<double>(*literal.data->as<T>()); });
  }

  // The one step that reads the current value, of this op; its other operand.
  struct Next {
    int step = -1;
    SlotId other = -1;
    bool is_left = true;  // the current value is the first operand
  };
  std::optional<Next> next(std::string_view op) const {
    const auto& readers = readers_[std::size_t(current_)];
    if (readers.size() != 1 || *readers.begin() >= int(steps_.size())) return std::nullopt;
    const int step = *readers.begin();
    auto* compute = std::get_if<ComputeStep>(steps_[std::size_t(step)]);
    if (compute == nullptr || op_of(*compute).name != op || !has_layout_of_current(compute->results[0])) return std::nullopt;
    if (compute->operands.size() == 1) return Next{step, -1, true};
    if (compute->operands.size() != 2 || compute->operands[0] == compute->operands[1]) return std::nullopt;
    const bool is_left = compute->operands[0] == current_;
    return Next{step, compute->operands[is_left ? 1 : 0], is_left};
  }

  bool is_begun() const { return added_ >= 0 || epilogue_.activation != Epilogue::Activation::kNone; }

  void take(int step, std::string_view name) {
    done_.insert(step);
    last_ = std::max(last_, step);
    current_ = step_at(step).results[0];
    if (epilogue_.name.empty()) epilogue_.name = name_of_product_;
    epilogue_.name += fmt::format(" + {}", name);
  }

  // By a number; a division where that is exact as a multiplication.
  bool scale() {
    if (is_begun()) return false;
    if (auto by = next("mul"))
      if (auto factor = number(by->other)) {
        epilogue_.scale *= *factor;
        take(by->step, "mul");
        return true;
      }
    auto by = next("div");
    if (!by || !by->is_left) return false;
    auto divisor = number(by->other);
    int exponent = 0;
    if (!divisor || std::abs(std::frexp(*divisor, &exponent)) != 0.5) return false;
    epilogue_.scale /= *divisor;
    take(by->step, "div");
    return true;
  }

  // Of a value that repeats along all dimensions but those of a row.
  bool add() {
    if (is_begun()) return false;
    auto sum = next("add");
    if (!sum) return false;
    auto* repeated = made_by(sum->other, ops::kBroadcastInDim);
    if (repeated == nullptr || !has_layout_of_current(sum->other) || !is_row(*repeated)) return false;
    added_ = repeated->operands[0];
    epilogue_.has_bias = true;
    take(sum->step, "add");
    return true;
  }
  // To an array, or taken from one, as where a gradient changes a weight. What a step would make is not waited for: others may be fused
  // with that.
  bool add_array() {
    if (is_begun()) return false;
    auto step = next("add");
    if (!step) {
      step = next("sub");
      if (!step || step->is_left) return false;
    }
    if (makers_[std::size_t(step->other)] != nullptr || !has_layout_of_current(step->other)) return false;
    const bool is_minus = !step->is_left && op_of(step_at(step->step)).name == "sub";
    added_ = step->other;
    epilogue_.has_addend = true;
    if (is_minus) epilogue_.scale = -epilogue_.scale;
    take(step->step, is_minus ? "sub" : "add");
    return true;
  }
  bool is_row(const ComputeStep& repeated) const {
    const Slot &from = slot_of(repeated.operands[0]), &to = slot_of(repeated.results[0]);
    if (!from.windows.empty() || !from.partial.empty()) return false;
    const auto& dims = node_of(repeated).attrs.integers("dims");
    std::vector<std::size_t> kept, wanted;
    for (std::size_t k = 0; k < dims.size(); ++k) {
      if (from.type.shape[k] == 1) continue;
      if (from.spec[k] != to.spec[std::size_t(dims[k])]) return false;
      kept.push_back(std::size_t(dims[k]));
    }
    for (std::size_t d = to.type.shape.size() - row_rank_; d < to.type.shape.size(); ++d)
      if (to.type.shape[d] != 1) wanted.push_back(d);
    return kept == wanted && !kept.empty();
  }

  bool activate() {
    if (epilogue_.activation != Epilogue::Activation::kNone) return false;
    if (auto step = next("relu")) {
      epilogue_.activation = Epilogue::Activation::kRelu;
      take(step->step, "relu");
      return true;
    }
    if (auto larger = next("maximum"); larger && number(larger->other) == 0.0) {
      epilogue_.activation = Epilogue::Activation::kRelu;
      take(larger->step, "maximum");
      return true;
    }
    return gelu();
  }

  // Two factors or summands: one that is a number, and the other.
  std::optional<SlotId> with_number(SlotId id, const OpDef& op, double wanted) const {
    auto* step = made_by(id, op);
    if (step == nullptr) return std::nullopt;
    for (std::size_t i : {0, 1})
      if (auto found = number(step->operands[i]); found && std::abs(*found - wanted) < 4e-3 * wanted) return step->operands[1 - i];
    return std::nullopt;
  }
  // The other of two operands, of which one is the current value.
  std::optional<SlotId> with_current(SlotId id, const OpDef& op) const {
    auto* step = made_by(id, op);
    if (step == nullptr) return std::nullopt;
    for (std::size_t i : {0, 1})
      if (step->operands[i] == current_) return step->operands[1 - i];
    return std::nullopt;
  }

  bool gelu() {
    if (slot_of(current_).type.dtype == DType::kFloat32) return false;
    const auto& readers = readers_[std::size_t(current_)];
    if (readers.empty() || *readers.rbegin() >= int(steps_.size())) return false;
    const int end = *readers.rbegin();
    auto* product = std::get_if<ComputeStep>(steps_[std::size_t(end)]);
    if (product == nullptr || !has_layout_of_current(product->results[0])) return false;
    // From the result backwards; each is a value of its own.
    std::vector<SlotId> inside;
    auto go = [&](std::optional<SlotId> slot) {
      if (slot) inside.push_back(*slot);
      return slot;
    };
    auto cdf = go(with_current(product->results[0], ops::kMul));
    auto sum = cdf ? go(with_number(*cdf, ops::kMul, 0.5)) : std::nullopt;
    auto tanh = sum ? go(with_number(*sum, ops::kAdd, 1.0)) : std::nullopt;
    auto* made = tanh ? made_by(*tanh, ops::kTanh) : nullptr;
    auto outer = made != nullptr ? go(made->operands[0]) : std::nullopt;
    auto inner = outer ? go(with_number(*outer, ops::kMul, kOuter)) : std::nullopt;
    auto scaled = inner ? go(with_current(*inner, ops::kAdd)) : std::nullopt;
    auto cube = scaled ? go(with_number(*scaled, ops::kMul, kInner)) : std::nullopt;
    auto square = cube ? go(with_current(*cube, ops::kMul)) : std::nullopt;
    if (!square || with_current(*square, ops::kMul) != current_) return false;
    // Nobody else reads what is inside.
    std::set<int> all{end};
    for (int i = 0; i < int(steps_.size()); ++i)
      if (auto* compute = std::get_if<ComputeStep>(steps_[std::size_t(i)]))
        for (SlotId slot : inside)
          if (compute->results[0] == slot) all.insert(i);
    inside.push_back(current_);
    for (SlotId slot : inside)
      if (!std::includes(all.begin(), all.end(), readers_[std::size_t(slot)].begin(), readers_[std::size_t(slot)].end())) return false;
    done_.insert(all.begin(), all.end());
    epilogue_.activation = Epilogue::Activation::kGelu;
    take(end, "gelu");
    return true;
  }

  const PartitionedProgram& program_;
  const std::vector<const spmd::Step*>& steps_;
  std::vector<std::set<int>> readers_;      // by slot: steps; the end for a result
  std::vector<const ComputeStep*> makers_;  // by slot
  std::string name_of_product_;
  Epilogue epilogue_;
  SlotId current_ = -1, added_ = -1;
  std::size_t row_rank_ = 0;
  int last_ = -1;
  std::set<int> done_;
};

// Without the broadcasts that nobody reads any more.
void drop_unread(const PartitionedProgram& program, std::vector<const spmd::Step*>& steps) {
  const std::vector<int> last = last_uses(program, steps);
  std::vector<const spmd::Step*> left;
  for (int i = 0; i < int(steps.size()); ++i) {
    auto* compute = std::get_if<ComputeStep>(steps[std::size_t(i)]);
    const bool is_broadcast = compute != nullptr && program.graph.nodes[std::size_t(compute->node)].op == &ops::kBroadcastInDim;
    if (!is_broadcast || last[std::size_t(compute->results[0])] > i) left.push_back(steps[std::size_t(i)]);
  }
  steps = std::move(left);
}

}  // namespace

ProductsWithEpilogues add_epilogues(const PartitionedProgram& program, std::vector<const spmd::Step*>& steps) {
  ProductsWithEpilogues products;
  for (int i = 0; i < int(steps.size()); ++i) {
    auto* compute = std::get_if<ComputeStep>(steps[std::size_t(i)]);
    if (compute == nullptr || program.graph.nodes[std::size_t(compute->node)].op != &ops::kDotGeneral) continue;
    if (products.epilogues.count(steps[std::size_t(i)]) > 0) continue;
    Follower follower(program, steps);
    if (!follower.follow(i)) continue;
    ComputeStep whole{compute->node, compute->operands, {follower.result()}};
    if (follower.added() >= 0) whole.operands.push_back(follower.added());
    products.made.emplace_back(std::move(whole));
    products.epilogues[&products.made.back()] = follower.epilogue();
    std::vector<const spmd::Step*> left;
    for (int s = 0; s < int(steps.size()); ++s) {
      if (s == follower.last())
        left.push_back(&products.made.back());
      else if (s != i && follower.done().count(s) == 0)
        left.push_back(steps[std::size_t(s)]);
    }
    steps = std::move(left);
    --i;  // another one is in its place
  }
  if (!products.made.empty()) drop_unread(program, steps);
  return products;
}

}  // namespace shardlab
