// shard_map: per-device code over the shards of arrays.
#pragma once

#include "runtime/base/at_place.h"
#include "runtime/exec/control_flow.h"

namespace shardlab {

struct ShardMapOptions {
  std::optional<Mesh> mesh = std::nullopt;  // nothing: that of the function being traced, or the context mesh
  // One an argument, for all its leaves, or one a leaf; one a result (an element of a tuple that is returned, or the one tree) or one a
  // leaf. No in_specs: as the arguments' types say, on Explicit axes.
  std::vector<PartitionSpec> in_specs = {}, out_specs = {};
  bool check_vma = true;  // refuse out_specs that claim replication which cannot be inferred
  std::string name = "f";
  // The axes along which the code is per device; specs name these alone. The code's values stay cut over the other axes as the partitioner
  // chooses. Empty: all axes.
  std::vector<std::string> axis_names = {};
};

// One spec a leaf: of "in" or "out" specs, for arguments or results of so many leaves. UserError with JAX's text where they are neither one
// a part nor one a leaf.
std::vector<PartitionSpec> shard_map_specs(std::string_view which, const ShardMapOptions& options, const LeafCounts& parts);

// Every device calls `function` once, on its own shards of the arguments as in_specs cut them; its results are shards of the results as
// out_specs lay them out. Collectives (psum, all_gather, …) move data between devices. Works eagerly and inside jit. UserError with
// JAX's texts: specs of too high a rank, sizes that do not divide, unknown axes, results that cannot be known to be replicated.
std::vector<Array> shard_map(const TreeFunction& function, const ShardMapOptions& options, const std::vector<Array>& args, Where where);

// The same on trees of arrays (runtime/exec/tree.h).
template <typename F>
class ShardMapped : public detail::AtLine<ShardMapped<F>> {
 public:
  ShardMapped(F function, ShardMapOptions options) : function_(std::move(function)), options_(std::move(options)) {}
  template <typename... Args>
  auto call_at(std::source_location where, const Args&... args) const {
    detail::Flattened local(function_, where, args...);
    ShardMapOptions options = options_;
    if (!options.in_specs.empty())
      options.in_specs = at_place(Where::from(where), [&] { return shard_map_specs("in", options, local.counts()); });
    return local.result(
        shard_map([&](const std::vector<Array>& leaves) { return local(leaves); }, options, local.leaves(), Where::from(where)));
  }

 private:
  F function_;
  ShardMapOptions options_;
};

// shard_map(f, {.mesh = mesh, .in_specs = {P("i")}, .out_specs = {P("i")}})(x)
template <typename F>
ShardMapped<F> shard_map(F function, ShardMapOptions options) {
  return ShardMapped<F>(std::move(function), std::move(options));
}

// Collectives, inside shard_map. `axes`: a name or several, the first one major.
class AxisNames {
 public:
  AxisNames(const char* name) : names_{name} {}                            // NOLINT: psum(x, "i")
  AxisNames(std::string name) : names_{std::move(name)} {}                 // NOLINT
  AxisNames(std::initializer_list<std::string> names) : names_(names) {}   // NOLINT
  AxisNames(std::vector<std::string> names) : names_(std::move(names)) {}  // NOLINT
  const std::vector<std::string>& names() const { return names_; }

 private:
  std::vector<std::string> names_;
};
Array psum(const Operand& x, const AxisNames& axes);
Array pmean(const Operand& x, const AxisNames& axes);
Array pmax(const Operand& x, const AxisNames& axes);
Array pmin(const Operand& x, const AxisNames& axes);
struct AllGather {
  int axis = 0;
  bool tiled = false;
};
Array all_gather(const Operand& x, const AxisNames& axes, AllGather how = {});
struct PsumScatter {
  int scatter_dimension = 0;
  bool tiled = false;
};
Array psum_scatter(const Operand& x, const AxisNames& axes, PsumScatter how = {});
struct AllToAll {
  int split_axis = 0, concat_axis = 0;
  bool tiled = false;
  std::vector<std::int64_t> split_sizes = {};
};
Array all_to_all(const Operand& x, const AxisNames& axes, const AllToAll& how);
Array ppermute(const Operand& x, const AxisNames& axes, const std::vector<std::pair<int, int>>& perm);
// Device i gets what device perm[i] has. UserError where that is no permutation of the axes' devices.
Array pshuffle(const Operand& x, const AxisNames& axes, const std::vector<int>& perm);
Array pbroadcast(const Operand& x, const AxisNames& axes, int source);
Array pvary(const Operand& x, const AxisNames& axes);
// jax.lax.pcast: to "varying" is pvary. UserError for the others of JAX, which are not there.
Array pcast(const Operand& x, const AxisNames& axes, std::string_view to);
// The same of every leaf of a tree: pmean(gradients, "batch").
#define SHARDLAB_COLLECTIVE_OF_TREE(name)                                                         \
  template <typename Tree, typename... How>                                                       \
    requires(!std::convertible_to<const Tree&, Operand>)                                          \
  Tree name(const Tree& tree, const AxisNames& axes, const How&... how) {                         \
    return tree::map([&](const Array& leaf) { return name(Operand(leaf), axes, how...); }, tree); \
  }
SHARDLAB_COLLECTIVE_OF_TREE(psum)
SHARDLAB_COLLECTIVE_OF_TREE(pmean)
SHARDLAB_COLLECTIVE_OF_TREE(pmax)
SHARDLAB_COLLECTIVE_OF_TREE(pmin)
SHARDLAB_COLLECTIVE_OF_TREE(all_gather)
SHARDLAB_COLLECTIVE_OF_TREE(psum_scatter)
SHARDLAB_COLLECTIVE_OF_TREE(ppermute)
SHARDLAB_COLLECTIVE_OF_TREE(pshuffle)
SHARDLAB_COLLECTIVE_OF_TREE(pvary)
SHARDLAB_COLLECTIVE_OF_TREE(pcast)
#undef SHARDLAB_COLLECTIVE_OF_TREE
Array axis_index(const AxisNames& axes, std::source_location where = std::source_location::current());
// How many devices there are along the axes: a number, known while the code is traced.
int axis_size(const AxisNames& axes, std::source_location where = std::source_location::current());

}  // namespace shardlab
