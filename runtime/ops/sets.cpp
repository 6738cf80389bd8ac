// intersect1d, setdiff1d, setxor1d: the elements of two arrays as sets, with a size known beforehand, as jax.numpy lowers them.
#include "runtime/ops/compose.h"
#include "runtime/ops/shapes.h"

namespace shardlab::ops {
namespace {

constexpr double kNoFill = 0;

// Both as vectors of one dtype.
struct Sets {
  Term x, y;
  std::int64_t size = 0;
  bool is_unique = false;
};

Sets sets_of(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  std::vector<Term> both = promoted_terms(b, args);
  const std::int64_t size = attrs.integer("size");
  check_shape(op.name, {size});
  return {raveled(both[0]), raveled(both[1]), size, attrs.flag("assume_unique")};
}

// Per element of a sorted vector whether it is the first of its equals.
Term begins_run(const Term& sorted) {
  Term first(sorted.builder(), filled(sorted.builder(), {DType::kBool, {1}}, 1.0));
  const std::int64_t size = sorted.elements();
  return size == 1 ? first : joined({first, sliced(sorted, 0, 1, size) != sliced(sorted, 0, 0, size - 1)}, 0);
}

Term is_among(const Term& x, const Term& others) { return call(x.builder(), "isin", {x, others}); }

// The elements of a vector that are in, or not in, the other one.
struct Chosen {
  Term elements, mask;
};
Chosen chosen_of(const Term& x, const Term& others, bool is_unique, bool is_in) {
  const Term elements = is_unique || x.elements() == 0 ? x : call("sort", x, Attrs{{"axis", std::int64_t(0)}});
  Term mask = is_among(elements, others);
  if (!is_in) mask = !mask;
  return {elements, is_unique || x.elements() == 0 ? mask : mask & begins_run(elements)};
}

// `count` of the elements come first. Behind them stands `fill_value`, or the least of them.
Term filled_up(const Term& elements, const Term& count, std::int64_t size, const Attrs& attrs) {
  GraphBuilder& b = elements.builder();
  Term is_element = numbers(b, DType::kInt32, size) < count;
  if (attrs.has("fill_value")) return where(is_element, elements, filled_like(elements, attrs.number("fill_value")));
  if (size == 0) return elements;
  Term known = where(is_element, elements, filled_like(elements, kNoFill));
  known = where(is_element, known, call("max", known));
  return where(is_element, known, call("min", known));
}

// The chosen ones in ascending order, then `fill_value` or the least of them.
Term ascending(const Chosen& given, std::int64_t size, const Attrs& attrs) {
  GraphBuilder& b = given.elements.builder();
  if (given.elements.elements() == 0)
    return Term(b, filled(b, {given.elements.dtype(), {size}}, attrs.has("fill_value") ? attrs.number("fill_value") : kNoFill));
  Term count = summed(converted(given.mask, DType::kInt32), {0});
  Term sorted = call_all(b, "sort", {!given.mask, given.elements}, Attrs{{"axis", std::int64_t(0)}, {"num_keys", std::int64_t(2)}}).at(1);
  return filled_up(call("resize", sorted, Attrs{{"new_shape", Shape{size}}}), count, size, attrs);
}

Values expand_intersect1d(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  const Sets sets = sets_of(b, op, args, attrs);
  return {ascending(chosen_of(sets.x, sets.y, sets.is_unique, true), sets.size, attrs).id()};
}

// In ascending order, or with assume_unique in the first array's.
Values expand_setdiff1d(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  const Sets sets = sets_of(b, op, args, attrs);
  const Chosen found = chosen_of(sets.x, sets.y, sets.is_unique, false);
  Attrs extracting{{"size", sets.size}};
  if (attrs.has("fill_value")) extracting.set("fill_value", attrs.number("fill_value"));
  return {call(b, "extract", {found.mask, found.elements}, extracting).id()};
}

Values expand_setxor1d(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  const Sets sets = sets_of(b, op, args, attrs);
  const Chosen x = chosen_of(sets.x, sets.y, sets.is_unique, false), y = chosen_of(sets.y, sets.x, sets.is_unique, false);
  return {ascending({joined({x.elements, y.elements}, 0), joined({x.mask, y.mask}, 0)}, sets.size, attrs).id()};
}

using Kind = AttrDef::Kind;
constexpr AttrDef kSize = {"size", Kind::kInteger, true, "how many elements the result has, since it cannot depend on values"};
constexpr AttrDef kUnique = {"assume_unique", Kind::kFlag, false, "whether no array has an element twice"};
constexpr AttrDef kSetAttrs[] = {
    kSize, {"fill_value", Kind::kNumber, false, "what stands past the last one; the least value by default"}, kUnique};
constexpr AttrDef kDifferenceAttrs[] = {
    kSize, {"fill_value", Kind::kNumber, false, "what stands past the last one; 0 by default"}, kUnique};

}  // namespace

extern const OpDef kIntersect1d, kSetdiff1d, kSetxor1d;

const OpDef kIntersect1d =
    composite_of({"intersect1d", "The elements of both, in ascending order, each once.", expand_intersect1d, 2, 2, kSetAttrs});
const OpDef kSetdiff1d = composite_of({"setdiff1d", "The elements of the first that are not in the second, in ascending order, each once.",
                                       expand_setdiff1d, 2, 2, kDifferenceAttrs});
const OpDef kSetxor1d =
    composite_of({"setxor1d", "The elements of one of both alone, in ascending order, each once.", expand_setxor1d, 2, 2, kSetAttrs});

}  // namespace shardlab::ops
