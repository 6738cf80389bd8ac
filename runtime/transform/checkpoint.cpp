// checkpoint: the backward pass gets the function's operands and computes its values again.
//
// Source: JAX's remat. What is known is computed; the linear half is the whole function once more, and is cut in two only where it is
// transposed, so that what it needs is computed there.
#include <algorithm>

#include "runtime/graph/dead_parts.h"
#include "runtime/graph/host_callback.h"
#include "runtime/ops/conv_rules.h"
#include "runtime/ops/derive.h"
#include "runtime/ops/region_types.h"
#include "runtime/transform/region_bodies.h"
#include "runtime/transform/saved_in_bodies.h"
#include "runtime/transform/transpose.h"
#include "runtime/transform/used_params.h"
#include "runtime/transform/wide_types.h"

namespace shardlab::transform {
namespace {

bool is_product(const Node& node) { return node.op == &ops::kDotGeneral || node.op == &ops::kConv; }
bool has_batch(const Node& node) { return node.op != &ops::kDotGeneral || !node.attrs.integers("batch").empty(); }

// Whether a policy keeps what a node computes. Source: jax.checkpoint_policies.
bool saves(std::string_view policy, const Attrs& attrs, const Node& node) {
  if (policy == "everything_saveable") return true;
  if (policy == "dots_saveable") return is_product(node);
  if (policy == "dots_with_no_batch_dims_saveable") return is_product(node) && !has_batch(node);
  if (!policy.starts_with("save_")) return false;
  if (node.op != &ops::kCheckpointName) return policy == "save_anything_except_these_names";
  const auto& names = attrs.strings("names");
  const bool is_named = std::find(names.begin(), names.end(), node.attrs.string("name")) != names.end();
  return is_named == (policy == "save_only_these_names");
}

// Of several, "|" between them, whether one does what is asked.
template <typename Asked>
bool any_policy(const Attrs& attrs, Asked does) {
  const std::string policies = attrs.has("policy") ? attrs.string("policy") : "nothing_saveable";
  for (std::string_view rest = policies;;) {
    const std::size_t end = rest.find('|');
    if (does(rest.substr(0, end))) return true;
    if (end == rest.npos) return false;
    rest.remove_prefix(end + 1);
  }
}

bool saves(const Attrs& attrs, const Node& node) {
  return any_policy(attrs, [&](std::string_view policy) { return saves(policy, attrs, node); });
}
bool saves_all(const Attrs& attrs) {
  return any_policy(attrs, [](std::string_view policy) { return policy == "everything_saveable"; });
}

// What of per-device code is kept is cut by its own rule.
bool has_code(const Graph& body) {
  bool has = false;
  visit_nodes(body, [&](const Node& node) { has |= node.op->region == RegionKind::kManual; });
  return has;
}

// The linear half: the body with its linear results alone, given the operands that it needs and what was saved.
class Again {
 public:
  Again(const SavedInBodies& saved, const BodySplit& split, const Attrs& attrs, const std::vector<bool>& is_linear) : body_(saved.graph) {
    const Graph& body = body_;
    std::vector<bool> needed(body.values.size(), false);
    for (std::size_t i = 0; i < is_linear.size(); ++i) {
      if (!is_linear[i]) continue;
      results_.push_back(body.results[i]);
      needed[std::size_t(body.results[i])] = true;
    }
    for (NodeId n = NodeId(body.nodes.size()) - 1; n >= 0; --n) {
      const Node* node = &body.nodes[std::size_t(n)];
      if (node->op == &ops::kIoCallback)
        throw_user_error("Effects not supported in partial-eval of `checkpoint`/`remat`: io_callback; call it outside of the function [{}]",
                         node->where.text());
      const bool is_needed = std::any_of(node->results.begin(), node->results.end(), [&](ValueId id) { return needed[std::size_t(id)]; });
      if (!is_needed && !has_effects(*node)) continue;
      bool varies = std::any_of(node->results.begin(), node->results.end(), [&](ValueId id) { return split.varies_value(id); });
      if (is_needed && !varies && saves(attrs, *node)) {
        for (ValueId id : node->results)
          if (needed[std::size_t(id)]) saved_.push_back(id);
        continue;
      }
      const auto found = saved.nodes.find(n);
      nodes_.push_back(found == saved.nodes.end() ? *node : with_taken(*node, found->second));
      if (found != saved.nodes.end())
        saved_.insert(saved_.end(), node->results.begin() + std::ptrdiff_t(found->second.own_results), node->results.end());
      for (ValueId id : node->operands) needed[std::size_t(id)] = true;
    }
    std::reverse(nodes_.begin(), nodes_.end());
    for (ValueId id : body.params) needs_param_.push_back(needed[std::size_t(id)]);
  }

  bool needs_param(std::size_t i) const { return needs_param_[i]; }
  const std::vector<ValueId>& saved() const { return saved_; }  // values of the body

  // Parameters: the operands `taken`, then what was saved.
  Graph graph(const std::vector<bool>& taken) const {
    GraphBuilder b(body_.name, config_for(body_));
    Renaming renamed(body_);
    for (std::size_t i = 0; i < taken.size(); ++i)
      if (taken[i]) renamed[body_.params[i]] = b.param(body_.type(body_.params[i]));
    for (ValueId id : saved_) renamed[id] = b.param(body_.type(id));
    for (const Node& node : nodes_) emit_node(b, node, renamed);
    b.set_results(renamed.of(results_));
    return b.finish();
  }

