// The reductions along axes, and what combines them.
#pragma once

#include <utility>

#include "runtime/ops/primitives.h"

namespace shardlab::transform {

// The op that makes of the reductions of two parts the one of both; nullptr of what is no reduction.
inline const OpDef* combiner_of(const OpDef& op) {
  static const std::pair<const OpDef*, const OpDef*> kCombiners[] = {{&ops::kReduceSum, &ops::kAdd},     {&ops::kReduceProd, &ops::kMul},
                                                                     {&ops::kReduceMax, &ops::kMaximum}, {&ops::kReduceMin, &ops::kMinimum},
                                                                     {&ops::kReduceAnd, &ops::kAnd},     {&ops::kReduceOr, &ops::kOr}};
  for (const auto& [reduction, combiner] : kCombiners)
    if (reduction == &op) return combiner;
  return nullptr;
}
inline bool is_reduction(const OpDef& op) { return combiner_of(op) != nullptr; }

}  // namespace shardlab::transform
