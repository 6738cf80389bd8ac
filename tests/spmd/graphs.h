// Graphs by user ops, in short.
#pragma once

#include "runtime/graph/builder.h"
#include "runtime/ops/registry.h"
#include "runtime/spmd/partition.h"
#include "runtime/transform/inline.h"
#include "tests/spmd/specs.h"

namespace shardlab::testing {

struct Build {
  GraphBuilder b;

  ValueId param(Shape shape, DType dtype = DType::kFloat32) { return b.param({dtype, std::move(shape)}); }

  ValueId op(std::string_view name, std::vector<Arg> args, Attrs attrs = {}) {
    const OpDef* def = find_op(name);
    SL_CHECK(def != nullptr, "no op is called {}", name);
    return b.call(*def, args, attrs, {}).at(0);
  }

  ValueId constraint(ValueId x, const Mesh& mesh, std::string_view spec) {
    return op("with_sharding_constraint", {x}, Attrs{{"sharding", Sharding(mesh, spec_of(mesh, spec))}});
  }

  // As it is planned: without the calls that only transformations see.
  Graph finish(std::vector<ValueId> results) {
    b.set_results(std::move(results));
    return transform::without_calls(b.finish());
  }
};

// Specs of the parameters in short; "?" leaves one open.
inline spmd::PropagationInput input_of(const Graph& graph, const Mesh& mesh, const std::vector<std::string_view>& params) {
  spmd::PropagationInput input{&graph, mesh, {}, {}};
  for (std::string_view text : params) input.params.push_back(text == "?" ? std::optional<Spec>() : spec_of(mesh, text));
  return input;
}

inline spmd::PartitionedProgram plan(const Graph& graph, const Mesh& mesh, const std::vector<std::string_view>& params) {
  return spmd::partition(input_of(graph, mesh, params));
}

inline Spec result_spec(const spmd::PartitionedProgram& program, std::size_t i = 0) {
  return program.slots[std::size_t(program.results[i])].spec;
}

// The collectives of a program, e.g. "all-reduce ('a', 'b')", without slices.
inline std::vector<std::string> collectives(const spmd::PartitionedProgram& program) {
  std::vector<std::string> found;
  for (const spmd::Step& step : program.steps)
    if (const auto* move = std::get_if<spmd::MoveStep>(&step); move != nullptr && move->kind != "slice") found.push_back(move->kind);
  return found;
}

}  // namespace shardlab::testing
