// The attributes of windows that slide over every dimension of an operand: reduce_window, select_and_gather_add and their kin.
#pragma once

#include <algorithm>
#include <utility>

#include "runtime/graph/attrs.h"
#include "runtime/ops/conv_dims.h"

namespace shardlab::ops {

// One window for each dimension, from the attributes window_dimensions, window_strides, pads, base_dilation and window_dilation.
std::vector<ConvWindow> windows_of(const Attrs& attrs);
// The attributes, with the reducer or what it chooses by.
Attrs window_attrs(std::string_view reducer, const std::vector<ConvWindow>& windows);

bool is_trivial(const ConvWindow& window);  // one element, as it lies

// The results' shape; UserError unless the attributes fit the operand's.
Shape window_results(std::string_view op, const Shape& operand, const Attrs& attrs);

// Walks the taps of windows over a part of the operand in row-major order, with no allocation a window.
class WindowWalk {
 public:
  static constexpr std::int64_t kPadding = -1;

  // `held`: the part of the operand, a dense row-major array.
  WindowWalk(std::vector<ConvWindow> windows, const Box& held);

  // visit(offset in the part, or kPadding; the operand's index, valid where it is no padding) for each tap of one result's window.
  template <typename Visit>
  void each(const Shape& result, Visit&& visit) {
    std::fill(tap_.begin(), tap_.end(), 0);
    for (std::int64_t t = 0; t < taps_; ++t) {
      std::int64_t offset = 0;
      bool is_here = true;
      for (std::size_t d = 0; d < windows_.size() && is_here; ++d) {
        const ConvWindow& w = windows_[d];
        std::int64_t place = w.begin(result[d]) + tap_[d] * w.rhs_dilation;
        is_here = place >= 0 && place % w.lhs_dilation == 0;
        place_[d] = place / w.lhs_dilation;
        is_here = is_here && place_[d] >= held_[d].start && place_[d] < held_[d].stop;
        offset += (place_[d] - held_[d].start) * strides_[d];
      }
      visit(is_here ? offset : kPadding, place_);
      for (std::size_t d = windows_.size(); d-- > 0;) {
        if (++tap_[d] < windows_[d].size) break;
        tap_[d] = 0;
      }
    }
  }

 private:
  std::vector<ConvWindow> windows_;
  Box held_;
  Shape strides_, tap_, place_;
  std::int64_t taps_ = 1;
};

// Calls visit(index) for each index of a box, in row-major order.
template <typename Visit>
void each_index(const Box& box, Visit&& visit) {
  Shape index;
  for (const Interval& interval : box) {
    if (interval.size() == 0) return;
    index.push_back(interval.start);
  }
  while (true) {
    visit(std::as_const(index));
    std::size_t d = box.size();
    while (d > 0 && ++index[d - 1] == box[d - 1].stop) {
      --d;
      index[d] = box[d].start;
    }
    if (d == 0) return;
  }
}

}  // namespace shardlab::ops
