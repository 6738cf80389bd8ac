#include "runtime/exec/fuse.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

#include "runtime/ops/primitives.h"
#include "runtime/ops/random.h"

namespace shardlab {
namespace {

using spmd::ComputeStep;
using spmd::PartitionedProgram;
using spmd::Slot;
using spmd::SlotId;

constexpr std::int64_t kRowElementsMax = 16 * 1024;  // a few tiles of one row each stay in the second-level cache
constexpr std::size_t kOperandsMax = 8;              // of a tile function
constexpr std::int64_t kColumnElementsMin = 64;      // fewer columns leave most threads of a block without any
constexpr int kColumnsMax = 4;                       // of a run: each needs memory that the threads of a block share
constexpr std::size_t kLeftMax = 8;                  // steps that a run leaves for later

const ComputeStep* compute_at(const FusionInput& input, int step) { return std::get_if<ComputeStep>(input.steps[std::size_t(step)]); }

// What must be equal for two values to be cut into tiles alike.
struct SlotLayout {
  Shape shape;
  Spec spec;
  std::vector<Box> windows;
  explicit SlotLayout(const Slot& slot) : shape(slot.type.shape), spec(slot.spec), windows(slot.windows) {}
  friend bool operator==(const SlotLayout&, const SlotLayout&) = default;
};

// What one step is to a fused one.
struct Member {
  enum class How : std::uint8_t { kTile, kHandOn, kScalar, kRepeat, kSpread, kReduce, kColumns, kDraw } how = How::kTile;
  bool is_row = false;  // its result has one element a row
  FusedStep::Repetition repetition;
};

// The steps that one fused step can do, found one after another.
class Members {
 public:
  explicit Members(const FusionInput& input) : input_(input), program_(*input.program) {}

  bool add(int step) {
    const ComputeStep* compute = compute_at(input_, step);
    if (compute == nullptr || compute->results.size() != 1 || compute->operands.size() > kOperandsMax) return false;
    if (slot(compute->results[0]).type.shape.empty() && !input_.kinds.scalars) return false;
    if (reads_any(*compute, absent_)) return false;
    auto member = is_reduction(*compute) ? reduction(*compute, step) : elementwise(*compute);
    if (!member) return false;
    const bool is_reduction = member->how == Member::How::kReduce || member->how == Member::How::kColumns;
    const SlotId whole = is_reduction ? compute->operands[0] : compute->results[0];
    if (!layout_) {
      layout_.emplace(slot(whole));
      layout_slot_ = whole;
    }
    if (member->how == Member::How::kReduce) row_rank_ = slot(compute->results[0]).type.shape.size();
    if (member->how == Member::How::kColumns) {
      column_rank_ = slot(compute->operands[0]).type.shape.size() - slot(compute->results[0]).type.shape.size();
      absent_.insert(compute->results[0]);
      ++columns_;
    }
    is_row_[compute->results[0]] = member->is_row;
    members_.push_back(*member);
    return true;
  }

  // The step may be done behind the others: it makes a single element, which none of those that follow may read.
  bool leave(int step) {
    const ComputeStep* compute = compute_at(input_, step);
    if (!input_.kinds.scalars || members_.empty() || compute == nullptr || compute->results.size() != 1) return false;
    const OpDef& op = *node_of(*compute).op;
    if (!slot(compute->results[0]).type.shape.empty() || !(op.elementwise || is_reduction(*compute)) || !op.collective.empty())
      return false;
    absent_.insert(compute->results[0]);
    return true;
  }

  const std::vector<Member>& list() const { return members_; }
  int layout_slot() const { return layout_slot_; }
  std::size_t row_rank() const { return row_rank_ ? *row_rank_ : column_rank_.value_or(layout_->shape.size()); }
  // Rows alone are no pass over all elements.
  bool is_worth_it() const {
    return std::any_of(members_.begin(), members_.end(), [](const Member& each) { return !each.is_row; });
  }

