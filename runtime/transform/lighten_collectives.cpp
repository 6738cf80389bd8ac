// Collectives of numbers that every device has.
#include "runtime/ops/region_types.h"
#include "runtime/transform/lighten_rules.h"

namespace shardlab::transform {
namespace {

// Whether every device of the group is sent to; those that are not have zeros.
bool is_sent_to_all(const Attrs& attrs) { return std::int64_t(attrs.integers("perm").size()) == 2 * attrs.integer("axis_size"); }

}  // namespace

std::optional<ValueId> exchanged_numbers(LightEmitter& e, const LightSite& site) {
  const OpDef* op = site.node.op;
  if (op->collective.empty() || site.operands.size() != 1) return std::nullopt;
  const std::optional<double> number = e.filling(site.operands[0]);
  if (!number) return std::nullopt;
  const bool sums = is_any_of(op, {&ops::kPsum, &ops::kPsumScatter});
  const bool keeps = is_any_of(op, {&ops::kPmax, &ops::kPmin, &ops::kAllGather, &ops::kAllToAll, &ops::kPbroadcast}) ||
                     (op == &ops::kPpermute && is_sent_to_all(site.node.attrs));
  if (!sums && !keeps) return std::nullopt;
  const TensorType type = e.type_of_original(site.node.results[0]);
  const double all = sums ? *number * double(site.node.attrs.integer("axis_size")) : *number;
  if (!is_floating(type.dtype) && !is_exact_in(type.dtype, all)) return std::nullopt;
  return e.filled(type, all);
}

}  // namespace shardlab::transform
