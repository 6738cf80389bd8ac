// What moves and reductions cost, by numbers for specs: the searches ask the same few questions very often.
#pragma once

#include <map>
#include <unordered_map>
#include <vector>

#include "runtime/spmd/problem.h"

namespace shardlab::spmd {

using FormId = int;

// A form is a spec, or windows by position; forms are compared by number. Remembers each answer. Specs are normalised; values are the
// problem's.
class CostTable {
 public:
  explicit CostTable(Problem& problem);

  FormId id_of(const Spec& spec);
  FormId id_of(const std::vector<Box>& windows);
  bool is_windows(FormId id) const { return !forms_[std::size_t(id)].windows.empty(); }
  const Spec& spec(FormId id) const { return forms_[std::size_t(id)].spec; }
  const std::vector<Box>& windows(FormId id) const { return forms_[std::size_t(id)].windows; }

  // Bytes that all devices together receive where the value goes from a form by spec to any form.
  std::int64_t move_bytes(ValueId value, FormId from, FormId to);
  // The same for a result that is partial over `partial` in the form `from`.
  std::int64_t reduction_bytes(ValueId value, FormId from, const Axes& partial, FormId to);

 private:
  std::int64_t item_bytes(ValueId value) const { return size_of(problem_.type(value).dtype); }

  struct Form {
    Spec spec;
    std::vector<Box> windows;
  };
  std::int64_t elements(const Shape& shape, FormId from, FormId to);

  Problem& problem_;
  std::map<Spec, FormId> ids_;
  std::map<std::vector<std::int64_t>, FormId> window_ids_;  // by all bounds
  std::vector<Form> forms_;
  std::vector<int> shapes_;                                // per value: equal for equal shapes
  std::unordered_map<std::uint64_t, std::int64_t> moves_;  // (shape, from, to) → elements
  std::map<std::tuple<int, FormId, Axes, FormId>, std::int64_t> reductions_;
};

}  // namespace shardlab::spmd
