// What moves and reductions cost, by numbers for specs: the searches ask the same few questions very often.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include "runtime/spmd/problem.h"

namespace shardlab::spmd {

using FormId = int;

// Numbers by keys that are not 0, in one array (open addressing): the searches of one program ask millions of times.
class NumberTable {
 public:
  static constexpr std::int64_t kUnknown = -1;
  // Valid until the next call; kUnknown where nothing has been said yet.
  std::int64_t& operator[](std::uint64_t key) {
    if (2 * ++count_ > entries_.size()) grow();
    Entry& entry = entries_[place_of(key)];
    if (entry.key == key) --count_;
    entry.key = key;
    return entry.number;
  }

 private:
  struct Entry {
    std::uint64_t key = 0;
    std::int64_t number = kUnknown;
  };
  std::size_t place_of(std::uint64_t key) const {
    const std::size_t mask = entries_.size() - 1;
    std::size_t place = std::size_t((key * 0x9e3779b97f4a7c15u) >> 32) & mask;
    while (entries_[place].key != 0 && entries_[place].key != key) place = (place + 1) & mask;
    return place;
  }
  void grow() {
    std::vector<Entry> before(std::max<std::size_t>(64, 4 * entries_.size()));
    before.swap(entries_);
    for (const Entry& entry : before)
      if (entry.key != 0) entries_[place_of(entry.key)] = entry;
  }

  std::vector<Entry> entries_;  // a power of two, at most half of them taken
  std::size_t count_ = 0;
};

// A form is a spec, or windows by position; forms are compared by number. Remembers each answer. Specs are normalised; values are the
// problem's.
class CostTable {
 public:
  explicit CostTable(Problem& problem);

  FormId id_of(const Spec& spec);
  FormId id_of(const std::vector<Box>& windows);
  bool is_windows(FormId id) const { return !forms_[std::size_t(id)].windows.empty(); }
  const Spec& spec(FormId id) const { return forms_[std::size_t(id)].spec; }
  bool is_whole(FormId id) const;  // by a spec that cuts nothing
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
  std::vector<int> shapes_;  // per value: equal for equal shapes
  NumberTable moves_;        // (shape, from, to) → elements
  std::map<std::tuple<int, FormId, Axes, FormId>, std::int64_t> reductions_;
};

}  // namespace shardlab::spmd
