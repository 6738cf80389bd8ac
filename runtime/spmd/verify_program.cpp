#include <algorithm>
#include <set>

#include "runtime/comm/collectives.h"
#include "runtime/spmd/candidates.h"
#include "runtime/spmd/index_map.h"
#include "runtime/spmd/layout.h"
#include "runtime/spmd/prepare.h"
#include "runtime/spmd/program.h"
#include "runtime/spmd/project.h"

namespace shardlab::spmd {
namespace {

// Checks one program from its first step to its last; errors name the step.
class Verifier {
 public:
  explicit Verifier(const PartitionedProgram& program) : program_(program), ready_(program.slots.size(), false) {}

  void run() {
    for (SlotId slot : program_.params) make_ready(slot);
    for (const Slot& slot : program_.slots) {
      SL_CHECK(slot.spec.size() == slot.type.shape.size(), "{} is cut by {}", slot.type.text(), text_of(slot.spec, program_.mesh));
      SL_CHECK(slot.windows.empty() || slot.windows.size() == std::size_t(program_.mesh.size()), "{} has {} windows", slot.type.text(),
               slot.windows.size());
    }
    for (at_ = 0; at_ < program_.steps.size(); ++at_) std::visit([&](const auto& step) { check(step); }, program_.steps[at_]);
    SL_CHECK(program_.params.size() == program_.graph.params.size() && program_.results.size() == program_.graph.results.size(),
             "parameters or results are missing");
    for (std::size_t i = 0; i < program_.results.size(); ++i) {
      const Slot& result = need(program_.results[i]);
      SL_CHECK(result.partial.empty(), "result {} is partial", i);
      SL_CHECK(result.type == program_.graph.type(program_.graph.results[i]), "result {} has type {}", i, result.type.text());
    }
  }

 private:
  const Slot& slot(SlotId id) const { return program_.slots[std::size_t(id)]; }

  const Slot& need(SlotId id) const {
    SL_CHECK(id >= 0 && std::size_t(id) < program_.slots.size() && ready_[std::size_t(id)], "step {}: slot {} is not there yet", at_, id);
    return slot(id);
  }

  void make_ready(SlotId id) {
    SL_CHECK(id >= 0 && std::size_t(id) < program_.slots.size() && !ready_[std::size_t(id)], "step {}: slot {} is made twice", at_, id);
    ready_[std::size_t(id)] = true;
  }

  void check(const ComputeStep& step) {
    const Node& node = program_.graph.nodes[std::size_t(step.node)];
    SL_CHECK(step.operands.size() == node.operands.size() && step.results.size() == node.results.size(),
             "step {}: {} has another number of operands or results", at_, node.op->name);
    for (std::size_t i = 0; i < node.operands.size(); ++i) {
      const Slot& operand = need(step.operands[i]);
      SL_CHECK(operand.partial.empty(), "step {}: operand {} of {} is partial", at_, i, node.op->name);
      SL_CHECK(operand.type == program_.graph.type(node.operands[i]), "step {}: operand {} of {} has type {}", at_, i, node.op->name,
               operand.type.text());
    }
    FactorRule rule = rule_of(program_.graph, node);
    if (node.op->needs != nullptr && (slot(step.results[0]).partial.empty() || shares_contraction(step, rule)))
      check_windows(step, node, rule);
    else if (rule.present)
      check_factors(step, node, rule);
    else
      check_without_rule(step, node);
    for (SlotId id : step.results) make_ready(id);
  }

  // The bodies are verified where they are partitioned; here that they fit: parameters and operands, results and results.
  void check(const RegionStep& step) {
    const Node& node = program_.graph.nodes[std::size_t(step.node)];
    SL_CHECK(step.operands.size() == node.operands.size() && step.results.size() == node.results.size(),
             "step {}: {} has another number of operands or results", at_, node.op->name);
    SL_CHECK(step.bodies.size() == node.attrs.bodies().size(), "step {}: {} has {} bodies", at_, node.op->name, step.bodies.size());
    for (std::size_t i = 0; i < step.operands.size(); ++i)
      SL_CHECK(need(step.operands[i]).partial.empty(), "step {}: operand {} of {} is partial", at_, i, node.op->name);
    for (SlotId id : step.results) make_ready(id);
  }