 private:
  const Slot& slot(SlotId id) const { return program_.slots[std::size_t(id)]; }
  const Node& node_of(const ComputeStep& compute) const { return program_.graph.nodes[std::size_t(compute.node)]; }
  static bool reads_any(const ComputeStep& compute, const std::set<SlotId>& slots) {
    return std::any_of(compute.operands.begin(), compute.operands.end(), [&](SlotId id) { return slots.count(id) > 0; });
  }
  bool has_layout(SlotId id) const { return !layout_ || SlotLayout(slot(id)) == *layout_; }

  // One element for each position along the leading dimensions; dimensions of size 1 may follow.
  bool is_row(SlotId id) const {
    if (!row_rank_) return false;
    const Slot& it = slot(id);
    const Shape& shape = it.type.shape;
    if (!it.windows.empty() || shape.size() < *row_rank_) return false;
    const auto rank = std::ptrdiff_t(*row_rank_);
    return std::equal(shape.begin(), shape.begin() + rank, layout_->shape.begin()) &&
           std::equal(it.spec.begin(), it.spec.begin() + rank, layout_->spec.begin()) &&
           std::all_of(shape.begin() + rank, shape.end(), [](std::int64_t size) { return size == 1; }) &&
           std::all_of(it.spec.begin() + rank, it.spec.end(), [](const Axes& axes) { return axes.empty(); });
  }

  bool is_reduction(const ComputeStep& compute) const {
    const OpDef& op = *node_of(compute).op;
    return compute.operands.size() == 1 && op.reduction && op.collective.empty() && node_of(compute).attrs.has("axes");
  }

  // Along the first dimensions, of what is made inside; enough of them for the threads of a block.
  std::optional<Member> of_columns(const ComputeStep& compute, int step) const {
    const Slot &from = slot(compute.operands[0]), &to = slot(compute.results[0]);
    const auto& axes = node_of(compute).attrs.integers("axes");
    const Shape& shape = from.type.shape;
    auto made = is_row_.find(compute.operands[0]);
    if (made == is_row_.end() || made->second || row_rank_ || column_rank_.value_or(axes.size()) != axes.size()) return std::nullopt;
    if (columns_ == kColumnsMax || input_.last_use[std::size_t(compute.results[0])] <= step) return std::nullopt;
    for (std::size_t i = 0; i < axes.size(); ++i)
      if (axes[i] != std::int64_t(i)) return std::nullopt;
    const auto rank = std::ptrdiff_t(axes.size());
    if (!from.windows.empty() || !to.windows.empty()) return std::nullopt;
    if (!std::equal(to.spec.begin(), to.spec.end(), from.spec.begin() + rank, from.spec.end())) return std::nullopt;
    if (element_count(Shape(shape.begin() + rank, shape.end())) < kColumnElementsMin) return std::nullopt;
    return Member{Member::How::kColumns, false, {}};
  }

  // Along the last dimensions; what a row is, is the same for all reductions inside.
  std::optional<Member> reduction(const ComputeStep& compute, int step) const {
    const Slot &from = slot(compute.operands[0]), &to = slot(compute.results[0]);
    const auto& axes = node_of(compute).attrs.integers("axes");
    const Shape& shape = from.type.shape;
    if (axes.empty() || axes.size() >= shape.size()) return std::nullopt;
    if (input_.kinds.columns && axes[0] == 0) return of_columns(compute, step);
    if (column_rank_) return std::nullopt;
    const std::size_t rank = shape.size() - axes.size();
    for (std::size_t i = 0; i < axes.size(); ++i)
      if (axes[i] != std::int64_t(rank + i)) return std::nullopt;
    if (!has_layout(compute.operands[0]) || row_rank_.value_or(rank) != rank) return std::nullopt;
    if (!from.windows.empty() || !to.windows.empty()) return std::nullopt;
    if (!std::equal(to.spec.begin(), to.spec.end(), from.spec.begin(), from.spec.begin() + std::ptrdiff_t(rank))) return std::nullopt;
    if (element_count(Shape(shape.begin() + std::ptrdiff_t(rank), shape.end())) > kRowElementsMax) return std::nullopt;
    return Member{Member::How::kReduce, true, {}};
  }

