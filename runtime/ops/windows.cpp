#include "runtime/ops/windows.h"

#include "runtime/ops/lower.h"

namespace shardlab::ops {
namespace {

using List = std::vector<std::int64_t>;
constexpr std::int64_t kWindowMax = std::int64_t(1) << 32;  // strides, padding and dilation are below it

}  // namespace

std::vector<ConvWindow> windows_of(const Attrs& attrs) {
  const List &sizes = attrs.integers("window_dimensions"), &strides = attrs.integers("window_strides"), &pads = attrs.integers("pads");
  const List &base = attrs.integers("base_dilation"), &dilation = attrs.integers("window_dilation");
  std::vector<ConvWindow> windows;
  for (std::size_t d = 0; d < sizes.size(); ++d)
    windows.push_back({sizes[d], strides[d], pads[2 * d], pads[2 * d + 1], base[d], dilation[d]});
  return windows;
}

Attrs window_attrs(std::string_view reducer, const std::vector<ConvWindow>& windows) {
  List sizes, strides, pads, base, dilation;
  for (const ConvWindow& w : windows) {
    sizes.push_back(w.size);
    strides.push_back(w.stride);
    pads.insert(pads.end(), {w.low, w.high});
    base.push_back(w.lhs_dilation);
    dilation.push_back(w.rhs_dilation);
  }
  return Attrs{{"reducer", std::string(reducer)}, {"window_dimensions", sizes}, {"window_strides", strides}, {"pads", pads},
               {"base_dilation", base},           {"window_dilation", dilation}};
}

bool is_trivial(const ConvWindow& w) { return w.size == 1 && w.stride == 1 && w.low == 0 && w.high == 0 && w.lhs_dilation == 1; }

Shape window_results(std::string_view op, const Shape& operand, const Attrs& attrs) {
  const std::size_t rank = operand.size();
  bool fits = attrs.integers("pads").size() == 2 * rank;
  for (std::string_view name : {"window_dimensions", "window_strides", "base_dilation", "window_dilation"}) {
    fits &= attrs.integers(name).size() == rank;
    for (std::int64_t number : attrs.integers(name)) fits &= number >= 1 && number < kWindowMax;
  }
  for (std::int64_t number : attrs.integers("pads")) fits &= number > -kWindowMax && number < kWindowMax;
  if (!fits)
    throw_user_error(
        "{}: window_dimensions {}, window_strides {}, padding {}, base_dilation {} and window_dilation {} must have a positive number "
        "(padding two of any sign) for each of {} dimensions",
        op, text_of(attrs.integers("window_dimensions")), text_of(attrs.integers("window_strides")), text_of(attrs.integers("pads")),
        text_of(attrs.integers("base_dilation")), text_of(attrs.integers("window_dilation")), rank);
  Shape shape;
  std::vector<ConvWindow> windows = windows_of(attrs);
  for (std::size_t d = 0; d < rank; ++d) shape.push_back(windows[d].results(operand[d]));
  check_shape(op, shape);
  return shape;
}

WindowWalk::WindowWalk(std::vector<ConvWindow> windows, const Box& held)
    : windows_(std::move(windows)), held_(held), tap_(windows_.size(), 0), place_(windows_.size(), 0) {
  Shape shape;
  for (const Interval& interval : held_) shape.push_back(interval.size());
  strides_ = strides_of(shape);
  for (const ConvWindow& w : windows_) taps_ *= w.size;
}

}  // namespace shardlab::ops
