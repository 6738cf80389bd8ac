// The factor rule of an op: how the dimensions of its operands and results share factors.
//
// Propagation, resharding, partitioning, cost and explanations read only this. Source: GSPMD (2105.04663) and Shardy's op sharding
// rules; matmul is ik,kj->ij with k reduced.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/core/tensor_type.h"

namespace shardlab {

enum class FactorKind : std::uint8_t {
  kPass,       // each part of the result needs only that part of the operands
  kReduce,     // results of the parts are combined
  kReplicate,  // must be whole on each device
  kPermute,    // parts are exchanged (slice, pad, roll, reverse, windows)
};

struct Factor {
  std::int64_t size = 1;
  FactorKind kind = FactorKind::kPass;
  bool blocked = false;  // nothing propagates along it
  bool operator==(const Factor&) const = default;
};

// Per tensor and dimension the factors it is made of, major to minor (several only for reshape and conv).
struct FactorRule {
  using TensorMap = std::vector<std::vector<int>>;
  std::vector<Factor> factors;
  std::vector<TensorMap> operands, results;
  bool present = false;  // false: no rule (constants): takes what its users give

  FactorRule() = default;
  // A rule with empty maps for tensors of these types.
  FactorRule(const std::vector<TensorType>& operand_types, const std::vector<TensorType>& result_types);

  // Adds a factor, on dimension operand_dims[i] of operand i and result_dims[i] of result i (-1: not on that tensor).
  int add(std::int64_t size, const std::vector<int>& operand_dims, const std::vector<int>& result_dims, FactorKind kind = FactorKind::kPass,
          bool blocked = false);
  // Gives every dimension without a factor a private pass factor of its size.
  void fill(const std::vector<TensorType>& operand_types, const std::vector<TensorType>& result_types);
  // "[i=8, k=16 reduced] ik,kj->ij"; the einsum-like text, for dumps and explanations.
  std::string text() const;
  bool operator==(const FactorRule&) const = default;
};

}  // namespace shardlab
