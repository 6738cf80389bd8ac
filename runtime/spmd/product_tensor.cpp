#include "runtime/spmd/product_tensor.h"

#include <algorithm>
#include <functional>
#include <numeric>

namespace shardlab::spmd {

bool has(const Digits& digits, int digit) { return std::find(digits.begin(), digits.end(), digit) != digits.end(); }

bool has_all(const Digits& digits, const Digits& wanted) {
  return std::all_of(wanted.begin(), wanted.end(), [&](int digit) { return has(digits, digit); });
}

Digits without(Digits digits, const Digits& others) {
  std::erase_if(digits, [&](int digit) { return has(others, digit); });
  return digits;
}

Digits ProductTensor::along(const Dims& dims) const {
  Digits digits;
  for (int d : dims) digits.insert(digits.end(), cuts[std::size_t(d)].begin(), cuts[std::size_t(d)].end());
  return digits;
}

void ProductTensor::clear(const Dims& dims) {
  for (int d : dims) cuts[std::size_t(d)].clear();
}

std::int64_t ProductTensor::elements() const { return std::accumulate(sizes.begin(), sizes.end(), std::int64_t{1}, std::multiplies<>()); }

bool ProductTensor::is_cut_as(const ProductTensor& other, const Dims& dims) const {
  return std::all_of(dims.begin(), dims.end(), [&](int d) { return cuts[std::size_t(d)] == other.cuts[std::size_t(d)]; });
}

Digits inner_order(const ProductTensor& t, const Digits& within) {
  Digits order = t.all();
  const Digits idle = without(within, order);
  order.insert(order.end(), idle.begin(), idle.end());
  return order;
}

std::int64_t DigitSizes::count(const Digits& digits) const {
  std::int64_t parts = 1;
  for (int digit : digits) parts *= sizes_[std::size_t(digit)];
  return parts;
}

Parts DigitSizes::cut_as(const ProductTensor& t, const Dims& dims) const {
  Parts parts(t.cuts.size(), 1);
  for (int d : dims) parts[std::size_t(d)] = count(t.cuts[std::size_t(d)]);
  return parts;
}

Digits DigitSizes::major(const Digits& digits, std::int64_t parts) const {
  Digits first;
  for (int digit : digits)
    if (count(first) < parts) first.push_back(digit);
  return count(first) == parts ? first : Digits{};
}

ProductTensor DigitSizes::part(ProductTensor t, const Dims& dims) const {
  for (int d : dims) {
    const std::int64_t cut = count(t.cuts[std::size_t(d)]);
    t.sizes[std::size_t(d)] = (t.sizes[std::size_t(d)] + cut - 1) / cut;
  }
  t.clear(dims);
  return t;
}

ProductTensor DigitSizes::regrouped(ProductTensor t, const Digits& group, const Digits& freed, const Digits& taken,
                                    const Digits& order) const {
  if (freed.size() == taken.size() && has_all(freed, taken)) return t;
  const Digits own = inner_order(t, without(group, freed));
  auto size = [&](int digit) { return sizes_[std::size_t(digit)]; };
  const bool fits = std::equal(own.begin(), own.end(), order.begin(), order.end(), [&](int a, int b) { return size(a) == size(b); });
  Digits left = without(order, t.all());
  for (Digits& cut : t.cuts) {
    for (int& digit : cut) {
      if (fits) {
        digit = order[std::size_t(std::find(own.begin(), own.end(), digit) - own.begin())];
      } else if (has(taken, digit)) {
        auto other = std::find_if(left.begin(), left.end(), [&](int each) { return size(each) == size(digit); });
        digit = other == left.end() ? -1 : *other;
        if (other != left.end()) left.erase(other);
      }
    }
    std::erase(cut, -1);
  }
  return t;
}

}  // namespace shardlab::spmd