 private:
  const Graph& body_;
  std::vector<ValueId> results_, saved_;
  std::vector<Node> nodes_;
  std::vector<bool> needs_param_;
};

// The linear half with the parameters alone that something is computed from, tangents (`unknown`) and these; `taken` and `saved`, which are
// its parameters, become those.
Graph take_what_is_used(const Graph& linear, const std::vector<bool>& unknown, std::vector<bool>& taken, std::vector<ValueId>& saved) {
  const Graph used = without_dead_parts(linear);
  std::vector<bool> is_used = used_params(used);
  std::size_t next = 0;
  for (std::size_t i = 0; i < taken.size(); ++i) {
    if (!taken[i]) continue;
    if (unknown[i]) is_used[next] = true;
    taken[i] = is_used[next++];
  }
  std::vector<ValueId> left;
  for (ValueId id : saved)
    if (is_used[next++]) left.push_back(id);
  saved = std::move(left);
  return with_params(used, is_used);
}

// The known half with what the linear one needs of it, emitted; its values.
std::vector<ValueId> emit_known(GraphBuilder& b, const Node& node, BodySplit& split, const std::vector<ValueId>& known,
                                const std::vector<ValueId>& saved) {
  std::vector<ValueId> operands, results = split.cut().results;
  for (ValueId id : known)
    if (id != kZero) operands.push_back(id);
  results.insert(results.end(), saved.begin(), saved.end());
  if (results.empty()) return {};
  split.builder().set_results(results);
  Attrs attrs = node.attrs;
  return b.emit(*node.op, operands, attrs.set("bodies", Bodies{body_ref(split.builder().finish())}));
}

}  // namespace

RegionSplit split_checkpoint(GraphBuilder& b, const Node& node, const std::vector<ValueId>& known) {
  std::vector<bool> unknown = unknown_of(known), is_linear(node.results.size()), taken(known.size());
  const bool keeps_all = saves_all(node.attrs) && has_code(*node.attrs.bodies()[0]);
  const SavedInBodies in_bodies =
      save_in_bodies(*node.attrs.bodies()[0], unknown, [&](const Node& inner) { return !keeps_all && saves(node.attrs, inner); });
  BodySplit split(in_bodies.graph, unknown);
  for (std::size_t i = 0; i < is_linear.size(); ++i) is_linear[i] = split.varies(i);
  std::vector<ValueId> saved;
  Graph linear;
  if (keeps_all) {
    split.finish(is_linear);
    saved = split.cut().residuals;
    linear = split.cut().linear;
    taken = unknown;
  } else {
    Again again(in_bodies, split, node.attrs, is_linear);
    for (ValueId id : again.saved()) saved.push_back(split.known(id));
    split.finish(is_linear);
    for (std::size_t i = 0; i < known.size(); ++i) taken[i] = unknown[i] || again.needs_param(i);
    linear = take_what_is_used(again.graph(taken), unknown, taken, saved);
  }
  RegionSplit out;
  for (std::size_t i = 0; i < known.size(); ++i)
    if (taken[i]) out.operands.push_back(unknown[i] ? RegionSplit::LinearOperand{int(i), kZero} : RegionSplit::LinearOperand{-1, known[i]});
  const std::vector<ValueId> made = emit_known(b, node, split, known, saved);
  for (std::size_t i = made.size() - saved.size(); i < made.size(); ++i) out.operands.push_back({-1, made[i]});
  place_results(out, is_linear, made);
  out.op = node.op;
  out.attrs = node.attrs;
  out.attrs.set("again", true).set("bodies", Bodies{std::make_shared<const Graph>(std::move(linear))});
  return out;
}

std::vector<ValueId> transpose_checkpoint(GraphBuilder& b, const Node& node, const std::vector<ValueId>& operands,
                                          const std::vector<TensorType>& types, const std::vector<ValueId>& cotangents) {
  const Graph& body = *node.attrs.bodies()[0];
  GraphBuilder inner(body.name, config_for(body));
  Split split(inner, body);
  std::vector<ValueId> outer, seeds, varying;
  std::vector<TensorType> asked;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (operands[i] == kAsked) {
      split.unknown_param(body.params[i]);
      asked.push_back(types[i]);
    } else {
      split.known_param(body.params[i], inner.param(types[i]));
      outer.push_back(operands[i]);
    }
  }
  split.run();
  for (std::size_t i = 0; i < cotangents.size(); ++i) {
    bool counts = cotangents[i] != kZero && split.varies(body.results[i]);
    varying.push_back(counts ? body.results[i] : kZero);
    if (!counts) continue;
    seeds.push_back(inner.param(body.type(body.results[i])));
    outer.push_back(cotangents[i]);
  }
  Linearized cut = split.finish({}, varying);
  std::vector<ValueId> found = emit_transpose(inner, cut.linear, int(asked.size()), cut.residuals, seeds);
  for (std::size_t i = 0; i < found.size(); ++i) found[i] = ops::instantiated(inner, found[i], asked[i]);
  inner.set_results(std::move(found));
  Attrs attrs = node.attrs;
  return b.emit(ops::kCheckpoint, outer, attrs.set("bodies", Bodies{body_ref(inner.finish())}));
}

}  // namespace shardlab::transform
