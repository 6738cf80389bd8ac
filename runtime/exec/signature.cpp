#include "runtime/exec/signature.h"

#include <type_traits>

#include "runtime/exec/array_impl.h"

namespace shardlab {
namespace {

// Each number and list says where it ends. A call asks for this every time, so that nothing is formatted.
class Writer {
 public:
  explicit Writer(std::size_t count) { bytes_.reserve(64 + 64 * count); }
  void add(const TensorType& type) {
    add(type.dtype);
    add_all(type.shape);
  }
  void add(const Sharding& sharding) {
    add(sharding.mesh());
    add(sharding.is_aligned_right());
    add(sharding.entries().size());
    for (const Axes& axes : sharding.entries()) {
      add(axes.size());
      for (const AxisPiece& piece : axes) {
        add(piece.axis);
        add(piece.pre);
        add(piece.size);
      }
    }
  }
  template <typename T>
    requires std::is_arithmetic_v<T> || std::is_enum_v<T>
  void add(T value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  std::string take() { return std::move(bytes_); }

 private:
  template <typename T>
  void add_all(const std::vector<T>& values) {
    add(values.size());
    bytes_.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
  }
  // Most lie on one mesh.
  void add(const Mesh& mesh) {
    const bool is_same = mesh_ != nullptr && *mesh_ == mesh;
    add(is_same);
    if (is_same) return;
    mesh_ = &mesh;
    add_all(mesh.shape());
    for (const std::string& name : mesh.axis_names()) {
      add(name.size());
      bytes_ += name;
    }
    add_all(mesh.axis_types());
    add_all(mesh.devices());
  }

  std::string bytes_;
  const Mesh* mesh_ = nullptr;  // the last one
};

}  // namespace

std::string signature_of(const std::vector<Array>& args) {
  Writer writer(args.size());
  writer.add(args.size());
  for (const Array& arg : args) {
    writer.add(arg.type());
    writer.add(arg.impl()->weak);
    writer.add(arg.committed());
    if (arg.committed()) writer.add(arg.sharding());
  }
  return writer.take();
}

std::string signature_of(const std::vector<std::optional<Sharding>>& shardings) {
  Writer writer(shardings.size());
  writer.add(shardings.size());
  for (const auto& sharding : shardings) {
    writer.add(sharding.has_value());
    if (sharding) writer.add(*sharding);
  }
  return writer.take();
}

}  // namespace shardlab
