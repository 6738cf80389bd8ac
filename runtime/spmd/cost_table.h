// What moves and reductions cost, by numbers for specs: the searches ask the same few questions very often.
#pragma once

#include <map>
#include <unordered_map>
#include <vector>

#include "runtime/spmd/problem.h"

namespace shardlab::spmd {

using SpecId = int;

// Remembers each answer. Specs are normalised; values are the problem's.
class CostTable {
 public:
  explicit CostTable(Problem& problem);

  SpecId id_of(const Spec& spec);
  const Spec& spec(SpecId id) const { return specs_[std::size_t(id)]; }

  // Bytes that all devices together receive where the value goes from one form to another.
  std::int64_t move_bytes(ValueId value, SpecId from, SpecId to);
  // The same for a result that is partial over `partial` in the form `from`.
  std::int64_t reduction_bytes(ValueId value, SpecId from, const Axes& partial, SpecId to);

 private:
  std::int64_t item_bytes(ValueId value) const { return size_of(problem_.type(value).dtype); }

  Problem& problem_;
  std::map<Spec, SpecId> ids_;
  std::vector<Spec> specs_;
  std::vector<int> shapes_;                                // per value: equal for equal shapes
  std::unordered_map<std::uint64_t, std::int64_t> moves_;  // (shape, from, to) → elements
  std::map<std::tuple<int, SpecId, Axes, SpecId>, std::int64_t> reductions_;
};

}  // namespace shardlab::spmd
