#include "runtime/exec/vmap.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "runtime/exec/context.h"
#include "runtime/exec/explicit_marks.h"
#include "runtime/exec/explicit_node.h"
#include "runtime/exec/explicit_types.h"
#include "runtime/exec/run_graph.h"
#include "runtime/exec/tracing.h"
#include "runtime/exec/vmap_axes.h"
#include "runtime/exec/weak_types.h"
#include "runtime/transform/batch.h"

namespace shardlab {
namespace {

using Axis = std::optional<int>;

std::size_t leaf_count(const LeafCounts& counts) {
  std::size_t leaves = 0;
  for (std::size_t count : counts) leaves += count;
  return leaves;
}

// One axis a leaf, of those given.
std::optional<std::vector<Axis>> axes_of_leaves(const std::vector<Axis>& given, const LeafCounts& counts) {
  if (given.size() == 1) return std::vector<Axis>(leaf_count(counts), given[0]);
  return tree::spread(given.empty() ? std::vector<Axis>(counts.size(), 0) : given, counts);
}

// Nothing where types alone are looked at.
std::string place_of(const BatchOptions& options) { return options.where.known() ? fmt::format(" [{}]", options.where.text()) : ""; }

std::vector<int> in_dims_of(const std::vector<TensorType>& args, const BatchOptions& options) {
  const LeafCounts counts = options.counts.empty() ? LeafCounts(args.size(), 1) : options.counts;
  const auto axes = axes_of_leaves(options.in_axes, counts);
  if (!axes)
    throw_user_error(
        "vmap in_axes must be an int, None, or a tuple of entries corresponding to the positional arguments passed to the function, but "
        "got len(in_axes)={}, len(args)={}{}{}",
        options.in_axes.size(), counts.size(), counts.size() == args.size() ? "" : fmt::format(" (with {} leaves)", args.size()),
        place_of(options));
  std::vector<int> dims;
  for (std::size_t i = 0; i < args.size(); ++i) {
    const Axis& axis = (*axes)[i];
    const int rank = args[i].rank();
    if (axis && (*axis < -rank || *axis >= rank))
      throw_user_error(
          "vmap was requested to map its argument along axis {}, which implies that its rank should be at least {}, but is only {} (its "
          "shape is {}): args{} of {}{}",
          *axis, *axis < 0 ? -*axis : *axis + 1, rank, text_of(args[i].shape), key_path(options.paths, i), options.name, place_of(options));
    dims.push_back(!axis ? kNotBatched : *axis < 0 ? *axis + rank : *axis);
  }
  return dims;
}

// The mapped axes of one size: how many, and the first of them.
struct SizeGroup {
  std::int64_t size = 0;
  int count = 0;
  std::size_t first = 0;
};

// Source: JAX's _mapped_axis_size, which names the commonest size first.
[[noreturn]] void throw_inconsistent(std::vector<SizeGroup> groups, const std::vector<TensorType>& args, const std::vector<int>& dims,
                                     const BatchOptions& options) {
  std::stable_sort(groups.begin(), groups.end(), [](const SizeGroup& a, const SizeGroup& b) { return a.count > b.count; });
  std::string text = "vmap got inconsistent sizes for array axes to be mapped:";
  if (options.axis.size >= 0) text += fmt::format("\n  * the `axis_size` argument was {};", options.axis.size);
  for (const SizeGroup& group : groups) {
    const std::string which = group.count == 1
                                  ? std::string("one axis")
                                  : fmt::format("{} axes ({} of them)", &group == groups.data() ? "most" : "some", group.count);
    text += fmt::format("\n  * {} had size {}{} axis {} of args{} of type {};", which, group.size, group.count == 1 ? ":" : ", e.g.",
                        dims[group.first], key_path(options.paths, group.first), args[group.first].text());
  }
  text.back() = ' ';
  throw_user_error("{}(vmap of {}){}", text, options.name, place_of(options));
}

std::int64_t batch_size(const std::vector<TensorType>& args, const std::vector<int>& dims, const BatchOptions& options) {
  std::vector<SizeGroup> groups;
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (dims[i] == kNotBatched) continue;
    const std::int64_t size = args[i].shape[std::size_t(dims[i])];
    auto group = std::find_if(groups.begin(), groups.end(), [&](const SizeGroup& each) { return each.size == size; });
    if (group == groups.end()) group = groups.insert(group, SizeGroup{size, 0, i});
    ++group->count;
  }
  const std::int64_t asked = options.axis.size;
  if (groups.empty() && asked < 0)
    throw_user_error(
        "vmap must have at least one non-None value in in_axes or axis_size must be specified: every argument of {} is the same for all "
        "elements{}",
        options.name, place_of(options));
  if (groups.size() > 1 || (asked >= 0 && !groups.empty() && groups[0].size != asked)) throw_inconsistent(groups, args, dims, options);
  return groups.empty() ? asked : groups[0].size;
}

// A dimension that Explicit axes cut is mapped over with them. Of arguments whose types are known (outside of functions being traced) JAX's
// errors where they disagree. Source: JAX's _mapped_axis_spec and _check_ema_unmapped_args.
void check_mapped_axes(const std::vector<Array>& args, const std::vector<int>& dims, const BatchOptions& options) {
  std::optional<Axes> mapped;
  const Mesh* mesh = nullptr;
  auto type_of = [](const Array& arg) { return within(arg.sharding().spec(arg.ndim()), explicit_axes_of(arg.sharding().mesh())); };
  auto text = [&](const Axes& axes) { return axes.empty() ? std::string("None") : axes_text(axes, *mesh); };
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (dims[i] == kNotBatched || !args[i].committed() || !args[i].sharding().mesh().has_explicit_axes()) continue;
    mesh = &args[i].sharding().mesh();
    const Axes axes = type_of(args[i])[std::size_t(dims[i])];
    if (mapped && *mapped != axes)
      throw_user_error(
          "Mapped away dimension of inputs passed to vmap should be sharded the same. Got inconsistent axis specs: {} vs {} (args{} of "
          "{}); reshard one of them [{}]",
          text(*mapped), text(axes), key_path(options.paths, i), options.name, options.where.text());
    mapped = axes;
  }
  if (!mapped || mapped->empty()) return;
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (dims[i] != kNotBatched || !args[i].committed() || args[i].sharding().mesh() != *mesh) continue;
    const Spec type = type_of(args[i]);
    if ((axes_in(type) & axes_in({*mapped})) != 0)
      throw_user_error(
          "Unmapped values passed to vmap cannot be sharded along the mesh axis you are vmapping over. Got type: {}, in_axes: None and "
          "vmapped mesh axis: {} (args{} of {}) [{}]",
          typed_text(args[i].type(), type, *mesh), text(*mapped), key_path(options.paths, i), options.name, options.where.text());
  }
  const std::vector<std::string>& asked = options.axis.mesh_axes;
  std::vector<std::string> names;
  for (const AxisPiece& piece : *mapped) names.push_back(mesh->axis_names()[std::size_t(piece.axis)]);
  if (!asked.empty() && asked != names)
    throw_user_error(
        "Only one of spmd_axis_name or arrays sharded on `Explicit` mesh axis type is allowed. Got spmd_axis_name=({}) and arrays sharded "
        "on explicit_mesh_axis=({}) (vmap of {}) [{}]",
        fmt::join(asked, ", "), fmt::join(names, ", "), options.name, options.where.text());
}

