// Neighbours are combined, the half as long list scanned by recursion, and what lies between filled in (Blelloch, "Prefix Sums and Their
// Applications"). Equal elements share a maximum's tangent by how they meet, so the order of the combinations is JAX's, too.
#include "runtime/ops/prefix_scan.h"

namespace shardlab::ops {
namespace {

using List = std::vector<std::int64_t>;

Terms each(const Terms& x, const std::function<Term(const Term&)>& f) {
  Terms results;
  for (const Term& term : x) results.push_back(f(term));
  return results;
}
// Along a dimension, counted from its end where the scan runs in reverse: nothing is turned around, since a turned array lies elsewhere.
struct Along {
  int axis = 0;
  bool reverse = false;

  Terms sliced(const Terms& x, std::int64_t start, std::int64_t stop, std::int64_t stride = 1) const {
    const std::int64_t count = x[0].size(axis), last = start + (stop - 1 - start) / stride * stride;
    return each(x, [&](const Term& term) {
      return reverse ? ops::sliced(term, axis, count - 1 - last, count - start, stride) : ops::sliced(term, axis, start, stop, stride);
    });
  }
  Term joined(const Term& first, const Term& rest) const {
    return reverse ? ops::joined({rest, first}, axis) : ops::joined({first, rest}, axis);
  }
  // Both spread out and added.
  Term interleaved(const Term& even, const Term& odd) const {
    GraphBuilder& b = even.builder();
    const bool is_as_long = even.size(axis) == odd.size(axis);
    auto spread = [&](const Term& x, std::int64_t before, std::int64_t behind) {
      List padding(3 * std::size_t(x.rank()), 0);
      const std::size_t at = 3 * std::size_t(axis);
      padding[at] = reverse ? behind : before;
      padding[at + 1] = reverse ? before : behind;
      padding[at + 2] = 1;
      return b.emit1(kPad, {x.id(), scalar_constant(b, x.dtype(), 0.0)}, Attrs{{"padding", padding}});
    };
    ValueId left = spread(even, 0, is_as_long ? 1 : 0);
    return {b, b.emit1(kAdd, {left, spread(odd, 1, is_as_long ? 0 : 1)})};
  }
};

Terms scanned(const Terms& x, const Along& along, const std::function<Terms(const Terms&, const Terms&)>& combine) {
  const std::int64_t count = x[0].size(along.axis);
  if (count < 2) return x;
  const Terms odd = scanned(combine(along.sliced(x, 0, count - 1, 2), along.sliced(x, 1, count, 2)), along, combine);
  Terms even = along.sliced(x, 0, 1);
  if (count > 2) {
    const Terms before = count % 2 == 0 ? along.sliced(odd, 0, odd[0].size(along.axis) - 1) : odd;
    const Terms rest = combine(before, along.sliced(x, 2, count, 2));
    for (std::size_t i = 0; i < even.size(); ++i) even[i] = along.joined(even[i], rest[i]);
  }
  Terms results;
  for (std::size_t i = 0; i < even.size(); ++i) results.push_back(along.interleaved(even[i], odd[i]));
  return results;
}

}  // namespace

Terms scanned(const Terms& x, int axis, bool reverse, const std::function<Terms(const Terms&, const Terms&)>& combine) {
  return scanned(x, Along{axis, reverse}, combine);
}

ScannedTangents scanned_tangents(GraphBuilder& b, const OpDef& combine, ValueId x, ValueId tangent, std::size_t axis, bool reverse) {
  const Terms found = scanned({{b, x}, {b, tangent}}, int(axis), reverse, [&](const Terms& left, const Terms& right) {
    Values primals{left[0].id(), right[0].id()}, tangents{left[1].id(), right[1].id()}, results{b.emit1(combine, primals)};
    const Attrs none;
    ValueId change = combine.jvp(b, {combine, none, primals, results, tangents})[0];
    return Terms{{b, results[0]}, {b, change}};
  });
  return {found[0].id(), found[1].id()};
}

}  // namespace shardlab::ops
