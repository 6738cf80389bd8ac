// Neighbours are combined, the half as long list scanned by recursion, and what lies between filled in (Blelloch, "Prefix Sums and Their
// Applications"). Equal elements share a maximum's tangent by how they meet, so the order of the combinations is JAX's, too.
#include "runtime/ops/prefix_scan.h"

namespace shardlab::ops {
namespace {

using List = std::vector<std::int64_t>;

class Scan {
 public:
  Scan(GraphBuilder& b, const OpDef& combine, std::size_t axis) : b_(b), combine_(combine), axis_(axis) {}

  ScannedTangents run(const ScannedTangents& x) const {
    const std::int64_t count = length(x);
    if (count < 2) return x;
    ScannedTangents odd = run(combined(sliced(x, 0, count - 1, 2), sliced(x, 1, count, 2)));
    ScannedTangents even = sliced(x, 0, 1, 1);
    if (count > 2) {
      ScannedTangents before = count % 2 == 0 ? sliced(odd, 0, length(odd) - 1, 1) : odd;
      ScannedTangents rest = combined(before, sliced(x, 2, count, 2));
      even = each({even, rest}, [&](std::vector<ValueId> parts) {
        return b_.emit1(kConcatenate, parts, Attrs{{"axis", std::int64_t(axis_)}});
      });
    }
    return each({even, odd}, [&](std::vector<ValueId> parts) { return interleaved(parts[0], parts[1]); });
  }

 private:
  std::int64_t length(const ScannedTangents& x) const { return b_.shape(x.primal)[axis_]; }

  template <typename F>
  ScannedTangents each(const std::vector<ScannedTangents>& operands, F&& f) const {
    std::vector<ValueId> primals, tangents;
    for (const ScannedTangents& operand : operands) {
      primals.push_back(operand.primal);
      tangents.push_back(operand.tangent);
    }
    ValueId primal = f(primals);
    return {primal, f(tangents)};
  }

  ScannedTangents sliced(const ScannedTangents& x, std::int64_t start, std::int64_t limit, std::int64_t step) const {
    return each({x}, [&](std::vector<ValueId> value) {
      List starts(b_.shape(value[0]).size(), 0), limits = b_.shape(value[0]), steps(starts.size(), 1);
      starts[axis_] = start;
      limits[axis_] = limit;
      steps[axis_] = step;
      return b_.emit1(kSlice, value, Attrs{{"start", starts}, {"limit", limits}, {"stride", steps}});
    });
  }

  ScannedTangents combined(const ScannedTangents& x, const ScannedTangents& y) const {
    Values primals{x.primal, y.primal}, tangents{x.tangent, y.tangent}, results{b_.emit1(combine_, primals)};
    const Attrs none;
    ValueId tangent = combine_.jvp(b_, {combine_, none, primals, results, tangents})[0];
    return {results[0], tangent};
  }

  // Both spread out and added.
  ValueId interleaved(ValueId even, ValueId odd) const {
    const bool is_as_long = b_.shape(even)[axis_] == b_.shape(odd)[axis_];
    auto spread = [&](ValueId x, std::int64_t low, std::int64_t high) {
      List padding(3 * b_.shape(x).size(), 0);
      padding[3 * axis_] = low;
      padding[3 * axis_ + 1] = high;
      padding[3 * axis_ + 2] = 1;
      return b_.emit1(kPad, {x, scalar_constant(b_, b_.type(x).dtype, 0.0)}, Attrs{{"padding", padding}});
    };
    ValueId left = spread(even, 0, is_as_long ? 1 : 0);
    return b_.emit1(kAdd, {left, spread(odd, 1, is_as_long ? 0 : 1)});
  }

  GraphBuilder& b_;
  const OpDef& combine_;
  std::size_t axis_;
};

}  // namespace

ScannedTangents scanned_tangents(GraphBuilder& b, const OpDef& combine, ValueId x, ValueId tangent, std::size_t axis, bool reverse) {
  auto turned = [&](ValueId value) { return reverse ? b.emit1(kRev, {value}, Attrs{{"dims", List{std::int64_t(axis)}}}) : value; };
  ValueId from = turned(x);
  ScannedTangents scanned = Scan(b, combine, axis).run({from, turned(tangent)});
  ValueId primal = turned(scanned.primal);
  return {primal, turned(scanned.tangent)};
}

}  // namespace shardlab::ops
