// HostArray: values in this process's memory, as numpy's arrays are: what callbacks take and give, and device_get returns.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <source_location>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "runtime/exec/array.h"
#include "runtime/graph/attrs.h"

namespace shardlab {

// A handle of immutable row-major elements; copies share them.
class HostArray {
 public:
  HostArray(Literal values) : values_(std::move(values)) {}  // NOLINT: implicit on purpose
  // Without a shape: a vector of all elements.
  template <typename T>
  HostArray(const std::vector<T>& elements, const std::optional<Shape>& shape = {})  // NOLINT
      : values_{{dtype_of<T>::value, shape.value_or(Shape{std::int64_t(elements.size())})}, nullptr} {
    check_fills(std::int64_t(elements.size()));
    auto data = std::make_shared<Buffer>(std::size_t(values_.type.bytes()));
    std::copy(elements.begin(), elements.end(), data->template as<T>());
    values_.data = std::move(data);
  }
  template <typename T>
    requires std::is_arithmetic_v<T>
  HostArray(T number) : HostArray(std::vector<T>{number}, Shape{}) {}  // NOLINT: implicit on purpose
  // A copy from the devices, as Array::fetch makes it.
  explicit HostArray(const Array& array, std::source_location where = std::source_location::current());

  const TensorType& type() const { return values_.type; }
  const Shape& shape() const { return values_.type.shape; }
  DType dtype() const { return values_.type.dtype; }
  int ndim() const { return values_.type.rank(); }
  std::int64_t size() const { return values_.type.elements(); }
  const std::byte* data() const { return values_.data->data(); }
  const Literal& values() const { return values_; }
  template <typename T>
  std::vector<T> to_vector() const {
    check_is(dtype_of<T>::value);
    return {values_.data->as<T>(), values_.data->as<T>() + size()};
  }
  template <typename T>
  T item() const {
    check_is(dtype_of<T>::value);
    if (size() != 1) throw_user_error("item: can only convert an array of size 1 to a scalar, got {}", type().text());
    return values_.data->as<T>()[0];
  }
  std::string text() const;  // numpy's str()
  // On the first device of this process, uncommitted. JAX: jnp.asarray(x).
  Array to_device() const;

 private:
  void check_fills(std::int64_t elements) const;
  void check_is(DType asked) const;

  Literal values_;
};

// Copies from the devices. JAX: device_get(x).
HostArray device_get(const Array& array, std::source_location where = std::source_location::current());

}  // namespace shardlab
