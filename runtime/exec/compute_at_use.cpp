#include "runtime/exec/compute_at_use.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "runtime/exec/slot_use.h"
#include "runtime/ops/primitives.h"

namespace shardlab {
namespace {

using spmd::ComputeStep;
using spmd::PartitionedProgram;
using spmd::Slot;
using spmd::SlotId;

constexpr std::size_t kStepsMax = 24;  // computed again for a value, numbers that are repeated among them

bool is_exact(std::string_view op) {
  static const std::set<std::string_view> kExact = {"maximum", "minimum", "equal",         "not_equal", "less", "less_equal",
                                                    "greater", "abs",     "greater_equal", "select",    "neg",  "sign",
                                                    "and",     "or",      "not",           "is_finite", "div"};
  return kExact.count(op) > 0;
}

class AtUse {
 public:
  AtUse(PartitionedProgram& program, std::vector<const spmd::Step*>& steps, std::deque<spmd::Step>& made)
      : program_(program), steps_(steps), made_(made), makers_(program.slots.size(), -1), readers_(program.slots.size()) {
    for (int i = 0; i < int(steps.size()); ++i) {
      const SlotUse use = use_of(steps[std::size_t(i)]);
      for (SlotId slot : use.reads) readers_[std::size_t(slot)].push_back(i);
      for (SlotId slot : use.writes) makers_[std::size_t(slot)] = i;
      run_of_.push_back(i > 0 && is_light(i) && is_light(i - 1) ? run_of_.back() : i);
    }
    for (SlotId slot : program.results) readers_[std::size_t(slot)].push_back(int(steps.size()));
  }

  void run() {
    std::vector<const spmd::Step*> result;
    for (int i = 0; i < int(steps_.size()); ++i) {
      if (run_of_[std::size_t(i)] == i) begin_run(i);
      result.push_back(is_light(i) ? with_own_operands(i, result) : steps_[std::size_t(i)]);
    }
    steps_ = without_unread(std::move(result));
  }

 private:
  const ComputeStep* compute_at(int step) const { return std::get_if<ComputeStep>(steps_[std::size_t(step)]); }
  const Slot& slot(SlotId id) const { return program_.slots[std::size_t(id)]; }
  const OpDef& op_of(const ComputeStep& compute) const { return *program_.graph.nodes[std::size_t(compute.node)].op; }
  bool is_scalar(SlotId id) const { return slot(id).type.shape.empty(); }

  // A number that is repeated.
  bool is_fill(const ComputeStep& compute) const {
    return &op_of(compute) == &ops::kBroadcastInDim && is_scalar(compute.operands[0]) && makers_[std::size_t(compute.operands[0])] < 0;
  }
  bool is_light(int step) const {
    const ComputeStep* compute = compute_at(step);
    if (compute == nullptr || compute->results.size() != 1) return false;
    const OpDef& op = op_of(*compute);
    return op.tile != nullptr || is_fill(*compute);
  }
  bool has_layout_of(SlotId a, SlotId b) const {
    return slot(a).type.shape == slot(b).type.shape && slot(a).spec == slot(b).spec && slot(a).partial == slot(b).partial &&
           slot(a).windows == slot(b).windows;
  }
  int end_of(int run) const {
    int end = run + 1;
    while (end < int(steps_.size()) && run_of_[std::size_t(end)] == run) ++end;
    return end;
  }
  // It is in memory whatever happens here: it comes of something else than a run, or another run reads it.
  bool is_kept(SlotId id) const {
    const int maker = makers_[std::size_t(id)];
    if (maker < 0 || !is_light(maker)) return true;
    const int end = end_of(run_of_[std::size_t(maker)]);
    return std::any_of(readers_[std::size_t(id)].begin(), readers_[std::size_t(id)].end(), [&](int reader) { return reader >= end; });
  }

  // The value that another comes of by exact steps alone, numbers aside, and these, the first one last.
  struct Source {
    SlotId from = -1;
    std::vector<int> steps;
  };
  std::optional<Source> source_of(SlotId id) const {
    Source source;
    std::set<std::pair<int, SlotId>> open{{makers_[std::size_t(id)], id}};  // by where they are made: the latest is the last
    while (open.size() > 1 || open.begin()->second == id || !is_kept(open.begin()->second)) {
      const auto [step, value] = *open.rbegin();
      if (step < 0 || !is_light(step) || source.steps.size() == kStepsMax || !has_layout_of(value, id)) return std::nullopt;
      const ComputeStep& compute = *compute_at(step);
      if (!is_exact(op_of(compute).name)) return std::nullopt;
      open.erase(std::prev(open.end()));
      source.steps.push_back(step);
      for (SlotId operand : compute.operands) {
        const int maker = makers_[std::size_t(operand)];
        if (is_scalar(operand)) return std::nullopt;
        if (maker >= 0 && is_light(maker) && is_fill(*compute_at(maker)))
          source.steps.push_back(maker);
        else
          open.insert({maker, operand});
      }
      if (open.empty()) return std::nullopt;  // of numbers alone
    }
    source.from = open.begin()->second;
    return has_layout_of(source.from, id) ? std::optional(source) : std::nullopt;
  }

