// Array: an immutable n-dimensional value laid out over devices, perhaps of several processes.
#pragma once

#include <initializer_list>
#include <iosfwd>
#include <memory>
#include <source_location>
#include <span>
#include <string>
#include <vector>

#include "runtime/base/where.h"
#include "runtime/core/buffer.h"
#include "runtime/core/sharding.h"
#include "runtime/exec/device.h"

namespace shardlab {

class ArrayImpl;  // runtime/exec/array_impl.h

// What one device of this process holds. `data` is dense row-major with the shape of `index`.
struct Shard {
  Device device;
  Box index;  // global indices
  int replica_id = 0;
  TensorType type;  // with the shard's shape
  BufferRef data;
  std::string text() const;  // the data as print() shows it
};

class Index;  // runtime/exec/indexing.h
class At;

// A handle; copies share the value. Inside a function given to jit it stands for a value of the graph (a tracer): shape and dtype are
// known, data and sharding are not, and reading them is a UserError naming the line.
//
// Reads (shards, item, to_vector, printing) are host-visible: they wait until the value is computed and until all processes are known to
// have issued the same launches up to it. They throw what the computation failed with, or DiagnosisError.
class Array {
 public:
  Array() = default;
  explicit Array(std::shared_ptr<ArrayImpl> impl) : impl_(std::move(impl)) {}

  const TensorType& type() const;
  const Shape& shape() const { return type().shape; }
  DType dtype() const { return type().dtype; }
  int ndim() const { return type().rank(); }
  std::int64_t size() const { return type().elements(); }
  const Sharding& sharding() const;
  bool committed() const;

  bool is_fully_addressable() const;  // all devices are this process's
  bool is_fully_replicated() const;
  // The shards of this process's devices, in mesh order; no communication.
  std::vector<Shard> addressable_shards(std::source_location where = std::source_location::current()) const;
  // What this process's device number `index` of the sharding holds, as an array on that device.
  Array addressable_data(std::size_t index, std::source_location where = std::source_location::current()) const;
  // Per device ordinal of the sharding, in mesh order, the box it holds.
  std::vector<std::pair<int, Box>> devices_indices_map() const;

  // The whole value, row-major. UserError with JAX's text where this process's shards do not cover it.
  Buffer fetch(std::source_location where = std::source_location::current()) const;
  template <typename T>
  std::vector<T> to_vector(std::source_location where = std::source_location::current()) const;
  template <typename T>
  T item(std::source_location where = std::source_location::current()) const;
  // The value with the place of a read given (scenarios).
  Buffer fetch_at(Where where, std::string_view what) const;
  // Throws what fetch would throw where this process holds only a part.
  void check_fetchable(Where where) const;
  std::vector<Shard> shards_at(Where where, std::string_view what) const;

  void block_until_ready(std::source_location where = std::source_location::current()) const;
  void wait_at(Where where, std::string_view what) const;  // the same with the place given
  Array reshape(const Shape& shape, std::source_location where = std::source_location::current()) const;
  Array astype(DType dtype, std::source_location where = std::source_location::current()) const;
  Array T(std::source_location where = std::source_location::current()) const;  // its dimensions in reverse order
  // x[2], x[Slice{1, 5}], x[{ellipsis, 0}], x[{rows, columns}]: as in NumPy (runtime/exec/indexing.h).
  Array operator[](const Index& place) const;
  Array operator[](std::initializer_list<Index> places) const;
  // x.at({0, i}).set(y): a new array with these elements changed.
  At at(const Index& place) const;
  At at(std::initializer_list<Index> places) const;
  // JAX's print(x): numpy's layout; "Array(shape=(4, 4), dtype=float32)" where the value cannot be fetched.
  std::string text(std::source_location where = std::source_location::current()) const;
  std::string text_at(Where where) const;

  // Names the array in the trace and the window.
  Array named(std::string_view name) const;

  bool valid() const { return impl_ != nullptr; }
  const std::shared_ptr<ArrayImpl>& impl() const { return impl_; }

 private:
  std::shared_ptr<ArrayImpl> impl_;
};

std::ostream& operator<<(std::ostream& out, const Array& array);

// An array of host data on the first local device, uncommitted. `data` is row-major.
Array array_from_host(const TensorType& type, std::span<const std::byte> data);
template <typename T>
Array array(const std::vector<T>& values, Shape shape = {});

template <typename T>
std::vector<T> Array::to_vector(std::source_location where) const {
  if (dtype() != dtype_of<T>::value)
    throw_user_error("to_vector at {}: the array is {}, asked for {}", Where::from(where).text(), type().text(),
                     name_of(dtype_of<T>::value));
  Buffer whole = fetch(where);
  const T* begin = whole.as<T>();
  return std::vector<T>(begin, begin + size());
}

template <typename T>
T Array::item(std::source_location where) const {
  if (size() != 1)
    throw_user_error("item at {}: can only convert an array of size 1 to a scalar, got {}", Where::from(where).text(), type().text());
  return to_vector<T>(where)[0];
}

template <typename T>
Array array(const std::vector<T>& values, Shape shape) {
  if (shape.empty()) shape = {std::int64_t(values.size())};
  if (element_count(shape) != std::int64_t(values.size()))
    throw_user_error("array: {} values do not fill shape {}", values.size(), text_of(shape));
  TensorType type{dtype_of<T>::value, std::move(shape)};
  if constexpr (std::is_same_v<T, bool>) {
    std::vector<unsigned char> bytes(values.begin(), values.end());
    return array_from_host(type, std::as_bytes(std::span(bytes)));
  } else {
    return array_from_host(type, std::as_bytes(std::span(values)));
  }
}

}  // namespace shardlab
