// The forms of values at hand in a state of the search over whole programs, and what they still cost.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "runtime/spmd/cost_table.h"

namespace shardlab::spmd {

// A value's forms at hand, without those that are slices of others.
struct Held {
  static constexpr std::size_t kFormsMax = 4;

  ValueId value = -1;
  std::array<FormId, kFormsMax> numbers{};  // the first `count`, sorted
  int count = 0;
  std::int64_t to_results = 0;   // bytes from the nearest forms to the wanted results
  std::int64_t to_kept = 0;      // bytes from the nearest form to the propagated one, for values that are no results
  std::int64_t to_foreseen = 0;  // bytes to what an earlier plan needs of it from here on, shared where that is less

  std::span<const FormId> forms() const { return {numbers.data(), std::size_t(count)}; }
};

// The values of a state; a parameter that lies as given is not among them. Copies of a settled one share all of it, so that a large
// program's states cost what they differ in.
class HeldForms {
 public:
  // States that hold the same values in the same forms have equal keys, and others but for one chance in 2^128.
  struct Key {
    std::uint64_t low = 0, high = 0;
    auto operator<=>(const Key&) const = default;
  };

  // nullptr where the value is not held.
  const Held* find(ValueId value) const;
  // In place of what there was of the value.
  void put(const Held& each);
  void erase(ValueId value);
  // Of a state that others will be copied from: what has changed becomes a part of what copies share.
  void settle();

  std::int64_t to_results() const { return to_results_; }
  std::int64_t to_kept() const { return to_kept_; }
  std::int64_t to_foreseen() const { return to_foreseen_; }
  const Key& key() const { return key_; }

 private:
  using Entries = std::vector<Held>;  // with no forms what is not held any more
  void count(const Held& each, int sign);

  // What is said of a value in a later one goes: `whole_` and `recent_` are sorted by value, nullptr without entries; few are recent.
  std::shared_ptr<const Entries> whole_, recent_;
  Entries changed_;  // since it was settled
  std::int64_t to_results_ = 0, to_kept_ = 0, to_foreseen_ = 0;
  Key key_;
};

// Where in the order a plan needs a value in a form.
struct ForeseenNeed {
  int place = 0;
  FormId form = -1;
};
using Foresight = std::vector<std::vector<ForeseenNeed>>;  // per root, in order

// How a form is come by: directly, or through another one that serves later needs too.
struct Supply {
  std::int64_t bytes = 0;
  std::int64_t later = 0;  // bytes to what is foreseen of the value afterwards
  FormId through = -1;     // made first; -1: none
};

// What the states of one search have in common: when each value is needed, and in which forms. Values are roots; `at` is a place in the
// order, -1 before all nodes.
class FormKeeper {
 public:
  // `order`: every node, after those that make its operands. `finer_results`: a result may be left cut finer than wanted. `foresight`
  // may be empty.
  FormKeeper(Problem& problem, CostTable& costs, const std::vector<NodeId>& order, bool finer_results, Foresight foresight);

  int place(NodeId n) const { return place_[std::size_t(n)]; }
  // Before all nodes.
  HeldForms parameters();
  // The forms that the function returns the value in.
  const std::vector<FormId>& wanted(ValueId value) const { return wanted_[std::size_t(value)]; }
  // As it is left where nothing else is cheaper.
  FormId kept_form(ValueId value);
  bool is_needed_after(ValueId value, int at) const { return last_use_[std::size_t(value)] > at || !wanted_[std::size_t(value)].empty(); }

  std::span<const FormId> forms_of(const HeldForms& held, ValueId value) const;
  std::int64_t bytes_to(const HeldForms& held, ValueId value, FormId form);
  // The cheapest with what is foreseen after the place.
  Supply supply_of(const HeldForms& held, ValueId value, FormId form, int at);
  // Bytes to what is foreseen of a value after the place, if it is held in the forms.
  std::int64_t foreseen_bytes(ValueId value, std::span<const FormId> forms, int at);

  // A new value is held in one form.
  void hold(HeldForms& held, ValueId value, FormId form, int at);
  // One more form. Where there are many already it is left out, or takes the place of another if it must be there.
  void add_form(HeldForms& held, ValueId value, FormId form, bool is_forced, int at);
  // A need of the value has passed.
  void pass(HeldForms& held, ValueId value, int at);
  // Values that were needed last after one place, but not after another, are let go; results stay.
  void drop_dead(HeldForms& held, int after, int at) const;

 private:
  void put(HeldForms& held, Held each, int at);
  void note_use(ValueId value, int at);
  void list_shared_forms(ValueId value);
  std::int64_t nearest(ValueId value, std::span<const FormId> forms, FormId form);
  std::int64_t result_bytes(ValueId value, FormId form, FormId wanted);
  std::int64_t bytes_in_turn(ValueId value, std::vector<FormId>& forms, int after);

  Problem& problem_;
  CostTable& costs_;
  bool finer_results_;
  Foresight foresight_;
  std::vector<int> place_;                   // per node, in the order
  std::vector<FormId> param_forms_;          // per value; -1: no parameter
  std::vector<FormId> kept_forms_;           // per value; -1: not asked for yet
  std::vector<std::vector<FormId>> wanted_;  // per root
  std::vector<std::vector<FormId>> shared_;  // per root: forms that several foreseen needs could be sliced from
  std::vector<int> last_use_;                // per root: the place of a node in the order
  std::vector<std::vector<ValueId>> dying_;  // per place: what is needed there last and is no result
};

}  // namespace shardlab::spmd
