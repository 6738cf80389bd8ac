#include "runtime/ops/conv_dims.h"

#include <algorithm>
#include <numeric>

namespace shardlab::ops {

std::int64_t ConvWindow::results(std::int64_t elements) const {
  std::int64_t dilated = elements == 0 ? 0 : (elements - 1) * lhs_dilation + 1;
  std::int64_t span = size == 0 ? 0 : (size - 1) * rhs_dilation + 1;
  std::int64_t room = low + dilated + high - span;
  return room < 0 ? 0 : room / stride + 1;
}

double ConvWindow::share_on_elements(std::int64_t results) const {
  if (lhs_dilation == 1 || results == 0 || size == 0) return 1;
  const std::int64_t kinds = std::min(results, lhs_dilation / std::gcd(lhs_dilation, stride));  // of results: each sees by taps of its own
  std::int64_t pairs = 0;
  for (std::int64_t first = 0; first < kinds; ++first) {
    std::int64_t taps = 0;
    for (std::int64_t t = 0; t < size; ++t) taps += (begin(first) + t * rhs_dilation) % lhs_dilation == 0;
    pairs += taps * ((results - first + kinds - 1) / kinds);
  }
  return double(pairs) / (double(results) * double(size));
}

Interval ConvWindow::elements_of(const Interval& results, std::int64_t elements) const {
  if (results.size() == 0 || size == 0) return {};
  auto first_at = [&](std::int64_t index) {  // the first element that lies at the index or after it
    return index <= 0 ? 0 : std::min(elements, (index + lhs_dilation - 1) / lhs_dilation);
  };
  Interval seen{first_at(begin(results.start)), first_at(begin(results.stop - 1) + (size - 1) * rhs_dilation + 1)};
  return seen.size() == 0 ? Interval{} : seen;
}

ConvDims::ConvDims(const Attrs& attrs)
    : lhs(attrs.integers("lhs_spec")),
      rhs(attrs.integers("rhs_spec")),
      out(attrs.integers("out_spec")),
      strides(attrs.integers("window_strides")),
      padding(attrs.integers("pads")),
      lhs_dilation(attrs.integers("lhs_dilation")),
      rhs_dilation(attrs.integers("rhs_dilation")),
      groups(attrs.integer("feature_group_count", 1)),
      batch_groups(attrs.integer("batch_group_count", 1)) {}

void ConvDims::set(Attrs& attrs) const {
  attrs.set("lhs_spec", lhs);
  attrs.set("rhs_spec", rhs);
  attrs.set("out_spec", out);
  attrs.set("window_strides", strides);
  attrs.set("pads", padding);
  attrs.set("lhs_dilation", lhs_dilation);
  attrs.set("rhs_dilation", rhs_dilation);
  attrs.set("feature_group_count", groups);
  attrs.set("batch_group_count", batch_groups);
}

ConvWindow ConvDims::window(std::size_t i, const Shape& kernel) const {
  return {kernel[std::size_t(rhs[i + 2])], strides[i], padding[2 * i], padding[2 * i + 1], lhs_dilation[i], rhs_dilation[i]};
}

}  // namespace shardlab::ops