  // A constant has no operands and any form; another op without a rule works on whole arrays.
  void check_without_rule(const ComputeStep& step, const Node& node) const {
    for (SlotId id : step.operands)
      SL_CHECK(part_count(slot(id).spec) == 1, "step {}: {} has no rule and takes whole operands", at_, node.op->name);
    for (SlotId id : step.results) {
      SL_CHECK(slot(id).partial.empty(), "step {}: {} has no rule and cannot be partial", at_, node.op->name);
      SL_CHECK(step.operands.empty() || part_count(slot(id).spec) == 1, "step {}: {} has no rule and gives whole results", at_,
               node.op->name);
    }
  }

  // What each position goes over of the factors that the op contracts: what its operands' boxes have in common of them.
  std::vector<Box> contracted_boxes(const ComputeStep& step, const FactorRule& rule) const {
    std::vector<Box> common(std::size_t(program_.mesh.size()));
    for (int factor : contracted_factors(rule)) {
      for (Box& box : common) box.push_back({0, rule.factors[std::size_t(factor)].size});
      for (std::size_t i = 0; i < step.operands.size(); ++i) {
        const FactorRule::TensorMap& map = rule.operands[i];
        const auto d = std::size_t(std::find(map.begin(), map.end(), std::vector<int>{factor}) - map.begin());
        const std::vector<Box> held = boxes_of(slot(step.operands[i]), program_.mesh);
        for (std::size_t p = 0; p < common.size(); ++p) common[p].back() = intersect({common[p].back()}, {held[p][d]})[0];
      }
    }
    return common;
  }

  // Whether the positions whose partial results are combined share what is contracted: each place is one's alone.
  bool shares_contraction(const ComputeStep& step, const FactorRule& rule) const {
    if (!rule.present) return false;
    const std::vector<Box> parts = contracted_boxes(step, rule);
    std::int64_t all = 1;
    for (int factor : contracted_factors(rule)) all *= rule.factors[std::size_t(factor)].size;
    for (const auto& group : groups_along(program_.mesh, slot(step.results[0]).partial)) {
      std::int64_t shared = 0;
      for (std::size_t m = 0; m < group.size(); ++m) {
        const Box& part = parts[std::size_t(group[m])];
        shared += element_count(part);
        for (std::size_t other = 0; other < m; ++other)
          if (common_elements(part, parts[std::size_t(group[other])]) > 0) return false;
      }
      if (shared != all) return false;
    }
    return true;
  }

  // Each position holds at least the windows that its part of the results needs, of what it goes over.
  void check_windows(const ComputeStep& step, const Node& node, const FactorRule& rule) const {
    for (SlotId id : step.results)
      SL_CHECK(slot(id).partial == slot(step.results[0]).partial, "step {}: results of {} are partial in several ways", at_, node.op->name);
    std::vector<std::vector<Box>> windows = windows_for(program_.graph, node, boxes_of(slot(step.results[0]), program_.mesh));
    if (!slot(step.results[0]).partial.empty()) narrow_to_parts(windows, rule, contracted_boxes(step, rule));
    for (std::size_t i = 0; i < step.operands.size(); ++i) {
      std::vector<Box> held = boxes_of(slot(step.operands[i]), program_.mesh);
      for (std::size_t p = 0; p < held.size(); ++p)
        SL_CHECK(holds(held[p], windows[i][p]), "step {}: position {} lacks a part of the window that {} needs of operand {}", at_, p,
                 node.op->name, i);
    }
  }

