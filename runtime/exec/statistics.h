// Averages, quantiles, counts and comparisons of whole arrays, as functions with JAX's names. See ops.h for how they take operands.
#pragma once

#include "runtime/exec/ops.h"

namespace shardlab {

// Weights of the shape of x, or of the shape of the axes.
Array average(const Operand& x, const ReduceOptions& options = {});
Array average(const Operand& x, const Operand& weights, const ReduceOptions& options = {});
// Linear between elements; 0 <= q <= 1.
Array quantile(const Operand& x, double q, const ReduceOptions& options = {});
Array percentile(const Operand& x, double q, const ReduceOptions& options = {});
// Where values belong in a sorted vector: before the elements that are equal ("left"), or after them ("right").
Array searchsorted(const Operand& sorted, const Operand& values, std::string_view side = "left");
// How often each number below `length` occurs, or the sum of its weights.
Array bincount(const Operand& x, std::int64_t length);
Array bincount(const Operand& x, const Operand& weights, std::int64_t length);

// |x - y| <= atol + rtol |y|
struct CloseOptions {
  detail::ByNameOnly by_name{};
  double rtol = 1e-5, atol = 1e-8;
  bool equal_nan = false;
};
Array allclose(const Operand& x, const Operand& y, const CloseOptions& options = {});
Array array_equal(const Operand& x, const Operand& y, bool equal_nan = false);

struct LogspaceOptions {
  detail::ByNameOnly by_name{};
  std::int64_t num = 50;
  bool endpoint = true;
  double base = 10;
  std::optional<DType> dtype = {};
};
Array logspace(const Operand& start, const Operand& stop, const LogspaceOptions& options = {});

}  // namespace shardlab
