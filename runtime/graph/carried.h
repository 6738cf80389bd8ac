// Functions that travel with an object and take no part in it: no attribute can hold them, no text can show them. They lie beside the
// shared pointer to the object, which every copy of a node shares.
#pragma once

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "runtime/graph/attrs.h"

namespace shardlab {

namespace detail {

template <typename Carried>
struct Carrier {
  Carried carried;
  template <typename T>
  void operator()(const T* object) const {
    delete object;
  }
};

}  // namespace detail

template <typename T, typename Carried>
std::shared_ptr<const T> carrying(T object, Carried carried) {
  return {new T(std::move(object)), detail::Carrier<Carried>{std::move(carried)}};
}
// What travels with it, or nullptr.
template <typename Carried, typename T>
const Carried* carried_by(const std::shared_ptr<const T>& object) {
  const auto* carrier = std::get_deleter<detail::Carrier<Carried>>(object);
  return carrier != nullptr ? &carrier->carried : nullptr;
}

// Attributes of a node that carries it. The numbers are what texts and fingerprints know of it.
template <typename Carried>
Attrs attrs_carrying(Carried carried, const std::vector<std::int64_t>& numbers) {
  auto data = std::make_shared<Buffer>(numbers.size() * sizeof(std::int64_t));
  std::copy(numbers.begin(), numbers.end(), data->as<std::int64_t>());
  Literal literal{{DType::kInt64, {std::int64_t(numbers.size())}}, std::move(data)};
  return Attrs{{"callback", carrying(std::move(literal), std::move(carried))}};
}
template <typename Carried>
const Carried* carried_by(const Attrs& attrs) {
  const AttrValue* value = attrs.find("callback");
  const auto* literal = value != nullptr ? std::get_if<std::shared_ptr<const Literal>>(value) : nullptr;
  return literal != nullptr ? carried_by<Carried>(*literal) : nullptr;
}

}  // namespace shardlab
