// Of what type the cotangents of products are, where shardings are in types.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <vector>

#include "runtime/core/sharding.h"
#include "runtime/graph/graph.h"

namespace shardlab {

// JAX gives a product's cotangent the type of what it is the cotangent of, at once. A graph of derivatives does not say what that is, but
// those that use a cotangent do: what it is added to, what the derivative before multiplies it with, what holds a gradient in the end.
// Cotangents that a body gives are told of by who uses what comes of them outside.
class CotangentTypes {
 public:
  // `results`: the types of the graph's results, where somebody tells; fewer: nobody tells of the others.
  explicit CotangentTypes(const Graph& graph, std::vector<std::optional<Spec>> results = {});

  // `known`: a value's type, of those that have one already and are no constants. Nothing where no user tells.
  std::optional<Spec> type_of(ValueId cotangent, const std::function<std::optional<Spec>(ValueId)>& known) const;

 private:
  using Known = std::function<std::optional<Spec>(ValueId)>;

  bool is_repeated(ValueId id) const;
  // `seen`: values that have been asked, and none of whose users tells.
  std::optional<Spec> type_of(ValueId cotangent, const Known& known, std::set<ValueId>& seen) const;
  std::optional<Spec> told_by(const Node& user, ValueId cotangent, const Known& known, std::set<ValueId>& seen) const;

  const Graph& graph_;
  std::vector<std::optional<Spec>> results_;
  std::vector<std::vector<NodeId>> users_;  // per value
};

}  // namespace shardlab
