#include "runtime/core/mesh.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "runtime/base/number_list.h"

namespace shardlab {

std::string_view name_of(AxisType type) { return type == AxisType::kAuto ? "Auto" : type == AxisType::kExplicit ? "Explicit" : "Manual"; }

Mesh::Mesh() {
  static const Mesh& first = *new Mesh(Shape{}, {}, {0});  // arrays begin with it
  data_ = first.data_;
}

Mesh Mesh::single(int device) { return Mesh(Shape{}, {}, {device}); }

Mesh::Mesh(Shape shape, std::vector<std::string> axis_names, std::vector<int> devices, std::vector<AxisType> axis_types) {
  if (shape.size() != axis_names.size())
    throw_user_error("Mesh: got {} axis sizes {} and {} axis names ({}); give one name for each size", shape.size(),
                     shardlab::text_of(shape), axis_names.size(), fmt::join(axis_names, ", "));
  for (std::size_t i = 0; i < shape.size(); ++i)
    if (shape[i] < 1) throw_user_error("Mesh: axis '{}' has size {}; sizes are at least 1", axis_names[i], shape[i]);
  if (std::set<std::string>(axis_names.begin(), axis_names.end()).size() != axis_names.size())
    throw_user_error("Mesh: axis names repeat: ({}); every axis needs a name of its own", fmt::join(axis_names, ", "));
  if (element_count(shape) != std::int64_t(devices.size()))
    throw_user_error("Mesh: the axis sizes {} ask for {} devices, got {}", shardlab::text_of(shape), element_count(shape), devices.size());
  if (std::set<int>(devices.begin(), devices.end()).size() != devices.size())
    throw_user_error("Mesh: a device is used twice in [{}]", fmt::join(devices, ", "));
  if (!axis_types.empty() && axis_types.size() != axis_names.size())
    throw_user_error("Number of axis names should match the number of axis_types. Got axis_names=({}) and {} axis_types",
                     fmt::join(axis_names, ", "), axis_types.size());
  axis_types.resize(axis_names.size(), AxisType::kAuto);
  Shape strides = strides_of(shape);
  data_ = std::make_shared<const Data>(
      Data{std::move(shape), std::move(strides), std::move(axis_names), std::move(devices), std::move(axis_types)});
}

bool Mesh::has_explicit_axes() const {
  return std::find(data_->types.begin(), data_->types.end(), AxisType::kExplicit) != data_->types.end();
}

bool Mesh::is_explicit() const {
  return std::count(data_->types.begin(), data_->types.end(), AxisType::kExplicit) == axis_count() && axis_count() > 0;
}

std::optional<int> Mesh::axis_index(std::string_view name) const {
  for (int axis = 0; axis < axis_count(); ++axis)
    if (data_->names[axis] == name) return axis;
  return std::nullopt;
}

std::int64_t Mesh::digit(int position, const AxisPiece& piece) const {
  return coordinate(position, piece.axis) / (axis_size(piece.axis) / (piece.pre * piece.size)) % piece.size;
}

int Mesh::position_of(int device) const {
  auto found = std::find(data_->devices.begin(), data_->devices.end(), device);
  return found == data_->devices.end() ? -1 : int(found - data_->devices.begin());
}

std::string Mesh::text_of(const AxisPiece& piece) const {
  const std::string& name = data_->names[piece.axis];
  if (piece.pre == 1 && piece.size == axis_size(piece.axis)) return name;
  return fmt::format("{}:({}){}", name, piece.pre, piece.size);
}

std::string Mesh::text() const {
  std::string text = "Mesh(";
  for (int axis = 0; axis < axis_count(); ++axis)
    text += fmt::format("{}'{}': {}", axis ? ", " : "", data_->names[axis], data_->shape[axis]);
  if (std::any_of(data_->types.begin(), data_->types.end(), [](AxisType type) { return type != AxisType::kAuto; })) {
    std::vector<std::string_view> types;
    for (AxisType type : data_->types) types.push_back(name_of(type));
    text += fmt::format(", axis_types=({}{})", fmt::join(types, ", "), types.size() == 1 ? "," : "");
  }
  bool in_order = true;
  for (int p = 0; p < size(); ++p) in_order &= data_->devices[p] == p;
  if (!in_order) text += fmt::format("{}devices={}", axis_count() ? ", " : "", list_text(data_->devices));
  return text + ")";
}

bool Mesh::operator==(const Mesh& other) const {
  return data_ == other.data_ || (data_->shape == other.data_->shape && data_->names == other.data_->names &&
                                  data_->devices == other.data_->devices && data_->types == other.data_->types);
}

std::vector<std::vector<int>> groups_along(const Mesh& mesh, const Axes& pieces) {
  // Two positions are in one group when what remains of them without the digits of the pieces is equal.
  auto stride_of = [&](const AxisPiece& piece) {
    std::int64_t minor = mesh.axis_size(piece.axis) / (piece.pre * piece.size);
    std::int64_t axis_stride = 1;
    for (int axis = piece.axis + 1; axis < mesh.axis_count(); ++axis) axis_stride *= mesh.axis_size(axis);
    return axis_stride * minor;
  };
  std::map<std::int64_t, std::vector<int>> groups;
  std::int64_t group_size = part_count(pieces);
  for (int position = 0; position < mesh.size(); ++position) {
    std::int64_t rest = position, rank = 0;
    for (const AxisPiece& piece : pieces) {
      std::int64_t digit = mesh.digit(position, piece);
      rest -= digit * stride_of(piece);
      rank = rank * piece.size + digit;
    }
    auto& group = groups[rest];
    group.resize(group_size);
    group[rank] = position;
  }
  std::vector<std::vector<int>> result;
  for (auto& [first, group] : groups) result.push_back(std::move(group));
  return result;
}

}  // namespace shardlab
