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
Terms sliced(const Terms& x, int axis, std::int64_t start, std::int64_t stop, std::int64_t stride) {
  return each(x, [=](const Term& term) { return sliced(term, axis, start, stop, stride); });
}

// Both spread out and added.
Term interleaved(const Term& even, const Term& odd, int axis) {
  GraphBuilder& b = even.builder();
  const bool is_as_long = even.size(axis) == odd.size(axis);
  auto spread = [&](const Term& x, std::int64_t low, std::int64_t high) {
    List padding(3 * std::size_t(x.rank()), 0);
    const std::size_t at = 3 * std::size_t(axis);
    padding[at] = low;
    padding[at + 1] = high;
    padding[at + 2] = 1;
    return b.emit1(kPad, {x.id(), scalar_constant(b, x.dtype(), 0.0)}, Attrs{{"padding", padding}});
  };
  ValueId left = spread(even, 0, is_as_long ? 1 : 0);
  return {b, b.emit1(kAdd, {left, spread(odd, 1, is_as_long ? 0 : 1)})};
}

}  // namespace

Terms scanned(const Terms& x, int axis, const std::function<Terms(const Terms&, const Terms&)>& combine) {
  const std::int64_t count = x[0].size(axis);
  if (count < 2) return x;
  const Terms odd = scanned(combine(sliced(x, axis, 0, count - 1, 2), sliced(x, axis, 1, count, 2)), axis, combine);
  Terms even = sliced(x, axis, 0, 1, 1);
  if (count > 2) {
    const Terms before = count % 2 == 0 ? sliced(odd, axis, 0, odd[0].size(axis) - 1, 1) : odd;
    const Terms rest = combine(before, sliced(x, axis, 2, count, 2));
    for (std::size_t i = 0; i < even.size(); ++i) even[i] = joined({even[i], rest[i]}, axis);
  }
  Terms results;
  for (std::size_t i = 0; i < even.size(); ++i) results.push_back(interleaved(even[i], odd[i], axis));
  return results;
}

ScannedTangents scanned_tangents(GraphBuilder& b, const OpDef& combine, ValueId x, ValueId tangent, std::size_t axis, bool reverse) {
  auto turned = [&](ValueId value) { return reverse ? b.emit1(kRev, {value}, Attrs{{"dims", List{std::int64_t(axis)}}}) : value; };
  ValueId from = turned(x);
  const Terms both{{b, from}, {b, turned(tangent)}};
  const Terms found = scanned(both, int(axis), [&](const Terms& left, const Terms& right) {
    Values primals{left[0].id(), right[0].id()}, tangents{left[1].id(), right[1].id()}, results{b.emit1(combine, primals)};
    const Attrs none;
    ValueId change = combine.jvp(b, {combine, none, primals, results, tangents})[0];
    return Terms{{b, results[0]}, {b, change}};
  });
  ValueId primal = turned(found[0].id());
  return {primal, turned(found[1].id())};
}

}  // namespace shardlab::ops
