#include "runtime/transform/transpose.h"

#include <algorithm>
#include <map>

#include "runtime/ops/derive.h"
#include "runtime/transform/region.h"

namespace shardlab::transform {
namespace {

class Transposer {
 public:
  Transposer(GraphBuilder& b, const Graph& graph)
      : b_(b),
        graph_(graph),
        known_(graph),
        cotangent_(graph),
        asked_(graph.values.size()),
        calls_(b.present_call(), CallCopies::Of::kBackward) {}

  void ask(ValueId id) { asked_[std::size_t(id)] = true; }
  void know(ValueId id, ValueId value) { known_[id] = value; }
  void add(ValueId id, ValueId cotangent) { add_to(cotangent_[id], id, cotangent); }
  ValueId cotangent(ValueId id) const { return cotangent_[id]; }

  // What is known is computed first; asked() values stay without.
  void compute_known() {
    for (const Node& node : graph_.nodes) {
      if (std::any_of(node.operands.begin(), node.operands.end(), [&](ValueId id) { return asked_[std::size_t(id)]; }))
        for (ValueId id : node.results) ask(id);
      else
        emit_node(b_, node, known_);
    }
  }

  void run() {
    find_taken();
    for (auto node = graph_.nodes.rbegin(); node != graph_.nodes.rend(); ++node) {
      if (!asked_[std::size_t(node->results[0])]) continue;
      leave_calls(node->call);
      std::vector<ValueId> cotangents;
      for (ValueId id : node->results) cotangents.push_back(cotangent_[id]);
      if (std::all_of(cotangents.begin(), cotangents.end(), [](ValueId id) { return id == kZero; })) continue;
      with_place(b_, *node, calls_(node->call), [&] { transpose(*node, cotangents); });
    }
    leave_calls(nullptr);
    b_.set_place({}, "");
  }

 private:
  // A call whose backward pass is under way.
  struct Entered {
    CallRef call;
    const Node* last;                       // that was transposed
    std::map<ValueId, ValueId> cotangents;  // of what the call takes, as far as its own nodes are concerned
  };

  static bool is_of(const Graph& graph, ValueId id, const CallRef& call) {
    const NodeId producer = graph.values[std::size_t(id)].producer;
    return producer >= 0 && is_within(graph.nodes[std::size_t(producer)].call, call);
  }

  // What each call takes, in the order in which it uses it: JAX's is that of the function's parameters, which graphs do not know.
  void find_taken() {
    for (const Node& node : graph_.nodes)
      for (CallRef call = node.call; call != nullptr; call = call->around) {
        std::vector<ValueId>& ids = taken_[call];
        for (ValueId id : node.operands)
          if (asked_[std::size_t(id)] && !is_of(graph_, id, call) && std::find(ids.begin(), ids.end(), id) == ids.end()) ids.push_back(id);
      }
  }

  void add_to(ValueId& sum, ValueId id, ValueId cotangent) {
    if (cotangent == kZero) return;
    SL_CHECK(b_.type(cotangent) == graph_.type(id), "a cotangent {} of a value {}", b_.type(cotangent).text(), graph_.type(id).text());
    sum = ops::add_tangents(b_, sum, cotangent);
  }

  // A cotangent from a node of a call: what the call takes from outside gets one cotangent of all that is in the call.
  void add_within(const CallRef& call, const Node& node, ValueId id, ValueId cotangent) {
    if (call == nullptr || is_of(graph_, id, call)) return add(id, cotangent);
    auto entered = std::find_if(entered_.begin(), entered_.end(), [&](const Entered& each) { return each.call == call; });
    if (entered == entered_.end()) entered = entered_.insert(entered, {call, &node, {}});
    entered->last = &node;
    add_to(entered->cotangents.try_emplace(id, kZero).first->second, id, cotangent);
  }

  // Ends the backward passes of calls around what came before that are not around a node of `next`; they give cotangents in the order of
  // what the call takes.
  void leave_calls(const CallRef& next) {
    while (!entered_.empty() && !is_within(next, entered_.back().call)) {
      const Entered left = std::move(entered_.back());
      entered_.pop_back();
      std::vector<std::pair<ValueId, ValueId>> taken;  // with its cotangent
      for (ValueId id : taken_.at(left.call))
        if (const auto found = left.cotangents.find(id); found != left.cotangents.end() && found->second != kZero) taken.push_back(*found);
      std::vector<ValueId> given;
      for (const auto& [id, cotangent] : taken)
        if (is_of(b_.graph(), cotangent, calls_(left.call))) given.push_back(cotangent);
      b_.order_results(given);
      with_place(b_, *left.last, calls_(left.call->around), [&] {
        for (const auto& [id, cotangent] : taken) add_within(left.call->around, *left.last, id, cotangent);
      });
    }
  }

  void transpose(const Node& node, const std::vector<ValueId>& cotangents) {
    if (node.op->transpose == nullptr && !has_bodies(node))
      throw_no_rule(node, "Transpose rule (for reverse-mode differentiation)", "forward mode (jvp) works, or leave the op out");
    std::vector<ValueId> operands;
    for (ValueId id : node.operands) operands.push_back(asked_[std::size_t(id)] ? kAsked : known_[id]);
    std::vector<TensorType> types = graph_.types(node.operands);
    std::vector<ValueId> found = has_bodies(node) ? emit_region_transpose(b_, node, operands, types, cotangents)
                                                  : node.op->transpose(b_, {*node.op, node.attrs, operands, types, cotangents});
    SL_CHECK(found.size() == operands.size(), "{}: its transpose rule gives {} cotangents for {} operands", node.op->name, found.size(),
             operands.size());
    for (std::size_t i = 0; i < found.size(); ++i)
      if (operands[i] == kAsked) add_within(node.call, node, node.operands[i], found[i]);
  }

  GraphBuilder& b_;
  const Graph& graph_;
  Renaming known_, cotangent_;
  std::vector<bool> asked_;
  CallCopies calls_;
  std::map<CallRef, std::vector<ValueId>> taken_;
  std::vector<Entered> entered_;  // each around the next
};

}  // namespace

std::vector<ValueId> emit_transpose(GraphBuilder& b, const Graph& linear, int asked, const std::vector<ValueId>& known,
                                    const std::vector<ValueId>& cotangents, const std::vector<ValueId>& begun) {
  SL_CHECK(std::size_t(asked) + known.size() == linear.params.size(), "{} values for {} parameters", std::size_t(asked) + known.size(),
           linear.params.size());
  SL_CHECK(cotangents.size() == linear.results.size(), "{} cotangents for {} results", cotangents.size(), linear.results.size());
  Transposer transposer(b, linear);
  for (std::size_t i = 0; i < linear.params.size(); ++i) {
    if (int(i) < asked)
      transposer.ask(linear.params[i]);
    else
      transposer.know(linear.params[i], known[i - std::size_t(asked)]);
  }
  transposer.compute_known();
  for (std::size_t i = 0; i < begun.size(); ++i) transposer.add(linear.params[i], begun[i]);
  for (std::size_t i = 0; i < cotangents.size(); ++i) transposer.add(linear.results[i], cotangents[i]);
  transposer.run();
  std::vector<ValueId> result;
  for (int i = 0; i < asked; ++i) result.push_back(transposer.cotangent(linear.params[std::size_t(i)]));
  return result;
}

}  // namespace shardlab::transform