  std::optional<Member> elementwise(const ComputeStep& compute) const {
    const Node& node = node_of(compute);
    const SlotId result = compute.results[0];
    Member member;
    member.is_row = !has_layout(result);
    if (member.is_row && !is_row(result)) return std::nullopt;
    if (node.op->tile != nullptr) {
      member.how = Member::How::kTile;
    } else if (is_draw(compute) && !member.is_row) {
      member.how = Member::How::kDraw;
    } else if (node.op->broadcasts && program_.graph.type(node.operands[0]).shape.empty()) {
      member.how = Member::How::kScalar;
    } else if (hands_on(compute)) {
      member.how = Member::How::kHandOn;
    } else if (auto repetition = repetition_of(compute); repetition && !member.is_row) {
      auto made = is_row_.find(compute.operands[0]);
      member.how = made == is_row_.end() ? Member::How::kRepeat : Member::How::kSpread;
      member.repetition = *repetition;
      if (made != is_row_.end() && !(made->second && keeps_its_dimensions(node, compute.operands[0]))) return std::nullopt;
    } else {
      return std::nullopt;
    }
    return member;
  }

  // Random bits by one key, which all devices have.
  bool is_draw(const ComputeStep& compute) const {
    if (!input_.kinds.draws || node_of(compute).op != &ops::kRandomBits) return false;
    const Slot& key = slot(compute.operands[0]);
    const bool is_whole = std::all_of(key.spec.begin(), key.spec.end(), [](const Axes& axes) { return axes.empty(); });
    return key.type.rank() == 1 && is_whole && key.windows.empty() && slot(compute.results[0]).windows.empty();
  }

  // An identity, or dimensions of size 1 that come to rows' values or go.
  bool hands_on(const ComputeStep& compute) const {
    const OpDef& op = *node_of(compute).op;
    if (compute.operands.size() != 1) return false;
    if (&op == &ops::kReshape) return is_row(compute.operands[0]) && is_row(compute.results[0]);
    return op.elementwise && op.tile == nullptr && op.collective.empty() &&
           SlotLayout(slot(compute.operands[0])) == SlotLayout(slot(compute.results[0]));
  }

  // A broadcast of a row's value that repeats it along the row.
  bool keeps_its_dimensions(const Node& node, SlotId operand) const {
    const auto& dims = node.attrs.integers("dims");
    for (std::size_t k = 0; k < *row_rank_; ++k)
      if (slot(operand).type.shape[k] != 1 && dims[k] != std::int64_t(k)) return false;
    return true;
  }

  // A broadcast whose operand's dimensions lie side by side in the result, and are cut alike; nothing for others.
  std::optional<FusedStep::Repetition> repetition_of(const ComputeStep& compute) const {
    const Node& node = node_of(compute);
    if (!node.op->broadcasts) return std::nullopt;
    const Slot &from = slot(compute.operands[0]), &to = slot(compute.results[0]);
    if (!from.windows.empty() || !to.windows.empty()) return std::nullopt;
    const auto& dims = node.attrs.integers("dims");
    std::vector<std::size_t> kept;  // dimensions of the result
    for (std::size_t k = 0; k < dims.size(); ++k) {
      if (from.type.shape[k] == 1) continue;
      if (from.spec[k] != to.spec[std::size_t(dims[k])]) return std::nullopt;
      kept.push_back(std::size_t(dims[k]));
    }
    if (kept.empty() || kept.size() == to.type.shape.size()) return std::nullopt;
    for (std::size_t i = 1; i < kept.size(); ++i)
      if (kept[i] != kept[i - 1] + 1) return std::nullopt;
    return FusedStep::Repetition{kept.front(), kept.back() + 1};
  }

  const FusionInput& input_;
  const PartitionedProgram& program_;
  std::vector<Member> members_;
  std::map<SlotId, bool> is_row_;  // of the results
  std::optional<SlotLayout> layout_;
  int layout_slot_ = -1;
  std::optional<std::size_t> row_rank_, column_rank_;
  int columns_ = 0;
  std::set<SlotId> absent_;  // what comes of columns, and of steps left for later
};

// Builds one fused step; scratch tiles are given back after their last reader.
class Fuser {
 public:
  Fuser(const FusionInput& input, int first, const Members& members)
      : input_(input), program_(*input.program), members_(members.list()), first_(first), last_(first + int(members_.size())) {
    fused_.layout_slot = members.layout_slot();
    fused_.row_rank = members.row_rank();
    fused_.steps = last_ - first_;
    for (int step = first_; step < last_; ++step) add(step, members_[std::size_t(step - first_)]);
  }

