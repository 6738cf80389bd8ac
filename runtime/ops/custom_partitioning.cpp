// custom_partitioning: a function whose sharding its user says, by a rule for propagation and a callback for the devices' code.
#include "runtime/ops/lower.h"
#include "runtime/ops/partition_rule.h"
#include "runtime/ops/region_types.h"

namespace shardlab::ops {
namespace {

std::vector<TensorType> infer(const OpDef& op, const std::vector<TensorType>& types, const Attrs& attrs) {
  const Graph& body = *bodies_of(op, attrs, 1)[0];
  check_params(op, body, types, "function");
  std::vector<TensorType> results = result_types(body);
  partition_rule(attrs, types, results);  // its errors belong to the user's line
  return results;
}

FactorRule rule(const std::vector<TensorType>& operands, const std::vector<TensorType>& results, const Attrs& attrs) {
  return partition_rule(attrs, operands, results);
}

constexpr AttrDef kAttrs[] = {
    {"sharding_rule", AttrDef::Kind::kString, true, "operands and results by the factors of their dimensions: \"i j k -> i j k\""},
    {"need_replication_factors", AttrDef::Kind::kNames, false, "factors that must be whole on each device"},
    {"permutation_factors", AttrDef::Kind::kNames, false, "factors along which devices exchange data"},
    {"reduction_factors", AttrDef::Kind::kNames, false, "factors over which the devices' results are combined"}};

}  // namespace

const OpDef kCustomPartitioning = {.name = "custom_partitioning",
                                   .doc =
                                       "A function whose sharding its user says: propagation follows sharding_rule; a callback gives what "
                                       "each device runs and the shardings of its tiles.",
                                   .operands_min = 0,
                                   .operands_max = -1,
                                   .attrs = kAttrs,
                                   .expand = refuse_plain_call,
                                   .infer = infer,
                                   .rule = rule,
                                   .region = RegionKind::kCall};

}  // namespace shardlab::ops
