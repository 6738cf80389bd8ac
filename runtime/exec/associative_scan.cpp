// Source: jax.lax.associative_scan: neighbours are combined, the half as long list scanned by recursion, and what lies between filled in
// (Blelloch, "Prefix Sums and Their Applications").
#include "runtime/exec/associative_scan.h"

#include "runtime/exec/array_ops.h"
#include "runtime/exec/ops.h"

namespace shardlab {
namespace {

using Arrays = std::vector<Array>;
using Ints = std::vector<std::int64_t>;

class Scan {
 public:
  Scan(const CombineFunction& combine, int axis, Where where) : combine_(combine), axis_(std::size_t(axis)), where_(where) {}

  Arrays run(const Arrays& elements) const {
    const std::int64_t count = elements[0].shape()[axis_];
    if (count < 2) return elements;
    Arrays odd = run(combined(slices(elements, 0, count - 1, 2), slices(elements, 1, count, 2)));
    Arrays rest = slices(elements, 2, count, 2), before = count % 2 == 0 ? slices(odd, 0, odd[0].shape()[axis_] - 1, 1) : odd;
    Arrays even = count > 2 ? combined(before, rest) : Arrays{}, first = slices(elements, 0, 1, 1), results;
    for (std::size_t i = 0; i < elements.size(); ++i) {
      Array evens = even.empty() ? first[i] : concatenated(first[i], even[i]);
      results.push_back(interleaved(evens, odd[i]));
    }
    return results;
  }

 private:
  Arrays combined(const Arrays& a, const Arrays& b) const {
    Arrays results = combine_(a, b);
    if (results.size() != a.size())
      throw_user_error("associative_scan: the function returns {} arrays for {}; it must return one like its operands [{}]", results.size(),
                       a.size(), where_.text());
    for (std::size_t i = 0; i < a.size(); ++i)
      if (results[i].type() != a[i].type())
        throw_user_error("associative_scan: the function returns {} for operands {}; it must return one like its operands [{}]",
                         results[i].type().text(), a[i].type().text(), where_.text());
    return results;
  }

  Arrays slices(const Arrays& elements, std::int64_t start, std::int64_t limit, std::int64_t stride) const {
    Arrays results;
    for (const Array& each : elements) {
      Ints starts(each.shape().size(), 0), limits = each.shape(), strides(starts.size(), 1);
      starts[axis_] = std::min(start, limit);
      limits[axis_] = limit;
      strides[axis_] = stride;
      results.push_back(call("slice", {each}, Attrs{{"start", starts}, {"limit", limits}, {"stride", strides}}));
    }
    return results;
  }

  Array concatenated(const Array& a, const Array& b) const { return call("concatenate", {a, b}, Attrs{{"axis", std::int64_t(axis_)}}); }

  // Both spread out and added, as JAX does.
  Array interleaved(const Array& a, const Array& b) const {
    const std::int64_t m = a.shape()[axis_], n = b.shape()[axis_];
    auto spread = [&](const Array& x, std::int64_t low, std::int64_t high) {
      Ints padding(3 * x.shape().size(), 0);
      padding[3 * axis_] = low;
      padding[3 * axis_ + 1] = high;
      padding[3 * axis_ + 2] = 1;
      return call("pad", {x, Operand(0, std::source_location::current())}, Attrs{{"padding", padding}});
    };
    Array left = spread(a, 0, m == n ? 1 : 0), right = spread(b, 1, m == n ? 0 : 1);
    return call(a.dtype() == DType::kBool ? "or" : "add", {left, right}, {});
  }

  Array call(std::string_view op, const std::vector<Operand>& operands, const Attrs& attrs) const {
    return apply(op, operands, attrs, where_).at(0);
  }

  const CombineFunction& combine_;
  std::size_t axis_;
  Where where_;
};

}  // namespace

std::vector<Array> associative_scan(const CombineFunction& combine, const std::vector<Array>& elements,
                                    const AssociativeScanOptions& options, Where where) {
  if (elements.empty()) return {};
  const int rank = elements[0].ndim(), axis = options.axis < 0 ? options.axis + rank : options.axis;
  std::string sizes;
  bool agree = true;
  for (const Array& each : elements) {
    if (axis < 0 || axis >= each.ndim())
      throw_user_error("associative_scan: axis {} is out of bounds for an array of type {} [{}]", options.axis, each.type().text(),
                       where.text());
    agree &= each.shape()[std::size_t(axis)] == elements[0].shape()[std::size_t(axis)];
    sizes += (sizes.empty() ? "" : ", ") + text_of(each.shape());
  }
  if (!agree)
    throw_user_error("Array inputs to associative_scan must have the same first dimension. (saw: [{}]; along axis {}) [{}]", sizes, axis,
                     where.text());
  auto flipped = [&](std::vector<Array> arrays) {
    if (options.reverse)
      for (Array& each : arrays) each = apply("flip", {Operand(each, where)}, Attrs{{"axis", std::int64_t(axis)}}, where).at(0);
    return arrays;
  };
  return flipped(Scan(combine, axis, where).run(flipped(elements)));
}

}  // namespace shardlab
