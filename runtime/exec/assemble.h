// Arrays made of data that each process has already: no communication, whatever processes they span.
#pragma once

#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/exec/operand.h"

namespace shardlab {

class Context;

// Asks `data` for each device of this process: the part of the array that the device holds. `dtype` is needed where this process has no
// device of the sharding. UserError with JAX's texts: a part of another shape or dtype, a dimension that does not divide.
Array make_array_from_callback(const Shape& shape, const Sharding& sharding, const std::function<Array(const Box& index)>& data,
                               std::optional<DType> dtype = {}, std::source_location where = std::source_location::current());

// From one array for each device of this process that the sharding has, in any order; each lies on its device. Processes without such a
// device give none, and the dtype. UserError with JAX's texts.
Array make_array_from_single_device_arrays(const Shape& shape, const Sharding& sharding, const std::vector<Array>& arrays,
                                           std::optional<DType> dtype = {}, std::source_location where = std::source_location::current());

// From the data of each process: a dimension of it is the global one's, or what this process's devices hold of it. Without a global shape
// that is inferred, where the processes hold equally much. UserError with JAX's texts.
Array make_array_from_process_local_data(const Sharding& sharding, const Array& local_data, const std::optional<Shape>& global_shape = {},
                                         std::source_location where = std::source_location::current());

// The same with the place given (scenarios).
using PartCallback = std::function<Array(const Box& index)>;
Array array_from_callback(const Shape& shape, const Sharding& sharding, const PartCallback& data, std::optional<DType> dtype, Where where);
Array array_from_process_data(const Sharding& sharding, const Array& local_data, const std::optional<Shape>& global_shape, Where where);
Array array_from_device_data(const Shape& shape, const Sharding& sharding, const std::vector<Array>& arrays, std::optional<DType> dtype,
                             Where where);

// What the callback gives for each device of this process: the place in the mesh, and the part; it is asked once for a replicated array.
struct CallbackParts {
  DType dtype = DType::kFloat32;
  std::vector<std::pair<int, Array>> parts;
};
CallbackParts ask_callback(const Shape& shape, const Sharding& sharding, const PartCallback& data, std::optional<DType> dtype, Where where);
// What the others are made of, without data. Who owns which device, of how many processes:
struct DeviceOwners {
  std::function<int(int ordinal)> process_of;
  int processes = 1;
};
DeviceOwners device_owners(const Context& context);
// The shape of the array that process-local data of `local` shape makes; the same seen from every process. UserError with JAX's texts.
Shape shape_of_process_data(const Sharding& sharding, const Shape& local, const std::optional<Shape>& global_shape,
                            const DeviceOwners& owners, Where where);
// Checks that this process's data fits a global shape, and that one array for each of its devices does; the dtype of the latter.
void check_process_data(const Sharding& sharding, const Shape& local, const Shape& shape, Where where);
DType check_device_data(const Shape& shape, const Sharding& sharding, const std::vector<Array>& arrays, std::optional<DType> dtype,
                        Where where);

}  // namespace shardlab
