#include "runtime/exec/custom_partitioning.h"

#include <fmt/ranges.h>

#include <atomic>

#include "runtime/base/at_place.h"
#include "runtime/exec/context.h"
#include "runtime/exec/partition_by_rule.h"
#include "runtime/exec/program_cache.h"
#include "runtime/exec/signature.h"
#include "runtime/exec/tracing.h"
#include "runtime/exec/weak_types.h"
#include "runtime/graph/inspection.h"
#include "runtime/graph/partition_callback.h"
#include "runtime/ops/partition_rule.h"
#include "runtime/ops/registry.h"
#include "runtime/spmd/inspect.h"
#include "runtime/transform/inline.h"

namespace shardlab {
namespace {

// A device's tile of a value.
TensorType tile_of(const CustomPartitioningOptions& options, const TensorType& type, const Sharding& sharding, std::string_view what,
                   std::size_t index) {
  TensorType tile = type;
  Spec spec = sharding.spec(type.rank());
  for (std::size_t d = 0; d < spec.size(); ++d) {
    std::int64_t parts = part_count(spec[d]);
    if (type.shape[d] % parts != 0)
      throw_user_error(
          "custom_partitioning of '{}': the partition callback gives {} {} of shape {} the sharding {}, but {} does not evenly divide "
          "dimension {} (of size {}); give a sharding that cuts it evenly",
          options.name, what, index, type.text(), sharding.spec_text(), parts, d, type.shape[d]);
    tile.shape[d] /= parts;
  }
  return tile;
}

void check_answer(const CustomPartitioningOptions& options, const Mesh& mesh, const std::vector<Sharding>& shardings, std::size_t wanted,
                  std::string_view what) {
  if (shardings.size() != wanted)
    throw_user_error("custom_partitioning of '{}': the partition callback gives {} shardings for {} {}s", options.name, shardings.size(),
                     wanted, what);
  for (const Sharding& each : shardings)
    if (!each.mesh().same_devices(mesh))
      throw_user_error(
          "custom_partitioning of '{}': the partition callback gives {} of an {}, the program runs on {}; use the mesh that "
          "the callback is given",
          options.name, each.text(), what, mesh.text());
}

// Traces what each device runs, on its tiles.
PartitionAnswer answer_of(const CustomPartitioningOptions& options, const PartitionRequest& request, const PartitionedFunction& part) {
  check_answer(options, request.mesh, part.arg_shardings, request.args.size(), "argument");
  check_answer(options, request.mesh, part.result_shardings, request.results.size(), "result");
  std::vector<TensorType> tiles, wanted;
  for (std::size_t i = 0; i < request.args.size(); ++i)
    tiles.push_back(tile_of(options, request.args[i], part.arg_shardings[i], "argument", i));
  for (std::size_t i = 0; i < request.results.size(); ++i)
    wanted.push_back(tile_of(options, request.results[i], part.result_shardings[i], "result", i));
  auto bound = std::make_shared<const BoundAxes>(BoundAxes{request.mesh, request.mesh.axis_names(), {}});
  TracedBody body = Tracer::trace_body(Context::current(), options.name, tiles, part.function, bound);
  if (!body.captured.empty())
    throw_user_error(
        "custom_partitioning of '{}': the function that the partition callback gives uses an array of type {} from around it, which no "
        "device has; pass it as an argument",
        options.name, body.captured[0].type().text());
  if (has_inspections(body.graph)) {
    spmd::run_inspections(body.graph, request.mesh);
    body.graph = without_inspections(body.graph);
  }
  std::vector<TensorType> got = body.graph.types(body.graph.results);
  if (got != wanted) {
    auto texts = [](const std::vector<TensorType>& types) {
      std::vector<std::string> all;
      for (const TensorType& each : types) all.push_back(each.text());
      return fmt::format("[{}]", fmt::join(all, ", "));
    };
    throw_user_error(
        "Mismatch in result shapes. {} vs {}: custom_partitioning of '{}': the first is what the function that the partition callback "
        "gives makes of tiles {}, the second are the tiles of result_shardings",
        texts(got), texts(wanted), options.name, texts(tiles));
  }
  return {std::make_shared<const Graph>(transform::without_calls(body.graph)), part.arg_shardings, part.result_shardings};
}

std::vector<ShardedType> with_shardings(const std::vector<TensorType>& types, const std::vector<Sharding>& shardings) {
  std::vector<ShardedType> all;
  for (std::size_t i = 0; i < types.size(); ++i) all.push_back({types[i], shardings[i]});
  return all;
}

PartitionedFunction by_rule(const ArrayFunction& function, const FactorRule& rule, const PartitionRequest& request) {
  PartitionByRule plan = partition_by_rule(rule, request);
  ArrayFunction summed = [function, axes = plan.reduced_over](const std::vector<Array>& tiles) {
    std::vector<Array> results = function(tiles);
    if (!axes.empty())
      for (Array& each : results) each = psum(each, axes);
    return results;
  };
  return {std::move(summed), std::move(plan.result_shardings), std::move(plan.arg_shardings)};
}

Attrs attrs_of(const CustomPartitioningOptions& options) {
  Attrs attrs{{"sharding_rule", options.sharding_rule}};
  auto set = [&](std::string_view name, const std::vector<std::string>& factors) {
    if (!factors.empty()) attrs.set(name, factors);
  };
  set("reduction_factors", options.reduction_factors);
  set("need_replication_factors", options.need_replication_factors);
  set("permutation_factors", options.permutation_factors);
  if (options.factor_sizes.empty()) return attrs;
  std::vector<std::string> names;
  std::vector<std::int64_t> sizes;
  for (const auto& [name, size] : options.factor_sizes) {
    names.push_back(name);
    sizes.push_back(size);
  }
  return attrs.set("factor_names", names).set("factor_sizes", sizes);
}

void warn_of_dropped(Context& context, const CustomPartitioningOptions& options, const Attrs& attrs) {
  for (const std::string& factor : ops::dropped_factors(attrs))
    context.warn(fmt::format(
        "custom_partitioning of '{}': factor {} of rule '{}' is in no result and no reduction factor: where it is sharded, the function "
        "that the partition callback gives must combine the devices' results itself (psum)",
        options.name, factor, options.sharding_rule));
}

// In a function being traced.
std::vector<Array> as_node(const ArrayFunction& function, const CustomPartitioningOptions& options, const std::vector<Array>& args,
                           Where where) {
  Context& context = Context::current();
  std::vector<TensorType> types;
  std::vector<Operand> operands;
  for (const Array& arg : args) {
    types.push_back(arg.type());
    operands.emplace_back(arg, where);
  }
  TracedBody body = Tracer::trace_body(context, options.name, types, function, nullptr, std::nullopt, weak_types(args));
  const std::vector<bool> weak = body.weak_results;
  if (!body.captured.empty())
    throw_user_error(
        "custom_partitioning of '{}' at {}: the function uses an array of type {} from around it, which its sharding rule does not know; "
        "pass it as an argument",
        options.name, where.text(), body.captured[0].type().text());
  Attrs attrs = attrs_of(options);
  FactorRule rule = at_place(where, [&] { return ops::partition_rule(attrs, types, body.graph.types(body.graph.results)); });
  if (options.partition) warn_of_dropped(context, options, attrs);
  auto callback = [function, options, rule](const PartitionRequest& request) {
    if (!options.partition) return answer_of(options, request, by_rule(function, rule, request));
    return answer_of(options, request,
                     options.partition(request.mesh, with_shardings(request.args, request.arg_shardings),
                                       with_shardings(request.results, request.result_shardings)));
  };
  attrs.set("bodies", Bodies{with_partition(std::move(body.graph), callback)});
  const OpDef* op = find_op("custom_partitioning");
  SL_CHECK(op != nullptr);
  std::vector<Array> results = apply(*op, operands, attrs, where);
  set_weak(results, weak);
  return results;
}

}  // namespace

std::int64_t next_custom_identity() {
  static std::atomic<std::int64_t> next = 0;
  return next++;
}

std::vector<Array> custom_partitioning(const ArrayFunction& function, const CustomPartitioningOptions& options,
                                       const std::vector<Array>& args, Where where, std::int64_t identity) {
  Context& context = Context::current();
  if (context.tracer()) return as_node(function, options, args, where);
  if (identity < 0) identity = next_custom_identity();
  ProgramRequest request;
  request.name = options.name;
  request.args = args;
  request.where = where;
  request.trace = [&](const std::vector<Array>&, const std::optional<Mesh>& mesh) {
    std::vector<TensorType> types;
    for (const Array& arg : args) types.push_back(arg.type());
    return Tracer::trace(context, options.name, mesh, types,
                         [&](const std::vector<Array>& params) { return as_node(function, options, params, where); });
  };
  return run_program(context, fmt::format("custom_partitioning#{}{}", identity, signature_of(args)), request);
}

}  // namespace shardlab
