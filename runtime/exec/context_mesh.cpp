#include "runtime/exec/context_mesh.h"

#include <fmt/ranges.h>

#include <numeric>

#include "runtime/exec/context.h"
#include "runtime/exec/ops.h"
#include "runtime/exec/tracing.h"

namespace shardlab {
namespace {

std::optional<Mesh> swap_context_mesh(std::optional<Mesh> mesh, std::source_location where) {
  Context& context = Context::current();
  if (context.tracer())
    throw_user_error("set_mesh at {}: `set_mesh` can only be used outside of jit; set it around the call", Where::from(where).text());
  return context.exchange_mesh(std::move(mesh));
}

std::vector<int> first_ordinals(const Shape& shape) {
  std::vector<int> ordinals(std::size_t(element_count(shape)));
  std::iota(ordinals.begin(), ordinals.end(), 0);
  return ordinals;
}

}  // namespace

MeshScope::MeshScope(const Mesh& mesh, std::source_location where) : before_(swap_context_mesh(mesh, where)) {}
MeshScope::~MeshScope() { Context::current().exchange_mesh(std::move(before_)); }

void set_mesh(const std::optional<Mesh>& mesh, std::source_location where) { swap_context_mesh(mesh, where); }
const std::optional<Mesh>& get_mesh() { return Context::current().mesh(); }

AbstractMesh::AbstractMesh(Shape shape, std::vector<std::string> axis_names, std::vector<AxisType> axis_types)
    : form_(shape, std::move(axis_names), first_ordinals(shape), std::move(axis_types)) {}

std::string AbstractMesh::text() const {
  std::vector<std::string> parts;
  for (int axis = 0; axis < form_.axis_count(); ++axis)
    parts.push_back(fmt::format("'{}': {}", axis_names()[std::size_t(axis)], form_.axis_size(axis)));
  std::vector<std::string_view> types;
  for (AxisType type : axis_types()) types.push_back(name_of(type));
  return fmt::format("AbstractMesh({}, axis_types=({}{}))", fmt::join(parts, ", "), fmt::join(types, ", "), types.size() == 1 ? "," : "");
}

Mesh AbstractMesh::on(const std::vector<Device>& devices) const {
  std::vector<int> ordinals;
  for (const Device& device : devices) ordinals.push_back(device.ordinal);
  return Mesh(shape(), axis_names(), std::move(ordinals), axis_types());
}

bool AbstractMesh::is_form_of(const Mesh& mesh) const { return *this == AbstractMesh(mesh); }

Array with_sharding_constraint(const Operand& x, const AbstractMesh& mesh, const PartitionSpec& spec) {
  const auto& tracer = Context::current().tracer();
  if (!tracer)
    throw_user_error("with_sharding_constraint at {}: AbstractMesh does not implement devices; outside jit give a NamedSharding on a Mesh",
                     x.where().text());
  if (!tracer->mesh() || !mesh.is_form_of(*tracer->mesh()))
    throw_user_error("with_sharding_constraint at {}: the constraint is on {}, but the computation runs on {}", x.where().text(),
                     mesh.text(), tracer->mesh() ? tracer->mesh()->text() : "no mesh: none of its arguments lies on one");
  return with_sharding_constraint(x, Sharding(*tracer->mesh(), spec));
}

}  // namespace shardlab
