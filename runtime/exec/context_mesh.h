// The context mesh (jax.set_mesh), and meshes without devices.
#pragma once

#include "runtime/exec/operand.h"

namespace shardlab {

// Makes `mesh` the context mesh until the end of the scope: specs without a mesh mean it, and computations whose arguments lie nowhere run
// on all of it, replicated. UserError inside jit.
class MeshScope {
 public:
  explicit MeshScope(const Mesh& mesh, std::source_location where = std::source_location::current());
  ~MeshScope();
  MeshScope(const MeshScope&) = delete;
  MeshScope& operator=(const MeshScope&) = delete;

 private:
  std::optional<Mesh> before_;
};
// The same for the rest of the program; nothing: none.
void set_mesh(const std::optional<Mesh>& mesh, std::source_location where = std::source_location::current());
const std::optional<Mesh>& get_mesh();

// Sizes, names and types of axes, without devices: one constraint serves every mesh of that form.
class AbstractMesh {
 public:
  // UserError as Mesh, and for devices: there are none.
  AbstractMesh(Shape shape, std::vector<std::string> axis_names, std::vector<AxisType> axis_types = {});
  explicit AbstractMesh(const Mesh& mesh) : AbstractMesh(mesh.shape(), mesh.axis_names(), mesh.axis_types()) {}
  const Shape& shape() const { return form_.shape(); }
  const std::vector<std::string>& axis_names() const { return form_.axis_names(); }
  const std::vector<AxisType>& axis_types() const { return form_.axis_types(); }
  std::string text() const;  // "AbstractMesh('a': 4, 'b': 2, axis_types=(Auto, Auto))"
  // The same form on devices. UserError where their number differs.
  Mesh on(const std::vector<Device>& devices) const;
  bool is_form_of(const Mesh& mesh) const;
  bool operator==(const AbstractMesh&) const = default;

 private:
  Mesh form_;  // on ordinals 0, 1, …, which nobody sees
};

// Inside jit: on the computation's own mesh, which must have this form. UserError outside, and for another form.
Array with_sharding_constraint(const Operand& x, const AbstractMesh& mesh, const PartitionSpec& spec);

}  // namespace shardlab
