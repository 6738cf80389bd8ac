// How a function is partitioned by its sharding rule alone, where its user gives no callback.
#pragma once

#include <string>
#include <vector>

#include "runtime/graph/factor_rule.h"
#include "runtime/graph/partition_callback.h"

namespace shardlab {

struct PartitionByRule {
  std::vector<Sharding> arg_shardings, result_shardings;
  std::vector<std::string> reduced_over;  // the axes over which the devices' results must be summed
};

// Factors that pass keep the axes that the operands have on them. Axes on a factor that must be whole (or permutes) move to the factor
// of all tensors that has most left to cut: an all-to-all, where dropping them would be an all-gather. Only even cuts.
PartitionByRule partition_by_rule(const FactorRule& rule, const PartitionRequest& request);

}  // namespace shardlab