  FusedStep take() { return std::move(fused_); }

 private:
  using How = Member::How;
  using Ref = FusedStep::Ref;

  DType dtype_of(SlotId slot) const { return program_.slots[std::size_t(slot)].type.dtype; }
  bool is_used_outside(SlotId slot) const { return input_.last_use[std::size_t(slot)] >= last_; }

  bool is_read_after(SlotId slot, int step) const {
    for (int later = step + 1; later < last_; ++later) {
      const auto& operands = compute_at(input_, later)->operands;
      if (std::find(operands.begin(), operands.end(), slot) != operands.end()) return true;
    }
    return false;
  }

  // By a reduction or a broadcast, which know no strides.
  bool is_read_by_elements(SlotId slot, int step) const {
    for (int later = step + 1; later < last_; ++later) {
      const How how = members_[std::size_t(later - first_)].how;
      if ((how == How::kReduce || how == How::kSpread) && compute_at(input_, later)->operands[0] == slot) return true;
    }
    return false;
  }

  Ref input_ref(SlotId slot, bool is_row) {
    auto found = std::find(fused_.inputs.begin(), fused_.inputs.end(), slot);
    int index = int(found - fused_.inputs.begin());
    const TensorType& type = program_.slots[std::size_t(slot)].type;
    if (found == fused_.inputs.end()) {
      fused_.inputs.push_back(slot);
      fused_.input_bytes.push_back(size_of(type.dtype));
      fused_.input_is_scalar.push_back(type.shape.empty());
    }
    return {.kind = Ref::Kind::kInput, .index = index, .is_scalar = type.shape.empty(), .is_row = is_row};
  }

  Ref operand_ref(SlotId slot, bool is_row) {
    auto made = made_.find(slot);
    return made != made_.end() ? made->second : input_ref(slot, is_row);
  }

  Ref result_ref(SlotId slot, bool is_row, bool is_column) {
    if (is_used_outside(slot)) {
      fused_.outputs.push_back(slot);
      fused_.output_bytes.push_back(size_of(dtype_of(slot)));
      return {.kind = Ref::Kind::kOutput, .index = int(fused_.outputs.size()) - 1, .is_row = is_row, .is_column = is_column};
    }
    fused_.scratch_bytes = std::max(fused_.scratch_bytes, size_of(dtype_of(slot)));
    if (free_.empty()) return {.kind = Ref::Kind::kScratch, .index = fused_.scratch_tiles++, .is_row = is_row};
    int tile = free_.back();
    free_.pop_back();
    return {.kind = Ref::Kind::kScratch, .index = tile, .is_row = is_row};
  }

  // The operands' tiles that nobody reads after the step. In place only where elements are equally wide.
  void give_back(const ComputeStep& compute, int step) {
    for (SlotId slot : compute.operands) {
      auto made = made_.find(slot);
      if (made == made_.end() || made->second.kind != Ref::Kind::kScratch || is_read_after(slot, step)) continue;
      if (std::find(free_.begin(), free_.end(), made->second.index) == free_.end() &&
          size_of(dtype_of(slot)) == size_of(dtype_of(compute.results[0])))
        free_.push_back(made->second.index);
    }
  }

