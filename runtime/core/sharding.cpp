#include "runtime/core/sharding.h"

#include <fmt/ranges.h>

#include <algorithm>

#include <map>

#include "runtime/base/at_place.h"
#include "runtime/base/text.h"

namespace shardlab {
namespace {

// How an entry of a PartitionSpec says that its dimension stays as it comes to lie (runtime/exec/unconstrained.h).
constexpr std::string_view kUnconstrained = "UNCONSTRAINED";

std::string entry_text(const std::vector<std::string>& axes) {
  if (axes.empty()) return "None";
  if (axes.size() == 1 && axes[0] == kUnconstrained) return axes[0];
  if (axes.size() == 1) return fmt::format("'{}'", axes[0]);
  std::string text = "(";
  for (std::size_t i = 0; i < axes.size(); ++i) text += fmt::format("{}'{}'", i ? ", " : "", axes[i]);
  return text + ")";
}

std::string spec_text_of(const std::vector<std::string>& entries) {
  if (entries.size() == 1) return fmt::format("P({},)", entries[0]);
  return fmt::format("P({})", fmt::join(entries, ", "));
}

}  // namespace

std::string PartitionSpec::text() const {
  std::vector<std::string> entries;
  for (const SpecEntry& entry : entries_) entries.push_back(entry_text(entry.axes()));
  return spec_text_of(entries);
}

std::string text_of(const Spec& spec, const Mesh& mesh) {
  std::vector<std::string> entries;
  for (const Axes& axes : spec) {
    std::vector<std::string> names;
    for (const AxisPiece& piece : axes) names.push_back(mesh.text_of(piece));
    entries.push_back(entry_text(names));
  }
  return spec_text_of(entries);
}

Spec resolve(const PartitionSpec& spec, const Mesh& mesh) {
  Spec result;
  std::map<std::string, int> used;
  for (std::size_t d = 0; d < spec.entries().size(); ++d) {
    Axes axes;
    for (const std::string& name : spec.entries()[d].axes()) {
      auto axis = mesh.axis_index(name);
      if (!axis && name == kUnconstrained)
        throw_user_error(
            "Unconstrained dims are not allowed here: {} on {}; with_sharding_constraint(x, mesh, spec) takes them, or name the axes",
            spec.text(), mesh.text());
      if (!axis) {
        std::vector<std::string_view> names(mesh.axis_names().begin(), mesh.axis_names().end());
        std::vector<std::string> quoted;
        for (std::string_view each : names) quoted.push_back(fmt::format("'{}'", each));
        throw_user_error("Resource axis: {} of {} is not found in mesh: ({}{}){}", name, spec.text(), fmt::join(quoted, ", "),
                         quoted.size() == 1 ? "," : "", did_you_mean(name, names));
      }
      auto [position, is_new] = used.try_emplace(name, int(d));
      if (!is_new)
        throw_user_error(
            "A single NamedSharding spec specification can map every mesh axis to at most one positional dimension, but {} has duplicate "
            "entries for `{}` (dimensions {} and {}); use each mesh axis once",
            spec.text(), name, position->second, d);
      axes.push_back(mesh.whole_axis(*axis));
    }
    result.push_back(std::move(axes));
  }
  return result;
}

Sharding::Sharding(Mesh mesh, PartitionSpec spec) : mesh_(std::move(mesh)), spec_(resolve(spec, mesh_)) {}
Sharding::Sharding(Mesh mesh, Spec spec) : mesh_(std::move(mesh)), spec_(std::move(spec)) {}
Sharding Sharding::on_device(int device) { return Sharding(Mesh::single(device), Spec{}); }

Sharding Sharding::aligned_right() const {
  Sharding sharding = *this;
  sharding.aligned_right_ = true;
  return sharding;
}

Spec Sharding::spec(int rank) const {
  Spec spec = spec_;
  if (aligned_right_)
    while (int(spec.size()) > rank && spec.front().empty()) spec.erase(spec.begin());
  while (int(spec.size()) > rank && spec.back().empty()) spec.pop_back();
  if (int(spec.size()) > rank)
    throw_user_error(
        "Sharding {} is only valid for values of rank at least {}, but was applied to a value of rank {}; drop the entries beyond the "
        "value's dimensions",
        text(), spec.size(), rank);
  spec.resize(rank);
  return spec;
}

std::string Sharding::spec_text() const { return shardlab::text_of(spec_, mesh_); }

std::string Sharding::text() const {
  if (is_single_device()) return fmt::format("SingleDeviceSharding(device={})", mesh_.devices()[0]);
  return fmt::format("NamedSharding(mesh={}, spec={})", mesh_.text(), spec_text());
}

Sharding NamedSharding(Mesh mesh, PartitionSpec spec, Where where) {
  return at_place(where, [&] { return Sharding(std::move(mesh), std::move(spec)); });
}
Sharding NamedSharding(Mesh mesh, PartitionSpec spec, std::source_location where) {
  return NamedSharding(std::move(mesh), std::move(spec), Where::from(where));
}

bool Sharding::is_fully_replicated() const {
  for (const Axes& axes : spec_)
    if (part_count(axes) > 1) return false;
  return true;
}

void Sharding::check_rank(int rank, std::string_view what) const {
  const int entries = aligned_right_ ? int(spec(rank).size()) : int(spec_.size());
  if (entries <= rank) return;
  throw_user_error(
      "One of {} is incompatible with its sharding annotation {}: Sharding {} is only valid for values of rank at least {}, but was "
      "applied to a value of rank {}.{}",
      what, text(), text(), entries, rank, rank == 0 ? " For scalars the PartitionSpec should be P()" : "");
}

void Sharding::check_fits(const TensorType& type, std::string_view what) const {
  check_rank(type.rank(), what);
  check_divisible(type, what);
}

void Sharding::check_divisible(const TensorType& type, std::string_view what) const {
  const Spec full = spec(type.rank());
  std::vector<std::int64_t> factors;
  for (const Axes& axes : full) factors.push_back(part_count(axes));
  for (int d = 0; d < type.rank(); ++d) {
    const std::int64_t parts = factors[std::size_t(d)], size = type.shape[std::size_t(d)];
    if (size % parts == 0) continue;
    Spec fitting = full;  // each dimension keeps the axes, from the first, that divide it
    for (std::size_t k = 0; k < fitting.size(); ++k)
      while (type.shape[k] % part_count(fitting[k]) != 0) fitting[k].pop_back();
    throw_user_error(
        "Sharding {} implies that array axis {} is partitioned {} times, but the dimension size is {} (full shape: {}, per-dimension "
        "tiling factors: [{}] should evenly divide the shape). It was given to {} of type {}: dimension {} should be divisible by {}, but "
        "it is equal to {} (full shape: {}); pad it to {}, or use a spec that divides: {}",
        text(), d, parts, size, shardlab::text_of(type.shape), fmt::join(factors, ", "), what, type.text(), d, parts, size,
        shardlab::text_of(type.shape), (size / parts + 1) * parts, shardlab::text_of(fitting, mesh_));
  }
}

std::vector<Box> Sharding::boxes(const Shape& shape) const { return boxes_of(shape, spec(int(shape.size())), mesh_); }

bool Sharding::is_equivalent_to(const Sharding& other, const Shape& shape) const {
  return mesh_.same_devices(other.mesh_) && boxes(shape) == other.boxes(shape);
}

Box box_of(const Shape& shape, const Spec& spec, const Mesh& mesh, int position) {
  Box box(shape.size());
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (d >= spec.size() || spec[d].empty()) {
      box[d] = {0, shape[d]};
      continue;
    }
    std::int64_t index = 0, parts = 1;
    for (const AxisPiece& piece : spec[d]) {
      index = index * piece.size + mesh.digit(position, piece);
      parts *= piece.size;
    }
    std::int64_t block = (shape[d] + parts - 1) / parts;
    box[d] = {std::min(shape[d], index * block), std::min(shape[d], (index + 1) * block)};
  }
  return box;
}

std::vector<Box> boxes_of(const Shape& shape, const Spec& spec, const Mesh& mesh) {
  std::vector<Box> boxes;
  boxes.reserve(mesh.size());
  for (int position = 0; position < mesh.size(); ++position) boxes.push_back(box_of(shape, spec, mesh, position));
  return boxes;
}

std::vector<int> replica_ids(const std::vector<Box>& boxes) {
  auto less = [](const Box& a, const Box& b) {
    for (std::size_t d = 0; d < a.size(); ++d) {
      if (a[d].start != b[d].start) return a[d].start < b[d].start;
      if (a[d].stop != b[d].stop) return a[d].stop < b[d].stop;
    }
    return false;
  };
  std::map<Box, int, decltype(less)> seen(less);
  std::vector<int> ids;
  for (const Box& box : boxes) ids.push_back(seen[box]++);
  return ids;
}

}  // namespace shardlab
