#include "runtime/transform/scan_invariants.h"

#include <algorithm>

#include "runtime/graph/host_callback.h"
#include "runtime/transform/inline.h"
#include "runtime/transform/region.h"
#include "runtime/transform/wide_types.h"

namespace shardlab::transform {
namespace {

// Per value of the body whether it depends on the first parameters, and on nothing else that is no constant.
struct Dependence {
  std::vector<bool> on_consts, on_others;

  Dependence(const Graph& body, std::size_t consts) : on_consts(body.values.size()), on_others(body.values.size()) {
    for (std::size_t i = 0; i < body.params.size(); ++i) (i < consts ? on_consts : on_others)[std::size_t(body.params[i])] = true;
    for (const Node& node : body.nodes)
      for (ValueId result : node.results) {
        if (has_effects(node)) on_others[std::size_t(result)] = true;
        for (ValueId id : node.operands) {
          if (on_consts[std::size_t(id)]) on_consts[std::size_t(result)] = true;
          if (on_others[std::size_t(id)]) on_others[std::size_t(result)] = true;
        }
      }
  }

  bool is_known(const Node& node) const { return !node.results.empty() && !on_others[std::size_t(node.results[0])]; }
  bool leaves(const Node& node) const { return is_known(node) && on_consts[std::size_t(node.results[0])]; }
};

// A node of a body whose own body has two parts: what follows from the constants alone, and the rest.
class Parter {
 public:
  Parter(const Graph& body, std::size_t consts) : body_(body), dependence_(body, consts), b_(body.name, config_for(body)), now_(body) {}

  Graph run() {
    if (std::none_of(body_.nodes.begin(), body_.nodes.end(), [&](const Node& node) { return may_part(node); })) return body_;
    for (ValueId id : body_.params) now_[id] = b_.param(body_.type(id));
    for (const Node& node : body_.nodes)
      if (!may_part(node) || !part(node)) emit_node(b_, node, now_);
    b_.set_place({}, "");
    b_.set_results(now_.of(body_.results));
    return b_.finish();
  }

 private:
  bool is_known(ValueId id) const { return !dependence_.on_others[std::size_t(id)]; }

  // Whether such a node, and all in its bodies, can be cut.
  static bool can_part(const Node& node) {
    const RegionKind kind = node.op->region;
    if (kind != RegionKind::kNone && kind != RegionKind::kScan && kind != RegionKind::kBranch && kind != RegionKind::kManual) return false;
    const Bodies& bodies = node.attrs.bodies();
    return std::all_of(bodies.begin(), bodies.end(),
                       [](const GraphRef& body) { return std::all_of(body->nodes.begin(), body->nodes.end(), can_part); });
  }

  bool may_part(const Node& node) const {
    if (!has_bodies(node) || !can_part(node) || has_effects(node) || dependence_.is_known(node)) return false;
    if (node.op->region == RegionKind::kBranch && !is_known(node.operands[0])) return false;
    return std::any_of(node.operands.begin(), node.operands.end(),
                       [&](ValueId id) { return is_known(id) && dependence_.on_consts[std::size_t(id)]; });
  }

  // False where there is nothing that follows from the constants alone.
  bool part(const Node& node) {
    std::vector<ValueId> known;
    for (ValueId id : node.operands) known.push_back(is_known(id) ? now_[id] : kZero);
    const std::size_t before = b_.graph().nodes.size();
    RegionSplit cut;
    with_place(b_, node, [&] { cut = split_region(b_, node, known); });
    const auto& nodes = b_.graph().nodes;
    if (std::none_of(nodes.begin() + std::ptrdiff_t(before), nodes.end(), [&](const Node& each) { return each.op == node.op; }))
      return false;
    for (std::size_t i = 0; i < node.results.size(); ++i)
      if (cut.known_results[i] != kZero) now_[node.results[i]] = cut.known_results[i];
    if (cut.results.empty()) return true;
    std::vector<ValueId> operands;
    for (const auto& each : cut.operands)
      operands.push_back(each.operand >= 0 ? now_[node.operands[std::size_t(each.operand)]] : each.residual);
    std::vector<ValueId> made;
    with_place(b_, node, [&] { made = b_.emit(*cut.op, operands, cut.attrs); });
    for (std::size_t i = 0; i < made.size(); ++i) now_[node.results[std::size_t(cut.results[i])]] = made[i];
    return true;
  }

  const Graph& body_;
  const Dependence dependence_;
  GraphBuilder b_;
  Renaming now_;
};

}  // namespace

HoistedBody with_invariants_before(GraphBuilder& b, const Graph& whole_body, const std::vector<ValueId>& consts, std::size_t first_kept) {
  const Graph body = Parter(whole_body, consts.size()).run();
  const Dependence dependence(body, consts.size());
  HoistedBody out;
  Renaming before(body);
  for (std::size_t i = 0; i < consts.size(); ++i) before[body.params[i]] = consts[i];
  std::vector<bool> is_leaving(body.values.size(), false), is_wanted(body.values.size(), false);
  for (const Node& node : body.nodes) {
    const bool leaves = dependence.leaves(node);
    if (dependence.is_known(node)) emit_node(b, node, before);  // constants, too, for what uses them
    for (ValueId id : node.results) is_leaving[std::size_t(id)] = leaves;
    if (!leaves)
      for (ValueId id : node.operands) is_wanted[std::size_t(id)] = true;
  }
  for (std::size_t i = 0; i < body.results.size(); ++i) {
    const ValueId id = body.results[i];
    if (i < first_kept) is_wanted[std::size_t(id)] = true;
    if (i >= first_kept) out.kept.push_back(is_leaving[std::size_t(id)] ? before[id] : kZero);
  }

  GraphBuilder inner(body.name, config_for(body));
  Renaming now(body);
  for (std::size_t i = 0; i < consts.size(); ++i) now[body.params[i]] = inner.param(body.type(body.params[i]));
  for (ValueId id = 0; id < ValueId(body.values.size()); ++id)
    if (is_leaving[std::size_t(id)] && is_wanted[std::size_t(id)]) {
      now[id] = inner.param(body.type(id));
      out.more_consts.push_back(before[id]);
    }
  for (std::size_t i = consts.size(); i < body.params.size(); ++i) now[body.params[i]] = inner.param(body.type(body.params[i]));
  for (const Node& node : body.nodes)
    if (!dependence.leaves(node)) emit_node(inner, node, now);
  std::vector<ValueId> results;
  for (std::size_t i = 0; i < body.results.size(); ++i)
    if (i < first_kept || out.kept[i - first_kept] == kZero) results.push_back(now[body.results[i]]);
  inner.set_results(std::move(results));
  out.body = inner.finish();
  return out;
}

}  // namespace shardlab::transform
