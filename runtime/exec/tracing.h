// Tracing: following a user's function into a graph.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "runtime/exec/array.h"
#include "runtime/exec/operand.h"
#include "runtime/graph/builder.h"

namespace shardlab {

class Context;

// One function being traced. Ops called meanwhile add nodes to its builder; concrete arrays that it meets become constants.
class Tracer : public std::enable_shared_from_this<Tracer> {
 public:
  Tracer(Context& context, std::string name, std::optional<Mesh> mesh);

  // Traces `function` on arguments of these types.
  static Graph trace(Context& context, std::string name, std::optional<Mesh> mesh, const std::vector<TensorType>& params,
                     const std::function<std::vector<Array>(const std::vector<Array>&)>& function);

  std::vector<Array> call(const OpDef& op, const std::vector<Operand>& operands, const Attrs& attrs, Where where);
  // The value that an array stands for; a concrete array becomes a constant. UserError for arrays over processes, and for tracers of
  // another function.
  ValueId value_of(const Array& array, Where where);
  // The mesh that the arguments lie on, for specs without a mesh.
  const std::optional<Mesh>& mesh() const { return mesh_; }

 private:
  Array tracer_array(ValueId value);

  GraphBuilder builder_;
  Context& context_;
  std::optional<Mesh> mesh_;
};

}  // namespace shardlab
