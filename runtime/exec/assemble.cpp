#include "runtime/exec/assemble.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "runtime/base/at_place.h"
#include "runtime/exec/array_impl.h"
#include "runtime/exec/context.h"

namespace shardlab {
namespace {

Array assembled(TensorType type, const Sharding& sharding, std::vector<BufferRef> shards, Where where) {
  Context& context = Context::current();
  auto impl = std::make_shared<ArrayImpl>();
  impl->type = std::move(type);
  impl->sharding = sharding;
  impl->committed = true;
  impl->shards = context.placed(std::move(shards), sharding.mesh());
  impl->id = context.new_array_id();
  impl->where = where;
  context.record_array(*impl, "");
  return Array(std::move(impl));
}

void check_sharding(const TensorType& type, const Sharding& sharding, std::string_view what, Where where) {
  at_place(where, [&] {
    for (int device : sharding.mesh().devices()) Context::current().device(device);  // throws where one does not exist
    sharding.check_divisible(type, what);
  });
}

// Mesh positions of this process.
std::vector<int> local_positions(const Sharding& sharding) {
  std::vector<int> positions;
  for (int p = 0; p < sharding.mesh().size(); ++p)
    if (Context::current().is_local(sharding.mesh().devices()[std::size_t(p)])) positions.push_back(p);
  return positions;
}

std::string shape_text(const TensorType& type, const Sharding& sharding) {
  return fmt::format("{} with sharding {}", type.text(), sharding.text());
}

// Where the parts of one dimension begin, for each process that holds any.
std::map<int, std::set<std::int64_t>> starts_of(const std::vector<Box>& boxes, const std::vector<int>& devices, std::size_t dimension,
                                                const DeviceOwners& owners) {
  std::map<int, std::set<std::int64_t>> starts;
  for (std::size_t p = 0; p < boxes.size(); ++p) starts[owners.process_of(devices[p])].insert(boxes[p][dimension].start);
  return starts;
}

// The global dimension's count of distinct process-parts, as JAX infers it: all processes hold equally many cuts, any two the same or
// none in common, and together all. 0: they do not.
std::int64_t uniform_count(const std::vector<Box>& boxes, const std::vector<int>& devices, std::size_t dimension,
                           const DeviceOwners& owners) {
  std::map<int, std::set<std::int64_t>> starts = starts_of(boxes, devices, dimension, owners);
  std::set<std::set<std::int64_t>> distinct;
  for (const auto& [process, cuts] : starts) distinct.insert(cuts);
  std::set<std::int64_t> seen;
  for (const auto& cuts : distinct) {
    if (cuts.size() != distinct.begin()->size()) return 0;
    for (std::int64_t start : cuts)
      if (!seen.insert(start).second) return 0;
  }
  return std::int64_t(distinct.size());
}

}  // namespace

CallbackParts ask_callback(const Shape& shape, const Sharding& sharding, const PartCallback& data, std::optional<DType> dtype,
                           Where where) {
  check_sharding({dtype.value_or(DType::kFloat32), shape}, sharding, "make_array_from_callback arguments", where);
  std::vector<Box> boxes = sharding.boxes(shape);
  CallbackParts result;
  for (int position : local_positions(sharding)) {
    if (sharding.is_fully_replicated() && !result.parts.empty()) {
      result.parts.emplace_back(position, result.parts.front().second);
      continue;
    }
    const Box& box = boxes[std::size_t(position)];
    Array part = data(box);
    if (!dtype) dtype = part.dtype();
    if (part.shape() != shape_of(box))
      throw_user_error("Expected shard shape {} doesn't match the single device array shape {}. Shape of Array is {} [{}]",
                       text_of(shape_of(box)), text_of(part.shape()), shape_text({*dtype, shape}, sharding), where.text());
    if (part.dtype() != *dtype)
      throw_user_error("Input buffers to `Array` must have matching dtypes. Got {}, expected {} for the part of device {} [{}]",
                       name_of(part.dtype()), name_of(*dtype), sharding.mesh().devices()[std::size_t(position)], where.text());
    result.parts.emplace_back(position, std::move(part));
  }
  if (!dtype)
    throw_user_error(
        "If the Array has no addressable shards, `dtype` must be provided via the `dtype` argument to `jax.make_array_from_callback`. [{}]",
        where.text());
  result.dtype = *dtype;
  return result;
}

Array make_array_from_callback(const Shape& shape, const Sharding& sharding, const std::function<Array(const Box& index)>& data,
                               std::optional<DType> dtype, std::source_location where) {
  return array_from_callback(shape, sharding, data, dtype, Where::from(where));
}

Array array_from_callback(const Shape& shape, const Sharding& sharding, const PartCallback& data, std::optional<DType> dtype, Where where) {
  CallbackParts asked = ask_callback(shape, sharding, data, dtype, where);
  std::vector<BufferRef> shards(std::size_t(sharding.mesh().size()));
  for (const auto& [position, part] : asked.parts) {
    const bool again = sharding.is_fully_replicated() && position != asked.parts.front().first;
    shards[std::size_t(position)] =
        again ? shards[std::size_t(asked.parts.front().first)] : std::make_shared<Buffer>(part.fetch_at(where, "make_array_from_callback"));
  }
  return assembled({asked.dtype, shape}, sharding, std::move(shards), where);
}

Array make_array_from_single_device_arrays(const Shape& shape, const Sharding& sharding, const std::vector<Array>& arrays,
                                           std::optional<DType> dtype, std::source_location where) {
  return array_from_device_data(shape, sharding, arrays, dtype, Where::from(where));
}

DType check_device_data(const Shape& shape, const Sharding& sharding, const std::vector<Array>& arrays, std::optional<DType> dtype,
                        Where where) {
  check_sharding({dtype.value_or(DType::kFloat32), shape}, sharding, "make_array_from_single_device_arrays arguments", where);
  std::vector<int> positions = local_positions(sharding), given;
  std::map<int, const Array*> by_device;
  for (const Array& array : arrays) {
    if (!array.sharding().is_single_device())
      throw_user_error("make_array_from_single_device_arrays takes arrays on a single device each; got {} [{}]",
                       shape_text(array.type(), array.sharding()), where.text());
    given.push_back(array.sharding().mesh().devices()[0]);
    by_device[given.back()] = &array;
  }
  if (by_device.size() != arrays.size())
    throw_user_error(
        "When making an array from single-device arrays, the input arrays must be from distinct devices, but got device IDs [{}] [{}]",
        fmt::join(given, ", "), where.text());
  if (arrays.size() != positions.size())
    throw_user_error("Expected {} per-device arrays (this is how many devices are addressable by the sharding), but got {} [{}]",
                     positions.size(), arrays.size(), where.text());
  std::vector<int> wanted;
  for (int position : positions) wanted.push_back(sharding.mesh().devices()[std::size_t(position)]);
  auto missing_from = [](std::vector<int> some, std::vector<int> others) {
    std::vector<int> missing;
    std::sort(some.begin(), some.end());
    std::sort(others.begin(), others.end());
    std::set_difference(some.begin(), some.end(), others.begin(), others.end(), std::back_inserter(missing));
    return missing;
  };
  if (auto missing = missing_from(wanted, given); !missing.empty())
    throw_user_error(
        "Addressable devices and per-device arrays devices do not match. Sharding contains devices {{{}}} that are not present in "
        "per-device arrays. Per-device arrays contain devices {{{}}} that are not present in the sharding. [{}]",
        fmt::join(missing, ", "), fmt::join(missing_from(given, wanted), ", "), where.text());
  if (!dtype && !arrays.empty()) dtype = arrays[0].dtype();
  if (!dtype)
    throw_user_error(
        "If the Array has no addressable shards, `dtype` must be provided via the `dtype` argument to "
        "`jax.make_array_from_single_device_arrays`. [{}]",
        where.text());
  std::vector<Box> boxes = sharding.boxes(shape);
  for (int position : positions) {
    const Array& array = *by_device.at(sharding.mesh().devices()[std::size_t(position)]);
    Shape part = shape_of(boxes[std::size_t(position)]);
    if (array.dtype() != *dtype)
      throw_user_error("Input buffers to `Array` must have matching dtypes. Got {}, expected {} for buffer: {} on device {} [{}]",
                       name_of(array.dtype()), name_of(*dtype), array.type().text(), sharding.mesh().devices()[std::size_t(position)],
                       where.text());
    if (array.shape() != part)
      throw_user_error("Expected shard shape {} doesn't match the single device array shape {}. Shape of Array is {} [{}]", text_of(part),
                       text_of(array.shape()), shape_text({*dtype, shape}, sharding), where.text());
  }
  return *dtype;
}

Array array_from_device_data(const Shape& shape, const Sharding& sharding, const std::vector<Array>& arrays, std::optional<DType> dtype,
                             Where where) {
  DType made = check_device_data(shape, sharding, arrays, dtype, where);
  std::vector<BufferRef> shards(std::size_t(sharding.mesh().size()));
  for (int position : local_positions(sharding)) {
    int device = sharding.mesh().devices()[std::size_t(position)];
    auto array =
        std::find_if(arrays.begin(), arrays.end(), [&](const Array& each) { return each.sharding().mesh().devices()[0] == device; });
    shards[std::size_t(position)] = array->shards_at(where, "make_array_from_single_device_arrays").at(0).data;
  }
  return assembled({made, shape}, sharding, std::move(shards), where);
}

DeviceOwners device_owners(const Context& context) {
  return {[&context](int ordinal) { return context.device(ordinal).process_index; }, context.process_count()};
}

Shape shape_of_process_data(const Sharding& sharding, const Shape& local, const std::optional<Shape>& global_shape,
                            const DeviceOwners& owners, Where where) {
  if (owners.processes == 1 && global_shape && *global_shape != local)
    throw_user_error(
        "When calling `make_array_from_process_local_data` on a single process, global_shape should be None or equal to "
        "local_data.shape.Got global_shape={} and local_data.shape={}. [{}]",
        text_of(*global_shape), text_of(local), where.text());
  if (global_shape && global_shape->size() != local.size())
    throw_user_error("make_array_from_process_local_data: the global shape {} and the process's data of shape {} differ in rank [{}]",
                     text_of(*global_shape), text_of(local), where.text());
  if (global_shape) return *global_shape;
  // Which cuts a process holds does not depend on the size: one element a device shows it.
  std::vector<Box> boxes = sharding.boxes(Shape(local.size(), sharding.mesh().size()));
  Shape shape;
  std::vector<std::string> known;
  bool whole_known = true;
  for (std::size_t d = 0; d < local.size(); ++d) {
    std::int64_t count = uniform_count(boxes, sharding.mesh().devices(), d, owners);
    whole_known &= count > 0;
    shape.push_back(local[d] * count);
    known.push_back(count > 0 ? std::to_string(shape.back()) : "None");
  }
  if (!whole_known)
    throw_user_error(
        "Unable to compute global_shape due to non-uniform sharding. Specify global shape directly. Partially computed "
        "global_shape=({}{}) [{}]",
        fmt::join(known, ", "), known.size() == 1 ? "," : "", where.text());
  return shape;
}

namespace {

// Per dimension where each of this process's cuts begins in its data, which has the process's part of a dimension or the whole of it.
std::vector<std::map<std::int64_t, std::int64_t>> offsets_in_process_data(const std::vector<Box>& boxes, const std::vector<int>& positions,
                                                                          const Shape& local, const Shape& shape, Where where) {
  std::vector<std::map<std::int64_t, std::int64_t>> offsets(shape.size());
  for (std::size_t d = 0; d < shape.size(); ++d) {
    std::int64_t held = 0;
    for (int position : positions) offsets[d][boxes[std::size_t(position)][d].start] = boxes[std::size_t(position)][d].size();
    for (auto& [start, size] : offsets[d]) held += std::exchange(size, held);
    if (positions.empty() || local[d] == held) continue;
    if (local[d] != shape[d])
      throw_user_error(
          "Invalid host data, each dimension should match either global or process shape. In dimension {}, the process data has {} "
          "elements. Process addresses {} elements and global_shape={}. [{}]",
          d, local[d], held, text_of(shape), where.text());
    for (auto& [start, offset] : offsets[d]) offset = start;
  }
  return offsets;
}

}  // namespace

void check_process_data(const Sharding& sharding, const Shape& local, const Shape& shape, Where where) {
  check_sharding({DType::kFloat32, shape}, sharding, "make_array_from_process_local_data arguments", where);
  offsets_in_process_data(sharding.boxes(shape), local_positions(sharding), local, shape, where);
}

Array make_array_from_process_local_data(const Sharding& sharding, const Array& local_data, const std::optional<Shape>& global_shape,
                                         std::source_location where) {
  return array_from_process_data(sharding, local_data, global_shape, Where::from(where));
}

Array array_from_process_data(const Sharding& sharding, const Array& local_data, const std::optional<Shape>& global_shape, Where where) {
  const Shape& local = local_data.shape();
  Shape shape = shape_of_process_data(sharding, local, global_shape, device_owners(Context::current()), where);
  check_sharding({local_data.dtype(), shape}, sharding, "make_array_from_process_local_data arguments", where);
  std::vector<Box> boxes = sharding.boxes(shape);
  std::vector<int> positions = local_positions(sharding);
  auto offsets = offsets_in_process_data(boxes, positions, local, shape, where);
  std::vector<BufferRef> shards(boxes.size());
  if (!positions.empty()) {
    Buffer data = local_data.fetch_at(where, "make_array_from_process_local_data");
    std::map<std::vector<std::int64_t>, BufferRef> made;  // replicas share
    for (int position : positions) {
      Box part = boxes[std::size_t(position)];
      std::vector<std::int64_t> key;
      for (std::size_t d = 0; d < part.size(); ++d) {
        std::int64_t offset = offsets[d].at(part[d].start);
        part[d] = {offset, offset + part[d].size()};
        key.push_back(offset);
      }
      BufferRef& made_here = made[key];
      if (!made_here) {
        auto buffer = std::make_shared<Buffer>(std::size_t(element_count(part) * size_of(local_data.dtype())));
        copy_box(data.data(), whole(local), buffer->data(), part, part, size_of(local_data.dtype()));
        made_here = std::move(buffer);
      }
      shards[std::size_t(position)] = made_here;
    }
  }
  return assembled({local_data.dtype(), shape}, sharding, std::move(shards), where);
}

}  // namespace shardlab
