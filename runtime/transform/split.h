// Cuts a graph in two by which of its parameters are known (partial evaluation).
#pragma once

#include <deque>
#include <map>

#include "runtime/transform/linearize.h"

namespace shardlab::transform {

// What depends on unknown parameters becomes a graph of its own, the linear one; the rest is emitted.
class Split {
 public:
  Split(GraphBuilder& b, Graph source)
      : b_(b), source_(std::move(source)), known_(source_), linear_(source_), varies_(source_.values.size()) {}

  void known_param(ValueId id, ValueId value) { known_[id] = value; }
  // They are the linear graph's first parameters, in the order of these calls.
  void unknown_param(ValueId id) {
    linear_[id] = rest_.param(source_.type(id));
    varies_[std::size_t(id)] = true;
  }
  void run();
  bool varies(ValueId id) const { return varies_[std::size_t(id)]; }
  // In the builder, of a value that does not vary.
  ValueId known(ValueId id) const { return known_[id]; }

  // Once: `results` in the builder, and the linear graph of what `tangents` need (kZero: none), with its residuals.
  Linearized finish(const std::vector<ValueId>& results, const std::vector<ValueId>& tangents);

 private:
  ValueId new_known(ValueId value);
  void cut_region(const Node& node);
  std::vector<const Node*> needed(const std::vector<ValueId>& tangents) const;
  ValueId needed_of_known(ValueId id, std::vector<ValueId>& residuals);
  ValueId number_again(ValueId id);
  ValueId saved(ValueId known, std::vector<ValueId>& residuals);

  GraphBuilder& b_;
  Graph source_;
  GraphBuilder rest_{"linear"};
  Renaming known_, linear_;
  std::map<ValueId, ValueId> saved_;  // residuals of the builder, as parameters of the linear graph
  std::vector<bool> varies_;
  std::vector<const Node*> linear_nodes_;
  std::deque<Node> made_;  // the linear parts of nodes with bodies
};

}  // namespace shardlab::transform
