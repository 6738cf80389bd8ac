#include "runtime/exec/shard_map.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "runtime/base/at_place.h"
#include "runtime/exec/context.h"
#include "runtime/exec/replication.h"
#include "runtime/exec/shard_map_specs.h"
#include "runtime/exec/tracing.h"
#include "runtime/exec/varying_types.h"
#include "runtime/exec/weak_types.h"
#include "runtime/ops/registry.h"

namespace shardlab {
namespace {

const Mesh& mesh_of(const ShardMapOptions& options, Context& context, Where where) {
  if (options.mesh) return *options.mesh;
  if (context.tracer() && context.tracer()->mesh()) return *context.tracer()->mesh();
  if (context.mesh()) return *context.mesh();
  throw_user_error(
      "The context mesh cannot be empty. Use `jax.set_mesh(mesh)` (here `set_mesh`) to enter into a mesh context, or give shard_map of "
      "'{}' "
      "a mesh: ShardMapOptions::mesh [{}]",
      options.name, where.text());
}

// The manual axes in the mesh's order.
std::vector<std::string> manual_axes(const ShardMapOptions& options, const Mesh& mesh) {
  if (options.axis_names.empty()) return mesh.axis_names();
  for (const std::string& name : options.axis_names)
    if (!mesh.axis_index(name))
      throw_user_error("jax.shard_map requires axis_names={{{}}} to be a subset of mesh.axis_names={{{}}}: shard_map of '{}'",
                       fmt::join(options.axis_names, ", "), fmt::join(mesh.axis_names(), ", "), options.name);
  std::vector<std::string> manual;
  for (const std::string& name : mesh.axis_names())
    if (std::find(options.axis_names.begin(), options.axis_names.end(), name) != options.axis_names.end()) manual.push_back(name);
  return manual;
}

// Source: JAX's _check_specs.
void check_manual(const ShardMapOptions& options, const std::vector<PartitionSpec>& specs, const std::vector<std::string>& manual,
                  std::string_view which) {
  for (std::size_t i = 0; i < specs.size(); ++i)
    for (const SpecEntry& entry : specs[i].entries())
      for (const std::string& axis : entry.axes())
        if (std::find(manual.begin(), manual.end(), axis) == manual.end())
          throw_user_error(
              "shard_map {0}_specs argument must refer to an axis marked as manual ({{{1}}}), but:\n\n  {0}_specs[{2}] refers to "
              "'{3}'\n\nCheck the {0}_specs values passed to shard_map. (The code of '{4}' is not per device along '{3}': leave it out of "
              "{5}, or name it in axis_names.)",
              which, fmt::join(manual, ", "), i, axis, options.name, specs[i].text());
}

}  // namespace

std::vector<PartitionSpec> shard_map_specs(std::string_view which, const ShardMapOptions& options, const LeafCounts& parts) {
  const std::vector<PartitionSpec>& given = which == "in" ? options.in_specs : options.out_specs;
  auto each = tree::spread(given, parts);
  if (!each) {
    std::size_t leaves = std::accumulate(parts.begin(), parts.end(), std::size_t(0));
    throw_user_error(
        "shard_map {0}_specs specification must be a tree prefix of the corresponding value: got {1} specs for {2} {3}{4}{5} of '{6}'; "
        "give "
        "one for each {3}, or one for each leaf",
        which, given.size(), parts.size(), which == "in" ? "argument" : "result", parts.size() == 1 ? "" : "s",
        leaves == parts.size() ? "" : fmt::format(" with {} leaves", leaves), options.name);
  }
  return *each;
}

namespace {

// What collectives inside can name: the manual axes, and those of vmap around it.
std::shared_ptr<const BoundAxes> bound_in(const ShardMapOptions& options, const Context& context, const Mesh& mesh,
                                          const std::vector<std::string>& manual) {
  BoundAxes bound{mesh, manual, {}};
  if (context.tracer() && context.tracer()->bound()) bound.batches = context.tracer()->bound()->batches;
  for (const std::string& name : manual)
    if (bound.is_batch(name))
      throw_user_error("shard_map of '{}': '{}' is an axis of its mesh and the axis_name of a vmap around it; give the vmap another name",
                       options.name, name);
  return std::make_shared<const BoundAxes>(std::move(bound));
}

// The specs of arguments by their types, where all manual axes are Explicit.
std::vector<PartitionSpec> inferred_specs(const std::vector<Array>& args, const Mesh& mesh, const std::vector<std::string>& manual_names,
                                          const ShardMapOptions& options, Where where) {
  const AxisSet manual = axes_named(manual_names, mesh);
  if ((manual & ~explicit_axes_of(mesh)) != 0)
    throw_user_error(
        "shard_map in_specs argument must be a pytree of `jax.sharding.PartitionSpec` instances, but there were none for '{}' when not all "
        "of "
        "its axis_names ({}) are of type Explicit: {}; give one for each argument [{}]",
        options.name, fmt::join(manual_names, ", "), mesh.text(), where.text());
  std::vector<PartitionSpec> specs;
  for (const Array& arg : args) {
    std::vector<SpecEntry> entries;
    for (const Axes& dim : within(traced_type(arg, mesh).spec, manual)) {
      std::vector<std::string> names;
      for (const AxisPiece& piece : dim) names.push_back(mesh.axis_names()[std::size_t(piece.axis)]);
      entries.emplace_back(std::move(names));
    }
    specs.emplace_back(std::move(entries));
  }
  return specs;
}

std::vector<Array> mapped(const TreeFunction& function, ShardMapOptions options, const std::vector<Array>& args, Where where) {
  Context& context = Context::current();
  const Mesh& mesh = mesh_of(options, context, where);
  if (options.in_specs.empty() && !args.empty()) options.in_specs = inferred_specs(args, mesh, manual_axes(options, mesh), options, where);
  shard_map_specs("in", options, LeafCounts(args.size(), 1));
  const std::vector<std::string> manual_names = manual_axes(options, mesh);
  if (manual_names.size() < mesh.axis_names().size()) {
    check_manual(options, options.in_specs, manual_names, "in");
    check_manual(options, options.out_specs, manual_names, "out");
  }
  std::vector<Sharding> in, out;
  std::vector<TensorType> local;
  for (std::size_t i = 0; i < args.size(); ++i) {
    check_map_rank(options.name, options.in_specs[i], args[i].type(), i, true);
    in.emplace_back(mesh, options.in_specs[i]);
    local.push_back(mapped_part(options.name, mesh, options.in_specs[i], args[i].type(), i));
  }
  const auto bound = bound_in(options, context, mesh, manual_names);
  LeafCounts parts;
  auto leaves = [&](const std::vector<Array>& params) {
    TreeResults results = function(params);
    parts = std::move(results.parts);
    return std::move(results.leaves);
  };
  TypesInTrace types = types_like(args);
  const AxisSet manual = axes_named(manual_names, mesh),
                around = context.tracer() ? context.tracer()->typed_axes() : explicit_axes_of(mesh);
  types.param = [of = types.param, in, manual, args](std::size_t i, const Mesh& on) {
    TracedType type = of(i, on);
    type.spec = within(type.spec, ~manual);
    type.varying |= transform::axes_in(in[i], args[i].ndim());
    return type;
  };
  types.typed = around & ~manual;
  types.tells_varying = options.check_vma;
  TracedBody body = Tracer::trace_body(context, options.name, local, leaves, bound, std::nullopt, weak_types(args), std::move(types));
  if (parts.empty()) parts.assign(body.graph.results.size(), 1);
  for (const PartitionSpec& spec : shard_map_specs("out", options, parts)) {
    check_map_rank(options.name, spec, body.graph.type(body.graph.results[out.size()]), out.size(), false);
    out.emplace_back(mesh, spec);
  }
  std::vector<Operand> operands;
  for (const Array& arg : args) operands.emplace_back(arg, where);
  for (const Array& each : body.captured) {
    operands.emplace_back(each, where);
    in.emplace_back(mesh, PartitionSpec());
  }
  if (options.check_vma) check_replication(body.graph, in, out, mesh, options.name, manual_names);
  Attrs attrs{{"bodies", Bodies{std::make_shared<const Graph>(std::move(body.graph))}},
              {"in_specs", in},
              {"out_specs", out},
              {"axis_names", manual_names}};
  std::vector<Array> results = apply(*find_op("shard_map"), operands, attrs, where);
  set_weak(results, body.weak_results);
  return results;
}

Array along(std::string_view op, const Operand& x, const AxisNames& axes, Attrs attrs = {}) {
  return apply(op, {x}, attrs.set("axis_name", axes.names()), x.where()).at(0);
}

}  // namespace

std::vector<Array> shard_map(const TreeFunction& function, const ShardMapOptions& options, const std::vector<Array>& args, Where where) {
  return at_place(where, [&] { return mapped(function, options, args, where); });
}

Array psum(const Operand& x, const AxisNames& axes) { return along("psum", x, axes); }
Array pmean(const Operand& x, const AxisNames& axes) { return along("pmean", x, axes); }
Array pmax(const Operand& x, const AxisNames& axes) { return along("pmax", x, axes); }
Array pmin(const Operand& x, const AxisNames& axes) { return along("pmin", x, axes); }

Array all_gather(const Operand& x, const AxisNames& axes, AllGather how) {
  return along("all_gather", x, axes, Attrs{{"axis", std::int64_t(how.axis)}, {"tiled", how.tiled}});
}

Array psum_scatter(const Operand& x, const AxisNames& axes, PsumScatter how) {
  return along("psum_scatter", x, axes, Attrs{{"scatter_dimension", std::int64_t(how.scatter_dimension)}, {"tiled", how.tiled}});
}

Array all_to_all(const Operand& x, const AxisNames& axes, const AllToAll& how) {
  Attrs attrs{{"split_axis", std::int64_t(how.split_axis)}, {"concat_axis", std::int64_t(how.concat_axis)}, {"tiled", how.tiled}};
  if (!how.split_sizes.empty()) attrs.set("split_sizes", how.split_sizes);
  return along("all_to_all", x, axes, std::move(attrs));
}

Array ppermute(const Operand& x, const AxisNames& axes, const std::vector<std::pair<int, int>>& perm) {
  std::vector<std::int64_t> pairs;
  for (const auto& [source, target] : perm) {
    pairs.push_back(source);
    pairs.push_back(target);
  }
  return along("ppermute", x, axes, Attrs{{"perm", pairs}});
}

Array pshuffle(const Operand& x, const AxisNames& axes, const std::vector<int>& perm) {
  std::vector<int> sorted = perm;
  std::sort(sorted.begin(), sorted.end());
  std::vector<std::pair<int, int>> pairs;
  for (int i = 0; i < int(perm.size()); ++i) {
    if (sorted[std::size_t(i)] != i)
      throw_user_error("pshuffle at {}: `perm` does not represent a permutation: {}; it must name each of 0 to {} once", x.where().text(),
                       fmt::format("[{}]", fmt::join(perm, ", ")), perm.size() - 1);
    pairs.emplace_back(perm[std::size_t(i)], i);
  }
  return ppermute(x, axes, pairs);
}

Array pbroadcast(const Operand& x, const AxisNames& axes, int source) {
  return along("pbroadcast", x, axes, Attrs{{"source", std::int64_t(source)}});
}

Array pvary(const Operand& x, const AxisNames& axes) { return along("pvary", x, axes); }

Array pcast(const Operand& x, const AxisNames& axes, std::string_view to) {
  if (to != "varying")
    throw_user_error("pcast: unexpected `to` value: got '{}'; 'varying' is what shardlab knows [{}]", to, x.where().text());
  if (x.is_array()) check_cast(x.array(), axes.names(), x.where());
  return pvary(x, axes);
}

Array axis_index(const AxisNames& axes, std::source_location where) {
  return apply("axis_index", {}, Attrs{{"axis_name", axes.names()}}, Where::from(where)).at(0);
}

int axis_size(const AxisNames& axes, std::source_location where) {
  apply("axis_size", {}, Attrs{{"axis_name", axes.names()}}, Where::from(where));  // refuses names that are not bound here
  const BoundAxes& bound = *Context::current().tracer()->bound();
  std::int64_t size = 1;
  for (const std::string& name : axes.names()) size *= bound.size_of(name).value();
  return int(size);
}

}  // namespace shardlab
