// inspect_sharding: no result; its callback is told how the operand lies when the program is compiled.
#include "runtime/graph/inspection.h"
#include "runtime/ops/lower.h"
#include "runtime/ops/region_types.h"

namespace shardlab::ops {
namespace {

std::vector<TensorType> infer(const OpDef&, const std::vector<TensorType>&, const Attrs&) { return {}; }

Values expand(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  if (!attrs.has("callback")) return refuse_plain_call(b, op, args, attrs);
  return b.emit(op, {value_of(b, args[0])}, attrs);
}

// The whole batch, as JAX shows it.
std::vector<Batched> batch(GraphBuilder& b, const BatchArgs& args) {
  b.emit(args.op, {args.operands[0].value}, args.attrs);
  return {};
}

}  // namespace

const OpDef kInspectSharding = {.name = "inspect_sharding",
                                .doc = "Tells a callback how the operand lies, when the program is compiled.",
                                .expand = expand,
                                .infer = infer,
                                .batch = batch};

}  // namespace shardlab::ops