  void add(int step, const Member& member) {
    const ComputeStep& compute = *compute_at(input_, step);
    const Node& node = program_.graph.nodes[std::size_t(compute.node)];
    if (fused_.first_node < 0) fused_.first_node = compute.node;
    const SlotId result = compute.results[0];
    const bool reads_rows = member.is_row ? member.how != How::kReduce : member.how == How::kSpread;
    FusedStep::Op op;
    for (SlotId slot : compute.operands) {
      op.operands.push_back(operand_ref(slot, reads_rows));
      op.operands.back().is_whole = member.how == How::kRepeat || member.how == How::kDraw;
      op.dtypes.push_back(dtype_of(slot));
    }
    if (member.how == How::kScalar && !is_used_outside(result) && !is_read_by_elements(result, step)) {
      made_[result] = op.operands[0];  // read with stride 0: never made
      return;
    }
    op.node = &node;
    op.result_dtype = dtype_of(result);
    switch (member.how) {
      case How::kTile:
        op.tile = node.op->tile(op.dtypes, op.result_dtype);
        break;
      case How::kRepeat:
        op.repetition = int(fused_.repetitions.size());
        fused_.repetitions.push_back(member.repetition);
        break;
      case How::kSpread:
        op.spreads = true;
        break;
      case How::kReduce:
        op.reduce = node.op->kernel;
        break;
      case How::kColumns:
        op.of_columns = true;
        break;
      case How::kDraw:
        op.draws = true;
        break;
      case How::kHandOn:
      case How::kScalar:
        break;
    }
    const bool may_work_in_place = member.how == How::kTile || member.how == How::kHandOn;
    if (may_work_in_place) give_back(compute, step);
    op.result = result_ref(result, member.is_row, member.how == How::kColumns);
    if (!may_work_in_place) give_back(compute, step);
    made_[result] = op.result;
    if (fused_.ops.size() < 3) fused_.name += fmt::format("{}{}", fused_.name.empty() ? "" : " + ", node.op->name);
    if (fused_.ops.size() == 3) fused_.name += " …";
    fused_.ops.push_back(std::move(op));
  }

  const FusionInput& input_;
  const PartitionedProgram& program_;
  const std::vector<Member>& members_;
  int first_, last_;
  FusedStep fused_;
  std::map<SlotId, Ref> made_;
  std::vector<int> free_;
};

// Puts some of the steps [first, end) behind the others of them.
void put_behind(FusionInput& input, int first, int end, const std::vector<int>& some) {
  std::vector<const spmd::Step*> before, behind;
  for (int step = first; step < end; ++step)
    (std::binary_search(some.begin(), some.end(), step) ? behind : before).push_back(input.steps[std::size_t(step)]);
  before.insert(before.end(), behind.begin(), behind.end());
  std::copy(before.begin(), before.end(), input.steps.begin() + first);
  for (int step = first; step < end; ++step)
    for (SlotId slot : compute_at(input, step)->operands)
      if (int& last = input.last_use[std::size_t(slot)]; last < end) last = step;
}

// Of sizes [first, last).
std::int64_t product(const Shape& sizes, std::size_t first, std::size_t last) {
  return std::accumulate(sizes.begin() + std::ptrdiff_t(first), sizes.begin() + std::ptrdiff_t(last), std::int64_t(1), std::multiplies<>());
}

}  // namespace

FusedStep::Rows FusedStep::rows(const Shape& local) const {
  return {product(local, 0, std::size_t(row_rank)), product(local, std::size_t(row_rank), local.size())};
}

bool FusedStep::reduces() const {
  return std::any_of(ops.begin(), ops.end(), [](const Op& op) { return op.reduce != nullptr; });
}
bool FusedStep::reduces_columns() const {
  return std::any_of(ops.begin(), ops.end(), [](const Op& op) { return op.of_columns; });
}
bool FusedStep::draws() const {
  return std::any_of(ops.begin(), ops.end(), [](const Op& op) { return op.draws; });
}

std::vector<FusedStep::Repeats> FusedStep::repeats(const Shape& local) const {
  std::vector<Repeats> result;
  for (const Repetition& each : repetitions)
    result.push_back({product(local, each.last, local.size()), product(local, each.first, each.last)});
  return result;
}

std::optional<FusedStep> fuse(FusionInput& input, int first) {
  Members members(input);
  std::vector<int> left;  // steps
  int end = first;
  for (int step = first; step < int(input.steps.size()); ++step) {
    if (members.add(step))
      end = step + 1;
    else if (left.size() < kLeftMax && members.leave(step))
      left.push_back(step);
    else
      break;
  }
  if (members.list().empty() || !members.is_worth_it()) return std::nullopt;
  left.erase(std::lower_bound(left.begin(), left.end(), end), left.end());
  if (!left.empty()) put_behind(input, first, end, left);
  return Fuser(input, first, members).take();
}

}  // namespace shardlab
