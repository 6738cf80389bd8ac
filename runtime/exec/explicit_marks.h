// Which axes' shardings are in types at one place of a program: the mesh's Explicit ones, changed by auto_axes and explicit_axes around it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/core/sharding.h"
#include "runtime/graph/graph.h"

namespace shardlab {

using AxisSet = std::uint64_t;  // bit a: axis number a of the mesh

AxisSet all_axes_of(const Mesh& mesh);
AxisSet explicit_axes_of(const Mesh& mesh);
AxisSet axes_named(const std::vector<std::string>& names, const Mesh& mesh);  // none: all
std::vector<std::string> names_in(AxisSet axes, const Mesh& mesh);
// Some axes are Explicit and some not: what is asked for in types leaves the others to propagation.
bool is_partly_explicit(const Mesh& mesh);
// The spec's cuts by these axes alone.
Spec within(const Spec& spec, AxisSet axes);
AxisSet axes_in(const Spec& spec);

// The name of the op that a user called, as nodes of auto_axes (kAuto) and explicit_axes (kExplicit) over these axes have it (none: all of
// them). Copies of nodes keep it, and so do derivatives and batches.
std::string marked(std::string_view user_op, AxisType type, const std::vector<std::string>& axes);
// The typed axes of a node in a function whose own are `around`: each mark changes them, the innermost last.
AxisSet typed_axes(const Node& node, const Mesh& mesh, AxisSet around);

}  // namespace shardlab
