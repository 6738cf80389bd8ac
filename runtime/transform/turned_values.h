// Which values of a program under construction are transposes of each other, though each is computed by itself: softmax(x.T) along rows
// and softmax(x) along columns.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include "runtime/graph/builder.h"

namespace shardlab::transform {

// Where a dimension stands among some; their number if it does not.
inline int place_of(int dim, const std::vector<int>& dims) { return int(std::find(dims.begin(), dims.end(), dim) - dims.begin()); }

// Every value is something with a number, turned: its dimension d is dimension dims[d] of that. Elementwise ops of values that are turned
// alike, and reductions, give something that is turned, too; a broadcast is as its op's other operands want it.
class TurnedValues {
 public:
  // `numbers`: per value the first one that is equal.
  TurnedValues(const GraphBuilder& builder, const std::vector<int>& numbers) : builder_(builder), numbers_(numbers) {}

  // What a node computes, before it is turned.
  struct Computed {
    std::pair<const OpDef*, std::vector<int>> key;
    Attrs attrs;
    std::vector<int> dims;
  };
  std::optional<Computed> computed(const OpDef& op, const std::vector<ValueId>& operands, const Attrs& attrs);
  // An earlier value that is the same, and the axes that it is to be transposed by.
  struct Found {
    ValueId value;
    std::vector<int> axes;
  };
  std::optional<Found> equal_of(const Computed& computed) const;
  void add(const Computed& computed, ValueId result);
  void add_transpose(ValueId result);

 private:
  struct Turned {
    int number;
    std::vector<int> dims;
  };
  Turned turned(ValueId id) const;
  const Node* spread(ValueId id) const;  // the broadcast that makes it, or nullptr
  int number_of_spread(const Node& spread, const std::vector<int>& dims);

  const GraphBuilder& builder_;
  const std::vector<int>& numbers_;
  std::map<int, Turned> turned_;  // by the values' numbers; what is not there is itself
  struct Seen {
    Attrs attrs;
    ValueId value;
  };
  std::multimap<std::pair<const OpDef*, std::vector<int>>, Seen> seen_;
  std::map<std::vector<std::int64_t>, int> spreads_;
  int made_ = 0;  // numbers of what is no value: below 0
};

}  // namespace shardlab::transform