  void begin_run(int run) {
    again_.clear();
    read_.clear();
    first_ = run;
    end_ = end_of(run);
    for (int i = run; i < end_; ++i) {
      const auto& reads = use_of(steps_[std::size_t(i)]).reads;
      read_.insert(reads.begin(), reads.end());
    }
  }

  // Whether it is to be computed again in the open run: nobody else reads it, or what it comes of is read there as well.
  std::optional<Source> to_compute_again(SlotId id) const {
    const int maker = makers_[std::size_t(id)];
    if (maker < 0 || maker >= first_ || !is_light(maker) || is_fill(*compute_at(maker)) || is_scalar(id)) return std::nullopt;
    std::optional<Source> source = source_of(id);
    if (!source) return std::nullopt;
    const auto& readers = readers_[std::size_t(id)];
    const bool is_alone = std::all_of(readers.begin(), readers.end(), [&](int reader) { return reader >= first_ && reader < end_; });
    if (is_alone && slot(source->from).type.bytes() <= slot(id).type.bytes()) return source;
    return read_.count(source->from) > 0 ? source : std::nullopt;
  }

  const spmd::Step* with_own_operands(int step, std::vector<const spmd::Step*>& result) {
    ComputeStep own = *compute_at(step);
    bool is_changed = false;
    for (SlotId& operand : own.operands) {
      if (again_.count(operand) == 0) {
        const auto source = to_compute_again(operand);
        if (!source) continue;
        for (auto at = source->steps.rbegin(); at != source->steps.rend(); ++at) compute_again(*at, result);
      }
      operand = again_.at(operand);
      is_changed = true;
    }
    return is_changed ? &made_.emplace_back(std::move(own)) : steps_[std::size_t(step)];
  }
  void compute_again(int step, std::vector<const spmd::Step*>& result) {
    ComputeStep own = *compute_at(step);
    const SlotId id = own.results[0];
    if (again_.count(id) > 0) return;
    for (SlotId& operand : own.operands)
      if (auto found = again_.find(operand); found != again_.end()) operand = found->second;
    own.results[0] = again_[id] = SlotId(program_.slots.size());
    program_.slots.push_back(Slot(slot(id)));
    result.push_back(&made_.emplace_back(std::move(own)));
  }

  // Nobody reads some of the values any more that were there before.
  std::vector<const spmd::Step*> without_unread(std::vector<const spmd::Step*> steps) const {
    std::vector<bool> is_read(program_.slots.size());
    for (SlotId slot : program_.results) is_read[std::size_t(slot)] = true;
    std::vector<const spmd::Step*> left;
    for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
      auto* compute = std::get_if<ComputeStep>(*step);
      const bool is_own = compute != nullptr && compute->results.size() == 1 && (op_of(*compute).tile != nullptr || is_fill(*compute));
      if (is_own && !is_read[std::size_t(compute->results[0])] && was_read(compute->results[0])) continue;
      for (SlotId slot : use_of(*step).reads) is_read[std::size_t(slot)] = true;
      left.push_back(*step);
    }
    std::reverse(left.begin(), left.end());
    return left;
  }
  bool was_read(SlotId id) const { return std::size_t(id) >= readers_.size() || !readers_[std::size_t(id)].empty(); }

  PartitionedProgram& program_;
  std::vector<const spmd::Step*>& steps_;
  std::deque<spmd::Step>& made_;
  std::vector<int> makers_;                // by slot: the step, or -1
  std::vector<std::vector<int>> readers_;  // by slot: steps; the end for a result
  std::vector<int> run_of_;                // of steps: the first of the elementwise ones it is among, or itself
  // Of the open run:
  int first_ = 0, end_ = 0;
  std::set<SlotId> read_;
  std::map<SlotId, SlotId> again_;
};

}  // namespace

void compute_at_use(PartitionedProgram& program, std::vector<const spmd::Step*>& steps, std::deque<spmd::Step>& made) {
  AtUse(program, steps, made).run();
}

}  // namespace shardlab
