// How an array lies on a mesh: partition specs, named shardings, and which device holds what.
#pragma once

#include <initializer_list>
#include <string>
#include <variant>
#include <vector>

#include "runtime/base/where.h"
#include "runtime/core/mesh.h"

namespace shardlab {

// Per dimension the axis pieces that cut it, major to minor; the executable form of a sharding on a known mesh.
using Spec = std::vector<Axes>;

// One entry of a PartitionSpec: no axis, one, or several.
class SpecEntry {
 public:
  SpecEntry() = default;                                   // not sharded
  SpecEntry(std::nullptr_t) {}                             // NOLINT: P(nullptr, "a") reads as JAX's P(None, 'a')
  SpecEntry(std::nullopt_t) {}                             // NOLINT
  SpecEntry(const char* axis) : axes_{axis} {}             // NOLINT
  SpecEntry(std::string axis) : axes_{std::move(axis)} {}  // NOLINT
  SpecEntry(std::initializer_list<const char*> axes) : axes_(axes.begin(), axes.end()) {}  // NOLINT
  SpecEntry(std::vector<std::string> axes) : axes_(std::move(axes)) {}                     // NOLINT
  const std::vector<std::string>& axes() const { return axes_; }
  bool operator==(const SpecEntry&) const = default;

 private:
  std::vector<std::string> axes_;
};

inline constexpr std::nullopt_t None = std::nullopt;

// JAX's PartitionSpec: one entry a dimension, missing trailing ones are not sharded.
class PartitionSpec {
 public:
  PartitionSpec() = default;
  explicit PartitionSpec(std::vector<SpecEntry> entries) : entries_(std::move(entries)) {}
  // Overloads instead of a pack, so that P("a", {"b", "c"}) works.
  explicit PartitionSpec(SpecEntry a) : entries_{std::move(a)} {}
  explicit PartitionSpec(SpecEntry a, SpecEntry b) : entries_{std::move(a), std::move(b)} {}
  explicit PartitionSpec(SpecEntry a, SpecEntry b, SpecEntry c) : entries_{std::move(a), std::move(b), std::move(c)} {}
  explicit PartitionSpec(SpecEntry a, SpecEntry b, SpecEntry c, SpecEntry d)
      : entries_{std::move(a), std::move(b), std::move(c), std::move(d)} {}
  explicit PartitionSpec(SpecEntry a, SpecEntry b, SpecEntry c, SpecEntry d, SpecEntry e)
      : entries_{std::move(a), std::move(b), std::move(c), std::move(d), std::move(e)} {}
  explicit PartitionSpec(SpecEntry a, SpecEntry b, SpecEntry c, SpecEntry d, SpecEntry e, SpecEntry f)
      : entries_{std::move(a), std::move(b), std::move(c), std::move(d), std::move(e), std::move(f)} {}
  explicit PartitionSpec(SpecEntry a, SpecEntry b, SpecEntry c, SpecEntry d, SpecEntry e, SpecEntry f, SpecEntry g)
      : entries_{std::move(a), std::move(b), std::move(c), std::move(d), std::move(e), std::move(f), std::move(g)} {}
  explicit PartitionSpec(SpecEntry a, SpecEntry b, SpecEntry c, SpecEntry d, SpecEntry e, SpecEntry f, SpecEntry g, SpecEntry h)
      : entries_{std::move(a), std::move(b), std::move(c), std::move(d), std::move(e), std::move(f), std::move(g), std::move(h)} {}
  const std::vector<SpecEntry>& entries() const { return entries_; }
  std::string text() const;  // "P('a', None, ('b', 'c'))"
  bool operator==(const PartitionSpec&) const = default;

 private:
  std::vector<SpecEntry> entries_;
};
using P = PartitionSpec;

// A sharding of an array: a mesh, and a spec over its axes. On one device the mesh has no axes. Immutable, cheap to copy.
class Sharding {
 public:
  Sharding() = default;                     // the first device, replicated
  Sharding(Mesh mesh, PartitionSpec spec);  // UserError: unknown or repeated axes, with JAX's texts
  // From executable form; sub-axes allowed. Dimensions beyond `spec` are not sharded.
  Sharding(Mesh mesh, Spec spec);
  static Sharding on_device(int device);
  // The same, but aligned with a value's last dimensions: leading entries without axes are dropped for values of lower rank, as
  // PositionalSharding does.
  Sharding aligned_right() const;

  const Mesh& mesh() const { return mesh_; }
  const Spec& entries() const { return spec_; }  // as given
  bool is_aligned_right() const { return aligned_right_; }
  // Executable spec, padded with empty entries to `rank`. UserError when the spec has more entries with axes than `rank`.
  Spec spec(int rank) const;
  std::string text() const;       // "NamedSharding(mesh=Mesh('a': 4, 'b': 2), spec=P('a', None))" or "SingleDeviceSharding(device=0)"
  std::string spec_text() const;  // "P('a', None)"
  bool is_single_device() const { return mesh_.size() == 1 && mesh_.axis_count() == 0; }
  bool is_fully_replicated() const;
  // UserError with JAX's text where the spec has more entries than `rank`, empty ones too; `what` was given it ("device_put arguments").
  void check_rank(int rank, std::string_view what) const;
  // The same for both: rank and divisible sizes.
  void check_fits(const TensorType& type, std::string_view what) const;
  // UserError with JAX's text where a dimension's size is not divisible; or the spec cuts more dimensions than there are.
  void check_divisible(const TensorType& type, std::string_view what) const;
  // Per mesh position, the box of global indices it holds (even cuts, checked by check_divisible).
  std::vector<Box> boxes(const Shape& shape) const;
  // Same devices in the same order and the same boxes.
  bool is_equivalent_to(const Sharding& other, const Shape& shape) const;
  bool operator==(const Sharding&) const = default;

 private:
  Mesh mesh_;
  Spec spec_;
  bool aligned_right_ = false;
};

// JAX's name for a sharding given by a mesh and a spec.
Sharding NamedSharding(Mesh mesh, PartitionSpec spec = {}, std::source_location where = std::source_location::current());
Sharding NamedSharding(Mesh mesh, PartitionSpec spec, Where where);  // for a call at `where`

// The box that mesh position `position` holds of an array cut by `spec`. Uneven: ceil blocks, the last short or empty.
Box box_of(const Shape& shape, const Spec& spec, const Mesh& mesh, int position);
std::vector<Box> boxes_of(const Shape& shape, const Spec& spec, const Mesh& mesh);
// "P('a', None)"; sub-axes as 'a:(1)2'.
std::string text_of(const Spec& spec, const Mesh& mesh);
// Into executable form: UserError for unknown and repeated axes.
Spec resolve(const PartitionSpec& spec, const Mesh& mesh);

// replica_id per mesh position: how many earlier devices hold the same box.
std::vector<int> replica_ids(const std::vector<Box>& boxes);

}  // namespace shardlab