// What collectives inside can name: what they can around it, and the mapped axis.
std::shared_ptr<const BoundAxes> bound_with(const Context& context, const BatchAxis& axis) {
  if (axis.name.empty()) return nullptr;
  BoundAxes bound;
  if (context.tracer() && context.tracer()->bound()) bound = *context.tracer()->bound();
  bound.batches.push_back(axis);
  return std::make_shared<const BoundAxes>(std::move(bound));
}

}  // namespace

MappedArguments mapped_arguments(const std::vector<TensorType>& args, const BatchOptions& options) {
  MappedArguments mapped{in_dims_of(args, options), 0, args};
  mapped.size = batch_size(args, mapped.dims, options);
  for (std::size_t i = 0; i < args.size(); ++i)
    if (mapped.dims[i] != kNotBatched) mapped.elements[i].shape.erase(mapped.elements[i].shape.begin() + mapped.dims[i]);
  return mapped;
}

std::vector<int> mapped_results(const std::vector<TensorType>& results, const LeafCounts& given, const KeyPaths& paths,
                                const BatchOptions& options) {
  const LeafCounts parts = given.empty() ? LeafCounts(results.size(), 1) : given;
  const auto axes = axes_of_leaves(options.out_axes, parts);
  if (!axes)
    throw_user_error(
        "vmap out_axes specification must be a tree prefix of the corresponding value: got {} out_axes for {} results{} of {}{}",
        options.out_axes.size(), parts.size(), parts.size() == results.size() ? "" : fmt::format(" with {} leaves", results.size()),
        options.name, place_of(options));
  std::vector<int> dims;
  for (std::size_t i = 0; i < axes->size(); ++i) {
    const Axis& axis = (*axes)[i];
    const int rank = results[i].rank() + 1;
    if (axis && (*axis < -rank || *axis >= rank))
      throw_user_error("axis {} is out of bounds for array of dimension {}: vmap out_axes of result{} of {}{}", *axis, rank,
                       key_path(paths, i), options.name, place_of(options));
    dims.push_back(!axis ? kNotBatched : *axis < 0 ? *axis + rank : *axis);
  }
  return dims;
}

std::vector<Array> batched(const TreeFunction& function, const std::vector<Array>& args, const BatchOptions& options) {
  check_args(args, options.name, options.where);
  MappedArguments mapped = mapped_arguments(types_of(args), options);
  BatchAxis axis = options.axis;
  axis.size = mapped.size;
  Context& context = Context::current();
  if (!context.tracer()) check_mapped_axes(args, mapped.dims, options);
  TreeResults results{{}};
  auto leaves = [&](const std::vector<Array>& params) {
    results = function(params);
    return std::move(results.leaves);
  };
  const std::optional<Mesh> mesh = mesh_of_arrays(context, args, options.name, options.where);
  TypesInTrace types = types_like(args);
  types.param = [of = types.param, dims = mapped.dims](std::size_t i, const Mesh& of_trace) {
    TracedType type = of(i, of_trace);
    if (dims[i] != kNotBatched && !type.spec.empty()) type.spec.erase(type.spec.begin() + dims[i]);
    return type;
  };
  TracedBody body = Tracer::trace_body(context, options.name, mapped.elements, leaves, bound_with(context, axis), mesh, weak_types(args),
                                       std::move(types), TracedAs::kOpByOp);
  mapped.dims.resize(body.graph.params.size(), kNotBatched);
  const std::vector<int> out_dims = mapped_results(body.graph.types(body.graph.results), results.parts, results.paths, options);
  Graph graph = transform::batch(body.graph, mapped.dims, out_dims, axis,
                                 {options.where, std::move(results.paths), mesh && mesh->has_explicit_axes()});
  std::vector<Array> found = run_graph_by_ops(graph, joined(args, body.captured), options.where);
  set_weak(found, body.weak_results);
  return found;
}

}  // namespace shardlab
