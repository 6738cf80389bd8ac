#include "runtime/exec/statistics.h"

#include "runtime/exec/op_call.h"

namespace shardlab {
namespace {

using detail::one;

Attrs reduce_attrs(const ReduceOptions& options) {
  Attrs attrs = detail::on(options.axis);
  if (options.keepdims) attrs.set("keepdims", true);
  return attrs;
}

}  // namespace

Array average(const Operand& x, const ReduceOptions& options) { return one("average", {x}, reduce_attrs(options)); }
Array average(const Operand& x, const Operand& weights, const ReduceOptions& options) {
  return one("average", {x, weights}, reduce_attrs(options));
}
Array median(const Operand& x, const ReduceOptions& options) { return one("median", {x}, reduce_attrs(options)); }
Array quantile(const Operand& x, double q, const ReduceOptions& options) { return one("quantile", {x}, reduce_attrs(options).set("q", q)); }
Array percentile(const Operand& x, double q, const ReduceOptions& options) {
  return one("percentile", {x}, reduce_attrs(options).set("q", q));
}
Array searchsorted(const Operand& sorted, const Operand& values, std::string_view side) {
  return one("searchsorted", {sorted, values}, {{"side", std::string(side)}});
}
Array bincount(const Operand& x, std::int64_t length) { return one("bincount", {x}, {{"length", length}}); }
Array bincount(const Operand& x, const Operand& weights, std::int64_t length) {
  return one("bincount", {x, weights}, {{"length", length}});
}
Array allclose(const Operand& x, const Operand& y, const CloseOptions& options) {
  return one("allclose", {x, y}, {{"rtol", options.rtol}, {"atol", options.atol}, {"equal_nan", options.equal_nan}});
}
Array array_equal(const Operand& x, const Operand& y, bool equal_nan) { return one("array_equal", {x, y}, {{"equal_nan", equal_nan}}); }
Array logspace(const Operand& start, const Operand& stop, const LogspaceOptions& options) {
  Attrs attrs{{"num", options.num}, {"endpoint", options.endpoint}, {"base", options.base}};
  if (options.dtype) attrs.set("dtype", *options.dtype);
  return one("logspace", {start, stop}, attrs);
}

}  // namespace shardlab