  // Every factor is cut alike in all tensors that hold it.
  void check_factors(const ComputeStep& step, const Node& node, const FactorRule& rule) const {
    std::vector<std::optional<Axes>> pieces(rule.factors.size());
    auto collect = [&](SlotId id, const FactorRule::TensorMap& map) {
      for (const FactorSharding& sharding : project(normalised(slot(id).spec), map, rule.factors)) {
        auto& known = pieces[std::size_t(sharding.factor)];
        SL_CHECK(sharding.overflow.empty(), "step {}: {} cuts across the factors of {}", at_, text_of(slot(id).spec, program_.mesh),
                 node.op->name);
        SL_CHECK(!known || *known == merged(sharding.axes), "step {}: the operands and results of {} are cut differently along factor {}",
                 at_, node.op->name, sharding.factor);
        known = merged(sharding.axes);
      }
    };
    for (std::size_t i = 0; i < step.operands.size(); ++i) collect(step.operands[i], rule.operands[i]);
    for (std::size_t i = 0; i < step.results.size(); ++i) collect(step.results[i], rule.results[i]);
    Axes partial;
    std::vector<bool> can_cut = cuttable_factors(*node.op, rule);
    for (std::size_t f = 0; f < pieces.size(); ++f) {
      if (!pieces[f] || pieces[f]->empty()) continue;
      const Factor& factor = rule.factors[f];
      SL_CHECK(can_cut[f], "step {}: factor {} of {} must be whole", at_, f, node.op->name);
      SL_CHECK(factor.size % shardlab::part_count(*pieces[f]) == 0 || may_be_uneven(rule, int(f)),
               "step {}: factor {} of {} is cut unevenly", at_, f, node.op->name);
      if (factor.kind == FactorKind::kReduce) partial.insert(partial.end(), pieces[f]->begin(), pieces[f]->end());
    }
    std::sort(partial.begin(), partial.end());
    for (SlotId id : step.results)
      SL_CHECK(slot(id).partial == merged(partial), "step {}: {} is partial over other axes than its reduced factors", at_, node.op->name);
  }

  void check(const MoveStep& step) {
    const Slot& from = need(step.from);
    const Slot& to = slot(step.to);
    SL_CHECK(from.type == to.type && from.value == to.value, "step {}: {} changes the value", at_, step.kind);
    SL_CHECK(step.groups == (step.axes.empty() ? std::vector<std::vector<int>>{} : groups_along(program_.mesh, step.axes)),
             "step {}: groups do not run along the axes", at_);
    if (step.reduction)
      check_reduction(step, from, to);
    else
      check_transfers(step, from, to);
    make_ready(step.to);
  }

  void check_reduction(const MoveStep& step, const Slot& from, const Slot& to) const {
    const comm::CollectiveDef* collective = comm::find_collective(step.kind);
    SL_CHECK(collective != nullptr && collective->reduces, "step {}: {} reduces nothing", at_, step.kind);
    AtomTable table(program_.mesh);
    table.add_cuts(from.partial);
    table.add_cuts(to.partial);
    Axes atoms = table.prime_atoms();
    auto digits = [&](const Axes& axes) {
      auto split = split_into(axes, atoms);
      SL_CHECK(split, "step {}: axes of {} are not part of the partial ones", at_, step.kind);
      return std::set<AxisPiece>(split->begin(), split->end());
    };
    std::set<AxisPiece> before = digits(from.partial), reduced = digits(step.axes), after = digits(to.partial);
    for (const AxisPiece& piece : reduced) SL_CHECK(before.erase(piece) == 1, "step {}: {} over axes that are not partial", at_, step.kind);
    SL_CHECK(before == after, "step {}: {} leaves other axes partial than it should", at_, step.kind);
    std::vector<Box> held = boxes_of(from, program_.mesh), boxes = boxes_of(to, program_.mesh);
    for (const auto& group : step.groups) {
      Box common = held[std::size_t(group[0])];
      for (int member : group) common = intersect(common, held[std::size_t(member)]);
      for (int target : group)
        SL_CHECK(holds(common, boxes[std::size_t(target)]), "step {}: some position lacks a part of {}'s box", at_, target);
    }
  }

