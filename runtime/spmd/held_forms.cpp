#include "runtime/spmd/held_forms.h"

#include <algorithm>
#include <numeric>

#include "runtime/spmd/layout.h"

namespace shardlab::spmd {
namespace {

constexpr std::size_t kSharedMax = 6;  // forms weighed for several needs of a value

// The finest form that both can be sliced from.
Spec joined(const Spec& a, const Spec& b) {
  Spec joined(a.size());
  for (std::size_t d = 0; d < a.size(); ++d)
    for (std::size_t i = 0; i < std::min(a[d].size(), b[d].size()); ++i) {
      const AxisPiece &x = a[d][i], &y = b[d][i];
      if (std::tie(x.axis, x.pre) != std::tie(y.axis, y.pre)) break;
      joined[d].push_back({x.axis, x.pre, std::gcd(x.size, y.size)});
      if (x != y) break;
    }
  return normalised(joined);
}

bool lies_within(const Box& inner, const Box& outer) {
  if (element_count(inner) == 0) return true;
  for (std::size_t d = 0; d < inner.size(); ++d)
    if (inner[d].start < outer[d].start || inner[d].stop > outer[d].stop) return false;
  return true;
}

// A form of which every position's part has its window, cut by one axis after another for as long as that is so.
Spec cover_of(const std::vector<Box>& windows, const Shape& shape, const Mesh& mesh) {
  Spec cover(shape.size());
  std::vector<bool> used(std::size_t(mesh.axis_count()), false);
  for (std::size_t d = 0; d < shape.size(); ++d)
    for (int axis = 0; axis < mesh.axis_count(); ++axis) {
      if (used[std::size_t(axis)] || mesh.axis_size(axis) == 1) continue;
      cover[d].push_back(mesh.whole_axis(axis));
      const std::vector<Box> boxes = boxes_of(shape, cover, mesh);
      if (std::equal(windows.begin(), windows.end(), boxes.begin(), boxes.end(), lies_within)) {
        used[std::size_t(axis)] = true;
        axis = -1;  // the next piece of the dimension may be an earlier axis
      } else {
        cover[d].pop_back();
      }
    }
  return normalised(cover);
}

bool holds(std::span<const FormId> forms, FormId form) { return std::find(forms.begin(), forms.end(), form) != forms.end(); }

const Held* entry_of(const std::shared_ptr<const std::vector<Held>>& sorted, ValueId value) {
  if (!sorted) return nullptr;
  auto entry = std::lower_bound(sorted->begin(), sorted->end(), value, [](const Held& each, ValueId id) { return each.value < id; });
  return entry != sorted->end() && entry->value == value ? &*entry : nullptr;
}

// Both sorted; what the second says of a value goes.
std::vector<Held> merged(const std::shared_ptr<const std::vector<Held>>& before, const std::vector<Held>& after) {
  std::vector<Held> all;
  all.reserve((before ? before->size() : 0) + after.size());
  auto next = after.begin();
  if (before)
    for (const Held& each : *before) {
      for (; next != after.end() && next->value < each.value; ++next) all.push_back(*next);
      const bool is_changed = next != after.end() && next->value == each.value;
      all.push_back(is_changed ? *next++ : each);
    }
  all.insert(all.end(), next, after.end());
  return all;
}

// Source: the finaliser of SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014).
std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

HeldForms::Key key_of(const Held& each) {
  HeldForms::Key key{mixed(std::uint64_t(each.value) + 0x9e3779b97f4a7c15u), mixed(std::uint64_t(each.value) + 0xd1b54a32d192ed03u)};
  for (FormId form : each.forms()) key = {mixed(key.low + std::uint64_t(form) + 1), mixed(key.high ^ (std::uint64_t(form) + 1))};
  return key;
}

}  // namespace

const Held* HeldForms::find(ValueId value) const {
  auto changed = std::find_if(changed_.begin(), changed_.end(), [&](const Held& each) { return each.value == value; });
  const Held* entry = changed != changed_.end() ? &*changed : entry_of(recent_, value);
  if (entry == nullptr) entry = entry_of(whole_, value);
  return entry != nullptr && entry->count > 0 ? entry : nullptr;
}

void HeldForms::count(const Held& each, int sign) {
  to_results_ += sign * each.to_results;
  to_kept_ += sign * each.to_kept;
  to_foreseen_ += sign * each.to_foreseen;
  const Key key = key_of(each);
  key_.low += std::uint64_t(sign) * key.low;
  key_.high += std::uint64_t(sign) * key.high;
}

void HeldForms::put(const Held& each) {
  if (const Held* before = find(each.value)) count(*before, -1);
  if (each.count > 0) count(each, 1);
  auto changed = std::find_if(changed_.begin(), changed_.end(), [&](const Held& other) { return other.value == each.value; });
  if (changed != changed_.end())
    *changed = each;
  else
    changed_.push_back(each);
}

void HeldForms::erase(ValueId value) {
  if (find(value) != nullptr) put({.value = value});
}

void HeldForms::settle() {
  constexpr std::size_t kRecentMax = 32;
  if (changed_.empty()) return;
  std::sort(changed_.begin(), changed_.end(), [](const Held& a, const Held& b) { return a.value < b.value; });
  Entries recent = merged(recent_, changed_);
  changed_.clear();
  if (recent.size() <= kRecentMax) {
    recent_ = std::make_shared<const Entries>(std::move(recent));
    return;
  }
  Entries whole = merged(whole_, recent);
  std::erase_if(whole, [](const Held& each) { return each.count == 0; });
  whole_ = std::make_shared<const Entries>(std::move(whole));
  recent_ = nullptr;
}

FormKeeper::FormKeeper(Problem& problem, CostTable& costs, const std::vector<NodeId>& order, bool finer_results, Foresight foresight)
    : problem_(problem),
      costs_(costs),
      finer_results_(finer_results),
      foresight_(std::move(foresight)),
      place_(order.size()),
      param_forms_(problem.graph().values.size(), -1),
      kept_forms_(problem.graph().values.size(), -1) {
  for (std::size_t i = 0; i < order.size(); ++i) place_[std::size_t(order[i])] = int(i);
  const Graph& graph = problem.graph();
  wanted_.resize(graph.values.size());
  last_use_.assign(graph.values.size(), -1);
  dying_.resize(order.size());
  for (NodeId n : order)
    for (ValueId id : problem.node(n).operands) note_use(id, place(n));
  for (std::size_t i = 0; i < graph.results.size(); ++i) {
    auto& wanted = wanted_[std::size_t(problem.root(graph.results[i]))];
    FormId form = costs_.id_of(normalised(problem.result(i)));
    if (!holds(wanted, form)) wanted.push_back(form);
  }
  for (std::size_t value = 0; value < last_use_.size(); ++value)
    if (last_use_[value] >= 0 && wanted_[value].empty()) dying_[std::size_t(last_use_[value])].push_back(ValueId(value));
  for (std::size_t i = 0; i < graph.params.size(); ++i)
    param_forms_[std::size_t(graph.params[i])] = costs_.id_of(normalised(problem.param(i)));
  shared_.resize(foresight_.size());
  for (std::size_t value = 0; value < foresight_.size(); ++value) list_shared_forms(ValueId(value));
}

HeldForms FormKeeper::parameters() {
  HeldForms held;
  if (foresight_.empty()) return held;  // it is plain where they lie
  for (std::size_t value = 0; value < param_forms_.size(); ++value)
    if (param_forms_[value] >= 0 && is_needed_after(ValueId(value), -1)) hold(held, ValueId(value), param_forms_[value], -1);
  return held;
}

// A composed operand uses what it is made of.
void FormKeeper::note_use(ValueId value, int at) {
  value = problem_.root(value);
  last_use_[std::size_t(value)] = std::max(last_use_[std::size_t(value)], at);
  if (!problem_.is_composed(value)) return;
  for (ValueId operand : problem_.node(problem_.graph().values[std::size_t(value)].producer).operands) note_use(operand, at);
}

// What is needed, and the joins of two and of all of it; then what windows lie in.
void FormKeeper::list_shared_forms(ValueId value) {
  std::vector<FormId>& shared = shared_[std::size_t(value)];
  auto add = [&](FormId form) {
    if (shared.size() < kSharedMax && !holds(shared, form)) shared.push_back(form);
  };
  std::vector<FormId> needed = wanted(value);
  for (const ForeseenNeed& need : foresight_[std::size_t(value)])
    if (!costs_.is_windows(need.form) && !holds(needed, need.form)) needed.push_back(need.form);
  if (!needed.empty()) {
    Spec all = costs_.spec(needed[0]);
    for (FormId form : needed) all = joined(all, costs_.spec(form));
    add(costs_.id_of(all));
  }
  for (FormId form : needed) add(form);
  for (std::size_t i = 0; i < needed.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) add(costs_.id_of(joined(costs_.spec(needed[i]), costs_.spec(needed[j]))));
  for (const ForeseenNeed& need : foresight_[std::size_t(value)])
    if (costs_.is_windows(need.form)) add(costs_.id_of(cover_of(costs_.windows(need.form), problem_.type(value).shape, problem_.mesh())));
}

std::span<const FormId> FormKeeper::forms_of(const HeldForms& held, ValueId value) const {
  if (const Held* entry = held.find(value)) return entry->forms();
  const FormId& given = param_forms_[std::size_t(value)];
  SL_CHECK(given >= 0, "value %{} is used before it has a form", value);
  return {&given, 1};
}

std::int64_t FormKeeper::nearest(ValueId value, std::span<const FormId> forms, FormId form) {
  std::int64_t least = -1;
  for (FormId each : forms) {
    std::int64_t bytes = costs_.move_bytes(value, each, form);
    if (least < 0 || bytes < least) least = bytes;
  }
  return least;
}

std::int64_t FormKeeper::bytes_to(const HeldForms& held, ValueId value, FormId form) { return nearest(value, forms_of(held, value), form); }

FormId FormKeeper::kept_form(ValueId value) {
  FormId& form = kept_forms_[std::size_t(value)];
  if (form < 0) form = costs_.id_of(problem_.kept(value));
  return form;
}

// A form may stand for a result where it is cut finer, so that every device holds a part of what it should.
std::int64_t FormKeeper::result_bytes(ValueId value, FormId form, FormId wanted) {
  bool may_stand = finer_results_ && is_even(problem_.type(value).shape, costs_.spec(form));
  return may_stand && costs_.move_bytes(value, wanted, form) == 0 ? 0 : costs_.move_bytes(value, form, wanted);
}

// Each need in turn from the nearest form.
std::int64_t FormKeeper::bytes_in_turn(ValueId value, std::vector<FormId>& forms, int after) {
  std::int64_t bytes = 0;
  for (const ForeseenNeed& need : foresight_[std::size_t(value)]) {
    if (need.place <= after || holds(forms, need.form)) continue;
    bytes += nearest(value, forms, need.form);
    if (!costs_.is_windows(need.form)) forms.push_back(need.form);
  }
  for (FormId wanted : wanted_[std::size_t(value)]) {
    std::int64_t least = -1;
    for (FormId form : forms) {
      std::int64_t each = result_bytes(value, form, wanted);
      if (least < 0 || each < least) least = each;
    }
    bytes += least;
  }
  return bytes;
}

std::int64_t FormKeeper::foreseen_bytes(ValueId value, std::span<const FormId> forms, int at) {
  if (foresight_.empty()) return 0;
  std::vector<FormId> with(forms.begin(), forms.end());
  std::int64_t least = bytes_in_turn(value, with, at);
  for (FormId shared : shared_[std::size_t(value)]) {
    std::int64_t bytes = nearest(value, forms, shared);
    if (bytes == 0 || bytes >= least) continue;
    with.assign(forms.begin(), forms.end());
    with.push_back(shared);
    least = std::min(least, bytes + bytes_in_turn(value, with, at));
  }
  return least;
}

Supply FormKeeper::supply_of(const HeldForms& held, ValueId value, FormId form, int at) {
  std::span<const FormId> forms = forms_of(held, value);
  Supply best{.bytes = nearest(value, forms, form)};
  if (foresight_.empty() || !is_needed_after(value, at)) return best;
  auto later = [&](std::vector<FormId> with) {
    if (!costs_.is_windows(form)) with.push_back(form);
    return foreseen_bytes(value, with, at);
  };
  best.later = later({forms.begin(), forms.end()});
  if (best.bytes == 0 || best.later == 0) return best;
  for (FormId through : shared_[std::size_t(value)]) {
    if (through == form || holds(forms, through)) continue;
    std::int64_t bytes = nearest(value, forms, through);
    if (bytes > best.bytes + best.later) continue;
    std::vector<FormId> with(forms.begin(), forms.end());
    with.push_back(through);
    bytes += nearest(value, with, form);
    std::int64_t afterwards = later(std::move(with));
    // Among equals what leaves least to later moves takes the fewest of them.
    if (std::tuple(bytes + afterwards, afterwards) < std::tuple(best.bytes + best.later, best.later)) best = {bytes, afterwards, through};
  }
  return best;
}

// The entry with what it still costs, in place of what there was of the value.
void FormKeeper::put(HeldForms& held, Held each, int at) {
  const ValueId value = each.value;
  std::sort(each.numbers.begin(), each.numbers.begin() + each.count);
  const auto& wanted = wanted_[std::size_t(value)];
  each.to_results = each.to_kept = 0;
  for (FormId want : wanted) {
    std::int64_t least = -1;
    for (FormId form : each.forms()) {
      std::int64_t bytes = result_bytes(value, form, want);
      if (least < 0 || bytes < least) least = bytes;
    }
    each.to_results += least;
  }
  if (wanted.empty()) each.to_kept = nearest(value, each.forms(), kept_form(value));
  each.to_foreseen = foreseen_bytes(value, each.forms(), at);
  held.put(each);
}

void FormKeeper::hold(HeldForms& held, ValueId value, FormId form, int at) {
  put(held, {.value = value, .numbers = {form}, .count = 1}, at);
}

void FormKeeper::add_form(HeldForms& held, ValueId value, FormId form, bool is_forced, int at) {
  std::span<const FormId> forms = forms_of(held, value);
  if (nearest(value, forms, form) == 0) return;  // it can be sliced off
  Held each{.value = value};
  for (FormId other : forms)
    if (costs_.move_bytes(value, form, other) != 0) each.numbers[std::size_t(each.count++)] = other;
  if (each.count == int(Held::kFormsMax)) {
    if (!is_forced) return;
    --each.count;
  }
  each.numbers[std::size_t(each.count++)] = form;
  put(held, each, at);
}

void FormKeeper::pass(HeldForms& held, ValueId value, int at) {
  const Held* entry = foresight_.empty() ? nullptr : held.find(value);
  if (entry == nullptr) return;
  Held passed = *entry;
  passed.to_foreseen = foreseen_bytes(value, passed.forms(), at);
  held.put(passed);
}

void FormKeeper::drop_dead(HeldForms& held, int after, int at) const {
  for (int place = after + 1; place <= at; ++place)
    for (ValueId value : dying_[std::size_t(place)]) held.erase(value);
}

}  // namespace shardlab::spmd
