#include "runtime/transform/scan_invariants.h"

#include <algorithm>

#include "runtime/graph/host_callback.h"
#include "runtime/transform/inline.h"
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

}  // namespace

HoistedBody with_invariants_before(GraphBuilder& b, const Graph& body, const std::vector<ValueId>& consts, std::size_t first_kept) {
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
