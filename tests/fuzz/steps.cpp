#include "tests/fuzz/steps.h"

#include <algorithm>

namespace shardlab::fuzz {

std::vector<std::string>& names_seen() {
  static std::vector<std::string> names;
  return names;
}

struct StepTable {
  using Step = void (Steps::*)();
  struct Row {
    Step step;
    int weight;
  };
  static constexpr Row kRows[] = {
      {&Steps::smooth, 6},
      {&Steps::on_positive, 2},
      {&Steps::stepwise, 2},
      {&Steps::bits, 1},
      {&Steps::arithmetic, 8},
      {&Steps::safe_quotient, 2},
      {&Steps::reduce, 7},
      {&Steps::compare_and_choose, 3},
      {&Steps::run_along, 3},
      {&Steps::count_or_find, 2},
      {&Steps::order, 3},
      {&Steps::normalise, 3},
      {&Steps::convert, 1},
      {&Steps::product, 6},
      {&Steps::contraction, 2},
      {&Steps::decompose, 2},
      {&Steps::convolve, 2},
      {&Steps::transform, 2},
      {&Steps::reshape, 5},
      {&Steps::permute, 4},
      {&Steps::grow_or_shrink, 4},
      {&Steps::join, 4},
      {&Steps::cut, 4},
      {&Steps::pad, 3},
      {&Steps::shift, 4},
      {&Steps::repeat, 2},
      {&Steps::look_up, 4},
      {&Steps::replace, 3},
      {&Steps::triangle, 2},
      {&Steps::constant, 3},
      {&Steps::draw, 2},
      {&Steps::constrain, 6},
      {&Steps::loop, 2},
      {&Steps::branch, 1},
      {&Steps::per_device, 3},
      {&Steps::own_derivative, 2},
      {&Steps::slide, 3},
  };
};

void Steps::add() {
  static const std::vector<StepTable::Step> kSteps = [] {
    std::vector<StepTable::Step> all;
    for (const auto& row : StepTable::kRows) all.insert(all.end(), std::size_t(row.weight), row.step);
    return all;
  }();
  const auto step = random_.of(kSteps);
  try {
    (this->*step)();
  } catch (const UserError&) {}  // the op does not take such operands; it was refused alike in both programs
}

std::optional<Piece> Steps::pick(const Test& test) {
  std::vector<const Piece*> fitting;
  for (const Piece& each : pool_)
    if (test(each)) fitting.push_back(&each);
  if (fitting.empty()) return std::nullopt;
  // Later values twice as likely: programs grow deep.
  std::size_t first = random_.one_in(2) ? fitting.size() / 2 : 0;
  return *fitting[first + std::size_t(random_.below(int(fitting.size() - first)))];
}

std::optional<Piece> Steps::pick_floating(int rank_min) {
  return pick([&](const Piece& x) { return is_float(x) && x.array.ndim() >= rank_min && x.array.size() > 0; });
}

std::optional<Piece> Steps::pick_ranked(int rank_min) {
  return pick([&](const Piece& x) { return x.array.ndim() >= rank_min && x.array.size() > 0; });
}

std::optional<Piece> Steps::pick_like(const Piece& x) {
  return pick([&](const Piece& y) { return y.array.shape() == x.array.shape() && y.array.dtype() == x.array.dtype(); });
}

Array Steps::op(std::string_view name, const Operands& operands, const Attrs& attrs) {
  Array result = apply(name, operands, attrs, {}).at(0);
  auto& seen = names_seen();
  if (std::find(seen.begin(), seen.end(), name) == seen.end()) seen.emplace_back(name);
  return result;
}

void Steps::keep(const Array& array, bool exact) {
  constexpr std::int64_t kElementsMax = 8192;
  if (array.size() <= kElementsMax && array.ndim() <= 5) pool_.push_back({array, exact || !is_inexact(array.dtype())});
}

std::vector<std::int64_t> Steps::some_dims(const Piece& x) {
  std::vector<std::int64_t> dims;
  for (int d = 0; d < x.array.ndim(); ++d)
    if (random_.one_in(2)) dims.push_back(d);
  return dims;
}

}  // namespace shardlab::fuzz
