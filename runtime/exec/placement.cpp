#include "runtime/exec/placement.h"

#include <fmt/ranges.h>

#include "runtime/base/at_place.h"
#include "runtime/exec/array_impl.h"
#include "runtime/exec/context.h"
#include "runtime/exec/executor.h"
#include "runtime/exec/movements.h"
#include "runtime/exec/out_sharding.h"
#include "runtime/exec/tracing.h"
#include "runtime/exec/weak_types.h"
#include "runtime/ops/registry.h"

namespace shardlab {
namespace {

Array operand_array(const Operand& x) {
  if (x.is_array()) return x.array();
  return apply("full", {x}, Attrs{{"shape", std::vector<std::int64_t>{}}}, x.where()).at(0);
}

}  // namespace

Mesh make_mesh(Shape shape, std::vector<std::string> axis_names, const MeshOptions& options, std::source_location where) {
  std::vector<Device> devices = options.devices.empty() ? Context::current().devices() : options.devices;
  const std::int64_t wanted = element_count(shape), have = std::int64_t(devices.size());
  if (wanted > have)
    throw_user_error(
        "Number of devices {} must be >= the product of mesh_shape {} (= {}) at {}; force more virtual devices with -d or "
        "SHARDLAB_NUM_CPU_DEVICES",
        have, text_of(shape), wanted, Where::from(where).text());
  devices.resize(std::size_t(wanted));
  return make_mesh(create_device_mesh(shape, std::move(devices)), std::move(axis_names), options.axis_types, where);
}

Mesh make_mesh(Shape shape, std::vector<std::string> axis_names, const std::vector<Device>& devices, std::source_location where) {
  return make_mesh(std::move(shape), std::move(axis_names), MeshOptions{.axis_types = {}, .devices = devices}, where);
}

Mesh make_mesh(const DeviceGrid& devices, std::vector<std::string> axis_names, std::vector<AxisType> axis_types,
               std::source_location where) {
  if (devices.shape.size() != axis_names.size())
    throw_user_error(
        "Mesh requires the ndim of its first argument (`devices`) to equal the length of its second argument (`axis_names`), but got "
        "devices.ndim == {} and len(axis_names) == {}. [{}]",
        devices.shape.size(), axis_names.size(), Where::from(where).text());
  return at_place(Where::from(where),
                  [&] { return Mesh(devices.shape, std::move(axis_names), devices.ordinals(), std::move(axis_types)); });
}

Array device_put(const Operand& x, const Sharding& sharding) {
  Context& context = Context::current();
  at_place(x.where(), [&] {
    for (int device : sharding.mesh().devices()) context.device(device);  // throws where one does not exist
  });
  if (context.tracer()) return apply("with_sharding_constraint", {x}, Attrs{{"sharding", sharding}}, x.where()).at(0);
  Array array = operand_array(x);
  if (!array.valid()) throw_user_error("device_put at {}: an empty Array is used; give it a value first", x.where().text());
  at_place(x.where(), [&] { sharding.check_fits(array.type(), "device_put arguments"); });
  if (lies_there(context, array, sharding)) return array;
  Array placed = context.executor().submit(placement_program(context, array, sharding), {array}, true, x.where()).at(0);
  set_weak(placed, weak_type(array));
  return placed;
}

Array device_put(const Operand& x, const PartitionSpec& spec) { return device_put(x, OutSharding(spec).on_mesh_of({x}, x.where())); }

Array device_put(const Operand& x, const Device& device) { return device_put(x, Sharding::on_device(device.ordinal)); }

}  // namespace shardlab
