#include "runtime/exec/shard_map.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "runtime/exec/context.h"
#include "runtime/exec/replication.h"
#include "runtime/exec/tracing.h"
#include "runtime/ops/registry.h"

namespace shardlab {
namespace {

std::string axis_names_text(const Mesh& mesh) {
  std::vector<std::string> names;
  for (const std::string& name : mesh.axis_names()) names.push_back(fmt::format("'{}'", name));
  return fmt::format("({})", fmt::join(names, ", "));
}

void check_rank(const ShardMapOptions& options, const PartitionSpec& spec, const TensorType& type, std::size_t i, bool is_input) {
  if (int(spec.entries().size()) <= type.rank()) return;
  std::string_view in = is_input ? "in" : "out";
  throw_user_error(
      "shard_map applied to the function '{}' was given an {}_specs entry which is too long to be compatible with the corresponding {}put "
      "value from the function:\n\n{}_specs[{}] is {} which has length {}, but {}[{}] has shape {}, which has rank {} (and {} < {})\n\n"
      "Entries in {}_specs must be of length no greater than the number of axes in the corresponding {}put value.\n\nEither revise the "
      "spec to be shorter, or modify '{}' so that its {}puts have sufficient rank.{}",
      options.name, in, in, in, i, spec.text(), spec.entries().size(), is_input ? "args" : "outs", i, type.text(), type.rank(), type.rank(),
      spec.entries().size(), in, in, options.name, in,
      type.rank() == 0 ? fmt::format("\n\nFor scalar values (rank 0), consider using an {}_specs entry of `P()`.", in) : "");
}

TensorType local_type(const ShardMapOptions& options, const Mesh& mesh, const Sharding& sharding, const TensorType& type, std::size_t i) {
  TensorType local = type;
  Spec spec = sharding.spec(type.rank());
  for (std::size_t d = 0; d < spec.size(); ++d) {
    std::int64_t parts = part_count(spec[d]);
    if (type.shape[d] % parts != 0) {
      std::vector<std::string> names;
      for (const AxisPiece& piece : spec[d]) names.push_back(fmt::format("'{}'", mesh.text_of(piece)));
      bool several = names.size() > 1;
      throw_user_error(
          "shard_map applied to the function '{}' was given argument arrays with axis sizes that are not evenly divisible by the "
          "corresponding mesh axis sizes:\n\nThe mesh given has shape {} with corresponding axis names {}.\n\nthe passed args[{}] of shape "
          "{} corresponds to in_specs[{}] of value {}, which maps array axis {} (of size {}) to mesh {} {} (of {}size {}), but {} does not "
          "evenly divide {}\n\nArray arguments' axis sizes must be evenly divisible by the mesh axis or axes indicated by the "
          "corresponding "
          "elements of the argument's in_specs entry. Consider checking that in_specs are correct, and if so consider changing the mesh "
          "axis sizes or else padding the input and adapting '{}' appropriately.",
          options.name, text_of(mesh.shape()), axis_names_text(mesh), i, type.text(), i, options.in_specs[i].text(), d, type.shape[d],
          several ? "axes" : "axis", several ? fmt::format("({})", fmt::join(names, ", ")) : names[0], several ? "total " : "", parts,
          parts, type.shape[d], options.name);
    }
    local.shape[d] /= parts;
  }
  return local;
}

const Mesh& mesh_of(const ShardMapOptions& options, Context& context, Where where) {
  if (options.mesh) return *options.mesh;
  if (context.tracer() && context.tracer()->mesh()) return *context.tracer()->mesh();
  throw_user_error("shard_map of '{}' at {}: it needs a mesh: give ShardMapOptions::mesh", options.name, where.text());
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
              "'{3}'\n\nCheck "
              "the {0}_specs values passed to shard_map. (The code of '{4}' is not per device along '{3}': leave it out of {5}, or name it "
              "in "
              "axis_names.)",
              which, fmt::join(manual, ", "), i, axis, options.name, specs[i].text());
}

void check_count(const ShardMapOptions& options, std::string_view which, std::size_t specs, std::size_t values) {
  if (specs != values)
    throw_user_error(
        "shard_map {}_specs specification must be a tree prefix of the corresponding value: got {} specs for {} values of '{}'", which,
        specs, values, options.name);
}

}  // namespace

std::vector<Array> shard_map(const ArrayFunction& function, const ShardMapOptions& options, const std::vector<Array>& args, Where where) {
  Context& context = Context::current();
  const Mesh& mesh = mesh_of(options, context, where);
  check_count(options, "in", options.in_specs.size(), args.size());
  const std::vector<std::string> manual_names = manual_axes(options, mesh);
  if (manual_names.size() < mesh.axis_names().size()) {
    check_manual(options, options.in_specs, manual_names, "in");
    check_manual(options, options.out_specs, manual_names, "out");
  }
  std::vector<Sharding> in, out;
  std::vector<TensorType> local;
  for (std::size_t i = 0; i < args.size(); ++i) {
    check_rank(options, options.in_specs[i], args[i].type(), i, true);
    in.emplace_back(mesh, options.in_specs[i]);
    local.push_back(local_type(options, mesh, in.back(), args[i].type(), i));
  }
  for (const PartitionSpec& spec : options.out_specs) out.emplace_back(mesh, spec);
  auto manual = std::make_shared<const ManualAxes>(ManualAxes{mesh, manual_names});
  TracedBody body = Tracer::trace_body(context, options.name, local, function, manual);
  check_count(options, "out", options.out_specs.size(), body.graph.results.size());
  for (std::size_t i = 0; i < out.size(); ++i) check_rank(options, options.out_specs[i], body.graph.type(body.graph.results[i]), i, false);
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
  return apply(*find_op("shard_map"), operands, attrs, where);
}

namespace {

Array along(std::string_view op, const Operand& x, const AxisNames& axes, Attrs attrs = {}) {
  return apply(op, {x}, attrs.set("axis_name", axes), x.where()).at(0);
}

}  // namespace

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

Array pbroadcast(const Operand& x, const AxisNames& axes, int source) {
  return along("pbroadcast", x, axes, Attrs{{"source", std::int64_t(source)}});
}

Array pvary(const Operand& x, const AxisNames& axes) { return along("pvary", x, axes); }

Array axis_index(const AxisNames& axes, std::source_location where) {
  return apply("axis_index", {}, Attrs{{"axis_name", axes}}, Where::from(where)).at(0);
}

Array axis_size(const AxisNames& axes, std::source_location where) {
  return apply("axis_size", {}, Attrs{{"axis_name", axes}}, Where::from(where)).at(0);
}

}  // namespace shardlab
