// Types of values while their function is traced, as JAX's typeof tells them: their cuts by axes that are typed there, and the manual axes
// along which values of per-device code may vary.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "runtime/exec/array.h"
#include "runtime/exec/explicit_marks.h"
#include "runtime/transform/varying.h"

namespace shardlab {

struct TracedType {
  Spec spec;  // by typed axes alone
  transform::VaryingAxes varying = 0;
};

// What whoever traces a function says of it. Parameters beyond those that he gave have the types of what they capture.
struct TypesInTrace {
  std::function<TracedType(std::size_t, const Mesh&)> param = {};  // nothing: neither cut nor varying
  std::optional<AxisSet> typed = {};       // the axes that are in types; nothing: as around it, or the mesh's Explicit ones
  std::optional<bool> tells_varying = {};  // nothing: as around it, or no
};

// Of parameters that are these arrays, in order.
TypesInTrace types_like(std::vector<Array> args);

// Of an array where values of `mesh` are traced: of a concrete one as it lies there, of a traced one as its operands' types say.
TracedType traced_type(const Array& array, const Mesh& mesh);
std::vector<TracedType> traced_types(const std::vector<Array>& arrays, const Mesh& mesh);

}  // namespace shardlab
