// on_mesh: a part of a program that is planned on another mesh of the same devices.
#include "runtime/ops/region_types.h"

namespace shardlab::ops {
namespace {

using Types = std::vector<TensorType>;

Types infer(const OpDef& op, const Types& types, const Attrs& attrs) {
  const Graph& body = *bodies_of(op, attrs, 1)[0];
  check_params(op, body, types, "body");
  return result_types(body);
}

FactorRule no_rule(const Types&, const Types&, const Attrs&) { return {}; }

}  // namespace

const OpDef kOnMesh = {
    .name = "on_mesh",
    .doc =
        "The body, planned on the mesh of in_specs and out_specs, whose axes do not nest with those of the program's mesh: its "
        "operands come and its results lie as these say.",
    .operands_min = 0,
    .operands_max = -1,
    .expand = refuse_plain_call,
    .infer = infer,
    .rule = no_rule,
    .region = RegionKind::kManual};

}  // namespace shardlab::ops