  void check_transfers(const MoveStep& step, const Slot& from, const Slot& to) const {
    SL_CHECK(from.partial.empty() && to.partial.empty(), "step {}: {} of partial results", at_, step.kind);
    std::vector<Box> held = boxes_of(from, program_.mesh);
    std::vector<Box> wanted = boxes_of(to, program_.mesh);
    if (step.kind == "collective-permute") {
      check_permutes(step, held, wanted);
    } else if (step.groups.empty()) {
      for (std::size_t p = 0; p < wanted.size(); ++p)
        SL_CHECK(holds(held[p], wanted[p]), "step {}: position {} lacks a part of its slice", at_, p);
    } else {
      for (const auto& group : step.groups) check_group(group, held, wanted);
    }
  }

  void check_permutes(const MoveStep& step, const std::vector<Box>& held, const std::vector<Box>& wanted) const {
    std::vector<std::int64_t> received(held.size(), 0);
    std::set<std::pair<int, int>> sending, receiving;  // (call, position)
    for (const Transfer& transfer : step.transfers) {
      SL_CHECK(holds(held[std::size_t(transfer.source)], transfer.box), "step {}: position {} does not hold what it sends", at_,
               transfer.source);
      SL_CHECK(holds(wanted[std::size_t(transfer.target)], transfer.box), "step {}: position {} is sent what it does not need", at_,
               transfer.target);
      received[std::size_t(transfer.target)] += element_count(transfer.box);
      if (transfer.source == transfer.target) continue;
      SL_CHECK(transfer.call < step.calls && sending.insert({transfer.call, transfer.source}).second &&
                   receiving.insert({transfer.call, transfer.target}).second,
               "step {}: permute {} uses a position twice", at_, transfer.call);
    }
    for (std::size_t p = 0; p < wanted.size(); ++p)
      SL_CHECK(received[p] == element_count(wanted[p]), "step {}: position {} gets {} of {} elements", at_, p, received[p],
               element_count(wanted[p]));
  }

  // Blocks of one spec are equal or disjoint: what distinct blocks of the members cover adds up.
  void check_group(const std::vector<int>& group, const std::vector<Box>& held, const std::vector<Box>& wanted) const {
    std::vector<const Box*> blocks;
    for (int member : group) blocks.push_back(&held[std::size_t(member)]);
    auto by_start = [](const Box* a, const Box* b) {
      return std::lexicographical_compare(a->begin(), a->end(), b->begin(), b->end(),
                                          [](const Interval& x, const Interval& y) { return x.start < y.start; });
    };
    std::sort(blocks.begin(), blocks.end(), by_start);
    blocks.erase(std::unique(blocks.begin(), blocks.end(), [](const Box* a, const Box* b) { return *a == *b; }), blocks.end());
    const Box* before = nullptr;
    for (int target : group) {
      const Box& box = wanted[std::size_t(target)];
      if (before != nullptr && box == *before) continue;
      before = &box;
      std::int64_t covered = 0;
      for (const Box* block : blocks) covered += common_elements(*block, box);
      SL_CHECK(covered == element_count(box), "step {}: position {} gets {} of {} elements", at_, target, covered, element_count(box));
    }
  }

  // Nothing is held by everyone.
  static bool holds(const Box& outer, const Box& inner) { return element_count(inner) == 0 || contains(outer, inner); }

  static std::int64_t common_elements(const Box& a, const Box& b) {
    std::int64_t count = 1;
    for (std::size_t d = 0; d < a.size(); ++d)
      count *= std::max<std::int64_t>(0, std::min(a[d].stop, b[d].stop) - std::max(a[d].start, b[d].start));
    return count;
  }

  const PartitionedProgram& program_;
  std::vector<bool> ready_;
  std::size_t at_ = 0;
};

}  // namespace

void verify(const PartitionedProgram& program) { Verifier(program).run(); }

}  // namespace shardlab::spmd
