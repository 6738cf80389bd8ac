#include "runtime/exec/traced_types.h"

#include <fmt/ranges.h>

#include <map>
#include <memory>

#include "runtime/exec/array_impl.h"
#include "runtime/exec/context.h"
#include "runtime/exec/explicit_types.h"
#include "runtime/exec/tracing.h"

namespace shardlab {

TypesInTrace types_like(std::vector<Array> args) {
  auto found = std::make_shared<std::vector<TracedType>>();  // at the first question, of all
  return {.param = [args = std::move(args), found](std::size_t i, const Mesh& mesh) {
    if (found->empty()) *found = traced_types(args, mesh);
    return (*found)[i];
  }};
}

TracedType traced_type(const Array& array, const Mesh& mesh) {
  const ArrayImpl& impl = *array.impl();
  if (impl.is_tracer()) return impl.tracer->type_of(impl.value);
  TracedType type;
  if (impl.committed && impl.sharding.mesh() == mesh) type.spec = within(impl.sharding.spec(array.ndim()), explicit_axes_of(mesh));
  return type;
}

std::optional<Mesh> Tracer::mesh_of_types() const {
  if (bound() && !bound()->manual.empty()) return bound()->mesh;
  return mesh_ ? mesh_ : context_.mesh();
}

AxisSet Tracer::typed_axes() const {
  if (types_.typed) return *types_.typed;
  const std::optional<Mesh> mesh = mesh_of_types();
  return mesh ? explicit_axes_of(*mesh) : 0;
}

std::vector<TracedType> traced_types(const std::vector<Array>& arrays, const Mesh& mesh) {
  std::vector<TracedType> types(arrays.size());
  std::map<const Tracer*, std::vector<std::size_t>> traced;  // each function is asked once
  for (std::size_t i = 0; i < arrays.size(); ++i)
    if (arrays[i].impl()->is_tracer())
      traced[arrays[i].impl()->tracer.get()].push_back(i);
    else
      types[i] = traced_type(arrays[i], mesh);
  for (const auto& [tracer, places] : traced) {
    std::vector<ValueId> values;
    for (std::size_t i : places) values.push_back(arrays[i].impl()->value);
    const std::vector<TracedType> found = tracer->types_of(values);
    for (std::size_t n = 0; n < places.size(); ++n) types[places[n]] = found[n];
  }
  return types;
}

std::vector<TracedType> Tracer::types_of(const std::vector<ValueId>& values) const {
  std::vector<TracedType> found(values.size());
  const std::optional<Mesh> mesh = mesh_of_types();
  if (!mesh) return found;
  Graph graph = builder_.graph();
  graph.results = values;
  graph = without_dead_nodes(graph);
  const std::size_t given = graph.params.size() - captured_.size();
  std::vector<std::optional<Spec>> specs;
  std::vector<transform::VaryingAxes> varying;
  for (std::size_t i = 0; i < graph.params.size(); ++i) {
    TracedType type = i >= given ? traced_type(captured_[i - given], *mesh) : types_.param ? types_.param(i, *mesh) : TracedType{};
    const auto rank = std::size_t(graph.type(graph.params[i]).rank());
    specs.push_back(type.spec.size() == rank ? std::optional(within(type.spec, typed_axes())) : std::nullopt);
    varying.push_back(type.varying);
  }
  if (typed_axes() != 0) {
    const auto cut = types_of_results(graph, *mesh, typed_axes(), specs, context_.mesh() ? MeshSource::kTracedOps : MeshSource::kOperands);
    for (std::size_t i = 0; i < found.size(); ++i) found[i].spec = cut[i];
  }
  if (types_.tells_varying.value_or(false)) {
    const std::vector<transform::VaryingAxes> over = transform::Varying(graph, varying, *mesh).results();
    for (std::size_t i = 0; i < found.size(); ++i) found[i].varying = over[i];
  }
  return found;
}

std::string Tracer::type_text(ValueId value) const {
  const std::optional<Mesh> mesh = mesh_of_types();
  if (!mesh) return builder_.type(value).text();
  const TracedType type = type_of(value);
  Spec spec = type.spec;
  spec.resize(std::size_t(builder_.type(value).rank()));
  const std::vector<std::string> names = names_in(type.varying, *mesh);
  const std::string varying = names.empty()       ? ""
                              : names.size() == 1 ? fmt::format("{{V:{}}}", names[0])
                                                  : fmt::format("{{V:({})}}", fmt::join(names, ","));
  return typed_text(builder_.type(value), spec, *mesh) + varying;
}

}  // namespace shardlab
