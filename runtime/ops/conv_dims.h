// The dimension numbers and windows of convolutions.
#pragma once

#include "runtime/graph/op_def.h"

namespace shardlab::ops {

// One spatial dimension: how the window slides over it.
struct ConvWindow {
  std::int64_t size, stride, low, high, lhs_dilation, rhs_dilation;

  // Where the window of one result begins, in the dilated and padded operand's indices without the low padding.
  std::int64_t begin(std::int64_t result) const { return result * stride - low; }
  // How many results an operand of this many elements gives.
  std::int64_t results(std::int64_t elements) const;
  // The part of all pairs of a result and a tap in which the tap does not fall between two elements.
  double share_on_elements(std::int64_t results) const;
  // The elements that results in an interval look at.
  Interval elements_of(const Interval& results, std::int64_t elements) const;
};

// Which dimension of each tensor is what: [batch, feature, spatial…], of the kernel [output feature, input feature, spatial…].
struct ConvDims {
  std::vector<std::int64_t> lhs, rhs, out;
  std::vector<std::int64_t> strides, padding, lhs_dilation, rhs_dilation;  // padding: low and high of each spatial dimension
  std::int64_t groups = 1;                                                 // of features
  std::int64_t batch_groups = 1;                                           // of the batch; one of both is 1

  explicit ConvDims(const Attrs& attrs);
  ConvDims() = default;
  void set(Attrs& attrs) const;
  // Output features come in as many groups, each of which sees a group of the operand's features or of its batch.
  std::int64_t output_groups() const { return groups * batch_groups; }
  std::size_t spatial() const { return strides.size(); }
  ConvWindow window(std::size_t i, const Shape& kernel) const;
};

}  // namespace shardlab::ops
