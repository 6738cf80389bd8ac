// Specs as the planner compares them, the atoms that they are made of, and what devices lack of one under another.
#pragma once

#include <map>
#include <vector>

#include "runtime/spmd/propagate.h"

namespace shardlab::spmd {

// Consecutive pieces merged, pieces of size 1 dropped: equal specs compare equal.
Spec normalised(const Spec& spec);
// Per dimension the pieces from the major end as long as they cut it evenly.
Spec even_prefix(const ValueSharding& value, const Shape& shape);
// All pieces of a value's sharding, uneven cuts included; nothing decided is no cut.
Spec propagated_spec(const ValueSharding& value, const Shape& shape);
std::int64_t part_count(const Spec& spec);
// Of the largest part.
std::int64_t local_elements(const Shape& shape, const Spec& spec);
bool is_even(const Shape& shape, const Spec& spec);

// Every mesh axis cut into the digits that some spec uses.
class AtomTable {
 public:
  // Without cuts: every axis is one atom. Axes of size 1 have none.
  explicit AtomTable(const Mesh& mesh);
  void add_cuts(const Spec& spec);
  void add_cuts(const Axes& axes);
  Axes atoms() const;
  // The atoms cut further into digits of prime size.
  Axes prime_atoms() const;

 private:
  Axes cut_axes(bool into_primes) const;
  std::vector<std::vector<std::int64_t>> cuts_;  // per axis: sorted, each dividing the next
};

// The atoms that make up the pieces, in order; nothing where a piece is no sequence of atoms.
std::optional<Axes> split_into(const Axes& pieces, const Axes& atoms);

// Elements that devices need under `to` and lack under `from`, over all devices: no collectives can move fewer.
std::int64_t missing_elements(const Mesh& mesh, const Shape& shape, const Spec& from, const Spec& to);
// The same of boxes by position.
std::int64_t missing_elements(const std::vector<Box>& held, const std::vector<Box>& wanted);

}  // namespace shardlab::spmd
