// Tracing: following a user's function into a graph.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "runtime/exec/array.h"
#include "runtime/exec/operand.h"
#include "runtime/exec/traced_types.h"
#include "runtime/graph/builder.h"

namespace shardlab {

class Context;

// A function that stands inside a node, and what it took from around it: parameters of its own after those it was given.
struct TracedBody {
  Graph graph;
  std::vector<Array> captured;
  std::vector<bool> weak_results = {};  // one each
};

// One function being traced. Ops called meanwhile add nodes to its builder; concrete arrays that it meets become constants.
// As what JAX runs a traced function outside of others: as a program, or each op by itself, as functions under transformations.
enum class TracedAs { kOneProgram, kOpByOp };

class Tracer : public std::enable_shared_from_this<Tracer> {
 public:
  Tracer(Context& context, std::string name, std::optional<Mesh> mesh);

  // Traces `function` on arguments of these types. `weak_params`: which are weak (none where it is empty); `weak_results`, where it is
  // asked for: which results are.
  static Graph trace(Context& context, std::string name, std::optional<Mesh> mesh, const std::vector<TensorType>& params,
                     const std::function<std::vector<Array>(const std::vector<Array>&)>& function,
                     const std::vector<bool>& weak_params = {}, std::vector<bool>* weak_results = nullptr, TypesInTrace types = {},
                     TracedAs as = TracedAs::kOneProgram);

  // Traces a body: values of functions around it and concrete arrays become captured parameters. `bound`: the axes that collectives in it
  // can name; nothing: those of the function around it. `mesh`: for specs without one, where no function is around it. `as`: of no account
  // within what is one program.
  static TracedBody trace_body(Context& context, std::string name, const std::vector<TensorType>& params,
                               const std::function<std::vector<Array>(const std::vector<Array>&)>& function,
                               std::shared_ptr<const BoundAxes> bound = nullptr, std::optional<Mesh> mesh = std::nullopt,
                               const std::vector<bool>& weak_params = {}, TypesInTrace types = {}, TracedAs as = TracedAs::kOneProgram);

  // What is traced while the returned object lives is a call that is compiled by itself.
  [[nodiscard]] GraphBuilder::OpenCall open_call() { return GraphBuilder::OpenCall(builder_); }
  // What the open call takes: an array that is passed several times is a parameter of its own each time.
  std::vector<Array> parameters(std::vector<Array> args, Where where);
  // Says that the open call gives these, in this order.
  void order_results(const std::vector<Array>& results);
  std::vector<Array> call(const OpDef& op, const std::vector<Operand>& operands, const Attrs& attrs, Where where);
  // Emits a graph on arrays; its results.
  std::vector<Array> emit(const Graph& graph, const std::vector<Array>& args, Where where);
  // The value that an array stands for; a concrete array becomes a constant. UserError for arrays over processes, and for tracers of
  // another function.
  ValueId value_of(const Array& array, Where where);
  // The mesh that the arguments lie on, for specs without a mesh.
  const std::optional<Mesh>& mesh() const { return mesh_; }
  // The axes that collectives can name here, if any.
  const std::shared_ptr<const BoundAxes>& bound() const { return builder_.bound(); }

  // Types as they stand now (traced_types.h): on which mesh, by which axes, of a value, and as JAX writes it: "float32[4@x]{V:y}".
  std::optional<Mesh> mesh_of_types() const;
  AxisSet typed_axes() const;
  TracedType type_of(ValueId value) const { return types_of({value})[0]; }
  std::vector<TracedType> types_of(const std::vector<ValueId>& values) const;
  // Whether types tell along which axes values of per-device code vary.
  bool tells_varying() const { return types_.tells_varying.value_or(false) && bound() && !bound()->manual.empty(); }
  std::string type_text(ValueId value) const;

 private:
  Array tracer_array(ValueId value);

  GraphBuilder builder_;
  Context& context_;
  std::optional<Mesh> mesh_;
  TypesInTrace types_;  // while the function runs
  bool is_body_ = false;
  std::vector<Array> captured_;  // of a body
  std::map<const ArrayImpl*, ValueId> captured_values_;
};

}  // namespace shardlab
