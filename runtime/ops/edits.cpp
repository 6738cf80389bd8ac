// append, insert, delete, resize, rot90 and their kin: arrays longer, shorter or turned, as jax.numpy lowers them.
#include <algorithm>

#include "runtime/ops/compose.h"
#include "runtime/ops/shapes.h"

namespace shardlab::ops {
namespace {

// Along an axis, or over all elements in order.
struct Along {
  Term x;
  int axis;
};
Along along(const OpDef& op, const Term& x, const Attrs& attrs) {
  if (!attrs.has("axis")) return {raveled(x), 0};
  return {x, normalized_axis(op.name, attrs.integer("axis"), x.rank())};
}

Values expand_append(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  std::vector<Term> parts = promoted_terms(b, args);
  if (attrs.has("axis"))
    return {call(b, "concatenate", {parts[0], parts[1]}, Attrs{{"axis", std::int64_t(along(op, parts[0], attrs).axis)}}).id()};
  return {joined({raveled(parts[0]), raveled(parts[1])}, 0).id()};
}

Term in_bounds(const Term& indices, std::int64_t size) { return where(indices < 0, indices + size, indices); }

// Rows of a dimension written at places: x.at[..., places, ...].set(rows).
Term written(const Term& x, int axis, const Term& places, const Term& rows) {
  std::vector<std::int64_t> window;
  for (int d = 0; d < x.rank(); ++d)
    if (d != axis) window.push_back(d);
  std::vector<std::int64_t> one{axis};
  return call(x.builder(), "scatter", {x, expanded(in_bounds(places, x.size(axis)), 1), rows},
              Attrs{{"update_window_dims", window}, {"collapsed_slice_dims", one}, {"start_index_map", one}});
}

// Places of new elements are sorted and shifted by how many new ones come before; the others go to the places that are left.
Values expand_insert(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  auto [x, axis] = along(op, term(b, args[0]), attrs);
  if (x.rank() == 0) throw_user_error("{}: a scalar has no place to insert at; give axis None", op.name);
  Term places = term(b, args[1]), values(b, value_of(b, args[2], x.dtype()));
  if (!is_integer(places.dtype())) throw_user_error("{}: indices must be integers, got {}", op.name, places.text());
  if (places.rank() > 1) throw_user_error("{}: obj must have at most one dimension, got {}", op.name, places.text());
  bool is_one = places.rank() == 0;
  places = raveled(converted(places, DType::kInt32));
  Shape shape = x.shape();
  if (!attrs.has("axis")) values = raveled(values);
  if (values.rank() > x.rank())
    throw_user_error("{}: values have more dimensions than the array, {} against {}", op.name, values.text(), x.text());
  Shape longer(std::size_t(x.rank() - values.rank()), 1), own = values.shape();
  longer.insert(longer.end(), own.begin(), own.end());
  values = reshaped(values, longer);
  if (is_one) {  // the values' first dimension is the axis
    std::vector<int> order;
    for (int d = 1; d <= axis; ++d) order.push_back(d);
    order.push_back(0);
    for (int d = axis + 1; d < x.rank(); ++d) order.push_back(d);
    values = transposed(values, order);
  }
  std::int64_t size = x.size(axis), count = is_one ? values.size(axis) : places.elements();
  Shape wanted = shape, result = shape;
  wanted[std::size_t(axis)] = count;
  result[std::size_t(axis)] = size + count;
  check_shape(op.name, result);
  check_broadcasts_to(op.name, values.shape(), wanted);
  values = broadcast(values, wanted);
  if (count == 0) return {x.id()};
  places = call(b, "clip", {in_bounds(places, size), 0, size});
  if (is_one) {
    places = broadcast(places, {count}) + numbers(b, DType::kInt32, count);
  } else {
    Term order = call("argsort", places);
    places = call(b, "scatter_add", {places, order, numbers(b, DType::kInt32, count)});
  }
  Term is_old =
      written(Term(b, filled(b, {DType::kBool, {size + count}}, 1.0)), 0, places, Term(b, filled(b, {DType::kBool, {count}}, 0.0)));
  Term old_places = size == 0 ? numbers(b, DType::kInt32, 0) : call(b, "flatnonzero", {is_old}, Attrs{{"size", size}});
  Term zeros(b, filled(b, {x.dtype(), result}, 0.0));
  Term with_new = written(zeros, axis, places, values);
  return {size == 0 ? with_new.id() : written(with_new, axis, old_places, x).id()};
}

// What is left when some indices of a dimension are gone.
Values expand_delete(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  auto [x, axis] = along(op, term(b, args[0]), attrs);
  std::vector<std::int64_t> gone;
  bool is_one = args.size() > 1;
  if (is_one)
    gone = {static_integer(op, args, 1, attrs, "obj")};
  else if (attrs.has("obj"))
    gone = integer_list_of(attrs, "obj"), is_one = std::holds_alternative<std::int64_t>(*attrs.find("obj"));
  else
    throw_user_error("{}: 'obj' is missing; say which indices are to go", op.name);
  if (x.rank() == 0) throw_user_error("{}: a scalar has no indices; give axis None", op.name);
  std::int64_t size = x.size(axis);
  for (std::int64_t& index : gone) {
    if (index < -size || index >= size)
      throw_user_error("{}: index {} is out of bounds for axis {} with size {}", op.name, index, axis, size);
    if (index < 0) index += size;
  }
  if (is_one) return {joined({sliced(x, axis, 0, gone[0]), sliced(x, axis, gone[0] + 1, size)}, axis).id()};
  std::vector<Term> kept;
  std::int64_t start = 0;
  gone.push_back(size);
  std::sort(gone.begin(), gone.end());
  for (std::int64_t index : gone) {
    if (index > start) kept.push_back(sliced(x, axis, start, index));
    start = std::max(start, index + 1);
  }
  return {kept.empty() ? sliced(x, axis, 0, 0).id() : joined(kept, axis).id()};
}

// The elements in order, as often as it takes.
Values expand_resize(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  Term x = raveled(term(b, args[0]));
  Shape shape = integer_list_of(attrs, "new_shape");
  for (std::int64_t size : shape)
    if (size < 0) throw_user_error("{}: all elements of `new_shape` must be non-negative, got {}", op.name, text_of(shape));
  check_shape(op.name, shape);
  std::int64_t count = element_count(shape);
  if (count == 0 || x.elements() == 0) return {filled(b, {x.dtype(), shape}, 0.0)};
  std::int64_t repeats = (count + x.elements() - 1) / x.elements();
  check_shape(op.name, {repeats, x.elements()});
  Term tiled = call("tile", x, Attrs{{"reps", std::vector<std::int64_t>{repeats}}});
  return {reshaped(sliced(tiled, 0, 0, count), shape).id()};
}

Values expand_rot90(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  Term x = term(b, args[0]);
  std::vector<std::int64_t> axes = attrs.has("axes") ? integer_list_of(attrs, "axes") : std::vector<std::int64_t>{0, 1};
  if (axes.size() != 2) throw_user_error("{}: axes must be two, got {}", op.name, text_of(axes));
  int first = normalized_axis(op.name, axes[0], x.rank()), second = normalized_axis(op.name, axes[1], x.rank());
  if (first == second) throw_user_error("{}: Axes must be different, got {}", op.name, text_of(axes));
  auto flipped = [&](const Term& y, int dim) { return call("flip", y, Attrs{{"axis", std::int64_t(dim)}}); };
  std::vector<int> order;
  for (int d = 0; d < x.rank(); ++d) order.push_back(d == first ? second : d == second ? first : d);
  switch ((attrs.integer("k", 1) % 4 + 4) % 4) {
    case 0:
      return {x.id()};
    case 1:
      return {transposed(flipped(x, second), order).id()};
    case 2:
      return {flipped(flipped(x, first), second).id()};
    default:
      return {flipped(transposed(x, order), second).id()};
  }
}

Values expand_rollaxis(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  Term x = term(b, args[0]);
  int axis = normalized_axis(op.name, attrs.integer("axis"), x.rank());
  std::int64_t start = attrs.integer("start", 0);
  if (start < -x.rank() || start > x.rank()) throw_user_error("{}: start {} is out of range [{}, {}]", op.name, start, -x.rank(), x.rank());
  if (start < 0) start += x.rank();
  if (start > axis) --start;
  return {call("moveaxis", x, Attrs{{"source", std::int64_t(axis)}, {"destination", start}}).id()};
}

Values expand_ediff1d(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  Term x = raveled(term(b, args[0]));
  std::int64_t size = x.elements();
  Term result = size == 0 ? x : sliced(x, 0, 1, size) - sliced(x, 0, 0, size - 1);
  const std::size_t by_place = args.size() - attrs.has("to_begin") - attrs.has("to_end");
  auto at_end = [&](std::string_view name, std::size_t place) -> std::optional<Term> {
    auto given = named_operand(op, args, attrs, name);
    if (!given && place < by_place) given = args[place];
    if (!given) return std::nullopt;
    return raveled(Term(b, value_of(b, *given, x.dtype())));
  };
  if (auto begin = at_end("to_begin", 2)) result = joined({*begin, result}, 0);
  if (auto end = at_end("to_end", 1)) result = joined({result, *end}, 0);
  return {result.id()};
}

// split along a fixed dimension; hsplit takes the first of a vector.
template <int kDim>
Values expand_split_dim(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  Term x = term(b, args[0]);
  int dim = kDim == 1 && x.rank() == 1 ? 0 : kDim;
  if (x.rank() <= dim) throw_user_error("{} only works on arrays of {} or more dimensions, got {}", op.name, dim + 1, x.text());
  Attrs own;
  if (const AttrValue* given = attrs.find("indices_or_sections")) own.set("indices_or_sections", *given);
  return ids(call_all(b, "split", {x}, own.set("axis", std::int64_t(dim))));
}

Values expand_unstack(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  Term x = term(b, args[0]);
  if (x.rank() == 0) throw_user_error("{}: requires arrays with rank > 0, however a scalar array was passed.", op.name);
  int axis = normalized_axis(op.name, attrs.integer("axis", 0), x.rank());
  constexpr std::int64_t kPartsMax = 65536;
  if (x.size(axis) > kPartsMax) throw_user_error("{}: {} results, of at most {}", op.name, x.size(axis), kPartsMax);
  Values parts;
  for (std::int64_t i = 0; i < x.size(axis); ++i) parts.push_back(part(x, axis, i).id());
  return parts;
}

template <int kRank>
Values expand_atleast(GraphBuilder& b, const OpDef&, Args args, const Attrs&) {
  Values results;
  for (const Arg& arg : args) {
    Term x = term(b, arg);
    while (x.rank() < std::min(kRank, 2)) x = expanded(x, 0);
    if (kRank == 3 && x.rank() == 2) x = expanded(x, 2);
    results.push_back(x.id());
  }
  return results;
}

Values expand_broadcast_arrays(GraphBuilder& b, const OpDef& op, Args args, const Attrs&) {
  std::vector<Shape> shapes;
  for (const Arg& arg : args) shapes.push_back(shape_of_arg(b, arg));
  Shape shape = broadcast_shapes(op.name, shapes);
  Values results;
  for (const Arg& arg : args) results.push_back(broadcast(term(b, arg), shape).id());
  return results;
}

Values expand_matrix_transpose(GraphBuilder& b, const OpDef& op, Args args, const Attrs&) {
  Term x = term(b, args[0]);
  if (x.rank() < 2) throw_user_error("{}: x must be at least two-dimensional; got {}", op.name, x.text());
  return {call("swapaxes", x, Attrs{{"axis1", std::int64_t(-1)}, {"axis2", std::int64_t(-2)}}).id()};
}

using Kind = AttrDef::Kind;
constexpr AttrDef kAxisAttrs[] = {{"axis", Kind::kInteger, false, "along which; over all elements in order by default"}};
constexpr AttrDef kDeleteAttrs[] = {{"obj", Kind::kScalarOrIntegers, false, "which indices, where they are no operand"}, kAxisAttrs[0]};
constexpr AttrDef kResizeAttrs[] = {{"new_shape", Kind::kScalarOrIntegers, true, "the shape of the result"}};
constexpr AttrDef kRotAttrs[] = {{"k", Kind::kInteger, false, "how many quarter turns, from the first axis to the second; 1 by default"},
                                 {"axes", Kind::kScalarOrIntegers, false, "the plane; the first two dimensions by default"}};
constexpr AttrDef kRollAttrs[] = {{"axis", Kind::kInteger, true, "which dimension"},
                                  {"start", Kind::kInteger, false, "before which it goes; 0 by default"}};
constexpr AttrDef kDiffAttrs[] = {{"to_end", kNamedOperand, false, "what comes after the differences"},
                                  {"to_begin", kNamedOperand, false, "what comes before them"}};
constexpr AttrDef kSplitAttrs[] = {{"indices_or_sections", Kind::kScalarOrIntegers, true, "where to cut, a list, or into how many parts"}};
constexpr AttrDef kUnstackAttrs[] = {{"axis", Kind::kInteger, false, "along which; 0 by default"}};

}  // namespace

extern const OpDef kAppend, kInsert, kDelete, kResize, kRot90, kRollaxis, kEdiff1d, kHsplit, kVsplit, kDsplit, kUnstack, kAtleast1d,
    kAtleast2d, kAtleast3d, kBroadcastArrays, kMatrixTranspose;

const OpDef kAppend = compiled_alone(
    composite_of({"append", "Two arrays joined along an axis, or their elements: args [x, values].", expand_append, 2, 2, kAxisAttrs}));
const OpDef kInsert =
    composite_of({"insert", "Values put before indices of an axis: args [x, indices, values].", expand_insert, 3, 3, kAxisAttrs});
const OpDef kDelete =
    composite_of({"delete", "An array without some indices of an axis: args [x] or [x, index].", expand_delete, 1, 2, kDeleteAttrs});
const OpDef kResize = composite_of(
    {.name = "resize", .doc = "The elements in order, repeated or cut to fill a shape.", .expand = expand_resize, .attrs = kResizeAttrs});
const OpDef kRot90 = compiled_alone(
    composite_of({.name = "rot90", .doc = "Quarter turns in the plane of two axes.", .expand = expand_rot90, .attrs = kRotAttrs}));
const OpDef kRollaxis =
    composite_of({.name = "rollaxis", .doc = "A dimension moved before another.", .expand = expand_rollaxis, .attrs = kRollAttrs});
const OpDef kEdiff1d = compiled_alone(
    composite_of({"ediff1d", "The differences of neighbours over all elements in order.", expand_ediff1d, 1, 3, kDiffAttrs}));
const OpDef kHsplit = composite_of({.name = "hsplit",
                                    .doc = "split along the second dimension, of a vector along its only one.",
                                    .expand = expand_split_dim<1>,
                                    .attrs = kSplitAttrs});
const OpDef kVsplit =
    composite_of({.name = "vsplit", .doc = "split along the first dimension.", .expand = expand_split_dim<0>, .attrs = kSplitAttrs});
const OpDef kDsplit =
    composite_of({.name = "dsplit", .doc = "split along the third dimension.", .expand = expand_split_dim<2>, .attrs = kSplitAttrs});
const OpDef kUnstack = composite_of({.name = "unstack",
                                     .doc = "The parts of an array along an axis, without it, each a result.",
                                     .expand = expand_unstack,
                                     .attrs = kUnstackAttrs});
const OpDef kAtleast1d = compiled_alone(composite_of({"atleast_1d", "Scalars as vectors of one element.", expand_atleast<1>, 1, -1}));
const OpDef kAtleast2d = compiled_alone(composite_of({"atleast_2d", "Vectors as matrices of one row.", expand_atleast<2>, 1, -1}));
const OpDef kAtleast3d = compiled_alone(
    composite_of({"atleast_3d", "Matrices with a third dimension of size 1, vectors between two.", expand_atleast<3>, 1, -1}));
const OpDef kBroadcastArrays =
    composite_of({"broadcast_arrays", "Each operand in the shape that all broadcast to.", expand_broadcast_arrays, 1, -1});
const OpDef kMatrixTranspose = composite_of(
    {.name = "matrix_transpose", .doc = "The last two dimensions exchanged.", .expand = expand_matrix_transpose, .aliases = {}});

}  // namespace shardlab::ops
