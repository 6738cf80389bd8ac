#include "runtime/transform/grad.h"

#include "runtime/ops/derive.h"
#include "runtime/transform/transpose.h"
#include "runtime/transform/wide_types.h"

namespace shardlab::transform {
namespace {

// Results and the active parameters' cotangents, from the results' cotangents (one each; kZero for those that do not count).
std::vector<ValueId> emit_vjp(GraphBuilder& b, const Graph& graph, const std::vector<ValueId>& args, const std::vector<bool>& active,
                              std::vector<ValueId> (*seed)(GraphBuilder&, const std::vector<ValueId>&)) {
  Linearized linearized = linearize(b, graph, args, active);
  std::vector<ValueId> seeds = seed(b, linearized.results), cotangents;
  for (std::size_t i = 0; i < seeds.size(); ++i)
    if (linearized.tangent_of[i] >= 0) cotangents.push_back(seeds[i]);
  int asked = int(linearized.linear.params.size() - linearized.residuals.size());
  std::vector<ValueId> found = emit_transpose(b, linearized.linear, asked, linearized.residuals, cotangents);
  std::vector<ValueId> results = linearized.results;
  std::size_t next = 0;
  for (std::size_t i = 0; i < args.size(); ++i)
    if (active[i]) results.push_back(ops::instantiated(b, found[next++], b.type(args[i])));
  return results;
}

std::string_view kind_of(DType dtype) { return name_of(dtype); }

}  // namespace

Graph vjp(const Graph& graph, const std::vector<bool>& active) {
  GraphBuilder b(graph.name, config_for(graph));
  std::vector<ValueId> args;
  for (ValueId id : graph.params) args.push_back(b.param(graph.type(id)));
  b.set_results(emit_vjp(b, graph, args, active, [](GraphBuilder& builder, const std::vector<ValueId>& results) {
    std::vector<ValueId> seeds;
    for (ValueId id : results) seeds.push_back(ops::has_tangent(builder.type(id).dtype) ? builder.param(builder.type(id)) : kZero);
    return seeds;
  }));
  return without_dead_nodes(b.finish());
}

Pullback pullback(const Graph& graph, const std::vector<bool>& active) {
  Pullback out;
  GraphBuilder forward(graph.name, config_for(graph));
  std::vector<ValueId> args;
  for (ValueId id : graph.params) args.push_back(forward.param(graph.type(id)));
  Linearized linearized = linearize(forward, graph, args, active);
  std::vector<ValueId> results = linearized.results;
  results.insert(results.end(), linearized.residuals.begin(), linearized.residuals.end());

  GraphBuilder backward(graph.name + "_backward", config_for(graph));
  std::vector<ValueId> residuals, seeds;
  for (ValueId id : linearized.residuals) residuals.push_back(backward.param(forward.type(id)));
  for (std::size_t i = 0; i < linearized.results.size(); ++i) {
    if (linearized.tangent_of[i] < 0) continue;
    out.cotangents.push_back(int(i));
    seeds.push_back(backward.param(forward.type(linearized.results[i])));
  }
  int asked = int(linearized.linear.params.size() - linearized.residuals.size());
  std::vector<ValueId> found = emit_transpose(backward, linearized.linear, asked, residuals, seeds);
  for (std::size_t i = 0; i < found.size(); ++i)
    found[i] = ops::instantiated(backward, found[i], linearized.linear.type(linearized.linear.params[i]));
  backward.set_results(std::move(found));
  forward.set_results(std::move(results));
  out.forward = without_dead_nodes(forward.finish());
  out.backward = without_dead_nodes(backward.finish());
  out.linear = std::move(linearized.linear);
  return out;
}

Graph value_and_grad(const Graph& graph, const std::vector<bool>& active, std::string_view name, Where where, bool holomorphic) {
  SL_CHECK(!graph.results.empty());
  for (std::size_t i = 0; i < active.size(); ++i) {
    DType dtype = graph.type(graph.params[i]).dtype;
    if (active[i] && !ops::has_tangent(dtype))
      throw_user_error(
          "grad requires real- or complex-valued inputs (input dtype that is a sub-dtype of np.inexact), but got {}. Argument {} of {} is "
          "{}; convert it to float32, or leave it out of argnums [{}]",
          kind_of(dtype), i, name, graph.type(graph.params[i]).text(), where.text());
    if (active[i] && holomorphic && !is_complex(dtype))
      throw_user_error("grad with holomorphic=True requires inputs with complex dtype, but got {}. (argument {} of {}) [{}]",
                       kind_of(dtype), i, name, where.text());
  }
  const TensorType& type = graph.type(graph.results[0]);
  if (type.rank() != 0)
    throw_user_error(
        "Gradient only defined for scalar-output functions. Output had shape: {}. {} returns {}; reduce it first (sum, mean), or use vjp "
        "or jacrev [{}]",
        text_of(type.shape), name, type.text(), where.text());
  if (holomorphic && !is_complex(type.dtype))
    throw_user_error("grad with holomorphic=True requires outputs with complex dtype, but got {}. ({} returns it) [{}]",
                     kind_of(type.dtype), name, where.text());
  if (is_complex(type.dtype) && !holomorphic)
    throw_user_error(
        "grad requires real-valued outputs (output dtype that is a sub-dtype of np.floating), but got {}. For holomorphic differentiation, "
        "pass holomorphic=True (here GradOptions::holomorphic), otherwise take the real part or the magnitude of what {} returns [{}]",
        kind_of(type.dtype), name, where.text());
  if (!is_complex(type.dtype) && !is_floating(type.dtype))
    throw_user_error(
        "grad requires real- or complex-valued outputs (output dtype that is a sub-dtype of np.floating), but got {}. {} returns {}; "
        "convert it to float32 [{}]",
        kind_of(type.dtype), name, type.text(), where.text());
  GraphBuilder b(graph.name, config_for(graph));
  std::vector<ValueId> args;
  for (ValueId id : graph.params) args.push_back(b.param(graph.type(id)));
  b.set_results(emit_vjp(b, graph, args, active, [](GraphBuilder& builder, const std::vector<ValueId>& results) {
    std::vector<ValueId> seeds(results.size(), kZero);
    seeds[0] = ops::filled(builder, builder.type(results[0]), 1.0);
    return seeds;
  }));
  return without_dead_nodes(b.finish());
}

}  // namespace shardlab::transform
