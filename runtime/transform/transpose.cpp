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
  void add(ValueId id, ValueId cotangent) {
    if (cotangent == kZero) return;
    SL_CHECK(b_.type(cotangent) == graph_.type(id), "a cotangent {} of a value {}", b_.type(cotangent).text(), graph_.type(id).text());
    cotangent_[id] = ops::add_tangents(b_, cotangent_[id], cotangent);
  }
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
    for (auto node = graph_.nodes.rbegin(); node != graph_.nodes.rend(); ++node) {
      if (!asked_[std::size_t(node->results[0])]) continue;
      std::vector<ValueId> cotangents;
      for (ValueId id : node->results) cotangents.push_back(cotangent_[id]);
      if (std::all_of(cotangents.begin(), cotangents.end(), [](ValueId id) { return id == kZero; })) continue;
      with_place(b_, *node, calls_(node->call), [&] { transpose(*node, cotangents); });
    }
    b_.set_place({}, "");
    order_cotangents();
  }

 private:
  // A call's backward pass gives cotangents in the order of what the call takes: JAX's is that of the function's parameters, of which
  // graphs know but which is used first.
  void order_cotangents() {
    std::vector<std::pair<CallRef, std::vector<ValueId>>> taken;  // in program order: all processes must give the same one
    std::map<CallRef, std::size_t> places;
    for (const Node& node : graph_.nodes)
      for (CallRef call = node.call; call != nullptr; call = call->around) {
        const std::size_t place = places.try_emplace(call, taken.size()).first->second;
        if (place == taken.size()) taken.push_back({call, {}});
        std::vector<ValueId>& ids = taken[place].second;
        for (ValueId id : node.operands) {
          const NodeId producer = graph_.values[std::size_t(id)].producer;
          const bool is_inside = producer >= 0 && is_within(graph_.nodes[std::size_t(producer)].call, call);
          if (!is_inside && asked_[std::size_t(id)] && std::find(ids.begin(), ids.end(), id) == ids.end()) ids.push_back(id);
        }
      }
    for (const auto& [call, ids] : taken) {
      const CallRef backward = calls_(call);
      std::vector<ValueId> given;
      for (ValueId id : ids) {
        const NodeId producer = cotangent_[id] == kZero ? -1 : b_.graph().values[std::size_t(cotangent_[id])].producer;
        if (producer >= 0 && is_within(b_.graph().nodes[std::size_t(producer)].call, backward)) given.push_back(cotangent_[id]);
      }
      b_.order_results(given);
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
      if (operands[i] == kAsked) add(node.operands[i], found[i]);
  }

  GraphBuilder& b_;
  const Graph& graph_;
  Renaming known_, cotangent_;
  std::vector<bool> asked_;
  CallCopies calls_;
};

}  // namespace

std::vector<ValueId> emit_transpose(GraphBuilder& b, const Graph& linear, int asked, const std::vector<ValueId>& known,
                                    const std::vector<ValueId>& cotangents) {
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
  for (std::size_t i = 0; i < cotangents.size(); ++i) transposer.add(linear.results[i], cotangents[i]);
  transposer.run();
  std::vector<ValueId> result;
  for (int i = 0; i < asked; ++i) result.push_back(transposer.cotangent(linear.params[std::size_t(i)]));
  return result;
}

}  // namespace shardlab::transform
